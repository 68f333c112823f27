package mcpserver_test

import (
	"context"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/rungraph"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

func readGraph(t *testing.T, s *mcp.ClientSession, id string) (string, error) {
	t.Helper()
	r, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "switchboard://todo/" + id + "/rungraph"})
	if err != nil {
		return "", err
	}
	return r.Contents[0].Text, nil
}

func TestRunGraph_IsAResourceOfWhoMayReadTheTodo(t *testing.T) {
	b := setup(t)
	id := b.push(t, "the title")
	session := b.connect(t, b.vended)
	templates, err := session.ListResourceTemplates(t.Context(), nil)
	if err != nil || len(templates.ResourceTemplates) == 0 {
		t.Fatal(templates, err)
	}
	doc, err := readGraph(t, session, id)
	if err != nil {
		t.Fatal(err)
	}
	report, err := rungraph.Validate(context.Background(), []byte(doc), nil)
	if err != nil || len(report.Findings) > 0 || !strings.Contains(doc, id) || strings.Contains(doc, "the title") {
		t.Errorf("%+v %v\n%s", report, err, doc)
	}

	// To anybody else there is no such resource, whatever the reason: but for the address it is one answer.
	stranger := b.connect(t, b.vend(t, identity.VendParams{Name: "stranger"}))
	mute := b.connect(t, b.vend(t, identity.VendParams{Name: "mute", Verbs: []string{"heartbeat"}}))
	nobody := typeid.Todo.Format(typeid.New())
	_, unknown := readGraph(t, session, nobody)
	if unknown == nil {
		t.Fatal("an unknown todo has a document")
	}
	for name, c := range map[string]struct {
		session *mcp.ClientSession
		id      string
	}{
		"another endpoint": {stranger, id}, "without the grant": {mute, id}, "no id": {session, "td_x"},
	} {
		_, err := readGraph(t, c.session, c.id)
		if err == nil || strings.ReplaceAll(err.Error(), c.id, "ID") != strings.ReplaceAll(unknown.Error(), nobody, "ID") {
			t.Errorf("%s: %v, want as %v", name, err, unknown)
		}
	}
}
