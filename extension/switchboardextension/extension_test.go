package switchboardextension

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configopaque"
	"go.opentelemetry.io/collector/extension/extensiontest"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/ingest"
	"github.com/switchboard-otel/switchboard/app/postgres/postgrestest"
	"github.com/switchboard-otel/switchboard/app/typeid"
	"github.com/switchboard-otel/switchboard/internal/toggle"
)

// setup starts the extension on a database of its own.
func setup(t *testing.T, change ...func(*Config)) *switchboard {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cfg := createDefaultConfig()
	cfg.Endpoint, cfg.DataDir, cfg.LocalLogin, cfg.Features.OTLP = l.Addr().String(), t.TempDir(), toggle.On, toggle.On
	cfg.DatabaseURL = configopaque.String(postgrestest.New(t).URL)
	for _, c := range change {
		c(cfg)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	s := newExtension(cfg, extensiontest.NewNopSettings(NewFactory().Type()))
	if err := s.Start(t.Context(), componenttest.NewNopHost()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	return s
}

func (s *switchboard) get(t *testing.T, path string) (status int, body string, header http.Header) {
	t.Helper()
	res, err := http.Get(s.cfg.baseURL() + path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text), res.Header
}

func TestListener_TellsAnExporterToComeAgainUntilThePipelinesRun(t *testing.T) {
	s := setup(t)
	status, _, header := s.get(t, "/otlp/x/v1/traces")
	if status != http.StatusServiceUnavailable || header.Get("Retry-After") != "1" {
		t.Errorf("while starting: %d, Retry-After %q", status, header.Get("Retry-After"))
	}
	if status, _, _ := s.get(t, "/readyz"); status != http.StatusServiceUnavailable {
		t.Errorf("readyz while starting: %d", status)
	}
	unmount := s.Mount(otlpPrefix, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "receiver "+r.URL.Path) }))
	for _, path := range []string{"/otlp/x//v1/./traces/", "//otlp/x/v1/traces", "/./otlp/x/v1/traces"} {
		if status, body, _ := s.get(t, path); status != http.StatusOK || body != "receiver "+path {
			t.Errorf("%s: %d %q: a redirect or a cleaned path", path, status, body)
		}
	}
	s.ready.Store(true)
	if status, body, _ := s.get(t, "/readyz"); status != http.StatusOK || body != "ok\n" {
		t.Errorf("readyz: %d %q", status, body)
	}
	unmount()
	if status, body, _ := s.get(t, "/otlp/x/v1/traces"); status != http.StatusNotFound || !strings.Contains(body, "takes no spans") {
		t.Errorf("without a receiver: %d %q", status, body)
	}
}

func TestMetrics_AreClosedWithoutAToken(t *testing.T) {
	s := setup(t)
	if status, _, _ := s.get(t, "/metrics"); status != http.StatusUnauthorized {
		t.Errorf("/metrics answered %d", status)
	}
}

func TestFeatures_AProcessServesOnlyWhatIsOn(t *testing.T) {
	s := setup(t, func(c *Config) { c.Features.Board, c.Features.MCP = toggle.Off, toggle.Off })
	for _, path := range []string{"/", "/todos", "/api/v1/status", "/mcp/x"} {
		if status, _, _ := s.get(t, path); status != http.StatusNotFound {
			t.Errorf("%s answered %d", path, status)
		}
	}
	if status, _, _ := s.get(t, "/healthz"); status != http.StatusOK {
		t.Errorf("/healthz answered %d", status)
	}
}

func TestLocalCredential_IsForThisUserAloneAndWorks(t *testing.T) {
	s := setup(t)
	path := filepath.Join(s.cfg.DataDir, "cli.json")
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var cli struct{ URL, Token string }
	if err := json.Unmarshal(content, &cli); err != nil || cli.URL != s.cfg.baseURL() {
		t.Fatalf("%s, %v", content, err)
	}
	if _, err := s.identity.ResolveAccessToken(t.Context(), cli.Token); err != nil {
		t.Error(err)
	}
	if err := s.giveLocalCredential(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.identity.ResolveAccessToken(t.Context(), cli.Token); err == nil {
		t.Error("an earlier start's token still works")
	}
}

func TestAnnouncement_SaysWhereEverythingIs(t *testing.T) {
	s := setup(t)
	var out bytes.Buffer
	if err := s.announce(&out); err != nil {
		t.Fatal(err)
	}
	url := s.cfg.baseURL()
	for _, line := range []string{"Switchboard is ready\n", "  Board      " + url + "/login/sbi_", "  MCP        " + url + "/mcp/<endpoint>\n",
		"  OTLP       " + url + "/otlp/<endpoint>\n", "  Database   PostgreSQL ", "  Next       bin/switchboard demo\n"} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("%q is missing in\n%s", line, &out)
		}
	}
}

// decisions.md 15: who may feed the pipeline through a stock otlp receiver.
func TestAuthenticator_GivesThePipelineTheEndpointOrRefuses(t *testing.T) {
	s := setup(t)
	owner, err := s.identity.LocalOwner(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	vend := func(verbs ...string) *identity.Vended {
		v, err := s.identity.Vend(t.Context(), owner.ID, identity.VendParams{Name: "x", Verbs: verbs})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	good, mute := vend(), vend(identity.VerbClaim)
	for name, value := range map[string]string{"Authorization": "bearer " + good.Token, "authorization": "Bearer%20" + good.Token} {
		ctx, err := s.Authenticate(t.Context(), map[string][]string{name: {value}})
		if err != nil {
			t.Fatal(err)
		}
		if got := client.FromContext(ctx).Auth.GetAttribute(ingest.EndpointAttribute); got != typeid.Endpoint.Format(good.ID) {
			t.Errorf("the pipeline sees %v", got)
		}
	}
	for name, c := range map[string]struct {
		sources map[string][]string
		want    error
	}{
		"nothing":           {nil, errUnauthenticated},
		"two spellings":     {map[string][]string{"authorization": {"Bearer " + good.Token}, "Authorization": {"Bearer " + good.Token}}, errUnauthenticated},
		"another scheme":    {map[string][]string{"authorization": {"Basic " + good.Token}}, errUnauthenticated},
		"two values":        {map[string][]string{"authorization": {"Bearer x", "Bearer " + good.Token}}, errUnauthenticated},
		"an unknown token":  {map[string][]string{"authorization": {"Bearer sbk_" + uuid.NewString()}}, errUnauthenticated},
		"without heartbeat": {map[string][]string{"authorization": {"Bearer " + mute.Token}}, errNotGranted},
	} {
		if _, err := s.Authenticate(t.Context(), c.sources); err != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	s.cfg.Features.OTLP = toggle.Off
	if _, err := s.Authenticate(t.Context(), map[string][]string{"authorization": {"Bearer " + good.Token}}); err != errOTLPOff {
		t.Errorf("while OTLP is off: %v", err)
	}
}
