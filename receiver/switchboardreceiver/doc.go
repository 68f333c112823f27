// Package switchboardreceiver answers POST /otlp/{endpoint}/v1/traces: it authenticates an agent's exporter,
// decodes its spans under caps, hands them to the pipeline and answers from the ledger what became of them, so
// that 200 means stored (REQ-1, 2, 8, 24; decisions.md 1 to 13).
package switchboardreceiver

//go:generate go tool -modfile=../../tools/go.mod mdatagen metadata.yaml
