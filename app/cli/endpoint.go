package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/switchboard-otel/switchboard/app/agentsetup"
)

func (a *app) endpointCommand() *cobra.Command {
	return group("endpoint", "Give agents their endpoints and take them back",
		a.vendCommand(), a.endpointListCommand(), a.editCommand(), a.rotateCommand(), a.revokeCommand())
}

// vendRequest is the body of POST /endpoints. What is not given is left to the server's defaults.
type vendRequest struct {
	Name                   string   `json:"name"`
	AgentKind              string   `json:"agent_kind,omitempty"`
	Queues                 []string `json:"queues,omitempty"`
	Verbs                  []string `json:"verbs,omitempty"`
	DefaultLeaseTTLSeconds *int     `json:"default_lease_ttl_seconds,omitempty"`
	DefaultMaxAttempts     *int     `json:"default_max_attempts,omitempty"`
	RequireFence           bool     `json:"require_fence,omitempty"`
	ExpiresInSeconds       *int64   `json:"expires_in_seconds,omitempty"`
	WebhooksMax            *int     `json:"webhooks_max,omitempty"`
	WebhookSources         []string `json:"webhook_sources,omitempty"`
	WebhookQueues          []string `json:"webhook_queues,omitempty"`
}

func (a *app) vendCommand() *cobra.Command {
	var request vendRequest
	var leaseTTL, maxAttempts, webhooks int
	var expires string
	c := &cobra.Command{
		Use:   "vend NAME",
		Short: "Make a new agent with an endpoint, and print its credential once",
		Args:  arguments("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			request.Name = args[0]
			if c.Flags().Changed("lease-ttl") {
				request.DefaultLeaseTTLSeconds = &leaseTTL
			}
			if c.Flags().Changed("max-attempts") {
				request.DefaultMaxAttempts = &maxAttempts
			}
			if c.Flags().Changed("webhooks") {
				request.WebhooksMax = &webhooks
			}
			if c.Flags().Changed("expires") {
				seconds, err := parseTime("expires", expires, time.Second)
				if err != nil {
					return err
				}
				request.ExpiresInSeconds = &seconds
			}
			return a.vend(c.Context(), request)
		},
	}
	flags := c.Flags()
	flags.StringVar(&request.AgentKind, "agent", "", "what kind of agent it is, whose blocks are printed: "+strings.Join(agentsetup.Kinds(), ", "))
	flags.StringArrayVarP(&request.Queues, "queue", "q", nil, "a queue it may work, repeatable (default: the queue named default)")
	flags.StringSliceVar(&request.Verbs, "verbs", nil, "the verbs it may use, separated by commas (default: the eight drain verbs; the others only by name)")
	flags.IntVar(&leaseTTL, "lease-ttl", 0, "default lease in seconds, 60 to 86400")
	flags.IntVar(&maxAttempts, "max-attempts", 0, "default number of attempts of a todo")
	flags.BoolVar(&request.RequireFence, "require-fence", false, "fence every claim that does not say otherwise")
	flags.IntVar(&webhooks, "webhooks", 0, "how many webhooks it may have (default: 10)")
	flags.StringSliceVar(&request.WebhookSources, "webhook-sources", nil, "their source types, separated by commas (default: every one)")
	flags.StringSliceVar(&request.WebhookQueues, "webhook-queues", nil, "the queues they may put todos into, separated by commas (default: all of the endpoint's)")
	flags.StringVar(&expires, "expires", "", "how long it lives, such as 12h or 30d (default: until revoked)")
	return c
}

func (a *app) vend(ctx context.Context, request vendRequest) error {
	server, err := a.connect()
	if err != nil {
		return err
	}
	answer, endpoint, err := server.vend(ctx, request)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(answer)
	}
	a.printSetup(endpoint)
	return nil
}

func (c *client) vend(ctx context.Context, request vendRequest) (json.RawMessage, *endpointDoc, error) {
	answer, err := c.post(ctx, "/endpoints", request)
	if err != nil {
		return nil, nil, err
	}
	var endpoint endpointDoc
	return answer, &endpoint, json.Unmarshal(answer, &endpoint)
}

func (a *app) endpointListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List your endpoints, newest first",
		Args:  arguments(),
		RunE: func(c *cobra.Command, _ []string) error {
			server, err := a.connect()
			if err != nil {
				return err
			}
			answer, err := server.get(c.Context(), "/endpoints", nil)
			if err != nil || a.json {
				return a.jsonOr(err, answer)
			}
			var list struct {
				Endpoints []endpointDoc `json:"endpoints"`
			}
			if err := json.Unmarshal(answer, &list); err != nil {
				return err
			}
			if len(list.Endpoints) == 0 {
				a.hint("No endpoints yet. Make one: switchboard endpoint vend NAME")
				return nil
			}
			t := &table{headers: []string{"ENDPOINT", "AGENT", "STATUS", "AGE", "QUEUES"}, flex: 4}
			for _, e := range list.Endpoints {
				t.add(e.Slug, e.Agent, e.status(a.Now()), age(a.Now(), e.CreatedAt), strings.Join(e.Queues, ","))
			}
			a.print(t)
			return nil
		},
	}
}

func (e *endpointDoc) status(now time.Time) string {
	switch {
	case e.RevokedAt != nil:
		return "revoked"
	case e.ExpiresAt != nil && !e.ExpiresAt.After(now):
		return "expired"
	default:
		return "active"
	}
}

func (a *app) revokeCommand() *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use:   "revoke ENDPOINT",
		Short: "Revoke an endpoint: its credential stops working at once, its open todos become dead letters",
		Args:  arguments("ENDPOINT"),
		RunE: func(c *cobra.Command, args []string) error {
			if !yes {
				if err := a.confirm(fmt.Sprintf("Revoke %s? Its credential stops working at once and its open todos become dead letters.", args[0])); err != nil {
					return err
				}
			}
			server, err := a.connect()
			if err != nil {
				return err
			}
			answer, err := server.post(c.Context(), "/endpoints/"+url.PathEscape(args[0])+"/revoke", struct{}{})
			if err != nil || a.json {
				return a.jsonOr(err, answer)
			}
			var endpoint endpointDoc
			if err := json.Unmarshal(answer, &endpoint); err != nil {
				return err
			}
			fmt.Fprintf(a.Stdout, "Revoked %s\n", line(endpoint.Slug))
			return nil
		},
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return c
}

// confirm asks on the terminal. Nobody there means no.
func (a *app) confirm(question string) error {
	if !a.Interactive {
		return usagef("this needs a yes, and there is no terminal to ask on: add -y")
	}
	fmt.Fprintf(a.Stderr, "%s [y/N] ", clean(question))
	answer, err := bufio.NewReader(a.Stdin).ReadString('\n')
	if s := strings.ToLower(strings.TrimSpace(answer)); err == nil && (s == "y" || s == "yes") {
		return nil
	}
	return errors.New("nothing was changed")
}
