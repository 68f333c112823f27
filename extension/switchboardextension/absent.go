package switchboardextension

import (
	"crypto/rand"
	"encoding/json"
	"mime"
	"net/http"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
)

// serveOTLP hands a request to the receiver. While the pipelines start or stop there is none, and an
// exporter should come again; when they run without one, this process takes no spans (decisions.md 50).
func (s *switchboard) serveOTLP(w http.ResponseWriter, r *http.Request, path string) {
	if h := s.mounts.find(path); h != nil {
		h.ServeHTTP(w, r)
		return
	}
	if s.ready.Load() {
		refuseOTLP(w, r, http.StatusNotFound, code.Code_NOT_FOUND, "this process takes no spans: no pipeline has the switchboard receiver")
		return
	}
	w.Header().Set("Retry-After", "1")
	refuseOTLP(w, r, http.StatusServiceUnavailable, code.Code_UNAVAILABLE, "the pipelines are starting or stopping; send it again")
}

// refuseOTLP answers as the receiver would: a google.rpc.Status in the request's encoding, JSON where that cannot be
// known (decisions.md 2).
func refuseOTLP(w http.ResponseWriter, r *http.Request, httpStatus int, code code.Code, message string) {
	const asJSON, asProtobuf = "application/json", "application/x-protobuf"
	encoding := asJSON
	if mediaType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); mediaType == asProtobuf {
		encoding = asProtobuf
	}
	body, err := json.Marshal(map[string]any{"code": code, "message": message})
	if encoding == asProtobuf {
		body, err = proto.Marshal(&status.Status{Code: int32(code), Message: message})
	}
	if err != nil {
		panic(err) // of a number and a fixed sentence
	}
	h := w.Header()
	h.Set("Content-Type", encoding)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Request-Id", rand.Text())
	w.WriteHeader(httpStatus)
	_, _ = w.Write(body) // the caller has gone; there is nobody to tell
}
