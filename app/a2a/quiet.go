package a2a

import (
	"bytes"
	"encoding/json"
	"net/http"
	"time"
)

// writeWait is how long a reader may take for one write. A slower one is dropped and subscribes again.
const writeWait = 10 * time.Second

// quiet stands between the SDK and the connection. It keeps what a caller sent out of the SDK's refusals, which quote
// what they cannot read, and the time out of all refusals, so that two of one kind do not differ by a byte. The SDK
// writes a refusal in one piece. Each write has its deadline.
type quiet struct {
	http.ResponseWriter
	rc *http.ResponseController
}

func newQuiet(w http.ResponseWriter) *quiet { return &quiet{w, http.NewResponseController(w)} }

func (q *quiet) Write(answer []byte) (int, error) {
	if err := q.rc.SetWriteDeadline(time.Now().Add(writeWait)); err != nil {
		return 0, err
	}
	if _, err := q.ResponseWriter.Write(unquoted(answer)); err != nil {
		return 0, err
	}
	return len(answer), nil
}

// Flush makes a stream of it.
func (q *quiet) Flush() { _ = q.rc.Flush() }

var (
	eventData = []byte("data: ")
	// Refusals of the SDK itself, up to where they begin to quote.
	quoting = []string{"invalid params", "parse error"}
)

// unquoted is a refusal without what must not be in it. Every other answer stays as it is.
func unquoted(answer []byte) []byte {
	doc, event := bytes.CutPrefix(answer, eventData)
	if !bytes.Contains(doc, []byte(`"error":`)) {
		return answer
	}
	var refused struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *struct {
			Code    int               `json:"code"`
			Message string            `json:"message"`
			Data    []json.RawMessage `json:"data,omitempty"`
		} `json:"error"`
	}
	if json.Unmarshal(doc, &refused) != nil || refused.Error == nil {
		return answer
	}
	for _, begin := range quoting {
		if len(refused.Error.Message) > len(begin) && refused.Error.Message[:len(begin)+1] == begin+":" {
			refused.Error.Message = begin + ": the body is not of the form that this method takes"
		}
	}
	for i, detail := range refused.Error.Data {
		refused.Error.Data[i] = timeless(detail)
	}
	instead, err := json.Marshal(refused)
	if err != nil {
		return answer
	}
	if event {
		instead = append(append([]byte(nil), eventData...), instead...)
		return append(instead, "\n\n"...)
	}
	return append(instead, '\n')
}

// timeless takes the time of a refusal out of its details.
func timeless(detail json.RawMessage) json.RawMessage {
	var info map[string]any
	if json.Unmarshal(detail, &info) != nil {
		return detail
	}
	if metadata, ok := info["metadata"].(map[string]any); ok {
		delete(metadata, "timestamp")
	}
	if without, err := json.Marshal(info); err == nil {
		return without
	}
	return detail
}
