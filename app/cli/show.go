package cli

import (
	"encoding/json"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
)

func (a *app) showCommand() *cobra.Command {
	var attempts, spans, activity, event bool
	c := &cobra.Command{
		Use:   "show TODO",
		Short: "Print a todo's trail: outcome, timeline and the spans of each attempt",
		Long:  "Print a todo's trail. With any of --attempts, --spans, --activity and --event only those parts.",
		Args:  arguments("TODO"),
		RunE: func(c *cobra.Command, args []string) error {
			server, err := a.connect()
			if err != nil {
				return err
			}
			var include []string
			for _, part := range []struct {
				name   string
				wanted bool
			}{{"attempts", attempts}, {"spans", spans}, {"activity", activity}, {"event", event}} {
				if part.wanted {
					include = append(include, part.name)
				}
			}
			query := url.Values{}
			if len(include) > 0 {
				query.Set("include", strings.Join(include, ","))
			}
			answer, err := server.get(c.Context(), "/todos/"+url.PathEscape(args[0]), query)
			if err != nil || a.json {
				return a.jsonOr(err, answer)
			}
			var todo todoDoc
			if err := json.Unmarshal(answer, &todo); err != nil {
				return err
			}
			a.printTrail(&todo)
			if event && todo.Event != nil {
				out := &writer{w: a.Stdout, columns: a.columns()}
				out.heading("Source event")
				out.event(todo.Event)
			}
			return nil
		},
	}
	flags := c.Flags()
	flags.BoolVar(&attempts, "attempts", false, "the attempts")
	flags.BoolVar(&spans, "spans", false, "the spans of each attempt")
	flags.BoolVar(&activity, "activity", false, "notes and other activity")
	flags.BoolVar(&event, "event", false, "the delivery it came from, in full")
	return c
}
