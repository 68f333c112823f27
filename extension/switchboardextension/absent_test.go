package switchboardextension

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
)

// decisions.md 2 and 50: also before there is a receiver, an exporter is answered in its own encoding.
func TestListener_AnswersAnExporterInItsEncodingUntilThePipelinesRun(t *testing.T) {
	s := setup(t)
	for _, contentType := range []string{"application/x-protobuf", "application/json; charset=utf-8", "text/plain"} {
		res, err := http.Post(s.cfg.baseURL()+"/otlp/x/v1/traces", contentType, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") != "1" ||
			res.Header.Get("Cache-Control") != "no-store" || res.Header.Get("X-Request-Id") == "" {
			t.Errorf("%s: %d %v %v", contentType, res.StatusCode, res.Header, err)
		}
		if !strings.HasSuffix(contentType, "protobuf") {
			if want := `{"code":14,"message":"the pipelines are starting or stopping; send it again"}`; string(body) != want {
				t.Errorf("%s: %s", contentType, body)
			}
			continue
		}
		var told status.Status
		if err := proto.Unmarshal(body, &told); err != nil || told.GetCode() != 14 || res.Header.Get("Content-Type") != contentType {
			t.Errorf("%s: %q %v", contentType, body, err)
		}
	}
}
