package spans

import (
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// fields are the columns of incoming, in its order. Most are pointers into the span, which cost no allocation.
var fields = [...]func(*Span) any{
	func(s *Span) any { return (*intField)(&s.AttemptSeq) },
	traceID,
	spanID,
	func(s *Span) any { return (*parentField)(&s.ParentSpanID) },
	func(s *Span) any { return (*textField)(&s.Name) },
	func(s *Span) any { return (*textField)(&s.Kind) },
	func(s *Span) any { return (*textField)(&s.StatusCode) },
	func(s *Span) any { return (*textField)(&s.StatusMessage) },
	func(s *Span) any { return (*timeField)(&s.StartAt) },
	func(s *Span) any { return (*timeField)(&s.EndAt) },
	func(s *Span) any { return (*textField)(&s.ServiceName) },
	func(s *Span) any { return (*textField)(&s.Tool) },
	func(s *Span) any { return (*textField)(&s.Category) },
	func(s *Span) any { return s.Attributes },
}

func traceID(s *Span) any { return (*traceField)(&s.TraceID) }
func spanID(s *Span) any  { return (*spanField)(&s.SpanID) }

// column is one field of many spans, as an array that pgx encodes where the spans are: fourteen arrays of copies would
// be a third of what a request costs the process.
type column struct {
	spans []*Span
	field func(*Span) any
}

func (c column) Dimensions() []pgtype.ArrayDimension {
	return []pgtype.ArrayDimension{{Length: int32(len(c.spans)), LowerBound: 1}}
}

func (c column) Index(i int) any { return c.field(c.spans[i]) }
func (c column) IndexType() any  { return nil } // each element says

type (
	intField    int
	textField   string
	timeField   time.Time
	traceField  [16]byte
	spanField   [8]byte
	parentField [8]byte
)

func (f *intField) Int64Value() (pgtype.Int8, error) {
	return pgtype.Int8{Int64: int64(*f), Valid: true}, nil
}

func (f *textField) TextValue() (pgtype.Text, error) {
	return pgtype.Text{String: string(*f), Valid: true}, nil
}

func (f *timeField) TimestamptzValue() (pgtype.Timestamptz, error) {
	return pgtype.Timestamptz{Time: time.Time(*f), Valid: true}, nil
}

func (f *traceField) BytesValue() ([]byte, error) { return f[:], nil }

func (f *spanField) BytesValue() ([]byte, error) { return f[:], nil }

// BytesValue is empty for a span without a parent.
func (f *parentField) BytesValue() ([]byte, error) {
	if *f == (parentField{}) {
		return []byte{}, nil
	}
	return f[:], nil
}
