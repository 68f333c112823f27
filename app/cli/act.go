package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/spf13/cobra"
)

// viaCLI tells the activity log which way a human came (decisions.md 32).
const viaCLI = "cli"

// actRequest is the body of a human's action on a todo.
type actRequest struct {
	Via               string          `json:"via"`
	Result            json.RawMessage `json:"result,omitempty"`
	Summary           string          `json:"summary,omitempty"`
	Artifact          string          `json:"artifact,omitempty"`
	Retry             *bool           `json:"retry,omitempty"`
	RetryAfterSeconds *int64          `json:"retry_after_seconds,omitempty"`
	Queue             string          `json:"queue,omitempty"`
	Reason            string          `json:"reason,omitempty"`
}

// actFlags are what a human may say with an action.
type actFlags struct {
	summary, artifact, result, retryAfter string
	noRetry                               bool
}

func (f *actFlags) report(c *cobra.Command) {
	c.Flags().StringVar(&f.summary, "summary", "", "what was tried, for whoever claims it next; no secrets")
	c.Flags().StringVar(&f.artifact, "artifact", "", "where the work is: mcp://cairn/ID or an https URL")
}

func (f *actFlags) outcome(c *cobra.Command) {
	f.report(c)
	c.Flags().StringVar(&f.result, "result", "", "what the todo keeps: JSON, @FILE, or @- for standard input")
}

func (f *actFlags) failure(c *cobra.Command) {
	f.outcome(c)
	c.Flags().BoolVar(&f.noRetry, "no-retry", false, "never retry it: a dead letter at once")
	c.Flags().StringVar(&f.retryAfter, "retry-after", "", "when to retry it, such as 90s or 12h, instead of the usual backoff")
}

func (a *app) actCommands() []*cobra.Command {
	flagless := func(*actFlags, *cobra.Command) {}
	return []*cobra.Command{
		a.actCommand("claim", "Take a todo, under a lease of five minutes", flagless),
		a.actCommand("complete", "End a todo that you hold as done", (*actFlags).outcome),
		a.actCommand("fail", "End your attempt as failed; the todo is retried, or a dead letter on its last attempt", (*actFlags).failure),
		a.actCommand("extend", "Let your lease end five minutes from now", flagless),
		a.actCommand("release", "Hand a todo that you hold back to its queue, without a verdict", (*actFlags).report),
		a.againCommand(),
		a.actCommand("cancel", "End a todo that is not over yet, whoever holds it", flagless),
	}
}

func (a *app) actCommand(action, short string, takes func(*actFlags, *cobra.Command)) *cobra.Command {
	var flags actFlags
	c := &cobra.Command{
		Use:   action + " TODO",
		Short: short,
		Args:  arguments("TODO"),
		RunE: func(c *cobra.Command, args []string) error {
			request, err := a.actRequest(c, &flags)
			if err != nil {
				return err
			}
			return a.act(c.Context(), args[0], action, request)
		},
	}
	takes(&flags, c)
	return c
}

func (a *app) actRequest(c *cobra.Command, flags *actFlags) (r actRequest, err error) {
	r = actRequest{Via: viaCLI, Summary: flags.summary, Artifact: flags.artifact}
	if flags.noRetry && flags.retryAfter != "" {
		return r, usagef("--no-retry and --retry-after exclude each other")
	}
	if c.Flags().Changed("result") {
		if r.Result, err = a.readDocument("result", flags.result); err != nil {
			return r, err
		}
	}
	if flags.noRetry {
		retry := false
		r.Retry = &retry
	}
	if flags.retryAfter != "" {
		seconds, err := parseTime("retry-after", flags.retryAfter, 0)
		if err != nil {
			return r, err
		}
		r.RetryAfterSeconds = &seconds
	}
	return r, nil
}

func (a *app) act(ctx context.Context, id, action string, request actRequest) error {
	server, err := a.connect()
	if err != nil {
		return err
	}
	answer, err := server.post(ctx, "/todos/"+url.PathEscape(id)+"/"+action, request)
	if err != nil || a.json {
		return a.jsonOr(err, answer)
	}
	var todo todoDoc
	if err := json.Unmarshal(answer, &todo); err != nil {
		return err
	}
	fmt.Fprintf(a.Stdout, "%s %s\n", line(todo.ID), todo.statusLine())
	return nil
}
