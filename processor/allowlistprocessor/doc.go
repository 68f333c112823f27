// Package allowlistprocessor classifies each span and drops everything of it that is not to be kept (REQ-5,
// REQ-6). What it keeps it cuts to a little more than its cap: the masking behind it must see credentials
// whole, and has the last cut.
package allowlistprocessor

//go:generate go tool -modfile=../../tools/go.mod mdatagen metadata.yaml
