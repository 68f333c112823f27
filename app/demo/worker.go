package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// worker is one agent process: an MCP session and a tracer of its own.
type worker struct {
	*Config
	name      string
	session   *mcp.ClientSession
	telemetry *telemetry
}

// claimed is what a worker reads of a claim.
type claimed struct {
	ID            string `json:"id"`
	Title         string `json:"title"`
	AttemptSeq    int    `json:"attempt_seq"`
	Traceparent   string `json:"traceparent"`
	LeaseToken    string `json:"lease_token"`
	PriorAttempts []struct {
		Seq     int     `json:"seq"`
		Outcome string  `json:"outcome"`
		Died    bool    `json:"died"`
		Summary *string `json:"summary"`
	} `json:"prior_attempts"`
}

type arguments map[string]any

func (c *Config) hire(ctx context.Context, name string) (*worker, error) {
	w := &worker{Config: c, name: name}
	client := mcp.NewClient(&mcp.Implementation{Name: name, Version: "1"}, nil)
	var err error
	w.session, err = client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint:   c.MCPURL,
		HTTPClient: &http.Client{Transport: bearer{c.Token}},
		// This worker asks; it does not wait to be rung.
		DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		return nil, fmt.Errorf("cannot open an MCP session at %s: %w", c.MCPURL, err)
	}
	if w.telemetry, err = startTelemetry(ctx, c.OTLPURL, c.Token, name); err != nil {
		return nil, errors.Join(err, w.session.Close())
	}
	return w, nil
}

// leave ends the worker's session after its last spans are stored.
func (w *worker) leave(ctx context.Context) error {
	return errors.Join(w.flush(ctx), w.telemetry.stop(ctx), w.session.Close())
}

// flush exports what the worker has recorded, and fails when the server kept less than that.
func (w *worker) flush(ctx context.Context) error {
	sent, err := w.telemetry.flush(ctx)
	if err != nil {
		return fmt.Errorf("spans were not stored: %w", err)
	}
	if sent > 0 {
		w.progress("exported %d spans of %s", sent, w.name)
	}
	return nil
}

// verbError is a refusal by the server, "code: message".
type verbError struct{ verb, text string }

func (e *verbError) Error() string { return e.verb + " was refused: " + e.text }

func isConflict(err error) bool {
	var refusal *verbError
	return errors.As(err, &refusal) && strings.HasPrefix(refusal.text, "conflict:")
}

// call calls a verb and reads its answer into out, which may be nil.
func (w *worker) call(ctx context.Context, verb string, args arguments, out any) error {
	result, err := w.session.CallTool(ctx, &mcp.CallToolParams{Name: verb, Arguments: args})
	if err != nil {
		return fmt.Errorf("%s: %w", verb, err)
	}
	if result.IsError {
		var text strings.Builder
		for _, content := range result.Content {
			if t, ok := content.(*mcp.TextContent); ok {
				text.WriteString(t.Text)
			}
		}
		return &verbError{verb, text.String()}
	}
	if out == nil {
		return nil
	}
	answer, err := json.Marshal(result.StructuredContent)
	if err != nil {
		return err
	}
	return json.Unmarshal(answer, out)
}

// claimNext takes the oldest todo, which must be the one with that id: nobody else works this endpoint.
func (w *worker) claimNext(ctx context.Context, id string, args arguments) (*claimed, error) {
	args["claimant"] = w.name
	var answer struct {
		Empty bool     `json:"empty"`
		Todo  *claimed `json:"todo"`
		claimed
	}
	if err := w.call(ctx, "claim_next", args, &answer); err != nil {
		return nil, err
	}
	if answer.Empty || answer.Todo == nil || answer.Todo.ID != id {
		return nil, fmt.Errorf("claim_next did not bring %s, the oldest todo", id)
	}
	c := answer.claimed
	c.ID, c.Title = answer.Todo.ID, answer.Todo.Title
	w.announce(&c)
	return &c, nil
}

// claim takes that todo as soon as it can be taken: once its retry is due, or its holder's lease has lapsed.
func (w *worker) claim(ctx context.Context, id string) (*claimed, error) {
	const between = 200 * time.Millisecond
	for {
		var c claimed
		err := w.call(ctx, "claim", arguments{"id": id, "claimant": w.name}, &c)
		if err == nil {
			w.announce(&c)
			return &c, nil
		}
		if !isConflict(err) {
			return nil, err
		}
		select {
		case <-time.After(between):
		case <-ctx.Done():
			return nil, errors.Join(err, ctx.Err())
		}
	}
}

func (w *worker) announce(c *claimed) {
	w.progress("claimed  %s, attempt %d, by %s", c.Title, c.AttemptSeq, w.name)
}

func (w *worker) note(ctx context.Context, c *claimed, note string) error {
	w.progress("note     %s", note)
	return w.call(ctx, "heartbeat", c.with(arguments{"note": note}), nil)
}

// with adds what names the todo and proves the lease.
func (c *claimed) with(args arguments) arguments {
	args["id"] = c.ID
	if c.LeaseToken != "" {
		args["lease_token"] = c.LeaseToken
	}
	return args
}

// bearer adds the credential to every request.
type bearer struct{ token string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(r)
}
