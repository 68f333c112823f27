package switchboardreceiver

import (
	"net/http"
	"testing"
)

// Two widely used agents send the header's value undecoded (decisions.md 11).
func TestPercentEncodedBearer_IsAuthenticated(t *testing.T) {
	r := post(tracesPath, "application/json", jsonOf(1))
	r.Header.Set("Authorization", "Bearer%20"+tokenOfMyBot)
	if got := start(t, newFakeOwner(t), sink(storeAll)).do(r).StatusCode; got != http.StatusOK {
		t.Errorf("status %d, want 200", got)
	}
}
