package a2a

import (
	"encoding/json"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/text"
)

const (
	maxTitle     = 256
	maxMessageID = 128
	maxContext   = 128
	maxParts     = 100
)

// untitled is the title of work that was sent without a word.
const untitled = "Message over A2A"

// payload is what a todo carries that was sent over A2A.
type payload struct {
	Message *a2a.Message `json:"message"`
}

// check refuses a message that cannot be kept. Absent and empty ids are the same.
func check(m *a2a.Message) error {
	switch {
	case m == nil:
		return fault.InvalidArgument("message", "is required")
	case !name(m.ID, maxMessageID):
		return fault.InvalidArgument("message.messageId", "must be 1 to 128 bytes of printable text")
	case m.Role != a2a.MessageRoleUser:
		return fault.InvalidArgument("message.role", "must be ROLE_USER")
	case m.ContextID != "" && !name(m.ContextID, maxContext):
		return fault.InvalidArgument("message.contextId", "must be at most 128 bytes of printable text")
	case len(m.Parts) == 0 || len(m.Parts) > maxParts:
		return fault.InvalidArgument("message.parts", "must be 1 to 100 parts")
	}
	for _, p := range m.Parts {
		if p == nil || p.Content == nil {
			return fault.InvalidArgument("message.parts", "must each hold text, raw, url or data")
		}
	}
	return nil
}

// name reports whether s is printable and not longer than most bytes.
func name(s string, most int) bool {
	return s != "" && len(s) <= most && text.Clean(s) == s && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// titleOf is the first line of a message that says something.
func titleOf(m *a2a.Message) string {
	for _, p := range m.Parts {
		for line := range strings.Lines(p.Text()) {
			if line = strings.TrimSpace(text.Clean(line)); line != "" {
				title, _ := text.Cut(line, maxTitle)
				return title
			}
		}
	}
	return untitled
}

// wordsOf is the text of a message, which the log shows the beginning of. nil: it holds none.
func wordsOf(m *a2a.Message) *string {
	var words []string
	for _, p := range m.Parts {
		if t := strings.TrimSpace(p.Text()); t != "" {
			words = append(words, t)
		}
	}
	if words == nil {
		return nil
	}
	all := strings.Join(words, "\n")
	return &all
}

// stored is the JSON of something that a message is part of, if it can be kept.
func stored(doc any) (json.RawMessage, error) {
	raw, err := json.Marshal(doc)
	if err != nil {
		return nil, fault.InvalidArgument("message", "must be JSON")
	}
	return raw, queue.CheckJSON("message", raw)
}

// said reads a list of messages as it is kept. What an earlier version wrote otherwise is left out.
func said(raw json.RawMessage) []*a2a.Message {
	var each []json.RawMessage
	if raw == nil || json.Unmarshal(raw, &each) != nil {
		return nil
	}
	messages := make([]*a2a.Message, 0, len(each))
	for _, doc := range each {
		var m a2a.Message
		if json.Unmarshal(doc, &m) == nil {
			messages = append(messages, &m)
		}
	}
	return messages
}
