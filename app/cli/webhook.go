package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"
)

func (a *app) webhookCommand() *cobra.Command {
	return group("webhook", "Take deliveries in: make webhooks, renew what they are known by, and route what comes",
		a.createWebhookCommand(), a.webhookListCommand(), a.rotateWebhookCommand(), a.deleteWebhookCommand(), a.rulesCommand())
}

// webhookDoc is what the command prints of a webhook.
type webhookDoc struct {
	ID           string     `json:"id"`
	Endpoint     string     `json:"endpoint"`
	Source       string     `json:"source_type"`
	TargetQueue  string     `json:"target_queue"`
	RulesVersion int        `json:"rules_version"`
	CreatedAt    time.Time  `json:"created_at"`
	OverlapUntil *time.Time `json:"overlap_until"`
	LastReceived *time.Time `json:"last_received_at"`
	URL          string     `json:"url"`
	Secret       string     `json:"secret"`
}

// webhookPath is a webhook's place in the API.
func webhookPath(id string) string { return "/webhooks/" + url.PathEscape(id) }

func (a *app) createWebhookCommand() *cobra.Command {
	var request struct {
		Source      string `json:"source_type"`
		TargetQueue string `json:"target_queue,omitempty"`
		Secret      string `json:"secret,omitempty"`
	}
	var givenSecret string
	c := &cobra.Command{
		Use:   "create ENDPOINT SOURCE",
		Short: "Make a webhook of an endpoint, and print its address and secret once",
		Long: `Make a webhook of an endpoint, and print its address and signing secret once.

SOURCE is whose way of signing deliveries it follows: github, gitea, stripe, slack, standard (Standard Webhooks), or
generic, which has no signature: its address alone is the secret. Stripe and Slack give you a secret of theirs: hand it
over with --secret @FILE.`,
		Args: arguments("ENDPOINT", "SOURCE"),
		RunE: func(c *cobra.Command, args []string) (err error) {
			request.Source = args[1]
			if request.Secret, err = a.readSecret(c, givenSecret); err != nil {
				return err
			}
			return a.showWebhook(c.Context(), http.MethodPost, "/endpoints/"+url.PathEscape(args[0])+"/webhooks", request)
		},
	}
	c.Flags().StringVarP(&request.TargetQueue, "queue", "q", "", "where deliveries go that no rule sends elsewhere (default: the first queue they may use)")
	c.Flags().StringVar(&givenSecret, "secret", "", "the producer's own signing secret: @FILE, or @- for standard input (default: a new one is minted)")
	return c
}

// readSecret reads a secret from a file: on a command line everybody on the machine could read it.
func (a *app) readSecret(c *cobra.Command, s string) (string, error) {
	if !c.Flags().Changed("secret") {
		return "", nil
	}
	return a.readLine("secret", s)
}

// showWebhook sends a request and prints the webhook with what is shown once.
func (a *app) showWebhook(ctx context.Context, method, path string, request any) error {
	server, err := a.connect()
	if err != nil {
		return err
	}
	answer, err := server.send(ctx, method, path, request)
	if err != nil || a.json {
		return a.jsonOr(err, answer)
	}
	var w webhookDoc
	if err := json.Unmarshal(answer, &w); err != nil {
		return err
	}
	fmt.Fprintf(a.Stdout, "Webhook %s\n  endpoint  %s\n  source    %s\n  queue     %s\n", line(w.ID), line(w.Endpoint), line(w.Source), line(w.TargetQueue))
	if w.URL != "" {
		fmt.Fprintf(a.Stdout, "  address   %s\n", line(w.URL))
	}
	if w.Secret != "" {
		fmt.Fprintf(a.Stdout, "  secret    %s\n", line(w.Secret))
	}
	if w.OverlapUntil != nil {
		a.hint("\nWhat this replaces still counts until %s.", stamp(*w.OverlapUntil))
	}
	if w.URL != "" || w.Secret != "" {
		a.hint("\nThis is shown once. Treat the address like a password.")
	}
	return nil
}

func (a *app) webhookListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List your webhooks, newest first",
		Args:  arguments(),
		RunE: func(c *cobra.Command, _ []string) error {
			server, err := a.connect()
			if err != nil {
				return err
			}
			answer, err := server.get(c.Context(), "/webhooks", nil)
			if err != nil || a.json {
				return a.jsonOr(err, answer)
			}
			var list struct {
				Webhooks []webhookDoc `json:"webhooks"`
			}
			if err := json.Unmarshal(answer, &list); err != nil {
				return err
			}
			if len(list.Webhooks) == 0 {
				a.hint("No webhooks yet. Make one: switchboard webhook create ENDPOINT SOURCE")
				return nil
			}
			t := &table{headers: []string{"WEBHOOK", "SOURCE", "ENDPOINT", "QUEUE", "RULES", "LAST"}, flex: 2}
			for _, w := range list.Webhooks {
				rules, last := "none", "never"
				if w.RulesVersion > 0 {
					rules = fmt.Sprintf("v%d", w.RulesVersion)
				}
				if w.LastReceived != nil {
					last = age(a.Now(), *w.LastReceived)
				}
				t.add(w.ID, w.Source, w.Endpoint, w.TargetQueue, rules, last)
			}
			a.print(t)
			return nil
		},
	}
}

func (a *app) rotateWebhookCommand() *cobra.Command {
	var address bool
	var overlap, givenSecret string
	c := &cobra.Command{
		Use:   "rotate WEBHOOK",
		Short: "Renew a webhook's signing secret, or its address, and print the new one once",
		Args:  arguments("WEBHOOK"),
		RunE: func(c *cobra.Command, args []string) (err error) {
			request := struct {
				Address        bool   `json:"address,omitempty"`
				Secret         string `json:"secret,omitempty"`
				OverlapSeconds *int64 `json:"overlap_seconds,omitempty"`
			}{Address: address}
			if request.Secret, err = a.readSecret(c, givenSecret); err != nil {
				return err
			}
			if c.Flags().Changed("overlap") {
				seconds, err := parseTime("overlap", overlap, 0)
				if err != nil {
					return err
				}
				request.OverlapSeconds = &seconds
			}
			return a.showWebhook(c.Context(), http.MethodPost, webhookPath(args[0])+"/rotate", request)
		},
	}
	c.Flags().BoolVar(&address, "address", false, "renew the address instead of the secret; a generic webhook has nothing else")
	c.Flags().StringVar(&givenSecret, "secret", "", "the producer's own new secret: @FILE, or @- for standard input (default: a new one is minted)")
	c.Flags().StringVar(&overlap, "overlap", "", "how long the one before still counts, such as 0s after a leak or 7d (default: a day)")
	return c
}

func (a *app) deleteWebhookCommand() *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use:   "delete WEBHOOK",
		Short: "Delete a webhook: its address is unknown from now on; its events and todos stay",
		Args:  arguments("WEBHOOK"),
		RunE: func(c *cobra.Command, args []string) error {
			if !yes {
				if err := a.confirm(fmt.Sprintf("Delete %s? Whoever delivers to it is refused from now on.", args[0])); err != nil {
					return err
				}
			}
			server, err := a.connect()
			if err != nil {
				return err
			}
			answer, err := server.send(c.Context(), http.MethodDelete, webhookPath(args[0]), struct{}{})
			if err != nil || a.json {
				return a.jsonOr(err, answer)
			}
			fmt.Fprintf(a.Stdout, "Deleted %s\n", line(args[0]))
			return nil
		},
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return c
}
