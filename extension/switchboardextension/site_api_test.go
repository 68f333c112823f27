package switchboardextension

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/internal/toggle"
)

// machineRoutes are those behind the prefixes of the table: the API's as its own document names them, which a test of
// app/api holds equal to what is served, and the few others.
func (s *switchboard) machineRoutes(t *testing.T, slug string) (routes []string) {
	t.Helper()
	got := s.visitor(t).ask(http.MethodGet, "/api/v1/openapi.json", nil)
	var document struct {
		Paths map[string]map[string]any
	}
	if err := json.Unmarshal([]byte(got.body), &document); err != nil || len(document.Paths) < 20 {
		t.Fatalf("the API's document is answered %d with %d paths, %v", got.StatusCode, len(document.Paths), err)
	}
	placeholder := regexp.MustCompile(`\{[^}]+\}`)
	for path, operations := range document.Paths {
		for method := range operations {
			if method != "parameters" {
				routes = append(routes, strings.ToUpper(method)+" "+"/api/v1"+placeholder.ReplaceAllString(path, "x"))
			}
		}
	}
	return append(routes, "POST /otlp/"+slug+"/v1/traces", "GET /otlp/"+slug+"/v1/traces", "DELETE /mcp/"+slug, "GET /a2a/"+slug+"/.well-known/agent-card.json")
}

// A program's route takes no cookie for a credential, sets none, redirects nobody and is open to no page of another site.
func TestSite_EveryRouteOfAProgramNeedsACredentialOfItsOwn(t *testing.T) {
	s := setup(t, func(c *Config) {
		c.Features.A2A = toggle.On
		c.RateLimits.PreAuth = RateLimit{PerSecond: 1000, Burst: 1000}
	})
	owner, err := s.identity.LocalOwner(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	vended, err := s.identity.Vend(t.Context(), owner.ID, identity.VendParams{Name: "bot"})
	if err != nil {
		t.Fatal(err)
	}
	for _, route := range s.machineRoutes(t, vended.Slug) {
		method, path, _ := strings.Cut(route, " ")
		r := siteRoute{kind: machine}
		s.strangerLooks(t, method, path, r)
		s.humanLooks(t, owner, method, path, r)
	}
}
