package e2e

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"google.golang.org/protobuf/encoding/protowire"
)

// requestCap is what one body may have, on the wire and unpacked.
const requestCap = 4 << 20

// resident reads a figure of the collector's own memory, in bytes. Its database is another process.
func (c *collector) resident(figure string) int64 {
	c.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.cmd.Process.Pid))
	if err != nil {
		c.t.Fatal(err)
	}
	found := regexp.MustCompile(figure + `:\s+(\d+) kB`).FindSubmatch(status)
	if found == nil {
		c.t.Fatalf("no %s in\n%s", figure, status)
	}
	kilobytes, _ := strconv.ParseInt(string(found[1]), 10, 64)
	return kilobytes << 10
}

func packed(t *testing.T, body []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(body); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// repeated is a protobuf message of a repeated field, within others.
func repeated(element []byte, within ...protowire.Number) []byte {
	message := bytes.Repeat(element, (requestCap-100)/len(element))
	for _, field := range slices.Backward(within) {
		message = protowire.AppendBytes(protowire.AppendTag(nil, field, protowire.BytesType), message)
	}
	return message
}

// bomb is a body that costs its sender little.
type bomb struct {
	kind, coding string
	body         []byte
	answer       int
}

func bombs(t *testing.T) map[string]bomb {
	t.Helper()
	const protobuf, json = "application/x-protobuf", "application/json"
	zeros := make([]byte, 64<<20)
	spaces := bytes.Repeat([]byte(" "), 64<<20)
	nothings := append([]byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{}`), bytes.Repeat([]byte(",{}"), requestCap/3-100)...)
	return map[string]bomb{
		"zeros":                     {protobuf, "gzip", packed(t, zeros), 413},
		"spaces":                    {json, "gzip", packed(t, spaces), 413},
		"two million empty spans":   {protobuf, "", repeated([]byte{2<<3 | 2, 0}, 1, 2), 400},
		"the same, packed":          {protobuf, "gzip", packed(t, repeated([]byte{2<<3 | 2, 0}, 1, 2)), 400},
		"as many in JSON, packed":   {json, "gzip", packed(t, append(nothings, `]}]}]}`...)), 400},
		"as heavy as a request may": {protobuf, "", repeated([]byte{1<<3 | 2, 4, 1<<3 | 2, 2, 0x78, 0x78}, 1, 2, 2, 9, 2, 5), 200},
	}
}

// stall sends all of a body but its end.
func stall(t *testing.T, c *collector, v vended, b bomb, sent []byte) {
	t.Helper()
	conn, err := net.Dial("tcp", c.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := fmt.Fprintf(conn, "POST /otlp/%s/v1/traces HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: %s\r\nContent-Encoding: %s\r\nContent-Length: %d\r\n\r\n%s",
		v.Slug, v.Token, b.kind, b.coding, len(sent)+1, sent); err != nil {
		t.Fatal(err)
	}
}

// Whoever may send spans cannot take the memory of everybody else: bodies that unpack or decode to a thousand times what
// they are, and bodies that never end, all at once.
func TestMemory_StaysWithinBoundsUnderBombsAndSlowBodies(t *testing.T) {
	t.Parallel()
	const most = 512 << 20
	c := start(t, unhurried(t), measured)
	v := c.vend("my bot")
	id := c.push(v, "bind me")
	if res := export(t, v, "protobuf", batch(pcommon.TraceID{7}, 3, id)); res.status != http.StatusOK {
		t.Fatalf("%d %s", res.status, res.body)
	}
	idle := c.resident("VmRSS")

	full := bytes.Repeat([]byte(" "), requestCap-1)
	half := packed(t, full)
	for range 4 {
		slow := c.vend("slow bot")
		for range 4 {
			stall(t, c, slow, bomb{kind: "application/json"}, full)
			stall(t, c, slow, bomb{kind: "application/json", coding: "gzip"}, half[:len(half)-1])
		}
	}
	await(t, "32 slow bodies to be held", func() error {
		if held := c.resident("VmHWM") - idle; held < 30*requestCap {
			return fmt.Errorf("%d MiB", held>>20)
		}
		return nil
	})
	others := []vended{v, c.vend("a bot"), c.vend("a bot"), c.vend("a bot")}
	for name, b := range bombs(t) {
		var (
			all      sync.WaitGroup
			answered atomic.Bool
		)
		for i := range 32 {
			all.Go(func() {
				v := others[i%len(others)]
				headers := []string{"Authorization", "Bearer " + v.Token, "Content-Type", b.kind, "Content-Encoding", b.coding}
				switch res := request(t, http.MethodPost, v.OTLPURL+"/v1/traces", b.body, headers...); res.status {
				case b.answer:
					answered.Store(true)
				case http.StatusServiceUnavailable: // too many of this endpoint at once
				default:
					t.Errorf("%s: %d %s", name, res.status, excerpt(res.body))
				}
			})
		}
		all.Wait()
		if !answered.Load() {
			t.Errorf("%s: nobody was answered %d", name, b.answer)
		}
		t.Logf("after %s: %d MiB above idle", name, (c.resident("VmHWM")-idle)>>20)
	}
	if above := c.resident("VmHWM") - idle; above > most {
		t.Errorf("%d MiB above the %d MiB of an idle process", above>>20, idle>>20)
	}
	if res := export(t, v, "protobuf", batch(pcommon.TraceID{8}, 3, id)); res.status != http.StatusOK {
		t.Errorf("afterwards: %d %s", res.status, res.body)
	}
}
