package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/switchboard-otel/switchboard/app/demo"
)

func (a *app) demoCommand() *cobra.Command {
	var pace float64
	c := &cobra.Command{
		Use:   "demo",
		Short: "Vend an endpoint, push todos and work them for real, then print their pages",
		Args:  arguments(),
		RunE: func(c *cobra.Command, _ []string) error {
			if pace < 0 || pace > 100 {
				return usagef("--pace must be between 0 and 100")
			}
			return a.demo(c.Context(), pace)
		},
	}
	c.Flags().Float64Var(&pace, "pace", 1, "how long the workers think; 0 is not at all")
	return c
}

type demoTodo struct {
	ID  string `json:"id"`
	URL string `json:"url"`
}

func (a *app) demo(ctx context.Context, pace float64) error {
	server, err := a.connect()
	if err != nil {
		return err
	}
	_, endpoint, err := server.vend(ctx, vendRequest{Name: "demo", AgentKind: "demo"})
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Stderr, "vended   %s\n", line(endpoint.Slug))
	pages := map[string]*todoDoc{}
	ids, err := demo.Run(ctx, demo.Config{
		MCPURL:   endpoint.MCPURL,
		OTLPURL:  endpoint.OTLPURL,
		Token:    endpoint.Token,
		ProbeURL: server.base + "/healthz",
		Pace:     pace,
		Progress: a.Stderr,
		Push: func(ctx context.Context, title string, payload any) (string, error) {
			text, err := json.Marshal(payload)
			if err != nil {
				return "", err
			}
			_, pushed, err := server.push(ctx, endpoint.Slug, pushRequest{Title: title, Payload: text})
			if err != nil {
				return "", err
			}
			pages[pushed.Todo.ID] = &pushed.Todo
			return pushed.Todo.ID, nil
		},
	})
	if err != nil {
		return err
	}
	return a.printDemo(ctx, server, ids, pages)
}

func (a *app) printDemo(ctx context.Context, server *client, ids []string, pages map[string]*todoDoc) error {
	todos := make([]demoTodo, len(ids))
	for i, id := range ids {
		todos[i] = demoTodo{ID: id, URL: pages[id].URL}
	}
	_, link, err := server.loginLink(ctx)
	var refusal *apiError
	if errors.As(err, &refusal) && refusal.Status == http.StatusForbidden {
		link, err = "", nil // somebody else's server: they sign in there in their own way
	}
	if err != nil {
		return err
	}
	if link != "" {
		link = continueAt(link, todos[0].URL)
	}
	if a.json {
		answer, err := json.Marshal(struct {
			Todos    []demoTodo `json:"todos"`
			LoginURL string     `json:"login_url,omitempty"`
		}{todos, link})
		return a.jsonOr(err, answer)
	}
	for i, todo := range todos {
		if i == 0 {
			fmt.Fprintln(a.Stdout, "\nTheir pages")
		}
		fmt.Fprintf(a.Stdout, "  %s\n    %s\n", line(pages[todo.ID].Title), line(todo.URL))
	}
	if link != "" {
		fmt.Fprintf(a.Stdout, "\nSign in and open the first one (works once, within ten minutes)\n  %s\n", line(link))
	}
	return nil
}
