package cli

import (
	"encoding/json"
	"fmt"
	"time"
)

// What the command reads of the API's answers: the fields it prints. --json passes the answers on untouched.

type endpointDoc struct {
	Slug       string     `json:"slug"`
	ID         string     `json:"id"`
	Agent      string     `json:"agent"`
	AgentKind  *string    `json:"agent_kind"`
	Queues     []string   `json:"queues"`
	Verbs      []string   `json:"verbs"`
	LeaseTTL   *int       `json:"default_lease_ttl_seconds"`
	MaxTries   *int       `json:"default_max_attempts"`
	Fence      bool       `json:"require_fence"`
	CardPublic bool       `json:"agent_card_public"`
	CreatedAt  time.Time  `json:"created_at"`
	ExpiresAt  *time.Time `json:"expires_at"`
	RevokedAt  *time.Time `json:"revoked_at"`
	MCPURL     string     `json:"mcp_url"`
	OTLPURL    string     `json:"otlp_url"`
	Token      string     `json:"token"`
}

type todoDoc struct {
	ID             string          `json:"id"`
	Queue          string          `json:"queue"`
	Source         string          `json:"source"`
	Kind           *string         `json:"kind"`
	Title          string          `json:"title"`
	State          string          `json:"state"`
	Attempt        int             `json:"attempt"`
	MaxAttempts    int             `json:"max_attempts"`
	LeaseExpiresAt *time.Time      `json:"lease_expires_at"`
	CreatedAt      time.Time       `json:"created_at"`
	UpdatedAt      time.Time       `json:"updated_at"`
	NextRetryAt    *time.Time      `json:"next_retry_at"`
	DeadLetter     bool            `json:"dead_letter"`
	Endpoint       string          `json:"endpoint"`
	Revoked        bool            `json:"endpoint_revoked"`
	Agent          string          `json:"agent"`
	URL            string          `json:"url"`
	Payload        json.RawMessage `json:"payload"`
	Result         json.RawMessage `json:"result"`
	SpansDropped   int             `json:"spans_dropped"`
	ActivityPruned int             `json:"activity_pruned"`
	Attempts       []attemptDoc    `json:"attempts"`
	AttemptsTotal  int             `json:"attempts_total"`
	AttemptsPruned int             `json:"attempts_pruned"`
	Activity       []activityDoc   `json:"activity"`
	Event          *eventDoc       `json:"event"`
	Spans          []spanDoc       `json:"spans"`
	SpansTotal     int             `json:"spans_total"`
}

type attemptDoc struct {
	Seq              int        `json:"seq"`
	ClaimerKind      string     `json:"claimer_kind"`
	Claimant         *string    `json:"claimant"`
	ClaimedAt        time.Time  `json:"claimed_at"`
	LastHeartbeatAt  *time.Time `json:"last_heartbeat_at"`
	EndedAt          *time.Time `json:"ended_at"`
	Outcome          *string    `json:"outcome"`
	Disposition      *string    `json:"disposition"`
	Died             bool       `json:"died"`
	Summary          *string    `json:"summary"`
	SummaryTruncated bool       `json:"summary_truncated"`
	Artifact         *string    `json:"artifact"`
	SpansDropped     int        `json:"spans_dropped"`
	NotesDropped     int        `json:"notes_dropped"`
}

type activityDoc struct {
	At         time.Time `json:"at"`
	AttemptSeq *int      `json:"attempt_seq"`
	Kind       string    `json:"kind"`
	ActorKind  string    `json:"actor_kind"`
	Message    *string   `json:"message"`
	Detail     struct {
		Action    string    `json:"action"`
		Via       string    `json:"via"`
		Queue     string    `json:"queue"`
		Reason    string    `json:"reason"`
		Todo      string    `json:"todo"`
		From      string    `json:"from"`
		Truncated bool      `json:"truncated"`
		Prior     *priorDoc `json:"prior"`
	} `json:"detail"`
}

// priorDoc is how a todo stood before a human's retry (decisions.md 31).
type priorDoc struct {
	State       string     `json:"state"`
	Attempt     int        `json:"attempt"`
	MaxAttempts int        `json:"max_attempts"`
	DeadLetter  bool       `json:"dead_letter"`
	NextRetryAt *time.Time `json:"next_retry_at"`
	Result      *string    `json:"result"` // as its text
	ResultSize  int        `json:"result_size"`
}

type spanDoc struct {
	TraceID      string    `json:"trace_id"`
	SpanID       string    `json:"span_id"`
	ParentSpanID *string   `json:"parent_span_id"`
	AttemptSeq   *int      `json:"attempt_seq"`
	Name         string    `json:"name"`
	StatusCode   string    `json:"status_code"`
	Category     string    `json:"category"`
	Tool         *string   `json:"tool"`
	StartAt      time.Time `json:"start_at"`
	EndAt        time.Time `json:"end_at"`
}

// stateLabel tells apart the two kinds of failed.
func stateLabel(state string, deadLetter bool) string {
	if deadLetter {
		return "dead letter"
	}
	return state
}

func (p *priorDoc) statusLine() string {
	return statusLine(p.State, p.DeadLetter, p.Attempt, p.MaxAttempts, p.NextRetryAt)
}

// statusLine says how a todo stands, or stood.
func statusLine(state string, deadLetter bool, attempt, maxAttempts int, retryAt *time.Time) string {
	status := fmt.Sprintf("%s · attempt %d of %d", line(stateLabel(state, deadLetter)), attempt, maxAttempts)
	if retryAt != nil {
		status += " · retry due " + stamp(*retryAt)
	}
	return status
}

func (t *todoDoc) statusLine() string {
	status := statusLine(t.State, t.DeadLetter, t.Attempt, t.MaxAttempts, t.NextRetryAt)
	if t.LeaseExpiresAt != nil {
		status += " · lease until " + stamp(*t.LeaseExpiresAt)
	}
	return status
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
