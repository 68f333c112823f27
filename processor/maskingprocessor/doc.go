// Package maskingprocessor replaces credentials in everything that is kept of a span (REQ-7), and then cuts it
// to the size in which it is stored (REQ-5, REQ-6). In this order, because a credential that is cut first is
// not recognised any more.
package maskingprocessor

//go:generate go tool -modfile=../../tools/go.mod mdatagen metadata.yaml
