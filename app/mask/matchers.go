package mask

import (
	"slices"
	"strings"
)

// match returns the bounds of the credential whose literal stands at start and ends at i, if what follows is
// what the rule asks for.
func (t *text) match(r rule, start, i int) (from, to int, ok bool) {
	switch r.shape {
	case fixed:
		return start, i + r.n, t.fixed(i, r.n, r.class)
	case installationToken:
		return t.installationToken(start, i)
	case secretKey:
		return t.secretKey(start, i)
	case bearerToken:
		return t.bearerToken(start, i)
	case jsonWebToken:
		return t.jsonWebToken(start)
	case privateKey:
		return t.privateKey(start, i)
	case urlUserinfo:
		return t.urlUserinfo(i)
	default:
		return t.atLeast(start, i, r.n, r.class)
	}
}

// atLeast takes the rest of the word too: another credential that is glued to this one.
func (t *text) atLeast(start, i, n int, c class) (int, int, bool) {
	end := t.run(i, c)
	if end-i < n {
		return 0, 0, false
	}
	return start, t.run(end, word), true
}

// fixed reports whether n bytes of a class follow.
func (t *text) fixed(i, n int, c class) bool {
	if len(t.s)-i < n {
		return false
	}
	t.examined += n
	for ; n > 0; n-- {
		if classes[t.s[i]]&c == 0 {
			return false
		}
		i++
	}
	return true
}

// installationToken matches a GitHub app's token: the short form, and the long one, whose payload is a JSON
// Web Token behind the app's number.
func (t *text) installationToken(start, i int) (int, int, bool) {
	if digits := t.run(i, alnum); digits < len(t.s) && t.s[digits] == '_' {
		if _, end, ok := t.jsonWebToken(digits + 1); ok {
			return start, end, true
		}
	}
	return t.atLeast(start, i, 20, alnum)
}

// secretKey matches a key of sixteen or more characters that does not read as prose: "sk-learn-pipeline-step"
// stays.
func (t *text) secretKey(start, i int) (int, int, bool) {
	if i < t.noKeyBefore {
		return 0, 0, false
	}
	end := t.run(i, token)
	if end-i < 16 {
		return 0, 0, false
	}
	if isKebab(t.s[i:end]) {
		t.noKeyBefore = end
		return 0, 0, false
	}
	return start, end, true
}

// isKebab reports whether s is words of lower-case letters joined by hyphens, none longer than a word is.
func isKebab(s string) bool {
	const longestWord = 15
	word := 0
	for i := range len(s) {
		switch {
		case s[i] == '-':
			word = 0
		case s[i] < 'a' || s[i] > 'z' || word == longestWord:
			return false
		default:
			word++
		}
	}
	return true
}

// bearerToken matches the scheme and the token, as REQ-7 has it. Some agents send the blank as "%20"
// (decisions.md 11).
func (t *text) bearerToken(start, i int) (int, int, bool) {
	value := i
	for value < len(t.s) {
		if strings.IndexByte(" \t\r\n\f", t.s[value]) >= 0 {
			value++
		} else if strings.HasPrefix(t.s[value:], "%20") {
			value += len("%20")
		} else {
			break
		}
	}
	t.examined += value - i
	if value == i {
		return 0, 0, false
	}
	end := t.run(value, bearer)
	if end-value < 8 || followsBearerInProse(t.s[value:end]) {
		return 0, 0, false
	}
	return start, end, true
}

// bearerProse is what follows "bearer" in error messages, where it is the scheme's name and no token comes.
var bearerProse = []string{
	"accepted", "authenticated", "authentication", "authenticator", "authorization", "authorized", "certificate",
	"certificates", "challenge", "challenges", "credential", "credentials", "expected", "expired", "invalid",
	"missing", "provided", "rejected", "required", "security", "supported", "unsupported",
}

func followsBearerInProse(word string) bool {
	const longest = len("authentication.")
	if len(word) > longest {
		return false
	}
	word = strings.ToLower(word)
	return slices.Contains(bearerProse, word) || slices.Contains(bearerProse, strings.TrimSuffix(word, "."))
}

// jsonWebToken matches header and payload, which both begin as base64 of `{"`, and the signature if there is
// one. A token that a cut has left without its signature is still one.
func (t *text) jsonWebToken(start int) (int, int, bool) {
	if start < t.noJWTBefore || !strings.HasPrefix(t.s[start:], "eyJ") {
		return 0, 0, false
	}
	const shortest = len("eyJhbGciOiJ") // header or payload
	header := t.run(start, token)
	payload := header
	if strings.HasPrefix(t.s[header:], ".eyJ") {
		payload = t.run(header+1, token)
	}
	if header-start < shortest || payload-header-1 < shortest {
		t.noJWTBefore = header
		return 0, 0, false
	}
	if payload < len(t.s) && t.s[payload] == '.' {
		return start, t.run(payload+1, token), true
	}
	return start, payload, true
}

// privateKey matches a PEM block with a private key, from its first line to its last, or to the end of a
// text that was cut before it.
func (t *text) privateKey(start, i int) (int, int, bool) {
	body, ok := t.privateKeyLine(i)
	if !ok {
		return 0, 0, false
	}
	const last = "-----END "
	for end := body; ; {
		at := strings.Index(t.s[end:], last)
		if at < 0 {
			t.examined += len(t.s) - end
			return start, len(t.s), true
		}
		t.examined += at
		end += at + len(last)
		if after, ok := t.privateKeyLine(end); ok {
			return start, after, true
		}
	}
}

// privateKeyLine returns where the line of a private key ends whose label begins at i.
func (t *text) privateKeyLine(i int) (int, bool) {
	const longestPrefix = len("SOME LONG ALGORITHM NAME ENCRYPTED")
	end := t.run(i, label)
	name, ok := strings.CutSuffix(strings.TrimSuffix(t.s[i:end], " BLOCK"), "PRIVATE KEY")
	if !ok || len(name) > longestPrefix || !strings.HasPrefix(t.s[end:], "-----") {
		return 0, false
	}
	return end + len("-----"), true
}

// urlUserinfo matches user and password of a URL, between "://" and the last "@" of the authority. A user
// without a password ("ssh://git@host") is no credential. Brackets end it, so that a password that was masked
// already is not found again.
func (t *text) urlUserinfo(i int) (int, int, bool) {
	end := t.run(i, userinfo)
	authority := t.s[i:end]
	at := strings.LastIndexByte(authority, '@')
	if at < 0 {
		return 0, 0, false
	}
	user := strings.IndexAny(authority, ":@")
	if authority[user] == '@' || user+1 == at {
		return 0, 0, false
	}
	return i, i + at, true
}
