package doctor

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
)

const credential = "sbk_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG"

// server answers like the receiver: 401 to whoever shows no credential, else what the test says. The receiver itself
// is examined in test/e2e; here are the answers that it gives rarely, and those of what else may listen.
type server struct {
	unauthenticated, authenticated http.HandlerFunc
	shown                          []string // what credentials came
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if bearer := r.Header.Get("Authorization"); bearer != "" {
		s.shown = append(s.shown, bearer)
		s.authenticated(w, r)
		return
	}
	if s.unauthenticated != nil {
		s.unauthenticated(w, r)
		return
	}
	refuse(http.StatusUnauthorized, "a valid endpoint credential is required as a bearer in the Authorization header")(w, r)
}

func refuse(code int, message string) http.HandlerFunc {
	return send(code, &status.Status{Code: 1, Message: message})
}

func send(code int, message proto.Message) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		body, err := proto.Marshal(message)
		if err != nil {
			panic(err)
		}
		w.Header().Set("Content-Type", mediaType)
		w.Header().Set("Retry-After", "3")
		w.Header().Set("X-Request-Id", "REQUEST")
		w.WriteHeader(code)
		_, _ = w.Write(body)
	}
}

func partial(rejected int64, message string) http.HandlerFunc {
	return send(http.StatusOK, &collectortrace.ExportTraceServiceResponse{
		PartialSuccess: &collectortrace.ExportTracePartialSuccess{RejectedSpans: rejected, ErrorMessage: message}})
}

func plain(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

func examineURL(t *testing.T, url, credential, todo string) *Report {
	t.Helper()
	target, err := ParseTarget(url)
	if err != nil {
		t.Fatal(err)
	}
	return Run(t.Context(), Config{Target: target, Credential: credential, Todo: todo, Version: "1"})
}

// check compares the failed step, and that those before it hold, those after it were not reached, and that the
// report says what to do next without the credential in it.
func check(t *testing.T, r *Report, failed, words string) {
	t.Helper()
	reached := true
	for _, step := range r.Steps {
		want := OK
		switch {
		case step.Name == failed:
			want, reached = Failed, false
			if !strings.Contains(step.Found, words) || step.Next == "" {
				t.Errorf("%s: found %q, want %q; next %q", failed, step.Found, words, step.Next)
			}
		case !reached:
			want = NotReached
		case step.Found == "":
			t.Errorf("%s holds and has nothing to say", step.Name)
		}
		if step.State != want {
			t.Errorf("%s is %q, want %q", step.Name, step.State, want)
		}
		if strings.Contains(step.Found+step.Next, credential) {
			t.Errorf("%s quotes the credential", step.Name)
		}
	}
	if r.OK != (failed == "") || r.Failed() != failed {
		t.Errorf("ok %v, failed %q, want %q", r.OK, r.Failed(), failed)
	}
}

func TestRun_SaysWhichStepFailedForEveryAnswerOfTheReceiver(t *testing.T) {
	t.Parallel()
	const todo = "td_01m8nw963afvarfb1qhww0vmx2"
	for name, c := range map[string]struct {
		answer              http.HandlerFunc
		todo, failed, words string
	}{
		"unbound without a todo":   {partial(1, "rejected spans: unbound"), "", "", ""},
		"stored on its todo":       {plainSuccess, todo, "", ""},
		"an unknown credential":    {refuse(401, "a valid endpoint credential is required"), "", stepCredential, "knows no such credential"},
		"another's endpoint":       {refuse(403, "this credential is not for the endpoint in the path"), "", stepPath, "not for the endpoint my-bot"},
		"no such path":             {refuse(404, "nothing is served at this path"), "", stepPath, "no such path"},
		"no heartbeat":             {refuse(403, "this endpoint is not granted the verb heartbeat, which otlp needs"), "", stepGrant, "not granted"},
		"too many requests":        {refuse(429, "too many requests"), "", stepRequest, "too many requests"},
		"a store out of reach":     {refuse(503, "the spans cannot be stored at this moment"), "", stepRequest, "cannot store"},
		"an error of the server":   {refuse(500, "something went wrong"), "", stepRequest, "went wrong"},
		"a changed body":           {refuse(400, "otlp-decode-failed"), "", stepRequest, "otlp-decode-failed"},
		"a proxy's own page":       {plain(502, "<html>"), "", stepRequest, "something in between"},
		"a page that is no answer": {plain(200, "<html>"), "", stepRequest, "something in between"},
		"a broken answer":          {broken, "", stepRequest, "not one to an export"},
		"a foreign todo":           {partial(1, "rejected spans: unbound"), todo, stepBinding, "no todo of this endpoint"},
		"a full todo":              {partial(1, "rejected spans: cap"), todo, stepBinding, "as many spans as it may have"},
		"an invalid span":          {partial(1, "rejected spans: invalid"), todo, stepBinding, "invalid"},
		"a filtered span":          {partial(0, "some spans were filtered by this server's configuration"), todo, stepBinding, "took the span out"},
		"stored without a todo":    {plainSuccess, "", stepBinding, "not how a Switchboard answers"},
		"another reason":           {partial(1, "no"), todo, stepBinding, "did not store the span: no"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(&server{authenticated: c.answer})
			defer s.Close()
			r := examineURL(t, s.URL+"/otlp/my-bot", credential, c.todo)
			check(t, r, c.failed, c.words)
			if stored := c.failed == "" && c.todo != ""; r.Stored != stored || (r.TraceID != "") != stored {
				t.Errorf("stored %v in trace %q", r.Stored, r.TraceID)
			}
		})
	}
}

var plainSuccess = send(http.StatusOK, &collectortrace.ExportTraceServiceResponse{})

func broken(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", mediaType)
	_, _ = w.Write([]byte{0x0a, 0xff})
}

// A credential is for Switchboard only: whatever else answers never sees it.
func TestRun_ShowsTheCredentialToNobodyButASwitchboard(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		words  string
	}{
		"OTLP switched off":           {refuse(404, "otlp is switched off on this server"), "switched off"},
		"a throttled address":         {refuse(429, "too many requests"), "from this address"},
		"a server that starts":        {refuse(503, "this server is stopping"), "at this moment"},
		"another web server":          {plain(404, "not found"), "not a Switchboard's OTLP path"},
		"a page with status 200":      {plain(200, "hello"), "not a Switchboard's OTLP path"},
		"a collector without sign-in": {send(200, &collectortrace.ExportTraceServiceResponse{}), "not a Switchboard's OTLP path"},
		"a proxy that wants sign-in":  {plain(401, "sign in"), "sign-in of its own"},
		"a redirect":                  {http.RedirectHandler("https://example.com/", http.StatusPermanentRedirect).ServeHTTP, "sends elsewhere"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			handler := &server{unauthenticated: c.answer, authenticated: plainSuccess}
			s := httptest.NewServer(handler)
			defer s.Close()
			check(t, examineURL(t, s.URL+"/otlp/my-bot", credential, ""), stepOTLP, c.words)
			if len(handler.shown) > 0 {
				t.Error("it saw the credential")
			}
		})
	}
}

func TestRun_SendsNoOtherSecretThanACredential(t *testing.T) {
	t.Parallel()
	for given, words := range map[string]string{
		"":                                 "is empty",
		"Bearer ":                          "is empty",
		"sbp_personal":                     "a person's token",
		"Bearer sbl_lease":                 "a lease token",
		"sbk_...":                          "placeholder",
		"sbk_one\nsbk_two":                 "characters that none has",
		"Authorization: Bearer sbk_x":      "characters that none has",
		"sbk_\u201ctypographic\u201d":      "characters that none has",
		"Bearer%20" + "sbp_percentEncoded": "a person's token",
	} {
		handler := &server{authenticated: plainSuccess}
		s := httptest.NewServer(handler)
		check(t, examineURL(t, s.URL+"/otlp/my-bot", given, ""), stepCredential, words)
		s.Close()
		if len(handler.shown) > 0 {
			t.Errorf("%q was sent", given)
		}
	}
}

func TestRun_ReadsACredentialAsPeopleCopyIt(t *testing.T) {
	t.Parallel()
	for _, given := range []string{credential, " " + credential + "\n", "Bearer " + credential, "bearer " + credential,
		"Bearer%20" + credential, `"` + credential + `"`, "'Bearer " + credential + "'"} {
		handler := &server{authenticated: partial(1, "rejected spans: unbound")}
		s := httptest.NewServer(handler)
		check(t, examineURL(t, s.URL+"/otlp/my-bot", given, ""), "", "")
		s.Close()
		if len(handler.shown) != 1 || handler.shown[0] != "Bearer "+credential {
			t.Errorf("%q was sent as %q", given, handler.shown)
		}
	}
}

func TestRun_CountsTheCharactersOfACredentialThatWasCut(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(&server{authenticated: refuse(401, "a valid endpoint credential is required")})
	defer s.Close()
	check(t, examineURL(t, s.URL+"/otlp/my-bot", "sbk_cut", ""), stepCredential, "it has 7 characters where a whole one has 47")
}

func TestRun_SaysInWordsWhyNothingAnswers(t *testing.T) {
	t.Parallel()
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	go func() {
		for {
			conn, err := other.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "SSH-2.0-Example\r\n\r\n")
			_ = conn.Close()
		}
	}()
	closed := httptest.NewServer(nil)
	closed.Close()
	http1, https := httptest.NewServer(&server{}), httptest.NewUnstartedServer(&server{})
	https.Config.ErrorLog = log.New(io.Discard, "", 0)
	https.StartTLS()
	defer http1.Close()
	defer https.Close()
	for _, c := range []struct{ url, step, words string }{
		{closed.URL, stepAddress, "nothing listens"},
		{"http://no.such.host.invalid:8321", stepAddress, "no host of that name"},
		{strings.Replace(http1.URL, "http", "https", 1), stepAddress, "speaks plain http"},
		{https.URL, stepAddress, "certificate is not trusted"},
		{strings.Replace(https.URL, "https", "http", 1), stepOTLP, "speaks https"},
		{"http://" + other.Addr().String(), stepAddress, "does not speak HTTP"},
	} {
		check(t, examineURL(t, c.url+"/otlp/my-bot", credential, ""), c.step, c.words)
	}
	if f := unreachable(&net.OpError{Err: os.ErrDeadlineExceeded}); !strings.Contains(f.found, "no answer came in 10s") {
		t.Errorf("a timeout: %s", f.found)
	}
	if f := unreachable(io.ErrUnexpectedEOF); f.found == "" || f.next == "" {
		t.Errorf("a broken connection: %+v", f)
	}
	if f := unreachable(&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}); !strings.Contains(f.next, "SSL_CERT_FILE") {
		t.Errorf("an unknown authority: %s", f.next)
	}
}

func TestTarget_IsWhereAnExporterPosts(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"http://127.0.0.1:8321/otlp/my-bot":                "http://127.0.0.1:8321/otlp/my-bot/v1/traces",
		"http://127.0.0.1:8321/otlp/my-bot/":               "http://127.0.0.1:8321/otlp/my-bot/v1/traces",
		"https://sb.example/otlp/my-bot/v1/traces":         "https://sb.example/otlp/my-bot/v1/traces",
		"https://sb.example/prefix/otlp/my-bot/v1/traces/": "https://sb.example/prefix/otlp/my-bot/v1/traces/",
	} {
		target, err := ParseTarget(given)
		if err != nil || target.String() != want || target.endpoint() != "my-bot" {
			t.Errorf("%s: %v %v", given, target, err)
		}
	}
	for _, given := range []string{"ftp://x/otlp/a", "http://", "http://user:secret@x/otlp/a", "http://x/otlp/a?b=c", "http://x/otlp/a#b", "://"} {
		if target, err := ParseTarget(given); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v %v", given, target, err)
		}
	}
	target, err := EndpointTarget("http://127.0.0.1:8321", "my-bot")
	if err != nil || target.String() != "http://127.0.0.1:8321/otlp/my-bot/v1/traces" || target.endpoint() != "my-bot" {
		t.Errorf("%v %v", target, err)
	}
}

func TestFromHeaders_FindsTheAuthorizationAmongOthers(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]string{
		"Authorization=Bearer sbk_x":            "Bearer sbk_x",
		"authorization=Bearer%20sbk_x":          "Bearer%20sbk_x",
		"x-tenant=a, Authorization=Bearer sbk_": "Bearer sbk_",
		"x-api-key=k":                           "",
		"":                                      "",
	} {
		if got := FromHeaders(list); got != want {
			t.Errorf("%q: %q", list, got)
		}
	}
}
