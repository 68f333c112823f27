package board

import (
	"context"
	"net/http"
	"reflect"
	"time"

	"github.com/alexedwards/scs/v2"

	"github.com/switchboard-otel/switchboard/app/identity"
)

// sessionStore keeps requests of one session from undoing each other. The session manager writes every session back
// whole when a request ends, as it was when the request began: what another request has put in meanwhile would be lost,
// and a session that was ended meanwhile would be there again. So a request only renews a session that it did not
// change, and brings none into being that it has found.
type sessionStore struct{ identity.Sessions }

var _ scs.CtxStore = sessionStore{}

// found is what a request found of its session.
type found struct {
	token string
	data  []byte
}

type foundKey struct{}

// remembering gives every request a place for what it finds of its session.
func remembering(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), foundKey{}, &found{})))
	})
}

func (s sessionStore) FindCtx(ctx context.Context, token string) ([]byte, bool, error) {
	data, ok, err := s.Sessions.FindCtx(ctx, token)
	if f, asked := ctx.Value(foundKey{}).(*found); asked && ok {
		f.token, f.data = token, data
	}
	return data, ok, err
}

func (s sessionStore) CommitCtx(ctx context.Context, token string, data []byte, expiry time.Time) error {
	switch f, asked := ctx.Value(foundKey{}).(*found); {
	case !asked || f.token != token:
		return s.Sessions.CommitCtx(ctx, token, data, expiry)
	case sameSession(f.data, data):
		return s.Renew(ctx, token, expiry)
	default:
		return s.Replace(ctx, token, data, expiry)
	}
}

// sameSession compares what two encodings hold: of the same values they differ in their order.
func sameSession(a, b []byte) bool {
	until, values, err := scs.GobCodec{}.Decode(a)
	if err != nil {
		return false
	}
	until2, values2, err := scs.GobCodec{}.Decode(b)
	return err == nil && until.Equal(until2) && reflect.DeepEqual(values, values2)
}
