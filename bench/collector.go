package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sync/errgroup"

	"github.com/switchboard-otel/switchboard/app/identity"
)

// connections is how many agents send at the same time, each its requests one after the other.
const connections = 4

// collector is a collector in a process of its own, so that what it uses can be told from what its clients use.
type collector struct {
	url     string
	headers http.Header
	process *exec.Cmd
	client  *http.Client
}

// productConfig is quickstart.yaml without limits to the rate of requests, on a database that exists.
const productConfig = `
extensions:
  switchboard:
    endpoint: ADDRESS
    database_url: "DATABASE"
    data_dir: ""
    local_login: false
    features: {otlp: true, board: false, mcp: false}
    rate_limits:
      pre_auth: {per_second: 1000000, burst: 1000000}
      otlp: {per_second: 1000000, burst: 1000000}
receivers: {switchboard: }
processors: {switchboard_dialect: , switchboard_binding: , switchboard_allowlist: , switchboard_masking: }
exporters: {switchboard_todospans: }
service:
  extensions: [switchboard]
  pipelines:
    traces:
      receivers: [switchboard]
      processors: [switchboard_dialect, switchboard_binding, switchboard_allowlist, switchboard_masking]
      exporters: [switchboard_todospans]
  telemetry: {logs: {level: warn}, metrics: {level: none}}
`

// stubbedConfig is the same with nothing stored, and with nobody who asks the database who calls.
const stubbedConfig = `
extensions: {stub: {endpoint: "ADDRESS", database_url: "DATABASE", token: TOKEN}}
receivers: {switchboard: }
processors: {switchboard_dialect: , switchboard_binding: , switchboard_allowlist: , switchboard_masking: }
exporters: {stub: }
service:
  extensions: [stub]
  pipelines:
    traces:
      receivers: [switchboard]
      processors: [switchboard_dialect, switchboard_binding, switchboard_allowlist, switchboard_masking]
      exporters: [stub]
  telemetry: {logs: {level: warn}, metrics: {level: none}}
`

const stockConfig = `
receivers: {otlp: {protocols: {http: {endpoint: "ADDRESS"}}}}
exporters: {nop: }
service:
  pipelines:
    traces: {receivers: [otlp], exporters: [nop]}
  telemetry: {logs: {level: warn}, metrics: {level: none}}
`

// startSwitchboard starts the product on a database, with productConfig or stubbedConfig.
func (s *server) startSwitchboard(ctx context.Context, database, config string, v *identity.Vended) (*collector, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	c, err := s.startCollector(ctx, address, strings.NewReplacer("ADDRESS", address, "DATABASE", s.db.URL(database),
		"TOKEN", v.Token).Replace(config))
	if err != nil {
		return nil, err
	}
	c.url += "/otlp/" + v.Slug + "/v1/traces"
	c.headers.Set("Authorization", "Bearer "+v.Token)
	return c, nil
}

// startStock starts the stock receiver of OTLP over HTTP, with nothing behind it.
func (s *server) startStock(ctx context.Context) (*collector, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	c, err := s.startCollector(ctx, address, strings.ReplaceAll(stockConfig, "ADDRESS", address))
	if err != nil {
		return nil, err
	}
	c.url += "/v1/traces"
	return c, nil
}

func (s *server) startCollector(ctx context.Context, address, config string) (*collector, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(s.dir, strings.ReplaceAll(address, ":", "-")+".yaml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		return nil, err
	}
	c := &collector{
		url:     "http://" + address,
		headers: http.Header{},
		client:  &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: connections}},
		process: exec.CommandContext(ctx, self, "-serve", path),
	}
	c.process.Stderr = os.Stderr
	c.process.Cancel = func() error { return c.process.Process.Signal(syscall.SIGTERM) }
	c.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := c.process.Start(); err != nil {
		return nil, fmt.Errorf("start a collector: %w", err)
	}
	err = until(ctx, func() (bool, error) {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return false, nil
		}
		return true, conn.Close()
	})
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (c *collector) pid() int { return c.process.Process.Pid }

func (c *collector) close() error {
	if err := c.process.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return c.process.Wait()
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// request is the body of an export request.
type request []byte

// send posts the requests of each connection, one after the other. Anything but a full success is an error.
func (c *collector) send(ctx context.Context, contentType string, perConnection [][]request) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, requests := range perConnection {
		group.Go(func() error {
			for _, r := range requests {
				if err := c.post(ctx, contentType, r); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

func (c *collector) post(ctx context.Context, contentType string, body []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	for name, values := range c.headers {
		r.Header[name] = values
	}
	r.Header.Set("Content-Type", contentType)
	resp, err := c.client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK || bytes.Contains(answer, []byte("rejected")) {
		return fmt.Errorf("status %d: %q", resp.StatusCode, answer)
	}
	return nil
}
