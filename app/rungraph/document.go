package rungraph

import (
	"bytes"
	"encoding/json"
	"time"
)

// Document is a run-graph document as Switchboard writes one; it uses a part of what the format has. Everything that is
// optional and not known is absent.
type Document struct {
	OCP       string     `json:"ocp"`
	Producer  Producer   `json:"producer"`
	Privacy   Privacy    `json:"privacy"`
	Run       Run        `json:"run"`
	Groups    []Group    `json:"groups"`
	Nodes     []Node     `json:"nodes"`
	Attempts  []Attempt  `json:"attempts"`
	Artifacts []Artifact `json:"artifacts"`
	Events    []Event    `json:"events"`
}

// Producer says which software wrote the document, from what, and what it leaves out.
type Producer struct {
	Name           string          `json:"name"`
	Version        string          `json:"version"`
	SourceContract string          `json:"source_contract"`
	EmittedAt      moment          `json:"emitted_at"`
	Capabilities   map[string]bool `json:"capabilities"`
}

// Privacy is what the document promises about text: metadata_only holds none that an agent or a producer wrote.
type Privacy struct {
	Profile string `json:"profile"`
}

// Run is what the document is about.
type Run struct {
	ID         string     `json:"id"`
	StartedAt  *moment    `json:"started_at,omitempty"` // the first claim, unless that was pruned
	EndedAt    *moment    `json:"ended_at,omitempty"`   // the last end, once every todo has ended
	Provenance Provenance `json:"provenance"`
}

// Provenance says that the run was observed, not planned.
type Provenance struct {
	Kind string `json:"kind"`
}

// Group is a queue.
type Group struct {
	ID string `json:"id"`
}

// Node is a todo.
type Node struct {
	ID    string `json:"id"`
	Kind  string `json:"kind"`
	Group string `json:"group"`
	State string `json:"state"`
}

// Attempt is one try at a todo.
type Attempt struct {
	ID        string            `json:"id"`
	Node      string            `json:"node"`
	N         int               `json:"n"`
	Status    string            `json:"status"`
	Actor     string            `json:"actor"`
	Model     *Model            `json:"model,omitempty"` // of the one model that every inference of the attempt used
	Cause     Cause             `json:"cause"`
	StartedAt moment            `json:"started_at"`
	EndedAt   *moment           `json:"ended_at,omitempty"`
	Outcome   *Outcome          `json:"outcome,omitempty"` // nil: the attempt is open
	Cost      *Cost             `json:"cost,omitempty"`    // nil: no inference is known of, or not every one
	Session   string            `json:"session"`           // the trace id
	Labels    map[string]string `json:"labels"`
	Ext       map[string]any    `json:"ext"`
}

// Model is a model under the name that the spans give it.
type Model struct {
	Raw      string `json:"raw"`
	Provider string `json:"provider,omitempty"`
	Tier     string `json:"tier"`
}

// Cause is why an attempt exists.
type Cause struct {
	Type   string `json:"type"`
	Ref    string `json:"ref,omitempty"` // the attempt before it, while that is kept
	Reason string `json:"reason,omitempty"`
}

// Outcome is how an attempt ended and how that is known.
type Outcome struct {
	Result   string `json:"result"`
	Evidence string `json:"evidence"`
	Reason   string `json:"reason,omitempty"`
}

// Cost sums over the inferences of an attempt. A count that one of them does not give is absent.
type Cost struct {
	InputTokens         *int64         `json:"input_tokens,omitempty"` // those that no cache served or took
	CachedInputTokens   *int64         `json:"cached_input_tokens,omitempty"`
	CacheCreationTokens *int64         `json:"cache_creation_tokens,omitempty"`
	OutputTokens        *int64         `json:"output_tokens,omitempty"` // reasoning included
	Requests            int            `json:"requests"`
	Basis               string         `json:"basis,omitempty"`
	Ext                 map[string]any `json:"ext,omitempty"`
}

// Artifact is where an attempt says its work is.
type Artifact struct {
	ID           string       `json:"id"`
	Path         string       `json:"path"`
	Kind         ArtifactKind `json:"kind"`
	Producer     string       `json:"producer"`
	Writers      []string     `json:"writers"`
	Consumers    []string     `json:"consumers"`
	FirstWriteAt *moment      `json:"first_write_at"`
	Writes       *int         `json:"n_writes"`
	Reads        *int         `json:"n_reads"`
}

// ArtifactKind is not known of any artifact; the format wants that said.
type ArtifactKind struct {
	Value *string `json:"value"`
	Tier  string  `json:"tier"`
}

// Event is one thing that happened, in the order of time.
type Event struct {
	At      moment `json:"at"`
	Type    string `json:"type"`
	Node    string `json:"node"`
	Attempt string `json:"attempt,omitempty"`
	Actor   string `json:"actor,omitempty"`
	Detail  string `json:"detail,omitempty"`
}

// moment is an instant, written in UTC.
type moment time.Time

// MarshalText spells the instant as RFC 3339 with Z.
func (m moment) MarshalText() ([]byte, error) {
	return time.Time(m).UTC().AppendFormat(nil, time.RFC3339Nano), nil
}

func momentOf(t *time.Time) *moment {
	if t == nil {
		return nil
	}
	m := moment(*t)
	return &m
}

// Encode writes the document as JSON text, two spaces to a level.
func (d *Document) Encode() ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(d); err != nil {
		return nil, err
	}
	return text.Bytes(), nil
}
