package switchboardreceiver

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

const defaultCap = 4 << 20

// counting counts what is read of a body that never ends early.
type counting struct {
	io.Reader
	read int
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.read += n
	return n, err
}

// REQ-2: a bomb is 413 and no more of it is unpacked, or even read, than the cap allows.
func TestGzipBomb_StopsAtTheCap(t *testing.T) {
	for _, contentType := range []string{"application/json", "application/x-protobuf"} {
		bomb := &counting{Reader: bytes.NewReader(gzipOf(make([]byte, 64<<20)))}
		r := post(tracesPath, contentType, nil)
		r.Body, r.ContentLength = io.NopCloser(bomb), -1
		r.Header.Set("Content-Encoding", "gzip")
		if got := start(t, newFakeOwner(t), untouched(t)).do(r).StatusCode; got != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: status %d, want 413", contentType, got)
		}
		// 64 MiB of zeros are 64 KiB packed, of which the cap is a sixteenth; it is read in steps of 4 KiB.
		if bomb.read > 12<<10 {
			t.Errorf("%s: %d bytes of the bomb were read", contentType, bomb.read)
		}
	}
}

func TestCap_IsEnforcedOnTheWireWithoutReadingMore(t *testing.T) {
	// An endless gzip stream of empty blocks unpacks to nothing, so that only what comes over the wire can be counted.
	const header, emptyBlock = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff", "\x00\x00\x00\xff\xff"
	for name, tc := range map[string]struct {
		contentEncoding string
		body            io.Reader
	}{
		"plain": {"", &endless{of: " "}},
		"gzip":  {"gzip", io.MultiReader(strings.NewReader(header), &endless{of: emptyBlock})},
	} {
		t.Run(name, func(t *testing.T) {
			body := &counting{Reader: tc.body}
			r := post(tracesPath, "application/json", nil)
			r.Body, r.ContentLength = io.NopCloser(body), -1
			r.Header.Set("Content-Encoding", tc.contentEncoding)
			if got := start(t, newFakeOwner(t), untouched(t)).do(r).StatusCode; got != http.StatusRequestEntityTooLarge {
				t.Errorf("status %d, want 413", got)
			}
			if body.read > defaultCap+64<<10 {
				t.Errorf("%d bytes were read", body.read)
			}
		})
	}
}

// endless repeats a text.
type endless struct {
	of string
	at int
}

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = e.of[e.at]
		e.at = (e.at + 1) % len(e.of)
	}
	return len(p), nil
}

// A request that says it is too large is refused before a byte of it is read.
func TestCap_ContentLengthOverItIsRefusedUnread(t *testing.T) {
	body := &counting{Reader: &endless{of: " "}}
	r := post(tracesPath, "application/json", nil)
	r.Body, r.ContentLength = io.NopCloser(body), defaultCap+1
	if got := start(t, newFakeOwner(t), untouched(t)).do(r).StatusCode; got != http.StatusRequestEntityTooLarge || body.read != 0 {
		t.Errorf("status %d after %d bytes, want 413 after none", got, body.read)
	}
}

func TestCap_ABodyOfExactlyTheCapIsDecoded(t *testing.T) {
	full := jsonOf(1)
	full = append(full, bytes.Repeat([]byte(" "), defaultCap-len(full))...)
	for name, tc := range map[string]struct {
		body []byte
		want int
	}{
		"the cap":       {full, http.StatusOK},
		"one byte more": {append(full, ' '), http.StatusRequestEntityTooLarge},
	} {
		for _, packed := range []bool{false, true} {
			body := tc.body
			if packed {
				body = gzipOf(body)
			}
			r := post(tracesPath, "application/json", body)
			r.ContentLength = -1
			if packed {
				r.Header.Set("Content-Encoding", "gzip")
			}
			if got := start(t, newFakeOwner(t), sink(storeAll)).do(r).StatusCode; got != tc.want {
				t.Errorf("%s, packed %v: %d, want %d", name, packed, got, tc.want)
			}
		}
	}
}

func TestGzip_BrokenStreamsAreUndecodable(t *testing.T) {
	packed := gzipOf(jsonOf(3))
	half := len(jsonOf(3)) / 2
	corrupt := bytes.Clone(packed)
	corrupt[len(corrupt)-8] ^= 0xff // the checksum
	for name, tc := range map[string]struct {
		body []byte
		want int
	}{
		"whole":                     {packed, http.StatusOK},
		"two members, one document": {append(gzipOf(jsonOf(3)[:half]), gzipOf(jsonOf(3)[half:])...), http.StatusOK},
		"an empty member behind":    {append(bytes.Clone(packed), gzipOf(nil)...), http.StatusOK},
		"two documents":             {append(bytes.Clone(packed), packed...), http.StatusBadRequest},
		"garbage behind":            {append(bytes.Clone(packed), "garbage"...), http.StatusBadRequest},
		"truncated":                 {packed[:len(packed)-9], http.StatusBadRequest},
		"without its checksum":      {packed[:len(packed)-4], http.StatusBadRequest},
		"wrong checksum":            {corrupt, http.StatusBadRequest},
		"not gzip":                  {jsonOf(3), http.StatusBadRequest},
		"nothing":                   {nil, http.StatusBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			r := post(tracesPath, "application/json", tc.body)
			r.Header.Set("Content-Encoding", "gzip")
			response := start(t, newFakeOwner(t), sink(storeAll)).do(r)
			if response.StatusCode != tc.want {
				t.Errorf("status %d, want %d", response.StatusCode, tc.want)
			}
			if got := bodyOf(t, response); tc.want == http.StatusBadRequest && got != `{"code":3,"message":"otlp-decode-failed"}` {
				t.Errorf("body %s", got)
			}
		})
	}
}

// A sender that goes away in the middle has sent no OTLP.
func TestBody_ThatEndsEarlyIsUndecodable(t *testing.T) {
	r := post(tracesPath, "application/json", nil)
	r.Body, r.ContentLength = io.NopCloser(io.MultiReader(bytes.NewReader(jsonOf(1)), failing{})), int64(len(jsonOf(1))+10)
	if got := start(t, newFakeOwner(t), untouched(t)).do(r).StatusCode; got != http.StatusBadRequest {
		t.Errorf("status %d, want 400", got)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("connection reset by peer") }
