package switchboardextension

import (
	"context"
	"errors"
	"strings"

	"go.opentelemetry.io/collector/client"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/ingest"
	"github.com/switchboard-otel/switchboard/app/postgres"
)

// authError is why a stock receiver's request is refused. Over gRPC it carries the status by which exporters tell
// what to drop from what to send again; a stock receiver's HTTP answers 401 to all of them.
type authError struct {
	code    codes.Code
	message string
}

func (e *authError) Error() string { return e.message }

// GRPCStatus is what grpc's status.FromError looks for.
func (e *authError) GRPCStatus() *status.Status { return status.New(e.code, e.message) }

var (
	errUnauthenticated = &authError{codes.Unauthenticated, "a valid credential is needed: Authorization: Bearer sbk_..."}
	errNotGranted      = &authError{codes.PermissionDenied, "this endpoint was not granted heartbeat"}
	errOTLPOff         = &authError{codes.NotFound, "this server takes no spans: SWITCHBOARD_OTLP is off"}
	errStore           = &authError{codes.Unavailable, "the store cannot be reached; try again"}
	errInternal        = &authError{codes.Internal, "something went wrong on the server; its log says what"}
)

// Authenticate lets a stock otlp receiver (auth: {authenticator: switchboard}) feed our pipeline: it puts
// the endpoint that presents the bearer where the binding processor looks for it. It refuses an endpoint
// without heartbeat, and everyone while OTLP is off (decisions.md 15).
func (s *switchboard) Authenticate(ctx context.Context, sources map[string][]string) (context.Context, error) {
	if !s.OTLPEnabled() {
		return ctx, errOTLPOff
	}
	token, ok := ingest.Bearer(authorization(sources))
	if !ok {
		return ctx, errUnauthenticated
	}
	endpoint, err := s.ResolveCredential(ctx, token)
	switch {
	case errors.Is(err, identity.ErrUnauthenticated):
		return ctx, errUnauthenticated
	case postgres.Unavailable(err):
		s.log.Warn("a credential could not be checked", postgres.Field(err))
		return ctx, errStore
	case err != nil:
		s.log.Error("a credential could not be checked", postgres.Field(err))
		return ctx, errInternal
	case !endpoint.Grants(identity.VerbHeartbeat):
		return ctx, errNotGranted
	}
	info := client.FromContext(ctx)
	info.Auth = ingest.NewAuthData(endpoint.ID)
	return client.NewContext(ctx, info), nil
}

// authorization finds the header in HTTP headers or in gRPC metadata, which spell its name differently.
func authorization(sources map[string][]string) (headers []string) {
	for name, values := range sources {
		if strings.EqualFold(name, "authorization") {
			headers = append(headers, values...)
		}
	}
	return headers
}
