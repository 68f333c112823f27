// Package dialect knows what agents call their own machinery. It goes by names alone, so that a pipeline, which has
// spans as they were sent, and a page, which has rows, ask the same table. How an agent spells what the conventions
// have a name for is known to app/spans, which rewrites it (spans.Standardize).
//
// testdata/recordings holds what real agents and SDKs sent; the tests of other packages read it from there.
package dialect
