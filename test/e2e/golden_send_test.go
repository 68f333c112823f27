package e2e

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
)

var (
	requestLine = regexp.MustCompile(`^[A-Z]+ /`)
	headerLine  = regexp.MustCompile(`^[A-Z][A-Za-z-]*:`)
	expansion   = regexp.MustCompile(`\{(x|spans|lists|maps|brackets) (\d+)(?: from (\d+))?\}`)
)

// send makes the request that a section describes and returns its answer. Where the section names no request line and no
// header of a name, it is what a stock exporter sends.
func (s *scene) send(what section) reply {
	s.t.Helper()
	method, path := http.MethodPost, "/otlp/{endpoint}/v1/traces"
	headers := map[string]string{"Authorization": "Bearer {token}"}
	switch {
	case what.is("json"):
		headers["Content-Type"] = "application/json"
	case what.is("protobuf"), what.is("hex"):
		headers["Content-Type"] = "application/x-protobuf"
	}
	if what.is("gzip") {
		headers["Content-Encoding"] = "gzip"
	}
	text := what.text
	if line, rest, _ := strings.Cut(text, "\n"); requestLine.MatchString(line) {
		method, path, _ = strings.Cut(line, " ")
		text = rest
	}
	for headerLine.MatchString(text) {
		line, rest, _ := strings.Cut(text, "\n")
		name, value, _ := strings.Cut(line, ":")
		headers[name] = strings.TrimSpace(value)
		text = rest
	}
	url := s.collector.url + s.fill(path)
	body := s.body(what, strings.TrimSuffix(strings.TrimPrefix(text, "\n"), "\n"))
	if headers["Content-Length"] != "" || headers["Transfer-Encoding"] != "" {
		return s.byHand(method, url, headers, body)
	}
	var flat []string
	for name, value := range headers {
		if value != "" {
			flat = append(flat, name, s.fill(value))
		}
	}
	return request(s.t, method, url, body, flat...)
}

// byHand sends a request whose length is what the case says, and ends its side then, or one that comes in two chunks.
func (s *scene) byHand(method, url string, headers map[string]string, body []byte) reply {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	message := method + " " + strings.TrimPrefix(url, s.collector.url) + " HTTP/1.1\r\nHost: golden\r\n"
	for name, value := range headers {
		message += name + ": " + s.fill(value) + "\r\n"
	}
	if headers["Transfer-Encoding"] != "" {
		half := len(body) / 2
		body = fmt.Appendf(nil, "%x\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n", half, body[:half], len(body)-half, body[half:])
	}
	if _, err := conn.Write(append([]byte(message+"\r\n"), body...)); err != nil {
		s.t.Fatal(err)
	}
	if headers["Content-Length"] != "" {
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			s.t.Fatal(err)
		}
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return reply{res.StatusCode, res.Header, string(text)}
}

// body makes the bytes of the text, in the way that the section says.
func (s *scene) body(what section, text string) []byte {
	s.t.Helper()
	body := []byte(s.expand(s.fill(text)))
	var err error
	switch {
	case what.is("hex"):
		body, err = hex.DecodeString(strings.Join(strings.Fields(string(body)), ""))
	case what.is("quoted"):
		var unquoted string
		unquoted, err = strconv.Unquote(string(body))
		body = []byte(unquoted)
	case what.is("protobuf") && len(body) > 0:
		export := ptraceotlp.NewExportRequest()
		if err = export.UnmarshalJSON(body); err == nil {
			body, err = export.MarshalProto()
		}
	}
	if err != nil {
		s.t.Fatalf("the body: %v", err)
	}
	if what.is("broken") { // each DEL becomes a byte that no text has
		body = bytes.ReplaceAll(body, []byte{0x7f}, []byte{0xff})
	}
	if what.is("gzip") {
		body = packed(s.t, body)
		switch {
		case what.is("truncated"):
			body = body[:len(body)-6]
		case what.is("garbage"):
			body = append(body, "garbage"...)
		case what.is("members"): // two, cut where it is hardest
			half := []byte(s.expand(s.fill(text)))
			body = slices.Concat(packed(s.t, half[:len(half)/2]), packed(s.t, half[len(half)/2:]))
		}
	}
	return body
}

// expand writes out what would be too long to read.
func (s *scene) expand(text string) string {
	return expansion.ReplaceAllStringFunc(text, func(found string) string {
		parts := expansion.FindStringSubmatch(found)
		n, _ := strconv.Atoi(parts[2])
		switch parts[1] {
		case "x":
			return strings.Repeat("x", n)
		case "brackets":
			return strings.Repeat("[", n)
		case "lists": // a value within n of them
			return strings.Repeat(`{"arrayValue":{"values":[`, n) + `{"stringValue":"deep"}` + strings.Repeat(`]}}`, n)
		case "maps":
			return strings.Repeat(`{"kvlistValue":{"values":[{"key":"k","value":`, n) + `{"stringValue":"deep"}` + strings.Repeat(`}]}}`, n)
		default:
			var list []string
			from, _ := strconv.Atoi(parts[3])
			for i := from; i < from+n; i++ {
				list = append(list, fmt.Sprintf(`{"traceId":"%s","spanId":"%016x","name":"step %d","kind":1,"startTimeUnixNano":"1790510400000000000","endTimeUnixNano":"1790510401000000000"}`,
					s.fill("{T.trace}"), i+1, i+1))
			}
			return strings.Join(list, ",")
		}
	})
}

// always are the headers that every answer has, whatever it says (security section, REQ-24).
var always = map[string]string{"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}

// readable is an answer as a case says it: status, the headers that say something, the body. Protobuf is read.
func (s *scene) readable(r reply) string {
	s.t.Helper()
	for name, want := range always {
		if got := r.header.Get(name); got != want {
			s.t.Errorf("the answer's %s is %q", name, got)
		}
	}
	for _, unwanted := range []string{"Location", "Set-Cookie", "Access-Control-Allow-Origin", "Content-Encoding"} {
		if got := r.header.Values(unwanted); len(got) > 0 {
			s.t.Errorf("the answer has %s: %s", unwanted, got)
		}
	}
	if r.header.Get("X-Request-Id") == "" {
		s.t.Error("the answer has no request id")
	}
	var b strings.Builder
	fmt.Fprintln(&b, r.status)
	for _, name := range []string{"Content-Type", "Allow", "Accept-Encoding", "Retry-After", "WWW-Authenticate"} {
		if value := r.header.Get(name); value != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, value)
		}
	}
	if body := s.told(r); body != "" {
		fmt.Fprintf(&b, "\n%s\n", s.unfill(body))
	}
	return b.String()
}

func (s *scene) told(r reply) string {
	s.t.Helper()
	if r.header.Get("Content-Type") != "application/x-protobuf" || r.body == "" {
		return r.body
	}
	if r.status != http.StatusOK {
		var told status.Status
		if err := proto.Unmarshal([]byte(r.body), &told); err != nil {
			s.t.Fatalf("no google.rpc.Status: %v", err)
		}
		return fmt.Sprintf("google.rpc.Status %d %s", told.GetCode(), told.GetMessage())
	}
	response := ptraceotlp.NewExportResponse()
	if err := response.UnmarshalProto([]byte(r.body)); err != nil {
		s.t.Fatalf("no ExportTraceServiceResponse: %v", err)
	}
	text, err := response.MarshalJSON()
	if err != nil {
		s.t.Fatal(err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, text); err != nil {
		s.t.Fatal(err)
	}
	return "ExportTraceServiceResponse " + compact.String()
}
