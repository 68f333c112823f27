// Package spans holds what is stored of a span: what of it is kept, how it is written under its todo's caps,
// and how its human reads it back (REQ-5, REQ-6, REQ-8, REQ-19).
package spans

import (
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

// Span is one bound span as it is stored (REQ-5). Empty strings and zero ids are null in the database.
type Span struct {
	TodoID        uuid.UUID
	AttemptSeq    int // 0 = the todo is known, no attempt of it
	TraceID       [16]byte
	SpanID        [8]byte
	ParentSpanID  [8]byte // zero = none
	Name          string  // at most 256 bytes
	Kind          string  // unspecified, internal, server, client, producer or consumer
	StatusCode    string  // unset, ok or error
	StatusMessage string  // at most 512 bytes
	StartAt       time.Time
	EndAt         time.Time
	ServiceName   string // at most 128 bytes
	Tool          string // at most 128 bytes
	Category      string // 1 to 64 bytes
	Attributes    []byte // what EncodeAttributes returns, at most 16 KiB as the database writes it
	ReceivedAt    time.Time
	LearnTrace    bool // its own attribute bound it: remember its trace (REQ-3 rule 3)
}

// Key identifies a span within its todo. The same span id may occur in two traces.
type Key struct {
	TraceID [16]byte
	SpanID  [8]byte
}

// Key returns the span's identity within its todo.
func (s *Span) Key() Key { return Key{s.TraceID, s.SpanID} }

// The caps of REQ-5 in bytes. The database's CHECKs repeat them.
const (
	nameBytes          = 256
	statusMessageBytes = 512
	serviceNameBytes   = 128
	toolBytes          = 128
	categoryBytes      = 64
	attributesBytes    = 16 << 10
)

// storable reports whether the database takes the span. The stages before the store cut every field to its
// cap, so one that does not fit came through a pipeline without them. It is refused alone: a constraint
// would refuse every other span of its todo with it. And it is refused, not cut, because a credential must
// be masked before a cut may hide half of it (REQ-7).
func (s *Span) storable() bool {
	return s.TraceID != [16]byte{} && s.SpanID != [8]byte{} &&
		!s.EndAt.Before(s.StartAt) &&
		s.AttemptSeq >= 0 && s.AttemptSeq <= math.MaxInt32 &&
		fits(s.Name, nameBytes) &&
		fits(s.StatusMessage, statusMessageBytes) &&
		fits(s.ServiceName, serviceNameBytes) &&
		fits(s.Tool, toolBytes) &&
		fits(s.Category, categoryBytes) && s.Category != "" &&
		jsonbFits(s.Attributes, attributesBytes)
}

func fits(text string, most int) bool {
	return len(text) <= most && utf8.ValidString(text) && strings.IndexByte(text, 0) < 0
}
