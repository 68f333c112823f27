package queue

import (
	"context"
	"crypto/rand"
	"encoding/hex"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/secret"
)

// The lease of a claim that neither the call nor the endpoint sets, and the range of a call, in seconds.
const (
	DefaultLeaseTTL = 300
	minLeaseTTL     = 1
	maxLeaseTTL     = 86400
)

// maxRequestID caps a claim's request id, in bytes.
const maxRequestID = 64

// ClaimParams are the optional arguments of claim and claim_next.
type ClaimParams struct {
	LeaseTTLSeconds *int
	Claimant        *string   // a label; cut to 128 bytes
	RequireFence    *bool     // absent: the endpoint's default
	RequestID       *string   // at most 64 bytes; the same one returns the same attempt while that is open
	CallerTrace     *[16]byte // the trace the call itself belongs to (decisions.md 19)

	// Still is asked before each look that follows a wait: an error says why the caller may claim no more.
	Still func(context.Context) error
}

// Claimed is a todo with what its new holder needs: the history, the trace to work under and, when fenced,
// the token that alone can report on this attempt.
type Claimed struct {
	Todo
	ClaimFields
}

// ClaimFields are what a claim adds to a todo.
type ClaimFields struct {
	AttemptSeq    int       `json:"attempt_seq"`
	AttemptsTotal int       `json:"attempts_total"`
	PriorAttempts []Attempt `json:"prior_attempts"`
	Traceparent   string    `json:"traceparent"`
	LeaseToken    string    `json:"lease_token,omitempty"`
}

// grant is a claim's arguments, settled.
type grant struct {
	ep          *identity.Endpoint
	leaseTTL    int
	claimant    *string
	requestID   *string
	leaseToken  string // empty: not fenced
	fence       []byte // its hash, null when not fenced
	trace       [16]byte
	callerTrace []byte
	keep        int // attempts the todo may hold, the new one included
}

func (s *Store) newGrant(ctx context.Context, ep *identity.Endpoint, p ClaimParams) (*grant, error) {
	g := grant{ep: ep, leaseTTL: DefaultLeaseTTL, claimant: cleanClaimant(p.Claimant), requestID: p.RequestID, keep: s.attemptsKept(ctx)}
	if ep.DefaultLeaseTTLSeconds != nil {
		g.leaseTTL = *ep.DefaultLeaseTTLSeconds
	}
	if p.LeaseTTLSeconds != nil {
		g.leaseTTL = *p.LeaseTTLSeconds
	}
	if err := checkLeaseTTL(&g.leaseTTL); err != nil {
		return nil, err
	}
	if p.RequestID != nil {
		if err := checkText("request_id", *p.RequestID, maxRequestID, "must be 1 to 64 bytes of text"); err != nil {
			return nil, err
		}
	}
	fenced := ep.RequireFence
	if p.RequireFence != nil {
		fenced = *p.RequireFence
	}
	if fenced {
		g.leaseToken, g.fence = newFence()
	}
	if p.CallerTrace != nil {
		g.callerTrace = p.CallerTrace[:]
	}
	fillRandom(g.trace[:])
	return &g, nil
}

// newFence makes a lease token and the hash that is kept of it.
func newFence() (token string, hash []byte) {
	token = secret.New(secret.Lease)
	return token, secret.Hash(token)
}

func checkLeaseTTL(ttl *int) error {
	if ttl != nil && (*ttl < minLeaseTTL || *ttl > maxLeaseTTL) {
		return fault.InvalidArgument("lease_ttl_seconds", "must be 1 to 86400")
	}
	return nil
}

// traceparent is the W3C value a worker passes on. Its parent span id exists nowhere else (REQ-4).
func (g *grant) traceparent() string {
	var parent [8]byte
	fillRandom(parent[:])
	parent[7] |= 1 // never all zero
	return "00-" + hex.EncodeToString(g.trace[:]) + "-" + hex.EncodeToString(parent[:]) + "-01"
}

// fillRandom fills b. It never fails: it ends the process when the system has no randomness.
func fillRandom(b []byte) { _, _ = rand.Read(b) }
