package e2e

import (
	"fmt"
	"net"
	"testing"
	"time"
)

// Nobody keeps the process from ending: neither a body that never comes, sent by anybody, nor a claim that
// waits for work.
func TestShutdown_WaitsForNobodyForLong(t *testing.T) {
	t.Parallel()
	c := start(t)
	v := c.vend("my bot")
	for _, path := range []string{"/api/v1/todos", "/mcp/" + v.Slug, "/otlp/" + v.Slug + "/v1/traces", "/login/x", "/todos"} {
		conn, err := net.Dial("tcp", c.addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if _, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", path, v.Token); err != nil {
			t.Fatal(err)
		}
	}
	s := agent(t, v)
	waited := make(chan error, 1)
	go func() {
		next, err := verb[claimed](t.Context(), s, "claim_next", map[string]any{"wait_seconds": 30})
		if err == nil && !next.Empty {
			err = fmt.Errorf("claimed %v", next)
		}
		waited <- err
	}()
	stopped := make(chan error, 1)
	go func() { stopped <- c.stop() }()
	select {
	case err := <-stopped:
		if err != nil {
			t.Errorf("it ended with %v\n%s", err, c.output)
		}
	case <-time.After(patience):
		t.Fatal("it does not end")
	}
	<-waited
	if pids := postgresIn(t, c.dir); len(pids) > 0 {
		t.Errorf("processes %v were left behind", pids)
	}
}
