package switchboardreceiver

import (
	"net/http"
	"testing"
)

func TestBearer(t *testing.T) {
	for header, want := range map[string]string{
		"Bearer sbk_x":    "sbk_x",
		"bearer sbk_x":    "sbk_x",
		"BEARER   sbk_x ": "sbk_x",
		"Bearer%20sbk_x":  "sbk_x",
		"bearer%20sbk_x":  "sbk_x",
		"Bearer":          "",
		"Bearer ":         "",
		"Bearer%20":       "",
		"Bearersbk_x":     "",
		"Basic sbk_x":     "",
		"sbk_x":           "",
		"":                "",
	} {
		got, ok := bearer(http.Header{"Authorization": {header}})
		if ok != (want != "") || ok && got != want {
			t.Errorf("%q: %q %v, want %q", header, got, ok, want)
		}
	}
	if _, ok := bearer(http.Header{"Authorization": {"Bearer a", "Bearer b"}}); ok {
		t.Error("two Authorization headers were taken for a credential")
	}
}

// Two widely used agents send the header's value undecoded (decisions.md 11).
func TestPercentEncodedBearer_IsAuthenticated(t *testing.T) {
	r := post(tracesPath, "application/json", jsonOf(1))
	r.Header.Set("Authorization", "Bearer%20"+tokenOfMyBot)
	if got := start(t, newFakeOwner(t), sink(storeAll)).do(r).StatusCode; got != http.StatusOK {
		t.Errorf("status %d, want 200", got)
	}
}
