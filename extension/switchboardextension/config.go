package switchboardextension

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/collector/config/configopaque"

	"github.com/switchboard-otel/switchboard/app/intake"
	"github.com/switchboard-otel/switchboard/internal/toggle"
)

// minMetricsToken is the shortest token that guards /metrics, in bytes.
const minMetricsToken = 32

// Config says how one Switchboard process runs. A key in the YAML wins over the environment variable that
// gives its default.
type Config struct {
	// Endpoint is the address of the one listener: Board, MCP, OTLP, API and metrics (SWITCHBOARD_ADDR).
	Endpoint string `mapstructure:"endpoint"`
	// BaseURL is what links and metadata are built from; http:// and the endpoint when empty (SWITCHBOARD_BASE_URL).
	BaseURL string `mapstructure:"base_url"`
	// DataDir holds the embedded database and the command line's credential (SWITCHBOARD_DATA_DIR).
	DataDir string `mapstructure:"data_dir"`
	// DatabaseURL names a PostgreSQL that somebody else runs; empty runs one in DataDir (SWITCHBOARD_DATABASE_URL).
	DatabaseURL configopaque.String `mapstructure:"database_url"`
	// MetricsToken is the bearer of /metrics, at least 32 printable bytes; without one it answers 401
	// (SWITCHBOARD_METRICS_TOKEN).
	MetricsToken configopaque.String `mapstructure:"metrics_token"`
	// SecretKey seals the signing secrets of webhooks: 32 bytes in base64 or hex. Beside an embedded database one is
	// generated into DataDir; without one, signed webhooks cannot be made (SWITCHBOARD_SECRET_ENCRYPTION_KEY).
	SecretKey configopaque.String `mapstructure:"secret_encryption_key"`
	// LocalLogin signs one local owner in by one-time links; loopback only (SWITCHBOARD_DEV_LOGIN).
	LocalLogin toggle.Toggle `mapstructure:"local_login"`
	// SignIn names the identity providers, and who may become a human through them.
	SignIn SignIn `mapstructure:"sign_in"`
	// SummaryFromResult stores the result of a report without a summary as its summary, which later claimers
	// are shown (SWITCHBOARD_ATTEMPT_SUMMARY_FROM_RESULT, off).
	SummaryFromResult toggle.Toggle `mapstructure:"summary_from_result"`
	// ReapInterval is how often lapsed leases are looked for, at least a second.
	ReapInterval time.Duration `mapstructure:"reap_interval"`
	// TrustedProxies are addresses and networks whose X-Forwarded-For is believed; nobody's by default.
	TrustedProxies []string   `mapstructure:"trusted_proxies"`
	RateLimits     RateLimits `mapstructure:"rate_limits"`
	Features       Features   `mapstructure:"features"`
}

// Features switches parts of this process on and off.
type Features struct {
	OTLP  toggle.Toggle `mapstructure:"otlp"`  // take spans in (SWITCHBOARD_OTLP, off)
	Board toggle.Toggle `mapstructure:"board"` // the pages, and the API behind the command line (on)
	MCP   toggle.Toggle `mapstructure:"mcp"`   // the drain verbs (on)

	Webhooks toggle.Toggle `mapstructure:"webhooks"` // take deliveries in (on)

	A2A  toggle.Toggle `mapstructure:"a2a"`  // show todos as A2A tasks, and take work in that way (SWITCHBOARD_A2A, off)
	A2UI toggle.Toggle `mapstructure:"a2ui"` // show todos as A2UI surfaces over MCP (SWITCHBOARD_A2UI, off)
}

// RateLimits are token buckets: how many calls a second, and how many at once after a quiet while.
type RateLimits struct {
	PreAuth RateLimit `mapstructure:"pre_auth"` // per client address, before authentication
	MCP     RateLimit `mapstructure:"mcp"`      // per endpoint
	OTLP    RateLimit `mapstructure:"otlp"`     // per endpoint, apart from MCP's

	Webhooks RateLimit `mapstructure:"webhooks"` // per webhook

	Registrations RateLimit `mapstructure:"registrations"` // of OAuth clients, per client address
}

// RateLimit is one bucket.
type RateLimit struct {
	PerSecond float64 `mapstructure:"per_second"`
	Burst     int     `mapstructure:"burst"`
}

// Validate refuses a bucket through which nothing would pass.
func (l RateLimit) Validate() error {
	if l.PerSecond <= 0 || l.Burst < 1 {
		return errors.New("per_second must be above 0 and burst at least 1")
	}
	return nil
}

func createDefaultConfig() *Config {
	cfg := &Config{
		Endpoint:     env("SWITCHBOARD_ADDR", "127.0.0.1:8321"),
		BaseURL:      os.Getenv("SWITCHBOARD_BASE_URL"),
		DataDir:      env("SWITCHBOARD_DATA_DIR", ".switchboard"),
		DatabaseURL:  configopaque.String(os.Getenv("SWITCHBOARD_DATABASE_URL")),
		MetricsToken: configopaque.String(os.Getenv("SWITCHBOARD_METRICS_TOKEN")),
		SecretKey:    configopaque.String(os.Getenv("SWITCHBOARD_SECRET_ENCRYPTION_KEY")),
		LocalLogin:   toggle.FromEnv("SWITCHBOARD_DEV_LOGIN"),
		SignIn:       defaultSignIn(),

		SummaryFromResult: toggle.FromEnv("SWITCHBOARD_ATTEMPT_SUMMARY_FROM_RESULT"),
		ReapInterval:      30 * time.Second,

		Features: Features{OTLP: toggle.FromEnv("SWITCHBOARD_OTLP"), Board: toggle.On, MCP: toggle.On, Webhooks: toggle.On,
			A2A: toggle.FromEnv("SWITCHBOARD_A2A"), A2UI: toggle.FromEnv("SWITCHBOARD_A2UI")},
		RateLimits: RateLimits{
			PreAuth: RateLimit{PerSecond: 50, Burst: 100},
			MCP:     RateLimit{PerSecond: 20, Burst: 40},
			OTLP:    RateLimit{PerSecond: 20, Burst: 40},

			Webhooks: RateLimit{PerSecond: 20, Burst: 40},

			Registrations: RateLimit{PerSecond: 1, Burst: 20},
		},
	}
	return cfg
}

func env(variable, otherwise string) string {
	if v := os.Getenv(variable); v != "" {
		return v
	}
	return otherwise
}

// Validate checks what can be known before anything starts.
func (c *Config) Validate() error {
	host, port, err := net.SplitHostPort(c.Endpoint)
	if err != nil || port == "" {
		return errors.New("endpoint (SWITCHBOARD_ADDR) must be host:port, such as 127.0.0.1:8321")
	}
	if c.BaseURL != "" {
		if u, err := url.Parse(c.BaseURL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
			return errors.New("base_url (SWITCHBOARD_BASE_URL) must be an http or https address without a query, such as https://switchboard.example.com")
		}
	}
	if c.DataDir == "" && (c.DatabaseURL == "" || c.LocalLogin.On()) {
		return errors.New("database_url (SWITCHBOARD_DATABASE_URL) must name a PostgreSQL server, or data_dir (SWITCHBOARD_DATA_DIR) a folder for one of its own")
	}
	if c.MetricsToken != "" && !strongToken(string(c.MetricsToken)) {
		return fmt.Errorf("metrics_token (SWITCHBOARD_METRICS_TOKEN) must be at least %d printable bytes", minMetricsToken)
	}
	if c.SecretKey != "" {
		if _, err := intake.NewSealer(string(c.SecretKey)); err != nil {
			return fmt.Errorf("secret_encryption_key (SWITCHBOARD_SECRET_ENCRYPTION_KEY) %w", err)
		}
	}
	if _, err := parseProxies(c.TrustedProxies); err != nil {
		return err
	}
	if c.ReapInterval < time.Second {
		return errors.New("reap_interval must be a second or more, such as 30s")
	}
	if u, err := url.Parse(c.BaseURL); c.LocalLogin.On() && (!loopback(host) || err == nil && u.Host != "" && !loopback(u.Hostname())) {
		return errors.New("local_login (SWITCHBOARD_DEV_LOGIN) works on a loopback address only: set endpoint (SWITCHBOARD_ADDR) to 127.0.0.1:8321 and leave base_url (SWITCHBOARD_BASE_URL) empty, or set local_login to false")
	}
	if c.SignIn.Enrollment == enrollOpen && !c.LocalLogin.On() {
		return errors.New("sign_in::enrollment (SWITCHBOARD_ENROLLMENT) may be open only with local_login, on loopback: list who may sign in under sign_in::allow (SWITCHBOARD_ALLOWLIST)")
	}
	return nil
}

func strongToken(token string) bool {
	return len(token) >= minMetricsToken && !strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' })
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}

// baseURL is where people and agents reach this process, without a slash at the end.
func (c *Config) baseURL() string {
	if c.BaseURL != "" {
		return strings.TrimRight(c.BaseURL, "/")
	}
	return "http://" + c.Endpoint
}
