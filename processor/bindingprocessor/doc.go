// Package bindingprocessor finds the todo and the attempt that each span belongs to (REQ-3) and writes them
// onto the span for the stages after it. What belongs to no todo of the endpoint, and what no row could be
// made of, ends here and is accounted for in the request's ledger.
package bindingprocessor

//go:generate go tool -modfile=../../tools/go.mod mdatagen metadata.yaml
