package api

import (
	"net/http"
	"testing"
)

// A dead letter gives its idempotency key up. Once a live todo has it, the dead one cannot come back beside it.
func TestRetry_OfADeadLetterWhoseKeyALiveTodoHasIsAConflict(t *testing.T) {
	f := setup(t)
	v := f.vend(t, &f.alice, `{"name":"bot"}`)
	dead := f.push(t, &f.alice, v.Slug, `{"title":"t","idempotency_key":"k"}`, http.StatusCreated).Todo.ID
	f.fail(t, v.Token, dead)
	live := f.push(t, &f.alice, v.Slug, `{"title":"t","idempotency_key":"k"}`, http.StatusCreated)
	if !live.Created {
		t.Fatal("a dead letter still has its key")
	}
	f.do(t, &f.alice, "POST", "/todos/"+dead+"/retry", "").refused(t, http.StatusConflict, "conflict")
}
