package mcpserver

import (
	"bytes"
	"encoding/json"
	"net/http"
)

// quiet keeps what a caller sent out of the SDK's refusals: it quotes whole parameters that it cannot read, lease
// tokens and results among them, and they go on into the logs of clients. The SDK writes an answer in one piece.
type quiet struct{ http.ResponseWriter }

func (q quiet) Write(answer []byte) (int, error) {
	if instead := unquoted(answer); instead != nil {
		_, err := q.ResponseWriter.Write(instead)
		return len(answer), err
	}
	return q.ResponseWriter.Write(answer)
}

// Unwrap lets a http.ResponseController through.
func (q quiet) Unwrap() http.ResponseWriter { return q.ResponseWriter }

// unquoted is what to say instead of a refusal that quotes; nil for every other answer.
func unquoted(answer []byte) []byte {
	if bytes.HasPrefix(answer, []byte("malformed payload: ")) {
		return []byte("the body is not a JSON-RPC message\n")
	}
	if !bytes.Contains(answer, []byte("unmarshaling ")) {
		return nil
	}
	var refusal struct {
		ID    json.RawMessage `json:"id"`
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(answer, &refusal) != nil || refusal.Error == nil {
		return nil
	}
	instead, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": refusal.ID,
		"error": map[string]any{"code": -32602, "message": "invalid params: they are not of the form that this method takes"}})
	if err != nil {
		return nil
	}
	return instead
}
