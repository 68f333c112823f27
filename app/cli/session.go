package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/spf13/cobra"
)

func (a *app) loginLinkCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "login-link",
		Short: "Print a one-time link that signs you in to the Board (local sign-in only)",
		Args:  arguments(),
		RunE: func(c *cobra.Command, _ []string) error {
			server, err := a.connect()
			if err != nil {
				return err
			}
			answer, link, err := server.loginLink(c.Context())
			if err != nil || a.json {
				return a.jsonOr(err, answer)
			}
			fmt.Fprintln(a.Stdout, line(link))
			a.hint("It works once, within ten minutes.")
			return nil
		},
	}
}

func (c *client) loginLink(ctx context.Context) (answer json.RawMessage, link string, err error) {
	answer, err = c.post(ctx, "/login-links", struct{}{})
	if err != nil {
		return nil, "", err
	}
	var doc struct {
		URL string `json:"url"`
	}
	err = json.Unmarshal(answer, &doc)
	return answer, doc.URL, err
}

// continueAt makes a sign-in link that opens a page of the Board next.
func continueAt(link, page string) string {
	u, err := url.Parse(page)
	if err != nil {
		return link
	}
	return link + "?next=" + url.QueryEscape(u.EscapedPath())
}

func (a *app) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Say which server this talks to, and as whom",
		Args:  arguments(),
		RunE: func(c *cobra.Command, _ []string) error {
			server, err := a.connect()
			if err != nil {
				return err
			}
			answer, err := server.get(c.Context(), "/status", nil)
			if err != nil || a.json {
				return a.jsonOr(err, answer)
			}
			var status struct {
				Version  string `json:"version"`
				BaseURL  string `json:"base_url"`
				Database string `json:"database"`
				Human    struct {
					ID   string `json:"id"`
					Name string `json:"name"`
				} `json:"human"`
			}
			if err := json.Unmarshal(answer, &status); err != nil {
				return err
			}
			fmt.Fprintf(a.Stdout, "Server    %s\nVersion   %s\nDatabase  %s\nYou are   %s (%s)\n",
				line(status.BaseURL), line(status.Version), line(status.Database), line(status.Human.Name), line(status.Human.ID))
			return nil
		},
	}
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print this command's version",
		Args:  arguments(),
		RunE:  func(*cobra.Command, []string) error { return a.printVersion() },
	}
}

func (a *app) printVersion() error {
	if a.json {
		answer, err := json.Marshal(map[string]string{"version": a.Version})
		return a.jsonOr(err, answer)
	}
	fmt.Fprintf(a.Stdout, "switchboard %s\n", a.Version)
	return nil
}
