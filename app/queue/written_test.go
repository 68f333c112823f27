package queue_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/switchboard-otel/switchboard/app/queue"
)

// What every report of the tables says.
const (
	saidSummary  = "what was tried"
	saidArtifact = "mcp://cairn/run-7"
	saidResult   = `{"exit":3}`
)

// writing compares two trails of a todo and says in words what a transition wrote, every column counted:
// what the words do not name has not changed. Some words stand for several columns:
//
//	counted            attempt and attempts_total, one more each
//	held by x until +d owner and lease_expires_at
//	freed              owner and lease_expires_at are null now, and so is interrupted_at
//	opened kind ttl    a new attempt, claimed now, that carries nothing else but its trace
//	closed o/d         ended_at is now, outcome o, disposition d
//	said               summary and artifact as they were sent
//	logged ...         a new row of the activity log, written now
//
// updated_at is now whenever the row has changed, and ended_at is when a todo came to an end that nothing can
// undo but a human: only a difference from that is named.
type writing struct {
	before, after *trail
	now           time.Time
	owner         func(string) string // names an owner
	words         []string
}

func (w *writing) add(format string, args ...any) {
	w.words = append(w.words, fmt.Sprintf(format, args...))
}

func (w *writing) String() string {
	w.todo()
	for i := range w.after.Attempts {
		w.attempt(i)
	}
	if len(w.after.Attempts) < len(w.before.Attempts) {
		w.add("%d attempts gone", len(w.before.Attempts)-len(w.after.Attempts))
	}
	w.activity()
	return strings.Join(w.words, ", ")
}

func (w *writing) todo() {
	b, a := w.before.Todo, w.after.Todo
	if b.State != a.State {
		w.add("to %s", a.State)
		b.State = a.State
	}
	if a.Attempt == b.Attempt+1 && a.AttemptsTotal == b.AttemptsTotal+1 {
		w.add("counted")
		b.Attempt, b.AttemptsTotal = a.Attempt, a.AttemptsTotal
	}
	if b.Owner != nil && a.Owner == nil && a.LeaseExpiresAt == nil {
		w.add("freed")
		b.Owner, b.LeaseExpiresAt, b.InterruptedAt = nil, nil, nil
	}
	if a.Owner != nil && (b.Owner == nil || *b.Owner != *a.Owner) {
		w.add("held by %s until %s", w.owner(*a.Owner), w.when(a.LeaseExpiresAt))
		b.Owner, b.LeaseExpiresAt = a.Owner, a.LeaseExpiresAt
	}
	if n := len(w.after.Activity) - len(w.before.Activity); a.ActivitySeq == b.ActivitySeq+n {
		b.ActivitySeq = a.ActivitySeq
	}
	if a.NextRetryAt != nil && b.NextRetryAt == nil && inBackoff(a.NextRetryAt.Sub(w.now), a.Attempt) {
		w.add("next_retry_at backoff")
		b.NextRetryAt = a.NextRetryAt
	}
	switch {
	case live(a):
		b.EndedAt = nil
	case b.EndedAt == nil:
		b.EndedAt = &w.now
	}
	wrote := len(w.words) > 0 || len(w.after.Activity) > len(w.before.Activity)
	updated := b.UpdatedAt
	b.UpdatedAt, a.UpdatedAt = time.Time{}, time.Time{}
	w.fields("", b, a)
	if wrote = wrote || !reflect.DeepEqual(b, a); wrote && !w.after.Todo.UpdatedAt.Equal(w.now) || !wrote && !updated.Equal(w.after.Todo.UpdatedAt) {
		w.add("updated_at %s", w.when(&w.after.Todo.UpdatedAt))
	}
}

func (w *writing) attempt(i int) {
	a := w.after.Attempts[i]
	if i >= len(w.before.Attempts) {
		w.opened(a)
		return
	}
	b := w.before.Attempts[i]
	if b.EndedAt == nil && a.EndedAt != nil && a.EndedAt.Equal(w.now) && a.Outcome != nil && a.Disposition != nil {
		w.add("closed %s/%s", *a.Outcome, *a.Disposition)
		b.EndedAt, b.Outcome, b.Disposition = a.EndedAt, a.Outcome, a.Disposition
		b.FenceHash, b.RequestID = nil, nil
		if a.Summary != nil && *a.Summary == saidSummary && a.Artifact != nil && *a.Artifact == saidArtifact {
			w.add("said")
			b.Summary, b.Artifact = a.Summary, a.Artifact
		}
	}
	w.fields("attempt's ", b, a)
}

// opened names what a new attempt carries beyond what every new attempt does.
func (w *writing) opened(a attemptRow) {
	w.add("opened %s %ds", a.ClaimerKind, a.LeaseTTLSeconds)
	todo := w.after.Todo
	plain := attemptRow{TodoID: todo.ID, Seq: todo.AttemptsTotal, Attempt: todo.Attempt, ClaimerKind: a.ClaimerKind,
		TraceID: a.TraceID, FenceHash: a.FenceHash, LeaseTTLSeconds: a.LeaseTTLSeconds, ClaimedAt: w.now}
	if a.ClaimerKind == "endpoint" {
		plain.EndpointID = &todo.EndpointID
	}
	w.fields("its ", plain, a)
}

func (w *writing) activity() {
	for i, e := range w.after.Activity {
		if i < len(w.before.Activity) {
			w.fields("entry's ", w.before.Activity[i], e)
			continue
		}
		words := []string{"logged", e.Kind}
		var detail struct{ Action string }
		if e.Detail != nil && json.Unmarshal([]byte(*e.Detail), &detail) == nil && detail.Action != "" {
			words = append(words, detail.Action)
		}
		if e.AttemptSeq != nil && *e.AttemptSeq == w.after.Todo.AttemptsTotal {
			words = append(words, "of the attempt")
		}
		words = append(words, "by", e.ActorKind)
		w.add("%s", strings.Join(words, " "))
		plain := e
		plain.At, plain.Seq = w.now, w.before.Todo.ActivitySeq+i-len(w.before.Activity)+1
		if e.AttemptSeq != nil {
			plain.AttemptSeq = &w.after.Todo.AttemptsTotal
		}
		w.fields("its ", plain, e)
	}
}

// fields names every field in which two rows differ.
func (w *writing) fields(of string, before, after any) {
	b, a := reflect.ValueOf(before), reflect.ValueOf(after)
	for i := range b.NumField() {
		if was, is := b.Field(i).Interface(), a.Field(i).Interface(); !reflect.DeepEqual(was, is) {
			w.add("%s%s %s", of, column(b.Type().Field(i)), w.value(is))
		}
	}
}

func (w *writing) value(v any) string {
	switch v := v.(type) {
	case *time.Time:
		return w.when(v)
	case *string:
		switch {
		case v == nil:
			return "null"
		case *v == saidResult:
			return "sent"
		}
		return *v
	default:
		return fmt.Sprint(v)
	}
}

func (w *writing) when(at *time.Time) string {
	switch {
	case at == nil:
		return "null"
	case at.Equal(w.now):
		return "now"
	default:
		return fmt.Sprintf("+%vs", at.Sub(w.now).Seconds())
	}
}

// column is the column that a field is read from.
func column(f reflect.StructField) string {
	if tag := f.Tag.Get("db"); tag != "" {
		return tag
	}
	var b strings.Builder
	for i, c := range f.Name {
		if c >= 'A' && c <= 'Z' && i > 0 && f.Name[i-1] >= 'a' {
			b.WriteByte('_')
		}
		b.WriteRune(c)
	}
	return strings.ToLower(b.String())
}

// inBackoff says whether a todo may wait for d after its attempt failed: 30 s, doubled per attempt, a fifth
// more or less, and 15 minutes at most (queue.md section 2).
func inBackoff(d time.Duration, attempt int) bool {
	middle := 30 * time.Second << min(attempt-1, 10)
	return d >= min(middle*8/10, 15*time.Minute) && d <= min(middle*12/10, 15*time.Minute)
}

// rowOf is how a todo's row reads on the wire.
func rowOf(r todoRow) queue.Row {
	return queue.Row{ID: queue.ID(r.ID), Queue: r.Queue, Source: r.Source, Kind: r.Kind, Title: r.Title, State: r.State, Owner: r.Owner,
		Attempt: r.Attempt, MaxAttempts: r.MaxAttempts, LeaseExpiresAt: r.LeaseExpiresAt, CreatedAt: r.CreatedAt,
		PayloadSize: r.PayloadSize, WorkOrder: rawOf(r.WorkOrder), NextRetryAt: r.NextRetryAt,
		DeadLetter: r.State == queue.StateFailed && r.NextRetryAt == nil}
}

func rawOf(s *string) json.RawMessage {
	if s == nil {
		return nil
	}
	return json.RawMessage(*s)
}
