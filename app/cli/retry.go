package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
)

func (a *app) retryCommand() *cobra.Command {
	var deadLetter bool
	var queue string
	c := &cobra.Command{
		Use:   "retry TODO | retry --dead-letter",
		Short: "Put a failed todo, or all dead letters, back into the queue now, with all attempts before them",
		Args: func(c *cobra.Command, args []string) error {
			switch {
			case deadLetter:
				return arguments()(c, args)
			case queue != "":
				return usagef("--queue goes with --dead-letter")
			default:
				return arguments("TODO")(c, args)
			}
		},
		RunE: func(c *cobra.Command, args []string) error {
			if deadLetter {
				return a.retryDeadLetters(c.Context(), queue)
			}
			return a.act(c.Context(), args[0], "retry", actRequest{Via: viaCLI})
		},
	}
	c.Flags().BoolVar(&deadLetter, "dead-letter", false, "all dead letters")
	c.Flags().StringVarP(&queue, "queue", "q", "", "with --dead-letter: only those of this queue")
	return c
}

// retriedDoc is what a bulk retry has done. The command's own answer has no cursor: it goes on to the end.
type retriedDoc struct {
	Retried    []string `json:"retried"`
	Refused    int      `json:"refused"`
	NextCursor *string  `json:"next_cursor,omitempty"`
}

// retryDeadLetters asks until the server has worked through all of them, and says on Stderr how far it is; a
// pipe gets the ids. What was retried stays so, also when a later call fails.
func (a *app) retryDeadLetters(ctx context.Context, queue string) error {
	server, err := a.connect()
	if err != nil {
		return err
	}
	request := struct {
		DeadLetter bool   `json:"dead_letter"`
		Queue      string `json:"queue,omitempty"`
		Cursor     string `json:"cursor,omitempty"`
		Via        string `json:"via"`
	}{DeadLetter: true, Queue: queue, Via: viaCLI}
	all := retriedDoc{Retried: []string{}}
	for more := true; more; {
		answer, err := server.post(ctx, "/todos/retry", request)
		if err != nil {
			return err
		}
		var page retriedDoc
		if err := json.Unmarshal(answer, &page); err != nil {
			return err
		}
		all.Retried, all.Refused = append(all.Retried, page.Retried...), all.Refused+page.Refused
		fmt.Fprintf(a.Stderr, "retried %d, refused %d\n", len(all.Retried), all.Refused)
		if more = page.NextCursor != nil; more {
			request.Cursor = *page.NextCursor
		}
	}
	if a.json {
		answer, err := json.Marshal(all)
		return a.jsonOr(err, answer)
	}
	if a.Width == 0 {
		for _, id := range all.Retried {
			fmt.Fprintln(a.Stdout, line(id))
		}
	}
	if all.Refused > 0 {
		a.hint("What was refused stays as it is: its endpoint was revoked, or somebody was faster.")
	}
	return nil
}
