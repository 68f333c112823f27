package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/switchboard-otel/switchboard/app/doctor"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

func (a *app) doctorCommand() *cobra.Command {
	var credential, todo string
	c := &cobra.Command{
		Use:   "doctor ENDPOINT",
		Short: "Send one real span with an endpoint's credential, and say what happened at each step",
		Long: `Send one real span with an endpoint's credential, and say what happened at each step.

ENDPOINT is a slug, an ep_ id or a whole OTLP URL. Without --todo the span names no todo: it must come back
unbound, which proves the path and stores nothing. With --todo it is stored on that todo, as "` + doctor.SpanName + `".

The credential is the endpoint's own (sbk_...), from --credential, SWITCHBOARD_CREDENTIAL or the Authorization in
OTEL_EXPORTER_OTLP_TRACES_HEADERS or OTEL_EXPORTER_OTLP_HEADERS; otherwise it is asked for. Others on this machine
can read the arguments of a command, so prefer any way but the first.`,
		Args: arguments("ENDPOINT"),
		RunE: func(c *cobra.Command, args []string) error {
			if _, ok := typeid.Todo.Parse(todo); todo != "" && !ok {
				return usagef("--todo must be a todo's id, as todo list prints it")
			}
			target, err := a.target(args[0])
			if err != nil {
				return err
			}
			if credential == "" {
				if credential, err = a.findCredential(); err != nil {
					return err
				}
			}
			return a.examine(c.Context(), doctor.Config{Target: target, Credential: credential, Todo: todo, Version: a.Version})
		},
	}
	c.Flags().StringVar(&credential, "credential", "", "the endpoint's credential, sbk_...")
	c.Flags().StringVar(&todo, "todo", "", "a todo of the endpoint on which the span is to be stored")
	return c
}

func (a *app) target(endpoint string) (*doctor.Target, error) {
	if strings.Contains(endpoint, "://") {
		target, err := doctor.ParseTarget(endpoint)
		if err != nil {
			return nil, usagef("%s", err)
		}
		return target, nil
	}
	if endpoint == "" || strings.ContainsAny(endpoint, "/:?# ") {
		return nil, usagef("ENDPOINT must be a slug, an ep_ id or a whole url such as %s/otlp/ENDPOINT", defaultURL)
	}
	base, _, _, err := a.findServer()
	if err != nil {
		return nil, err
	}
	return doctor.EndpointTarget(base, endpoint)
}

func (a *app) findCredential() (string, error) {
	found := firstOf(a.Getenv("SWITCHBOARD_CREDENTIAL"),
		doctor.FromHeaders(a.Getenv("OTEL_EXPORTER_OTLP_TRACES_HEADERS")), doctor.FromHeaders(a.Getenv("OTEL_EXPORTER_OTLP_HEADERS")))
	if found != "" {
		return found, nil
	}
	if !a.Interactive {
		return "", usagef("no credential: set SWITCHBOARD_CREDENTIAL to the endpoint's, sbk_...")
	}
	fmt.Fprint(a.Stderr, "The endpoint's credential (sbk_..., not shown): ")
	typed, err := a.ReadSecret()
	fmt.Fprintln(a.Stderr)
	if err != nil {
		return "", usagef("no credential was read: set SWITCHBOARD_CREDENTIAL to the endpoint's, sbk_...")
	}
	return string(typed), nil
}

func (a *app) examine(ctx context.Context, cfg doctor.Config) error {
	report := doctor.Run(ctx, cfg)
	if a.json {
		answer, err := json.Marshal(report)
		if err := a.jsonOr(err, answer); err != nil {
			return err
		}
	} else {
		a.printReport(report)
	}
	if failed := report.Failed(); failed != "" {
		return fmt.Errorf("spans do not get through: the step %s failed", failed)
	}
	return nil
}

func (a *app) printReport(report *doctor.Report) {
	const stateColumns, nameColumns = 11, 10
	const indent = 2 + stateColumns + 2 + nameColumns + 2
	columns := min(a.columns(), maxTextColumns) - indent
	fmt.Fprintf(a.Stdout, "%s\n\n", line(report.URL))
	for _, step := range report.Steps {
		head := "  " + pad(string(step.State), stateColumns) + "  " + pad(step.Name, nameColumns) + "  "
		lines := wrap(line(step.Found), columns)
		if step.Next != "" {
			lines = append(lines, wrap(line(step.Next), columns)...)
		}
		for _, l := range lines {
			fmt.Fprintln(a.Stdout, strings.TrimRight(head+l, " "))
			head = strings.Repeat(" ", indent)
		}
	}
	if report.Stored {
		fmt.Fprintf(a.Stdout, "\nSpans get through. This one is in the trace %s.\n", line(report.TraceID))
		return
	}
	if report.OK {
		fmt.Fprint(a.Stdout, "\nSpans get through. An agent's are shown when they also say which todo they belong to: it runs in\n"+
			"the claim's trace (TRACEPARENT), or has OTEL_RESOURCE_ATTRIBUTES=switchboard.todo.id=td_...\n")
	}
}
