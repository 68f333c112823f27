// Package dialectprocessor rewrites what agents spell in ways of their own into the attributes of the semantic
// conventions, so that the stages behind it, which read those alone, find the tool and the model of a span. It fills
// what is absent and changes nothing that is there.
package dialectprocessor

//go:generate go tool -modfile=../../tools/go.mod mdatagen metadata.yaml
