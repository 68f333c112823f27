package doctor

import (
	"bytes"
	"context"
	"io"
	"mime"
	"net/http"

	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
)

const (
	mediaType = "application/x-protobuf"
	// maxAnswer bounds what is read of an answer. The receiver's are far below it.
	maxAnswer = 64 << 10
)

// reply is an answer that was read.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// post sends an export request as a stock exporter does; without a credential it shows none.
func (e *examination) post(ctx context.Context, body []byte, credential string) (*reply, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.Target.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", mediaType)
	request.Header.Set("User-Agent", "switchboard-doctor/"+e.Version)
	if credential != "" {
		request.Header.Set("Authorization", "Bearer "+credential)
	}
	response, err := e.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return nil, err
	}
	return &reply{response.StatusCode, response.Header, text}, nil
}

// isProtobuf says that the answer is in the encoding of the request, as an OTLP server's is.
func (r *reply) isProtobuf() bool {
	kind, _, err := mime.ParseMediaType(r.header.Get("Content-Type"))
	return err == nil && kind == mediaType
}

// message is the sentence of a refusal by an OTLP server, empty when the answer is none.
func (r *reply) message() string {
	var refusal status.Status
	if !r.isProtobuf() || proto.Unmarshal(r.body, &refusal) != nil {
		return ""
	}
	return refusal.GetMessage()
}

// retryAfter is when the server wants to be asked again, in words.
func (r *reply) retryAfter() string {
	if seconds := r.header.Get("Retry-After"); seconds != "" {
		return "try again in " + seconds + " s"
	}
	return "try again in a moment"
}
