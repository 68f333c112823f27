package api

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/switchboard-otel/switchboard/app/rungraph"
)

const smallest = `{"ocp":"0.3", "producer":{"name":"x"},"privacy":{"profile":"metadata_only"},"run":{"id":"their run"},"nodes":[]}`

type keptDocument struct {
	Document struct {
		ID, URL, SHA256 string
		RunID           string `json:"run_id"`
	}
	Created bool
}

// kept imports a document and returns its id.
func (f *fixture) kept(t *testing.T, p *person) string {
	t.Helper()
	var d keptDocument
	f.do(t, p, "POST", "/rungraph", smallest).into(t, http.StatusCreated, &d)
	return d.Document.ID
}

func TestRunGraph_OfATodoConformsAndComesBack(t *testing.T) {
	f := setup(t)
	id := f.state(t, "dead letter")
	doc := f.do(t, &f.alice, "GET", "/todos/"+id+"/rungraph", "")
	r, err := rungraph.Validate(context.Background(), []byte(doc.body), nil)
	if err != nil || len(r.Findings) > 0 || doc.status != http.StatusOK {
		t.Fatalf("%d %+v %v", doc.status, r, err)
	}
	var d keptDocument
	f.do(t, &f.alice, "POST", "/rungraph", doc.body).into(t, http.StatusCreated, &d)
	if d.Document.RunID != id || d.Document.URL != baseURL+"/rungraph/"+d.Document.ID || !d.Created {
		t.Errorf("%+v", d)
	}
	var again keptDocument
	f.do(t, &f.alice, "POST", "/rungraph", doc.body).into(t, http.StatusOK, &again)
	if again.Created || again.Document.ID != d.Document.ID {
		t.Errorf("%+v", again)
	}
	if back := f.do(t, &f.alice, "GET", "/rungraph/"+d.Document.ID, ""); back.body != doc.body {
		t.Error("it came back otherwise")
	}
	var list struct{ Documents []struct{ ID string } }
	f.do(t, &f.alice, "GET", "/rungraph", "").into(t, http.StatusOK, &list)
	if len(list.Documents) != 1 || list.Documents[0].ID != d.Document.ID {
		t.Errorf("%+v", list)
	}
	f.do(t, &f.alice, "DELETE", "/rungraph/"+d.Document.ID, "").into(t, http.StatusOK, &struct{}{})
	f.do(t, &f.alice, "GET", "/rungraph/"+d.Document.ID, "").refused(t, http.StatusNotFound, "not_found")
}

func TestRunGraph_OfAQueueIsOfAWindow(t *testing.T) {
	f := setup(t)
	f.state(t, "done")
	doc := f.do(t, &f.alice, "GET", "/queues/default/rungraph?full=true&from="+url.QueryEscape("2020-01-01T00:00:00+02:00"), "")
	if doc.status != http.StatusOK || !strings.Contains(doc.body, `"id": "default@2019-12-31T22:00:00Z..`) {
		t.Errorf("%d %.300s", doc.status, doc.body)
	}
	for _, query := range []string{"?from=yesterday", "?from=2020-01-01T00:00:00Z&to=2019-01-01T00:00:00Z", "?from=2020-01-01T00:00:00Z&full=perhaps"} {
		f.do(t, &f.alice, "GET", "/queues/default/rungraph"+query, "").refused(t, http.StatusBadRequest, "invalid")
	}
	f.do(t, &f.alice, "GET", "/queues/"+strings.Repeat("x", 300)+"/rungraph?from=2020-01-01T00:00:00Z", "").refused(t, http.StatusBadRequest, "invalid")
}

func TestRunGraph_ImportRefusesWhatDoesNotConformWithoutQuotingIt(t *testing.T) {
	f := setup(t)
	for name, c := range map[string]struct {
		body   string
		status int
	}{
		"nothing":     {"", http.StatusBadRequest},
		"a ghost":     {strings.Replace(smallest, `[]`, `[{"id":"n","kind":"task","group":"CANARY"}]`, 1), http.StatusBadRequest},
		"ten MiB":     {string(bytes.Repeat([]byte{' '}, rungraph.MaxImport)) + "1", http.StatusRequestEntityTooLarge},
		"not too big": {smallest + strings.Repeat(" ", 5<<20), http.StatusCreated},
	} {
		r := f.do(t, &f.alice, "POST", "/rungraph", c.body)
		if r.status != c.status || strings.Contains(r.body, "CANARY") {
			t.Errorf("%s: %d %.300s", name, r.status, r.body)
		}
	}
}
