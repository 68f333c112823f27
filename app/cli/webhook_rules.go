package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"

	"github.com/spf13/cobra"
)

func (a *app) rulesCommand() *cobra.Command {
	return group("rules", "Read, replace and try the rules by which a webhook's deliveries are routed",
		a.getRulesCommand(), a.setRulesCommand(), a.testRulesCommand())
}

type actionDoc struct {
	Queue     string `json:"queue"`
	WorkOrder bool   `json:"work_order"`
	Drop      bool   `json:"drop"`
}

func (d *actionDoc) String() string {
	switch {
	case d.Drop:
		return "drop"
	case d.WorkOrder:
		return "queue " + d.Queue + ", work order"
	default:
		return "queue " + d.Queue
	}
}

type rulesDoc struct {
	Version     int    `json:"version"`
	TargetQueue string `json:"target_queue"`
	Rules       []struct {
		ID, Name, Expr string
		Action         actionDoc
	} `json:"rules"`
	Default *actionDoc `json:"default"`
}

func (a *app) getRulesCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "get WEBHOOK",
		Short: "Print a webhook's rules; with --json what rules set takes",
		Args:  arguments("WEBHOOK"),
		RunE: func(c *cobra.Command, args []string) error {
			server, err := a.connect()
			if err != nil {
				return err
			}
			answer, err := server.get(c.Context(), webhookPath(args[0])+"/rules", nil)
			if err != nil || a.json {
				return a.jsonOr(err, answer)
			}
			return a.printRules(answer)
		},
	}
}

func (a *app) printRules(answer json.RawMessage) error {
	var doc rulesDoc
	if err := json.Unmarshal(answer, &doc); err != nil {
		return err
	}
	t := &table{headers: []string{"#", "RULE", "ACTION", "EXPRESSION"}, flex: 3}
	for i, r := range doc.Rules {
		t.add(fmt.Sprint(i), r.ID, r.Action.String(), r.Expr)
	}
	otherwise := actionDoc{Queue: doc.TargetQueue}
	if doc.Default != nil {
		otherwise = *doc.Default
	}
	if otherwise.Queue == "" && !otherwise.Drop {
		otherwise.Queue = doc.TargetQueue
	}
	t.add("", "otherwise", otherwise.String(), "")
	a.print(t)
	return nil
}

func (a *app) setRulesCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "set WEBHOOK RULES",
		Short: "Replace a webhook's rules, once they are tried on its latest deliveries",
		Long: `Replace a webhook's rules. RULES is JSON, @FILE, or @- for standard input: an array of rules, or an object with
rules, default and params, such as rules get --json prints. Params that are not named are kept; null clears them.`,
		Args: arguments("WEBHOOK", "RULES"),
		RunE: func(c *cobra.Command, args []string) error {
			request, err := a.readRules(args[1])
			if err != nil {
				return err
			}
			server, err := a.connect()
			if err != nil {
				return err
			}
			answer, err := server.send(c.Context(), http.MethodPut, webhookPath(args[0])+"/rules", request)
			if err != nil || a.json {
				return a.jsonOr(err, answer)
			}
			return a.printRules(answer)
		},
	}
}

// readRules reads a set of rules, or an array of them alone.
func (a *app) readRules(s string) (map[string]json.RawMessage, error) {
	text, err := a.readDocument("rules", s)
	if err != nil {
		return nil, err
	}
	var set map[string]json.RawMessage
	if strings.HasPrefix(strings.TrimSpace(string(text)), "[") {
		return map[string]json.RawMessage{"rules": text}, nil
	}
	if json.Unmarshal(text, &set) != nil || set == nil {
		return nil, usagef("the rules must be an array, or an object with rules, default and params")
	}
	return set, nil
}

func (a *app) testRulesCommand() *cobra.Command {
	var event, payload, rules, kind string
	c := &cobra.Command{
		Use:   "test WEBHOOK",
		Short: "Show what rules decide about a delivery, and why; nothing is stored",
		Args:  arguments("WEBHOOK"),
		RunE: func(c *cobra.Command, args []string) error {
			request := map[string]any{}
			for name, value := range map[string]string{"event_id": event, "kind": kind} {
				if value != "" {
					request[name] = value
				}
			}
			if (event == "") == !c.Flags().Changed("payload") {
				return usagef("name a delivery with --event, or give one with --payload")
			}
			if c.Flags().Changed("payload") {
				doc, err := a.readDocument("payload", payload)
				if err != nil {
					return err
				}
				request["payload"] = doc
			}
			if c.Flags().Changed("rules") {
				set, err := a.readRules(rules)
				if err != nil {
					return err
				}
				for name, value := range maps.All(set) {
					if name == "rules" || name == "default" || name == "params" {
						request[name] = value
					}
				}
			}
			server, err := a.connect()
			if err != nil {
				return err
			}
			answer, err := server.post(c.Context(), webhookPath(args[0])+"/rules/test", request)
			if err != nil || a.json {
				return a.jsonOr(err, answer)
			}
			var tried struct {
				Disposition string   `json:"disposition"`
				Queue       *string  `json:"queue"`
				Trace       traceDoc `json:"routing_trace"`
			}
			if err := json.Unmarshal(answer, &tried); err != nil {
				return err
			}
			for _, l := range tried.Trace.lines(tried.Disposition, text(tried.Queue)) {
				fmt.Fprintln(a.Stdout, l)
			}
			return nil
		},
	}
	flags := c.Flags()
	flags.StringVar(&event, "event", "", "a stored delivery, ev_...")
	flags.StringVar(&payload, "payload", "", "or a payload: JSON, @FILE, or @- for standard input")
	flags.StringVar(&kind, "kind", "", "with --payload: the event's type, such as issues.opened")
	flags.StringVar(&rules, "rules", "", "rules to try instead of the saved ones: JSON, @FILE, or @-")
	return c
}

// traceDoc is how a delivery was routed.
type traceDoc struct {
	Stage     string    `json:"stage"`
	RuleID    string    `json:"rule_id"`
	RuleName  string    `json:"rule_name"`
	Action    actionDoc `json:"action"`
	Evaluated []struct {
		RuleID  string `json:"rule_id"`
		Outcome string `json:"outcome"`
	} `json:"evaluated"`
	Faults []struct {
		RuleID string `json:"rule_id"`
		Reason string `json:"reason"`
	} `json:"faults"`
}

// decision says in a few words what the rules made of a delivery.
func (t *traceDoc) decision(disposition, queue string) string {
	by := "no rule matched"
	switch {
	case t.RuleName != "":
		by = "rule " + t.RuleName
	case t.RuleID != "":
		by = "rule " + t.RuleID
	}
	switch disposition {
	case "dropped":
		return "dropped: " + by
	case "faulted":
		return "in quarantine: a rule failed"
	}
	s := "routed to " + queue + ": " + by
	if t.Action.WorkOrder {
		s += ", work order"
	}
	return s
}

func (t *traceDoc) lines(disposition, queue string) []string {
	lines := []string{line(t.decision(disposition, queue))}
	for _, e := range t.Evaluated {
		lines = append(lines, fmt.Sprintf("  %-8s  %s", line(strings.ReplaceAll(e.Outcome, "_", " ")), line(e.RuleID)))
	}
	for _, f := range t.Faults {
		lines = append(lines, "  "+line(strings.TrimSpace(f.RuleID+" "+f.Reason)))
	}
	return lines
}
