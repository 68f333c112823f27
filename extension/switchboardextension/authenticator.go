package switchboardextension

import (
	"context"
	"errors"
	"strings"

	"go.opentelemetry.io/collector/client"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/ingest"
	"github.com/switchboard-otel/switchboard/app/postgres"
)

var (
	errUnauthenticated = errors.New("a valid credential is needed: Authorization: Bearer sbk_...")
	errNotGranted      = errors.New("this endpoint was not granted heartbeat")
	errOTLPOff         = errors.New("this server takes no spans: SWITCHBOARD_OTLP is off")
	errStore           = errors.New("the store cannot be reached; try again")
)

// Authenticate lets a stock otlp receiver (auth: {authenticator: switchboard}) feed our pipeline: it puts
// the endpoint that presents the bearer where the binding processor looks for it. It refuses an endpoint
// without heartbeat, and everyone while OTLP is off (decisions.md 15).
func (s *switchboard) Authenticate(ctx context.Context, sources map[string][]string) (context.Context, error) {
	if !s.OTLPEnabled() {
		return ctx, errOTLPOff
	}
	endpoint, err := s.ResolveCredential(ctx, bearer(sources))
	switch {
	case errors.Is(err, identity.ErrUnauthenticated):
		return ctx, errUnauthenticated
	case err != nil:
		s.log.Warn("a credential could not be checked", postgres.Field(err))
		return ctx, errStore
	case !endpoint.Grants(identity.VerbHeartbeat):
		return ctx, errNotGranted
	}
	info := client.FromContext(ctx)
	info.Auth = ingest.NewAuthData(endpoint.ID)
	return client.NewContext(ctx, info), nil
}

// bearer finds the token in HTTP headers or gRPC metadata, whose names differ in case.
func bearer(sources map[string][]string) string {
	for name, values := range sources {
		if !strings.EqualFold(name, "authorization") || len(values) != 1 {
			continue
		}
		if scheme, token, _ := strings.Cut(values[0], " "); strings.EqualFold(scheme, "bearer") {
			return strings.TrimSpace(token)
		}
	}
	return ""
}
