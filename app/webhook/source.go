// Package webhook knows the producers of webhooks: how each proves that a delivery is its own, what names a
// delivery so that the same one counts once, what a delivery is about, and which of its headers may be kept.
// It is pure: bytes, headers and a time come in, values go out.
package webhook

import "slices"

// Source is the type of a webhook: whose way of signing and naming deliveries it follows.
type Source string

// The source types (intake.md section 1).
const (
	GitHub   Source = "github"
	Gitea    Source = "gitea"
	Stripe   Source = "stripe"
	Slack    Source = "slack"
	Standard Source = "standard" // Standard Webhooks
	Generic  Source = "generic"  // no signature: who knows the address may deliver
)

// Sources lists every source type.
var Sources = []Source{GitHub, Gitea, Stripe, Slack, Standard, Generic}

// Known reports whether s is a source type.
func (s Source) Known() bool { return slices.Contains(Sources, s) }

// Signed reports whether a delivery must carry a signature.
func (s Source) Signed() bool { return s != Generic }

// Trust is what a delivery's claim to be genuine rests on.
type Trust string

// The modes of trust.
const (
	TrustSigned Trust = "signed" // a signature over its body
	TrustToken  Trust = "token"  // the unguessable address it was sent to
)

// Trust is what deliveries of this source rest on.
func (s Source) Trust() Trust {
	if s.Signed() {
		return TrustSigned
	}
	return TrustToken
}

// Scheme says in a few words how a delivery of a signed source is verified, for people.
func (s Source) Scheme() string {
	switch s {
	case GitHub, Gitea:
		return "HMAC-SHA256 of the body"
	case Stripe:
		return "Stripe v1 signature of time and body"
	case Slack:
		return "Slack v0 signature of time and body"
	case Standard:
		return "Standard Webhooks v1 signature of id, time and body"
	default:
		return ""
	}
}
