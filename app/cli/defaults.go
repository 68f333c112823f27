package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"
)

func (a *app) editCommand() *cobra.Command {
	var leaseTTL, maxAttempts int
	var serverLease, serverAttempts, fence, card bool
	c := &cobra.Command{
		Use:   "edit ENDPOINT",
		Short: "Change what an endpoint's claims and todos get when they say nothing themselves",
		Args:  arguments("ENDPOINT"),
		RunE: func(c *cobra.Command, args []string) error {
			flags, edit := c.Flags(), map[string]any{}
			for _, d := range []struct {
				field, set, clear string
				value             int
				cleared           bool
			}{
				{"default_lease_ttl_seconds", "lease-ttl", "no-lease-ttl", leaseTTL, serverLease},
				{"default_max_attempts", "max-attempts", "no-max-attempts", maxAttempts, serverAttempts},
			} {
				switch isSet := flags.Changed(d.set); {
				case isSet && d.cleared:
					return usagef("--%s and --%s exclude each other", d.set, d.clear)
				case isSet:
					edit[d.field] = d.value
				case d.cleared:
					edit[d.field] = nil
				}
			}
			if flags.Changed("require-fence") {
				edit["require_fence"] = fence
			}
			if flags.Changed("public-card") {
				edit["agent_card_public"] = card
			}
			if len(edit) == 0 {
				return usagef("nothing to change; see %s --help", c.CommandPath())
			}
			server, err := a.connect()
			if err != nil {
				return err
			}
			answer, err := server.send(c.Context(), http.MethodPatch, "/endpoints/"+url.PathEscape(args[0]), edit)
			if err != nil || a.json {
				return a.jsonOr(err, answer)
			}
			var endpoint endpointDoc
			if err := json.Unmarshal(answer, &endpoint); err != nil {
				return err
			}
			a.printDefaults(&endpoint)
			return nil
		},
	}
	flags := c.Flags()
	flags.IntVar(&leaseTTL, "lease-ttl", 0, "default lease in seconds, 60 to 86400")
	flags.BoolVar(&serverLease, "no-lease-ttl", false, "back to the server's default lease")
	flags.IntVar(&maxAttempts, "max-attempts", 0, "default number of attempts of a todo")
	flags.BoolVar(&serverAttempts, "no-max-attempts", false, "back to the server's default number of attempts")
	flags.BoolVar(&fence, "require-fence", false, "fence every claim that does not say otherwise; =false ends that")
	flags.BoolVar(&card, "public-card", false, "show its A2A agent card to everybody; =false ends that")
	return c
}

func (a *app) printDefaults(e *endpointDoc) {
	orServers := func(n *int, unit string) string {
		if n == nil {
			return "the server's"
		}
		return strconv.Itoa(*n) + unit
	}
	fence := "when a claim asks for one"
	if e.Fence {
		fence = "unless a claim says otherwise"
	}
	fmt.Fprintf(a.Stdout, "Endpoint %s\n  lease     %s\n  attempts  %s\n  fence     %s\n",
		line(e.Slug), orServers(e.LeaseTTL, " s"), orServers(e.MaxTries, ""), fence)
	if e.CardPublic {
		fmt.Fprintln(a.Stdout, "  card      everybody may see it")
	}
}

func (a *app) rotateCommand() *cobra.Command {
	var overlap string
	c := &cobra.Command{
		Use:   "rotate ENDPOINT",
		Short: "Give an endpoint a new credential, printed once; the earlier one ends, the work stays",
		Args:  arguments("ENDPOINT"),
		RunE: func(c *cobra.Command, args []string) error {
			request := struct {
				OverlapSeconds int64 `json:"overlap_seconds"`
			}{}
			if c.Flags().Changed("overlap") {
				seconds, err := parseTime("overlap", overlap, 0)
				if err != nil {
					return err
				}
				request.OverlapSeconds = seconds
			}
			server, err := a.connect()
			if err != nil {
				return err
			}
			answer, err := server.post(c.Context(), "/endpoints/"+url.PathEscape(args[0])+"/rotate", request)
			if err != nil || a.json {
				return a.jsonOr(err, answer)
			}
			var endpoint endpointDoc
			if err := json.Unmarshal(answer, &endpoint); err != nil {
				return err
			}
			a.printSetup(&endpoint)
			if request.OverlapSeconds == 0 {
				a.hint("\nThe earlier credential has stopped working.")
			} else {
				a.hint("\nThe earlier credential stops working in %s.", time.Duration(request.OverlapSeconds)*time.Second)
			}
			return nil
		},
	}
	c.Flags().StringVar(&overlap, "overlap", "", "how long the earlier credential still works, such as 15m or 2d (default: not at all)")
	return c
}
