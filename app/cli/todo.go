package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

func (a *app) todoCommand() *cobra.Command {
	return group("todo", "Push todos, list them, read their trail, and act on them",
		append([]*cobra.Command{a.pushCommand(), a.todoListCommand(), a.showCommand(), a.retryCommand()}, a.actCommands()...)...)
}

// pushRequest is the body of POST /endpoints/{ref}/todos.
type pushRequest struct {
	Title          string          `json:"title"`
	Queue          string          `json:"queue,omitempty"`
	Kind           string          `json:"kind,omitempty"`
	Payload        json.RawMessage `json:"payload,omitempty"`
	IdempotencyKey string          `json:"idempotency_key,omitempty"`
	MaxAttempts    *int            `json:"max_attempts,omitempty"`
}

func (a *app) pushCommand() *cobra.Command {
	var request pushRequest
	var payload string
	var maxAttempts int
	c := &cobra.Command{
		Use:   "push ENDPOINT TITLE",
		Short: "Push a todo to an endpoint's agent",
		Args:  arguments("ENDPOINT", "TITLE"),
		RunE: func(c *cobra.Command, args []string) (err error) {
			request.Title = args[1]
			if c.Flags().Changed("payload") {
				if request.Payload, err = a.readDocument("payload", payload); err != nil {
					return err
				}
			}
			if c.Flags().Changed("max-attempts") {
				request.MaxAttempts = &maxAttempts
			}
			server, err := a.connect()
			if err != nil {
				return err
			}
			answer, pushed, err := server.push(c.Context(), args[0], request)
			if err != nil || a.json {
				return a.jsonOr(err, answer)
			}
			if !pushed.Created {
				a.hint("A live todo already has this key; nothing was pushed.")
			}
			fmt.Fprintln(a.Stdout, line(pushed.Todo.ID))
			a.hint("%s", line(pushed.Todo.URL))
			return nil
		},
	}
	flags := c.Flags()
	flags.StringVarP(&request.Queue, "queue", "q", "", "one of the endpoint's queues (default: its first)")
	flags.StringVar(&payload, "payload", "", "JSON, @FILE, or @- for standard input")
	flags.StringVar(&request.Kind, "kind", "", "what kind of todo it is")
	flags.StringVar(&request.IdempotencyKey, "key", "", "idempotency key: while a todo with it is live, pushing again answers that one")
	flags.IntVar(&maxAttempts, "max-attempts", 0, "how many attempts before it is a dead letter")
	return c
}

// readLine reads what must not stand on a command line, from a file or from standard input.
func (a *app) readLine(flag, s string) (string, error) {
	name, isFile := strings.CutPrefix(s, "@")
	if !isFile {
		return "", usagef("--%s must be @FILE, or @- for standard input: others can read a command line", flag)
	}
	text, err := a.readFile(flag, name)
	return strings.TrimRight(string(text), "\r\n"), err
}

// maxFile bounds what is read for a request: the server takes no larger one.
const maxFile = 1 << 20

// readFile reads a file, or standard input for -. One without an end is not read to it.
func (a *app) readFile(flag, name string) ([]byte, error) {
	from := a.Stdin
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, usagef("cannot read the %s: %v", flag, err)
		}
		defer func() { _ = file.Close() }()
		from = file
	}
	text, err := io.ReadAll(io.LimitReader(from, maxFile+1))
	switch {
	case err != nil:
		return nil, usagef("cannot read the %s: %v", flag, err)
	case len(text) > maxFile:
		return nil, usagef("the %s is larger than 1 MiB, and the server takes no more", flag)
	}
	return text, nil
}

// readDocument reads the JSON that a flag gives: itself, @FILE, or @- for standard input.
func (a *app) readDocument(flag, s string) (json.RawMessage, error) {
	text := []byte(s)
	if name, isFile := strings.CutPrefix(s, "@"); isFile {
		var err error
		if text, err = a.readFile(flag, name); err != nil {
			return nil, err
		}
	}
	if !json.Valid(text) {
		return nil, usagef("--%s must be JSON; a text is JSON in quotes", flag)
	}
	return text, nil
}

type pushAnswer struct {
	Todo    todoDoc `json:"todo"`
	Created bool    `json:"created"`
}

func (c *client) push(ctx context.Context, endpoint string, request pushRequest) (json.RawMessage, *pushAnswer, error) {
	answer, err := c.post(ctx, "/endpoints/"+url.PathEscape(endpoint)+"/todos", request)
	if err != nil {
		return nil, nil, err
	}
	var pushed pushAnswer
	return answer, &pushed, json.Unmarshal(answer, &pushed)
}

func (a *app) todoListCommand() *cobra.Command {
	var state, queue, endpoint, cursor string
	var limit int
	var deadLetter bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List your todos, newest first",
		Args:  arguments(),
		RunE: func(c *cobra.Command, _ []string) error {
			query := url.Values{}
			for name, value := range map[string]string{"state": state, "queue": queue, "endpoint": endpoint, "cursor": cursor} {
				if value != "" {
					query.Set(name, value)
				}
			}
			if c.Flags().Changed("limit") {
				query.Set("limit", strconv.Itoa(limit))
			}
			if c.Flags().Changed("dead-letter") {
				query.Set("dead_letter", strconv.FormatBool(deadLetter))
			}
			return a.listTodos(c.Context(), query)
		},
	}
	flags := c.Flags()
	flags.StringVar(&state, "state", "", "only this state: pending, claimed, done, failed, canceled, rejected, input-required, auth-required")
	flags.StringVarP(&queue, "queue", "q", "", "only this queue")
	flags.StringVar(&endpoint, "endpoint", "", "only this endpoint")
	flags.BoolVar(&deadLetter, "dead-letter", false, "only dead letters")
	flags.IntVar(&limit, "limit", 50, "how many, up to 200")
	flags.StringVar(&cursor, "cursor", "", "continue where an earlier list ended")
	return c
}

func (a *app) listTodos(ctx context.Context, query url.Values) error {
	server, err := a.connect()
	if err != nil {
		return err
	}
	answer, err := server.get(ctx, "/todos", query)
	if err != nil || a.json {
		return a.jsonOr(err, answer)
	}
	var list struct {
		Todos      []todoDoc `json:"todos"`
		NextCursor *string   `json:"next_cursor"`
	}
	if err := json.Unmarshal(answer, &list); err != nil {
		return err
	}
	if len(list.Todos) == 0 {
		a.hint("No todos.")
		return nil
	}
	a.print(a.todoTable(list.Todos))
	if list.NextCursor != nil {
		a.hint("More: add --cursor %s", line(*list.NextCursor))
	}
	return nil
}

// todoTable leaves out queue and endpoint where they would leave no room for the title.
func (a *app) todoTable(todos []todoDoc) *table {
	const roomy = 110
	t := &table{headers: []string{"TODO", "STATE", "TRY", "AGE", "TITLE"}, flex: 4}
	all := a.Width == 0 || a.Width >= roomy
	if all {
		t.headers, t.flex = []string{"TODO", "STATE", "TRY", "AGE", "QUEUE", "ENDPOINT", "TITLE"}, 6
	}
	for _, todo := range todos {
		row := []string{todo.ID, stateLabel(todo.State, todo.DeadLetter), fmt.Sprintf("%d/%d", todo.Attempt, todo.MaxAttempts), age(a.Now(), todo.CreatedAt)}
		if all {
			row = append(row, todo.Queue, todo.Endpoint)
		}
		t.add(append(row, todo.Title)...)
	}
	return t
}
