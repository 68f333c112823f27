package signin

import (
	"errors"
	"net/mail"
	"strings"
)

// Enrollment decides who becomes a human when they sign in for the first time. The zero value lets nobody.
type Enrollment struct {
	// Open lets in whomever a provider knows. It is for a server that only this machine can reach.
	Open bool
	// Allow lists verified e-mail addresses, ann@example.com, and whole domains, @example.com.
	Allow []string
}

// Admits reports whether somebody with this verified address, empty for none, may become a human. Case does not matter
// in either part: no provider has two people who differ by it.
func (e Enrollment) Admits(email string) bool {
	if e.Open {
		return true
	}
	at := strings.LastIndexByte(email, '@')
	if at < 1 {
		return false
	}
	for _, entry := range e.Allow {
		if strings.EqualFold(entry, email) || strings.HasPrefix(entry, "@") && strings.EqualFold(entry, email[at:]) {
			return true
		}
	}
	return false
}

// Validate refuses an entry that could never match, or that looks like more than it is.
func (e Enrollment) Validate() error {
	for _, entry := range e.Allow {
		address := entry
		if strings.HasPrefix(entry, "@") {
			address = "anybody" + entry
		}
		parsed, err := mail.ParseAddress(address)
		if err != nil || parsed.Address != address || strings.Contains(entry, "*") {
			return errors.New("must be e-mail addresses, ann@example.com, or domains, @example.com")
		}
	}
	return nil
}
