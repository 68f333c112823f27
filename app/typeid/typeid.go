// Package typeid spells ids the way every surface shows them: a prefix that names the kind of thing, then
// the 26 lower-case characters of a UUIDv7 in Crockford's base32 (the TypeID form). Ids sort by the time
// they were made.
package typeid

import (
	"crypto/rand"
	"encoding/binary"
	"strings"

	"github.com/google/uuid"
)

// Prefix is the kind of thing an id names, with its underscore.
type Prefix string

// The kinds of ids.
const (
	Todo     Prefix = "td_"
	Endpoint Prefix = "ep_"
	Agent    Prefix = "ag_"
	Human    Prefix = "hu_"
	Webhook  Prefix = "wh_"
	Event    Prefix = "ev_"
	Client   Prefix = "cl_" // an OAuth client
	Grant    Prefix = "gr_" // what a human allowed an OAuth client
)

const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"

const suffixLen = 26

var values = func() (v [256]int8) {
	for i := range v {
		v[i] = -1
	}
	for i := range len(alphabet) {
		v[alphabet[i]] = int8(i)
	}
	return v
}()

// New makes an id for a new row. It panics only when the system has no randomness to give.
func New() uuid.UUID {
	return uuid.Must(uuid.NewV7FromReader(rand.Reader))
}

// Format spells an id.
func (p Prefix) Format(id uuid.UUID) string {
	hi, lo := binary.BigEndian.Uint64(id[:8]), binary.BigEndian.Uint64(id[8:])
	var out [suffixLen]byte
	for i := suffixLen - 1; i >= 0; i-- {
		out[i] = alphabet[lo&31]
		lo = lo>>5 | hi<<59
		hi >>= 5
	}
	return string(p) + string(out[:])
}

// Parse reads exactly what Format writes. Every other spelling, upper case included, is no id: ok is false,
// and the caller answers as for an id that never existed.
func (p Prefix) Parse(s string) (id uuid.UUID, ok bool) {
	suffix, found := strings.CutPrefix(s, string(p))
	// 26 characters hold 130 bits: the first one may only be 0 to 7.
	if !found || len(suffix) != suffixLen || suffix[0] > '7' {
		return uuid.Nil, false
	}
	var hi, lo uint64
	for i := range suffixLen {
		v := values[suffix[i]]
		if v < 0 {
			return uuid.Nil, false
		}
		hi = hi<<5 | lo>>59
		lo = lo<<5 | uint64(v)
	}
	binary.BigEndian.PutUint64(id[:8], hi)
	binary.BigEndian.PutUint64(id[8:], lo)
	return id, true
}
