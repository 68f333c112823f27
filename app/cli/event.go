package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func (a *app) eventCommand() *cobra.Command {
	return group("event", "Read what was delivered to your webhooks", a.eventListCommand(), a.showEventCommand())
}

type eventDoc struct {
	ID           string            `json:"id"`
	WebhookID    string            `json:"webhook_id"`
	Source       string            `json:"source"`
	Type         *string           `json:"event_type"`
	Title        string            `json:"title"`
	ExternalID   string            `json:"external_id"`
	Trust        string            `json:"trust_mode"`
	Verified     bool              `json:"verified"`
	VerifyDetail string            `json:"verify_detail"`
	ContentType  string            `json:"content_type"`
	PayloadSize  int               `json:"payload_size"`
	ReceivedAt   time.Time         `json:"received_at"`
	Disposition  string            `json:"disposition"`
	Trace        traceDoc          `json:"routing_trace"`
	Headers      map[string]string `json:"headers"`
	Payload      json.RawMessage   `json:"payload"`
	Text         *string           `json:"payload_text"`
	Base64       *string           `json:"payload_base64"`
}

func (a *app) eventListCommand() *cobra.Command {
	var webhook, disposition, cursor string
	var limit int
	c := &cobra.Command{
		Use:   "list",
		Short: "List what was delivered, newest first",
		Args:  arguments(),
		RunE: func(c *cobra.Command, _ []string) error {
			query := url.Values{}
			for name, value := range map[string]string{"webhook": webhook, "disposition": disposition, "cursor": cursor} {
				if value != "" {
					query.Set(name, value)
				}
			}
			if c.Flags().Changed("limit") {
				query.Set("limit", strconv.Itoa(limit))
			}
			server, err := a.connect()
			if err != nil {
				return err
			}
			answer, err := server.get(c.Context(), "/events", query)
			if err != nil || a.json {
				return a.jsonOr(err, answer)
			}
			return a.printEvents(answer)
		},
	}
	flags := c.Flags()
	flags.StringVar(&webhook, "webhook", "", "only of this webhook")
	flags.StringVar(&disposition, "disposition", "", "only these: routed, dropped, faulted")
	flags.IntVar(&limit, "limit", 50, "how many, up to 200")
	flags.StringVar(&cursor, "cursor", "", "continue where an earlier list ended")
	return c
}

func (a *app) printEvents(answer json.RawMessage) error {
	var list struct {
		Events     []eventDoc `json:"events"`
		NextCursor *string    `json:"next_cursor"`
	}
	if err := json.Unmarshal(answer, &list); err != nil {
		return err
	}
	if len(list.Events) == 0 {
		a.hint("No events.")
		return nil
	}
	t := &table{headers: []string{"EVENT", "SOURCE", "BECAME", "AGE", "TITLE"}, flex: 4}
	for _, e := range list.Events {
		t.add(e.ID, e.Source, e.Disposition, age(a.Now(), e.ReceivedAt), e.Title)
	}
	a.print(t)
	if list.NextCursor != nil {
		a.hint("More: add --cursor %s", line(*list.NextCursor))
	}
	return nil
}

func (a *app) showEventCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show EVENT",
		Short: "Print a delivery: how it was verified and routed, its headers without secrets, its payload",
		Args:  arguments("EVENT"),
		RunE: func(c *cobra.Command, args []string) error {
			server, err := a.connect()
			if err != nil {
				return err
			}
			answer, err := server.get(c.Context(), "/events/"+url.PathEscape(args[0]), nil)
			if err != nil || a.json {
				return a.jsonOr(err, answer)
			}
			var e eventDoc
			if err := json.Unmarshal(answer, &e); err != nil {
				return err
			}
			(&writer{w: a.Stdout, columns: a.columns()}).event(&e)
			return nil
		},
	}
}

func (o *writer) event(e *eventDoc) {
	o.paragraph(0, line(e.Title))
	o.paragraph(0, line(fmt.Sprintf("%s · %s · webhook %s · received %s", e.ID, e.Source, e.WebhookID, stamp(e.ReceivedAt))))
	o.paragraph(0, line(fmt.Sprintf("verified: %s · delivery %s", e.VerifyDetail, e.ExternalID)))
	o.heading("Routing")
	for _, l := range e.Trace.lines(e.Disposition, e.Trace.Action.Queue) {
		o.printf("  %s\n", fit(l, o.columns-2))
	}
	o.heading("Headers")
	for _, name := range slices.Sorted(maps.Keys(e.Headers)) {
		o.printf("  %s\n", fit(line(name+": "+e.Headers[name]), o.columns-2))
	}
	o.heading("Payload")
	body := e.payload()
	for _, l := range strings.Split(clean(body), "\n") {
		o.printf("  %s\n", fit(l, o.columns-2))
	}
}

func (e *eventDoc) payload() string {
	var pretty bytes.Buffer
	switch {
	case e.Text != nil:
		return *e.Text
	case e.Base64 != nil:
		return fmt.Sprintf("%d bytes that are no text; --json has them in base64", e.PayloadSize)
	case json.Indent(&pretty, e.Payload, "", "  ") != nil:
		return string(e.Payload)
	}
	return pretty.String()
}
