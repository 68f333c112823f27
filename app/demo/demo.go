// Package demo is a small agent team that works todos for real: the official MCP client claims them over the
// network, the stock OpenTelemetry exporter sends their spans, and nothing in it knows more of the server than
// what an endpoint's owner hands to an agent. It doubles as an example of how to connect one.
package demo

import (
	"context"
	"fmt"
	"io"
	"time"
)

// limit ends a demo that waits for something that does not come.
const limit = 3 * time.Minute

// Config is what the demo needs.
type Config struct {
	MCPURL, OTLPURL string // as vended, for one endpoint that nobody else works
	Token           string // the endpoint's credential
	ProbeURL        string // any page that a worker may GET, so that one span is a real request

	// Push makes a todo for that endpoint and answers its id.
	Push func(ctx context.Context, title string, payload any) (id string, err error)

	// Progress gets a line for each step.
	Progress io.Writer

	// Pace scales the time that the workers seem to think; 0 means not at all, 1 a few seconds in all.
	Pace float64
}

// Run pushes three todos, oldest first, and works them. It answers their ids. Any refusal, and any span that
// was not stored, is an error.
func Run(ctx context.Context, cfg Config) (ids []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	stories := []story{flakyTest, deadWorker, releaseNotes}
	for _, s := range stories {
		id, err := cfg.Push(ctx, s.title, s.payload)
		if err != nil {
			return ids, err
		}
		ids = append(ids, id)
		cfg.progress("pushed   %s", s.title)
	}
	for i, s := range stories {
		if err := s.work(ctx, &cfg, ids[i]); err != nil {
			return ids, fmt.Errorf("%q: %w", s.title, err)
		}
	}
	return ids, nil
}

func (c *Config) progress(format string, args ...any) {
	fmt.Fprintf(c.Progress, format+"\n", args...)
}

// think lets time pass, as a model or a tool would.
func (c *Config) think(ctx context.Context, milliseconds int) {
	d := time.Duration(float64(milliseconds) * c.Pace * float64(time.Millisecond))
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
