// Package todospansexporter stores bound spans with their todos and tells the request's ledger what became
// of them: it returns only after the last transaction, so that 200 means stored (REQ-8, decisions.md 13).
package todospansexporter

//go:generate go tool -modfile=../../tools/go.mod mdatagen metadata.yaml
