package switchboardreceiver

import (
	"context"
	"errors"
	"net/http"

	"go.opentelemetry.io/collector/component"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/ratelimit"
	"github.com/switchboard-otel/switchboard/app/settings"
	"github.com/switchboard-otel/switchboard/app/telemetry"
)

// owner is what the receiver needs of the switchboard extension, which owns the database and the listener.
type owner interface {
	// ResolveCredential finds the endpoint of a bearer token. It returns identity.ErrUnauthenticated for one that is
	// missing, unknown, revoked or expired, and any other error when the store fails.
	ResolveCredential(ctx context.Context, token string) (*identity.Endpoint, error)
	// OTLPEnabled reports whether the operator has switched ingest on (REQ-21).
	OTLPEnabled() bool
	// Settings reads the caps, which may change while the receiver runs.
	Settings() *settings.Reader
	// OTLPLimiters returns the limiter of client addresses and that of endpoints.
	OTLPLimiters() (preAuth, perEndpoint *ratelimit.Limiter)
	// ClientAddress is the caller's address, seen through the proxies that the operator trusts.
	ClientAddress(r *http.Request) string
	// Telemetry is the registry of the switchboard_* metrics.
	Telemetry() *telemetry.Metrics
	// Mount serves every path under prefix with h until unmount is called. Requests before and after are answered
	// 503 by the owner.
	Mount(prefix string, h http.Handler) (unmount func())
}

// findOwner returns the one extension that can be the receiver's owner.
func findOwner(host component.Host) (owner, error) {
	var found owner
	for _, extension := range host.GetExtensions() {
		o, ok := extension.(owner)
		if !ok {
			continue
		}
		if found != nil {
			return nil, errors.New("the switchboard receiver found two switchboard extensions; keep one of them under service::extensions")
		}
		found = o
	}
	if found == nil {
		return nil, errors.New("the switchboard receiver found no switchboard extension; write `switchboard:` under extensions and add switchboard to service::extensions")
	}
	return found, nil
}
