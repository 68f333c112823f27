// Package mask replaces credentials in text that is about to be stored or shown (REQ-7). It is one pure
// function over bytes: no state, no configuration, time linear in its input.
//
// What counts as a credential is the table in patterns.go.
package mask

import "strings"

// Redacted stands in the place of every credential.
const Redacted = "[REDACTED]"

// String returns s with every credential replaced by Redacted. Text without one is returned as it is,
// without an allocation. Masking masked text changes nothing.
func String(s string) string {
	return Window(s, len(s))
}

// Window masks s and returns what became of its first n bytes; a credential that begins among them is
// replaced whole. The rest of s is context: it lets a credential be recognised that a cut at n would halve.
func Window(s string, n int) string {
	t := text{s: s}
	return t.mask(min(n, len(s)))
}

// text is one string being masked.
type text struct {
	s    string
	done int // everything before it has been written or replaced

	// Where the last failed match of a pattern has shown that no match of it begins before. Without them, text
	// such as "sk-a-sk-a-sk-a-" would be read to its end once for each candidate.
	noKeyBefore, noJWTBefore int

	examined int // bytes read behind candidates, the work that must stay linear
}

func (t *text) mask(n int) string {
	var out strings.Builder
	for i := 0; i < n && i+1 < len(t.s); i++ {
		beginning := begins[t.s[i]][t.s[i+1]]
		if beginning == 0 {
			continue
		}
		from, to, ok := t.credentialAt(i, byBeginning[beginning])
		if !ok || from >= n {
			continue
		}
		if out.Len() == 0 {
			out.Grow(len(t.s) + len(Redacted))
		}
		out.WriteString(t.s[t.done:from])
		out.WriteString(Redacted)
		t.done = to
		i = to - 1
	}
	if out.Len() == 0 {
		return t.s[:n]
	}
	if t.done < n {
		out.WriteString(t.s[t.done:n])
	}
	return out.String()
}

// credentialAt returns the bounds of the credential of the first of the patterns that matches at i.
func (t *text) credentialAt(i int, candidates []*pattern) (from, to int, ok bool) {
	for _, p := range candidates {
		if !p.literalAt(t.s[i:]) || p.atWord && !atWordStart(t.s[t.done:i]) {
			continue
		}
		if from, to, ok = t.match(p.follows, i, i+len(p.literal)); ok {
			return from, to, true
		}
	}
	return 0, 0, false
}

// run returns where the run of bytes of a class that begins at i ends.
func (t *text) run(i int, c class) int {
	end := i
	for end < len(t.s) && classes[t.s[end]]&c != 0 {
		end++
	}
	t.examined += end - i + 1
	return end
}
