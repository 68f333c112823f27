package rungraph

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/spans"
)

// Subject is a todo with all that is known of it.
type Subject struct {
	*queue.HumanDetail
	Spans      []spans.Span // in start order
	Incomplete bool         // there are more spans than these
}

// Frame is what a document says beside its todos.
type Frame struct {
	RunID     string
	Version   string // of Switchboard
	EmittedAt time.Time
	Full      bool // summaries go along, in an extension
}

// Build tells todos and their attempts as a document. What it returns validates without a finding. Payloads, titles and
// results never go into it, nor do notes and summaries unless the frame says so.
func Build(f Frame, todos ...Subject) *Document {
	b := newBuilder(f)
	for _, t := range todos {
		b.todo(t)
	}
	return b.finish()
}

// builder makes a document of one todo after the other, so that the spans of one are forgotten before the next.
type builder struct {
	Frame
	document *Document

	first, last time.Time // claim and end
	pruned      bool      // the first claim is not known
	live        bool      // some todo has not ended
}

func newBuilder(f Frame) *builder {
	b := &builder{Frame: f, document: &Document{
		OCP:    "0.3",
		Groups: []Group{}, Nodes: []Node{}, Attempts: []Attempt{}, Artifacts: []Artifact{}, Events: []Event{},
		Privacy: Privacy{Profile: "metadata_only"},
		Run:     Run{ID: f.RunID, Provenance: Provenance{Kind: "logged"}},
	}}
	if f.Full {
		b.document.Privacy.Profile = "full"
	}
	return b
}

func (b *builder) finish() *Document {
	d := b.document
	if !b.first.IsZero() && !b.pruned {
		d.Run.StartedAt = momentOf(&b.first)
	}
	if len(d.Nodes) > 0 && !b.live {
		d.Run.EndedAt = momentOf(&b.last)
	}
	// At one instant an attempt ends before the next one begins.
	slices.SortStableFunc(d.Events, func(a, b Event) int {
		return cmp.Or(time.Time(a.At).Compare(time.Time(b.At)), strings.Compare(a.Node, b.Node), rankOf(a)-rankOf(b))
	})
	d.Producer = Producer{
		Name: "switchboard", Version: b.Version, SourceContract: "switchboard.attempts/1", EmittedAt: moment(b.EmittedAt),
		Capabilities: d.capabilities(),
	}
	return d
}

func (b *builder) todo(t Subject) {
	d := b.document
	if !slices.Contains(d.Groups, Group{t.Queue}) {
		d.Groups = append(d.Groups, Group{t.Queue})
	}
	node := t.ID.String()
	d.Nodes = append(d.Nodes, Node{ID: node, Kind: "task", Group: t.Queue, State: nodeState(&t.Row)})
	attempts := slices.Clone(t.Attempts)
	slices.SortFunc(attempts, func(a, b queue.Attempt) int { return a.Seq - b.Seq })
	for i := range attempts {
		var before *queue.Attempt
		if i > 0 && attempts[i-1].Seq == attempts[i].Seq-1 {
			before = &attempts[i-1]
		}
		b.attempt(t, &attempts[i], before)
	}
	b.activity(t, attempts)
	b.observe(t)
}

func nodeState(r *queue.Row) string {
	switch r.State {
	case queue.StateClaimed:
		return "working"
	case queue.StateInputRequired, queue.StateAuthRequired:
		return "blocked"
	case queue.StateDone, queue.StateCanceled, queue.StateRejected:
		return string(r.State)
	case queue.StateFailed:
		if r.DeadLetter {
			return "failed"
		}
	}
	return "queued"
}

func attemptID(node string, seq int) string { return fmt.Sprintf("%s.a%d", node, seq) }

func (b *builder) attempt(t Subject, a, before *queue.Attempt) {
	node := t.ID.String()
	id := attemptID(node, a.Seq)
	used := usageOf(a, t.Spans)
	out := Attempt{
		ID: id, Node: node, N: a.Seq, Status: "working", Actor: actorOf(t, a), Cause: causeOf(t, a, before),
		StartedAt: moment(a.ClaimedAt), EndedAt: momentOf(a.EndedAt), Session: a.TraceID, Labels: labelsOf(a), Ext: b.extOf(a),
	}
	if out.Outcome = outcomeOf(a); out.Outcome != nil {
		out.Status = out.Outcome.Result
	}
	// A sum over a part of the spans is no sum, and a part may not show every model.
	if whole := a.SpansDropped == 0 && !t.Incomplete; whole {
		out.Model, out.Cost = used.model(), used.cost()
	}
	if out.Model == nil && len(used.calls) > 0 {
		out.Ext["dev.switchboard.models"] = used.breakdown()
	}
	d := b.document
	d.Attempts = append(d.Attempts, out)
	d.Events = append(d.Events, Event{At: out.StartedAt, Type: "attempt_started", Node: node, Attempt: id, Actor: out.Actor})
	if out.EndedAt != nil {
		d.Events = append(d.Events, Event{At: *out.EndedAt, Type: "attempt_settled", Node: node, Attempt: id, Actor: out.Actor})
		if a.Disposition != nil && *a.Disposition == "requeued" {
			d.Events = append(d.Events, Event{At: *out.EndedAt, Type: "note", Node: node, Attempt: id, Detail: "requeued"})
		}
	}
	if a.Artifact != nil && *a.Artifact != "" {
		d.Artifacts = append(d.Artifacts, Artifact{
			ID: id + ".artifact", Path: *a.Artifact, Kind: ArtifactKind{Tier: "reported"}, Producer: id,
			Writers: []string{id}, Consumers: []string{},
		})
	}
}

// actorOf is who worked: the endpoint's agent, or the human who owns it.
func actorOf(t Subject, a *queue.Attempt) string {
	if a.ClaimerKind == "owner" {
		return "owner"
	}
	return t.AgentName
}

func labelsOf(a *queue.Attempt) map[string]string {
	labels := map[string]string{"claimer_kind": a.ClaimerKind, "died": "false"}
	if a.Died {
		labels["died"] = "true"
	}
	for name, value := range map[string]*string{"claimant": a.Claimant, "outcome": a.Outcome, "disposition": a.Disposition} {
		if value != nil {
			labels[name] = *value
		}
	}
	return labels
}

// extOf is what only Switchboard knows of an attempt. The counter starts anew after a human's retry, seq does not.
func (b *builder) extOf(a *queue.Attempt) map[string]any {
	own := map[string]any{"attempt": a.Attempt}
	if a.LastHeartbeatAt != nil {
		own["last_heartbeat_at"] = moment(*a.LastHeartbeatAt)
	}
	if a.SpansDropped > 0 {
		own["spans_dropped"] = a.SpansDropped
	}
	ext := map[string]any{"dev.switchboard.attempt": own}
	if b.Full && a.Summary != nil {
		ext["dev.switchboard.summary"] = *a.Summary
	}
	return ext
}

// activity tells what a human did. Notes are a worker's text and stay out.
func (b *builder) activity(t Subject, kept []queue.Attempt) {
	node := t.ID.String()
	for _, entry := range t.Activity {
		e := Event{At: moment(entry.At), Node: node}
		switch entry.Kind {
		case queue.KindHumanAction:
			e.Type, e.Actor, e.Detail = "directive", "owner", actionOf(entry.Detail)
		case queue.KindRetried:
			e.Type, e.Detail = "note", "requeued"
		default:
			continue
		}
		if seq := entry.AttemptSeq; seq != nil && slices.ContainsFunc(kept, func(a queue.Attempt) bool { return a.Seq == *seq }) {
			e.Attempt = attemptID(node, *seq)
		}
		b.document.Events = append(b.document.Events, e)
	}
}

// actionOf is the word for what a human did, empty when it is not a word.
func actionOf(detail json.RawMessage) string {
	var d struct {
		Action string `json:"action"`
	}
	if json.Unmarshal(detail, &d) != nil || len(d.Action) > 64 {
		return ""
	}
	return d.Action
}

func rankOf(e Event) int {
	return slices.Index([]string{"attempt_settled", "directive", "note", "attempt_started"}, e.Type)
}

// observe keeps what the run as a whole says of its time.
func (b *builder) observe(t Subject) {
	b.pruned = b.pruned || t.AttemptsPruned > 0
	b.live = b.live || !isOver(&t.Row)
	if t.UpdatedAt.After(b.last) {
		b.last = t.UpdatedAt
	}
	for _, a := range t.Attempts {
		if b.first.IsZero() || a.ClaimedAt.Before(b.first) {
			b.first = a.ClaimedAt
		}
	}
}

func isOver(r *queue.Row) bool {
	switch r.State {
	case queue.StateDone, queue.StateCanceled, queue.StateRejected:
		return true
	}
	return r.DeadLetter
}

// capabilities says of each element whether this document has it: false promises that it does not.
func (d *Document) capabilities() map[string]bool {
	has := map[string]bool{
		"groups": len(d.Groups) > 0, "events": len(d.Events) > 0, "artifacts": len(d.Artifacts) > 0,
		"edges_dep": false, "edges_spawn": false, "edges_launch": false, "edges_artifact": false,
		"cost_usd": false, "cost_tokens": false, "outcome_evidence": false,
		"task": false, "configuration": false, "signals": false, "slate": false, "receipt": false,
	}
	for _, a := range d.Attempts {
		if c := a.Cost; c != nil {
			has["cost_tokens"] = has["cost_tokens"] || c.InputTokens != nil || c.CachedInputTokens != nil ||
				c.CacheCreationTokens != nil || c.OutputTokens != nil
		}
		has["outcome_evidence"] = has["outcome_evidence"] || a.Outcome != nil
	}
	return has
}
