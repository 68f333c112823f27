package switchboardreceiver

import (
	"errors"
	"mime"
	"net/http"
	"strings"
)

// encoding is how a request is written, and so its answer. The zero value is what an answer uses when the
// request's encoding cannot be known (decisions.md 2).
type encoding int

const (
	jsonEncoding encoding = iota
	protobufEncoding
)

const (
	jsonMediaType     = "application/json"
	protobufMediaType = "application/x-protobuf"
)

// encodingOf reads the Content-Type, whose parameters and case do not matter. ok is false for another type (REQ-2).
func encodingOf(header http.Header) (enc encoding, ok bool) {
	mediaType, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		return jsonEncoding, false
	}
	switch mediaType {
	case jsonMediaType:
		return jsonEncoding, true
	case protobufMediaType:
		return protobufEncoding, true
	default:
		return jsonEncoding, false
	}
}

func (e encoding) mediaType() string {
	if e == protobufEncoding {
		return protobufMediaType
	}
	return jsonMediaType
}

// String is the encoding's name in the log.
func (e encoding) String() string {
	if e == protobufEncoding {
		return "protobuf"
	}
	return "json"
}

// gzipped reads the Content-Encoding. ok is false for anything but gzip, once, or nothing: codings that are stacked
// would multiply what a small body can cost.
func gzipped(header http.Header) (compressed, ok bool) {
	for _, line := range header.Values("Content-Encoding") {
		for coding := range strings.SplitSeq(line, ",") {
			switch strings.ToLower(strings.TrimSpace(coding)) {
			case "", "identity":
			case "gzip", "x-gzip": // one coding with two names (RFC 9110, 8.4.1.3)
				if compressed {
					return false, false
				}
				compressed = true
			default:
				return false, false
			}
		}
	}
	return compressed, true
}
