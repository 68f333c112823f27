package cli

import (
	"net/url"

	"github.com/spf13/cobra"
)

func (a *app) quarantineCommand() *cobra.Command {
	return group("quarantine", "Decide about todos whose routing failed: no agent sees them until you release them",
		a.quarantineListCommand(), a.quarantineReleaseCommand(), a.quarantineDiscardCommand())
}

func (a *app) quarantineListCommand() *cobra.Command {
	var cursor string
	c := &cobra.Command{
		Use:   "list",
		Short: "List the todos that wait for your decision, newest first",
		Args:  arguments(),
		RunE: func(c *cobra.Command, _ []string) error {
			query := url.Values{"queue": {"quarantine"}, "state": {"pending"}}
			if cursor != "" {
				query.Set("cursor", cursor)
			}
			return a.listTodos(c.Context(), query)
		},
	}
	c.Flags().StringVar(&cursor, "cursor", "", "continue where an earlier list ended")
	return c
}

func (a *app) quarantineReleaseCommand() *cobra.Command {
	request := actRequest{Via: viaCLI}
	c := &cobra.Command{
		Use:   "release TODO",
		Short: "Release a todo from quarantine to one of its endpoint's queues",
		Args:  arguments("TODO"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.act(c.Context(), args[0], "quarantine/release", request)
		},
	}
	c.Flags().StringVarP(&request.Queue, "queue", "q", "", "where to (default: the endpoint's first queue)")
	return c
}

func (a *app) quarantineDiscardCommand() *cobra.Command {
	request := actRequest{Via: viaCLI}
	return &cobra.Command{
		Use:   "discard TODO REASON",
		Short: "End a todo in quarantine as rejected",
		Args:  arguments("TODO", "REASON"),
		RunE: func(c *cobra.Command, args []string) error {
			request.Reason = args[1]
			return a.act(c.Context(), args[0], "quarantine/discard", request)
		},
	}
}

func (a *app) againCommand() *cobra.Command {
	request := actRequest{Via: viaCLI}
	c := &cobra.Command{
		Use:   "again TODO",
		Short: "Have the work of a todo that has ended done once more, by a new todo from the same event",
		Args:  arguments("TODO"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.act(c.Context(), args[0], "again", request)
		},
	}
	c.Flags().StringVarP(&request.Queue, "queue", "q", "", "another of the endpoint's queues (default: the same)")
	return c
}
