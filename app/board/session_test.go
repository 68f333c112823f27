package board

import (
	"net/http"
	"testing"
	"time"

	"github.com/alexedwards/scs/v2"
)

// age makes every session as old as if that much time had gone by since it was last used. The session manager has no
// clock that a test could move, so what it has written is moved instead.
func (h *house) age(by time.Duration) {
	h.t.Helper()
	rows := must(h.db.Pool.Query(h.t.Context(), `SELECT token_hash, data FROM sessions`))(h.t)
	sessions := map[string][]byte{}
	for rows.Next() {
		var token string
		var data []byte
		if err := rows.Scan(&token, &data); err != nil {
			h.t.Fatal(err)
		}
		sessions[token] = data
	}
	for token, data := range sessions {
		deadline, values, err := scs.GobCodec{}.Decode(data)
		if err != nil {
			h.t.Fatal(err)
		}
		older := must(scs.GobCodec{}.Encode(deadline.Add(-by), values))(h.t)
		if _, err := h.db.Pool.Exec(h.t.Context(), `UPDATE sessions SET data = $2, expires_at = expires_at - $3::interval WHERE token_hash = $1`, token, older, by); err != nil {
			h.t.Fatal(err)
		}
	}
}

func TestSession_IsKeptByUseAndEndsAfterAMonthInAnyCase(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	me := h.signedIn(h.owner)
	for day := 6; day < 30; day += 6 {
		h.age(6 * 24 * time.Hour)
		if got := me.get("/todos"); got.StatusCode != http.StatusOK {
			t.Fatalf("used every six days, it answers %d after %d", got.StatusCode, day)
		}
	}
	h.age(6*24*time.Hour - time.Hour)
	if got := me.get("/todos"); got.StatusCode != http.StatusOK {
		t.Fatalf("an hour before its end it answers %d", got.StatusCode)
	}
	h.age(2 * time.Hour)
	if got := me.get("/todos"); got.Header.Get("Location") != "/login" {
		t.Fatalf("an hour after its end it answers %d", got.StatusCode)
	}
}
