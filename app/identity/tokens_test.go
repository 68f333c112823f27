package identity_test

import (
	"testing"
	"time"
)

func TestAccessToken_StopsWorkingWhenItsTimeIsOver(t *testing.T) {
	b := setup(t)
	for _, days := range []int{0, -1, 3651} {
		if _, err := b.NewExpiringAccessToken(t.Context(), b.owner.ID, "laptop", days); err == nil {
			t.Errorf("a token of %d days was made", days)
		}
	}
	token, err := b.NewExpiringAccessToken(t.Context(), b.owner.ID, "laptop", 30)
	if err != nil {
		t.Fatal(err)
	}
	b.Advance(t, 30*24*time.Hour-time.Minute)
	if _, err := b.ResolveAccessToken(t.Context(), token); err != nil {
		t.Errorf("within its time: %v", err)
	}
	if list, err := b.AccessTokens(t.Context(), b.owner.ID); err != nil || len(list) != 1 || list[0].ExpiresAt == nil {
		t.Errorf("%+v, %v", list, err)
	}
	b.Advance(t, 2*time.Minute)
	_, err = b.ResolveAccessToken(t.Context(), token)
	wantUnauthenticated(t, "a token of 30 days after them", err)
	if _, err := b.SweepExpired(t.Context()); err != nil {
		t.Fatal(err)
	}
	var kept int
	if err := b.Pool.QueryRow(t.Context(), `SELECT count(*) FROM access_tokens`).Scan(&kept); err != nil || kept != 0 {
		t.Errorf("%d expired tokens are kept, %v", kept, err)
	}
}
