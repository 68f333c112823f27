package e2e

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// onGitHub is what GitHub sends for each row of the guide's table: the event and its payload, cut to what GitHub's
// documentation says is always there.
var onGitHub = map[string]struct{ event, payload string }{
	"the webhook is added":              {"ping", `{"zen": "Keep it logically awesome.", "hook_id": 1, %s}`},
	"someone opens an issue":            {"issues", `{"action": "opened", "issue": {"number": 7, "title": "A comma is lost", "labels": []}, %s}`},
	"a maintainer labels it `agent:s`":  {"issues", labelled("agent:s")},
	"a maintainer labels it `agent:l`":  {"issues", labelled("agent:l")},
	"a maintainer labels it `question`": {"issues", labelled("question")},
	"a maintainer opens an issue that is labelled `agent:s` already": {"issues",
		`{"action": "opened", "issue": {"number": 8, "title": "Two are lost", "labels": [{"name": "agent:s"}]}, %s}`},
	"a bot opens an issue": {"issues", `{"action": "opened", "issue": {"number": 9, "title": "Bump", "labels": []},
		"sender": {"login": "dependabot[bot]", "type": "Bot"}, "repository": {"full_name": "acme/web"}}`},
	"someone comments or closes": {"issues", `{"action": "closed", "issue": {"number": 7, "title": "A comma is lost", "labels": []}, %s}`},
}

func labelled(name string) string {
	return fmt.Sprintf(`{"action": "labeled", "label": {"name": %q}, "issue": {"number": 7, "title": "A comma is lost", "labels": [{"name": %[1]q}]}, %%s}`, name)
}

// The guide does what it says: its commands are run as they stand, its rules are saved, and a signed delivery of
// each kind becomes what its table promises.
func TestGitHubGuide_DoesWhatItSays(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "docs", "github-issues.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	c := start(t, withEnv("SWITCHBOARD_SECRET_ENCRYPTION_KEY="+strings.Repeat("5c", 32)))
	rules := filepath.Join(dataDir(t), "rules.json")
	if err := os.WriteFile(rules, []byte(between(t, page, "```json rules\n", "```")), 0o600); err != nil {
		t.Fatal(err)
	}
	placed := strings.NewReplacer("@rules.json", "@"+rules)
	said := map[string]string{"fixer-7k2m": "", "wh_01k...": "", "ev_01k...": ""}
	run := func(command string, into any) {
		t.Helper()
		line := regexp.MustCompile("bin/switchboard " + command + " [^`\n]*").FindString(page)
		if line == "" {
			t.Fatalf("the guide does not %s", command)
		}
		line = placed.Replace(strings.TrimPrefix(line, "bin/switchboard "))
		for name, value := range said {
			line = strings.ReplaceAll(line, name, value)
		}
		c.cliJSON(into, strings.Fields(line)...)
	}

	var endpoint vended
	run("endpoint vend", &endpoint)
	said["fixer-7k2m"] = endpoint.Slug
	var hook struct{ ID, URL, Secret string }
	run("webhook create", &hook)
	said["wh_01k..."] = hook.ID
	var saved map[string]any
	run("webhook rules set", &saved)

	rows := regexp.MustCompile(`(?m)^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$`).FindAllStringSubmatch(between(t, page, "| On GitHub | Becomes | Because of |\n|---|---|---|\n", "\n\n"), -1)
	if len(rows) != len(onGitHub) {
		t.Fatalf("the guide has %d rows and the test knows %d", len(rows), len(onGitHub))
	}
	for i, row := range rows {
		sent, known := onGitHub[row[1]]
		if !known {
			t.Fatalf("the test does not know %q", row[1])
		}
		body := sent.payload
		if strings.Contains(body, "%s") {
			body = fmt.Sprintf(body, `"sender": {"login": "octocat", "type": "User"}, "repository": {"full_name": "acme/web"}`)
		}
		got := deliverGitHub(t, hook.URL, hook.Secret, sent.event, fmt.Sprintf("d-%d", i), body)
		queue := regexp.MustCompile("^a todo in `([a-z-]+)`$").FindStringSubmatch(row[2])
		switch {
		case queue == nil && !got.Dropped:
			t.Errorf("%s: became %+v", row[1], got)
		case queue != nil && (len(got.Todos) != 1 || got.Todos[0].Queue != queue[1]):
			t.Errorf("%s: became %+v, not a todo in %s", row[1], got, queue[1])
		}
		var events struct {
			Events []struct {
				ID    string `json:"id"`
				Trace struct {
					Stage  string `json:"stage"`
					RuleID string `json:"rule_id"`
				} `json:"routing_trace"`
			} `json:"events"`
		}
		c.cliJSON(&events, "event", "list")
		if by := strings.Trim(row[3], "`"); by != events.Events[0].Trace.RuleID && by != events.Events[0].Trace.Stage {
			t.Errorf("%s: because of %+v, not of %s", row[1], events.Events[0].Trace, by)
		}
		said["ev_01k..."] = events.Events[0].ID
	}
	var tried struct{ Disposition string }
	run("webhook rules test", &tried)
	if tried.Disposition != "dropped" {
		t.Errorf("trying the last delivery says %+v", tried)
	}
	run("webhook rotate", &hook)
	if !strings.HasPrefix(hook.Secret, "whsec_") {
		t.Errorf("rotating shows %+v", hook)
	}
}

// between is the text between two others, each of which must be there.
func between(t *testing.T, text, from, to string) string {
	t.Helper()
	_, rest, found := strings.Cut(text, from)
	inner, _, ends := strings.Cut(rest, to)
	if !found || !ends {
		t.Fatalf("nothing stands between %q and %q", from, to)
	}
	return inner
}

type gitHubReceipt struct {
	Todos []struct {
		ID    string `json:"id"`
		Queue string `json:"queue"`
	} `json:"todos"`
	Dropped bool `json:"dropped"`
}

// deliverGitHub sends a delivery signed as GitHub documents it.
func deliverGitHub(t *testing.T, url, secret, event, id, body string) (r gitHubReceipt) {
	t.Helper()
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	got := request(t, http.MethodPost, url, []byte(body), "Content-Type", "application/json", "X-GitHub-Event", event,
		"X-GitHub-Delivery", id, "X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	if got.status != http.StatusAccepted {
		t.Fatalf("%d %s", got.status, got.body)
	}
	if err := json.Unmarshal([]byte(got.body), &r); err != nil {
		t.Fatal(err)
	}
	return r
}
