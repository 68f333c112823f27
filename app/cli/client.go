package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

const (
	callTimeout = 60 * time.Second
	// maxAnswer bounds what a server may make this process hold: a todo with all its spans stays far below.
	maxAnswer = 256 << 20
)

// client calls the human API.
type client struct {
	base  string
	token string
	http  *http.Client
}

func newClient(base, token string) *client {
	return &client{base: base, token: token, http: &http.Client{
		Timeout: callTimeout,
		// The API never redirects, and a credential must not follow anybody who does.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// apiError is a refusal by the server.
type apiError struct {
	Status  int    `json:"-"`
	Message string `json:"error"`
	Code    string `json:"code"`
}

func (e *apiError) Error() string { return e.Code + ": " + e.Message }

func (c *client) get(ctx context.Context, path string, query url.Values) (json.RawMessage, error) {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return c.call(ctx, http.MethodGet, path, nil)
}

func (c *client) post(ctx context.Context, path string, body any) (json.RawMessage, error) {
	return c.send(ctx, http.MethodPost, path, body)
}

func (c *client) send(ctx context.Context, method, path string, body any) (json.RawMessage, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // a payload arrives as it was written
	if err := encoder.Encode(body); err != nil {
		return nil, err
	}
	return c.call(ctx, method, path, text.Bytes())
}

// call answers with the body as the server sent it, so that --json loses nothing.
func (c *client) call(ctx context.Context, method, path string, body []byte) (json.RawMessage, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base+"/api/v1"+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	request.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return nil, c.unreachable(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return nil, c.unreachable(err)
	}
	if response.StatusCode == http.StatusUnauthorized {
		return nil, fmt.Errorf("%s does not accept this credential: set SWITCHBOARD_TOKEN to a valid one, or restart the server, it writes a new cli.json", c.base)
	}
	if response.StatusCode >= 300 {
		refusal := &apiError{Status: response.StatusCode}
		if json.Unmarshal(text, refusal) != nil || refusal.Message == "" {
			return nil, c.strange(response.StatusCode)
		}
		return nil, refusal
	}
	if !json.Valid(text) {
		return nil, c.strange(response.StatusCode)
	}
	return text, nil
}

func (c *client) strange(status int) error {
	return fmt.Errorf("%s does not answer like a Switchboard server (status %d): check the url", c.base, status)
}

func (c *client) unreachable(err error) error {
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() {
		return fmt.Errorf("%s does not answer: is it stuck? its log should say", c.base)
	}
	return fmt.Errorf("cannot reach %s: is it running? start it with make run", c.base)
}
