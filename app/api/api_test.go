package api

import (
	"net/http"
	"strings"
	"testing"

	"github.com/switchboard-otel/switchboard/app/typeid"
)

func TestAuth_EveryRouteRefusesWithoutAToken(t *testing.T) {
	f := setup(t)
	credential := f.vend(t, &f.alice, `{"name":"bot"}`).Token
	for _, r := range (&server{}).routes() {
		path := strings.NewReplacer("{ref}", "bot", "{id}", "td_x").Replace(r.path)
		for name, token := range map[string]string{
			"none": "", "unknown": "sbp_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "an endpoint's": credential, "not a token": "x",
		} {
			p := &person{token: token}
			if token == "" {
				p = nil
			}
			got := f.do(t, p, r.method, path, "")
			got.refused(t, http.StatusUnauthorized, "unauthenticated")
			if got.header.Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("%s %s with %s token: no WWW-Authenticate", r.method, r.path, name)
			}
		}
	}
}

func TestAuth_TheSchemeIsCaseInsensitiveAndTheSessionCookieIsNothing(t *testing.T) {
	f := setup(t)
	request, _ := http.NewRequestWithContext(t.Context(), "GET", f.url+Prefix+"/status", nil)
	request.Header.Set("Authorization", "bearer  "+f.alice.token+" ")
	if got := send(t, request); got.status != http.StatusOK {
		t.Errorf("status %d: %s", got.status, got.body)
	}
	request.Header.Del("Authorization")
	request.Header.Set("Cookie", "session="+f.alice.token)
	if got := send(t, request); got.status != http.StatusUnauthorized {
		t.Errorf("status %d: %s", got.status, got.body)
	}
}

func TestRoutes_UnknownPathsAreJSONAndNeverRedirects(t *testing.T) {
	f := setup(t)
	for _, path := range []string{"/", "", "/nothing", "//todos", "/todos/", "/todos/x/y", "/./todos", "/endpoints/../todos"} {
		got := f.do(t, &f.alice, "GET", path, "")
		got.refused(t, http.StatusNotFound, "not_found")
	}
}

func TestRoutes_AWrongMethodNamesTheRightOnes(t *testing.T) {
	f := setup(t)
	for path, allow := range map[string]string{
		"/todos": "GET, HEAD", "/endpoints": "GET, HEAD, POST", "/login-links": "POST", "/openapi.json": "GET, HEAD",
	} {
		got := f.do(t, &f.alice, "DELETE", path, "")
		got.refused(t, http.StatusMethodNotAllowed, "invalid")
		if got.header.Get("Allow") != allow {
			t.Errorf("%s: Allow %q, want %q", path, got.header.Get("Allow"), allow)
		}
	}
	if got := f.do(t, &f.alice, "HEAD", "/todos", ""); got.status != http.StatusOK || got.body != "" {
		t.Errorf("HEAD: %d %q", got.status, got.body)
	}
}

func TestDocument_IsServedToAnybody(t *testing.T) {
	f := setup(t)
	got := f.do(t, nil, "GET", "/openapi.json", "")
	if got.status != http.StatusOK || got.body != string(document) {
		t.Errorf("%d, %d bytes", got.status, len(got.body))
	}
}

func TestStatus_SaysWhoAsksAndWhere(t *testing.T) {
	f := setup(t)
	var got statusBody
	f.do(t, &f.bob, "GET", "/status", "").into(t, http.StatusOK, &got)
	want := statusBody{"1.2.3", baseURL, "PostgreSQL of a test", humanBody{typeid.Human.Format(f.bob.ID), "Bob"}}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestLoginLink_SignsInItsMakerOnce(t *testing.T) {
	f := setup(t)
	var link struct{ URL string }
	f.do(t, &f.bob, "POST", "/login-links", "").into(t, http.StatusCreated, &link)
	token, ok := strings.CutPrefix(link.URL, baseURL+"/login/")
	if !ok {
		t.Fatalf("url %q", link.URL)
	}
	human, err := f.Identity.SpendLoginLink(t.Context(), token)
	if err != nil || human.ID != f.bob.ID {
		t.Errorf("signed in %v, %v", human, err)
	}
}

func TestLoginLink_IsForbiddenWithoutLocalSignIn(t *testing.T) {
	f := setup(t, func(c *Config) { c.LocalLogin = false })
	f.do(t, &f.alice, "POST", "/login-links", "").refused(t, http.StatusForbidden, "forbidden")
}

func TestStoppedDatabase_IsUnavailableAndNamesNothing(t *testing.T) {
	f := setup(t)
	f.db.Pool.Close()
	got := f.do(t, &f.alice, "GET", "/todos", "")
	got.refused(t, http.StatusServiceUnavailable, "unavailable")
	if got.header.Get("Retry-After") == "" || got.header.Get("X-Request-Id") == "" {
		t.Errorf("headers %v", got.header)
	}
}

func TestBody_OverOneMebibyteIs413AndStoresNothing(t *testing.T) {
	f := setup(t)
	slug := f.vend(t, &f.alice, `{"name":"bot"}`).Slug
	body := `{"title":"t","payload":"` + strings.Repeat("x", maxBody) + `"}`
	f.do(t, &f.alice, "POST", "/endpoints/"+slug+"/todos", body).refused(t, http.StatusRequestEntityTooLarge, "invalid")
	if n := f.count(t, "todos"); n != 0 {
		t.Errorf("%d todos stored", n)
	}
}

func (f *fixture) count(t *testing.T, table string) (n int) {
	t.Helper()
	if err := f.db.Pool.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
