package mask

import (
	"regexp"
	"strings"
)

// credentialShape is a kind of credential as a regular expression: what the hand-written matchers must agree with. Its
// only group is the credential; prose is what follows the literal in ordinary text and stays.
type credentialShape struct {
	credential *regexp.Regexp
	prose      *regexp.Regexp
}

const (
	wordStart = `(?:\b|_|\\[nrtbfv]|%[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\[[0-9;]{0,16}m)`
	kebab     = `[a-z]{0,15}(?:-[a-z]{0,15})*$`
	jwtShape  = `eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?`
	pemLine   = `[A-Z0-9 ]{0,34}PRIVATE KEY(?: BLOCK)?-----`
)

// shapes has the kinds in the order of the table.
var shapes = []credentialShape{
	plain(`sb[ciklopr]_[A-Za-z0-9_-]{16,}`),
	plain(`whsec_[A-Za-z0-9._~+/=-]{16,}`),
	plain(`gh[pour]_[A-Za-z0-9]{20,}\w*`),
	plain(`ghs_(?:[A-Za-z0-9]*_` + jwtShape + `|[A-Za-z0-9]{20,}\w*)`),
	plain(`github_pat_[A-Za-z0-9_-]{20,}`),
	plain(`glpat-[A-Za-z0-9_-]{20,}`),
	plain(`xox[abcdeprs]-[A-Za-z0-9_-]{10,}`),
	plain(`xapp-1-[A-Za-z0-9_-]{10,}`),
	atWord(`sk-(?:ant|proj)-[A-Za-z0-9_-]{16,}`),
	{regexp.MustCompile(`(sk-(?:ant|proj)-[A-Za-z0-9_-]{16,})`), regexp.MustCompile(`^sk-(?:ant|proj)-` + kebab)},
	{regexp.MustCompile(wordStart + `(sk-[A-Za-z0-9_-]{16,})`), regexp.MustCompile(`^sk-` + kebab)},
	atWord(`gsk_[A-Za-z0-9]{40,}\w*`),
	atWord(`hf_[A-Za-z0-9]{30,}\w*`),
	plain(`A(?:KIA|SIA)[A-Z0-9]{16}`),
	plain(`AIza[A-Za-z0-9_-]{35,}`),
	plain(`ya29\.[A-Za-z0-9_-]{20,}`),
	plain(`GOCSPX-[A-Za-z0-9_-]{20,}`),
	atWord(`[sr]k_(?:live|test)_[A-Za-z0-9]{16,}\w*`),
	plain(`npm_[A-Za-z0-9]{36,}\w*`),
	plain(`pypi-AgE[A-Za-z0-9_-]{16,}`),
	{
		regexp.MustCompile(wordStart + `((?i:bearer)(?:[ \t\r\n\f]|%20)+[A-Za-z0-9._~+/=-]{8,})`),
		regexp.MustCompile(`(?i)(?:\s|%20)(?:` + strings.Join(bearerProse, "|") + `)\.?$`),
	},
	plain(jwtShape),
	plain(`-----BEGIN ` + pemLine + `(?s:.*?)(?:-----END ` + pemLine + `|\z)`),
	{credential: regexp.MustCompile("://([^\\x00-\\x20\"'`<>\\\\\\[\\]/?#:@]*:[^\\x00-\\x20\"'`<>\\\\\\[\\]/?#]+)@")},
}

func plain(re string) credentialShape {
	return credentialShape{credential: regexp.MustCompile(`(` + re + `)`)}
}
func atWord(re string) credentialShape {
	return credentialShape{credential: regexp.MustCompile(wordStart + `(` + re + `)`)}
}

// first returns the bounds of the first credential of this shape in s.
func (s credentialShape) first(text string) (from, to int, ok bool) {
	for skip := 0; ; {
		at := s.credential.FindStringSubmatchIndex(text[skip:])
		if at == nil {
			return 0, 0, false
		}
		from, to = skip+at[2], skip+at[3]
		if s.prose == nil || !s.prose.MatchString(text[from:to]) {
			return from, to, true
		}
		skip = to
	}
}

// oracle masks by regular expressions alone: again and again the leftmost credential, of those that begin
// together the first shape's. The rest of the text is looked at as if a blank stood before it.
func oracle(s string) string {
	var out strings.Builder
	for {
		rest := " " + s
		from, to := len(rest)+1, 0
		for _, shape := range shapes {
			if f, t, ok := shape.first(rest); ok && f < from {
				from, to = f, t
			}
		}
		if to == 0 {
			return out.String() + s
		}
		out.WriteString(s[:from-1])
		out.WriteString(Redacted)
		s = s[to-1:]
	}
}
