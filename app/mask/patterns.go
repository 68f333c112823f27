package mask

import "strings"

// pattern is one kind of credential: a literal that begins it, and what must follow.
type pattern struct {
	literal string
	atWord  bool // only where a word starts: the literal is also the end of ordinary words ("task-", "disk-")
	fold    bool // the literal in any case
	follows rule
}

// rule is what must follow a pattern's literal: a run of bytes, or a shape that has a matcher of its own.
// (A closure per pattern would read as well, but what it is given escapes, and clean text must not allocate.)
type rule struct {
	shape shape
	n     int
	class class
}

type shape uint8

const (
	run shape = iota
	fixed
	installationToken
	secretKey
	bearerToken
	jsonWebToken
	privateKey
	urlUserinfo
)

// atLeast is a run of n or more bytes of a class, to the end of the word.
func atLeast(n int, c class) rule { return rule{run, n, c} }

// exactly is n bytes of a class, whatever follows them.
func exactly(n int, c class) rule { return rule{fixed, n, c} }

// patterns is the pattern set of REQ-7, Switchboard's own tokens (decisions.md 36), and what else people
// leak today. At one place the first pattern that matches wins. A new kind is one row here, one regular
// expression for the oracle and its examples in the tests.
var patterns = []pattern{
	// Switchboard's own
	{literal: "sbk_", follows: atLeast(16, token)},
	{literal: "sbl_", follows: atLeast(16, token)},
	{literal: "sbo_", follows: atLeast(16, token)},
	{literal: "sbr_", follows: atLeast(16, token)},
	{literal: "sbp_", follows: atLeast(16, token)},
	{literal: "sbi_", follows: atLeast(16, token)},    // one-time sign-in links
	{literal: "sbc_", follows: atLeast(16, token)},    // OAuth codes
	{literal: "whsec_", follows: atLeast(16, bearer)}, // standard base64; Stripe's webhook secrets look the same

	// GitHub, GitLab
	{literal: "ghp_", follows: atLeast(20, alnum)},
	{literal: "gho_", follows: atLeast(20, alnum)},
	{literal: "ghu_", follows: atLeast(20, alnum)},
	{literal: "ghs_", follows: rule{shape: installationToken}},
	{literal: "ghr_", follows: atLeast(20, alnum)},
	{literal: "github_pat_", follows: atLeast(20, token)},
	{literal: "glpat-", follows: atLeast(20, token)},

	// Slack: bot, user, app, refresh, legacy
	{literal: "xoxa-", follows: atLeast(10, token)},
	{literal: "xoxb-", follows: atLeast(10, token)},
	{literal: "xoxc-", follows: atLeast(10, token)},
	{literal: "xoxd-", follows: atLeast(10, token)},
	{literal: "xoxe-", follows: atLeast(10, token)},
	{literal: "xoxp-", follows: atLeast(10, token)},
	{literal: "xoxr-", follows: atLeast(10, token)},
	{literal: "xoxs-", follows: atLeast(10, token)},
	{literal: "xapp-1-", follows: atLeast(10, token)},

	// Model providers
	{literal: "sk-ant-", atWord: true, follows: atLeast(16, token)},
	{literal: "sk-ant-", follows: rule{shape: secretKey}},
	{literal: "sk-proj-", atWord: true, follows: atLeast(16, token)},
	{literal: "sk-proj-", follows: rule{shape: secretKey}},
	{literal: "sk-", atWord: true, follows: rule{shape: secretKey}},
	{literal: "gsk_", atWord: true, follows: atLeast(40, alnum)},
	{literal: "hf_", atWord: true, follows: atLeast(30, alnum)},

	// Clouds and payment
	{literal: "AKIA", follows: exactly(16, upper)},
	{literal: "ASIA", follows: exactly(16, upper)},
	{literal: "AIza", follows: atLeast(35, token)},
	{literal: "ya29.", follows: atLeast(20, token)},
	{literal: "GOCSPX-", follows: atLeast(20, token)},
	{literal: "sk_live_", atWord: true, follows: atLeast(16, alnum)},
	{literal: "sk_test_", atWord: true, follows: atLeast(16, alnum)},
	{literal: "rk_live_", atWord: true, follows: atLeast(16, alnum)},
	{literal: "rk_test_", atWord: true, follows: atLeast(16, alnum)},

	// Package registries
	{literal: "npm_", follows: atLeast(36, alnum)},
	{literal: "pypi-AgE", follows: atLeast(16, token)},

	// Shapes
	{literal: "bearer", atWord: true, fold: true, follows: rule{shape: bearerToken}},
	{literal: "eyJ", follows: rule{shape: jsonWebToken}},
	{literal: "-----BEGIN ", follows: rule{shape: privateKey}},
	{literal: "://", follows: rule{shape: urlUserinfo}},
}

// literalAt reports whether s begins with the pattern's literal.
func (p *pattern) literalAt(s string) bool {
	if p.fold {
		return len(s) >= len(p.literal) && strings.EqualFold(s[:len(p.literal)], p.literal)
	}
	return strings.HasPrefix(s, p.literal)
}

// begins finds the patterns that may stand at a place by the two bytes there: 0 is none, which is most text,
// anything else an index into byBeginning.
var (
	begins      [256][256]uint8
	byBeginning = [][]*pattern{nil}
)

func init() {
	for i := range patterns {
		p := &patterns[i]
		for _, pair := range p.beginnings() {
			at := &begins[pair[0]][pair[1]]
			if *at == 0 {
				*at = uint8(len(byBeginning))
				byBeginning = append(byBeginning, nil)
			}
			byBeginning[*at] = append(byBeginning[*at], p)
		}
	}
}

// beginnings returns the pairs of bytes that the pattern's literal may begin with.
func (p *pattern) beginnings() [][2]byte {
	a, b := p.literal[0], p.literal[1]
	if !p.fold {
		return [][2]byte{{a, b}}
	}
	upper := strings.ToUpper(p.literal)
	return [][2]byte{{a, b}, {a, upper[1]}, {upper[0], b}, {upper[0], upper[1]}}
}
