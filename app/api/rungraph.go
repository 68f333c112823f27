package api

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/switchboard-otel/switchboard/app/arguments"
	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/rungraph"
)

// importPath is the one route whose body may be larger than maxBody: it takes a whole document.
const importPath = "/rungraph"

func bodyLimit(path string) int64 {
	if path == Prefix+importPath {
		return rungraph.MaxImport
	}
	return maxBody
}

func (s *server) todoGraph(c *call) (*answer, error) {
	full, err := isFull(queryOf(c.Request))
	if err != nil {
		return nil, err
	}
	doc, err := s.RunGraphs.ExportTodo(c.Context(), c.human.ID, c.todoID(), full)
	if err != nil {
		return nil, err
	}
	return ok(verbatim(doc))
}

func (s *server) queueGraph(c *call) (*answer, error) {
	in := queryOf(c.Request)
	w := rungraph.Window{Queue: c.PathValue("queue")}
	if from := instant(in, "from"); from != nil {
		w.From = *from
	}
	if to := instant(in, "to"); to != nil {
		w.To = *to
	}
	full, err := isFull(in)
	if err != nil {
		return nil, err
	}
	doc, err := s.RunGraphs.ExportQueue(c.Context(), c.human.ID, w, full)
	if err != nil {
		return nil, err
	}
	return ok(verbatim(doc))
}

// isFull reads whether summaries go along, and refuses what was wrong with the query before.
func isFull(in *arguments.Arguments) (bool, error) {
	full := in.Bool("full")
	return full != nil && *full, in.Err()
}

// instant is an optional time, nil when absent.
func instant(in *arguments.Arguments, name string) *time.Time {
	word := in.Word(name)
	if word == nil {
		return nil
	}
	t, err := time.Parse(time.RFC3339Nano, *word)
	if err != nil {
		in.Refuse(fault.InvalidArgument(name, "must be a time such as 2026-04-02T10:00:00Z"))
		return nil
	}
	return &t
}

// importedBody is a kept document with its page.
type importedBody struct {
	*rungraph.Imported
	URL string `json:"url"`
}

func (s *server) importedBody(d *rungraph.Imported) importedBody {
	return importedBody{d, s.BaseURL + "/rungraph/" + d.ID.String()}
}

func (s *server) importGraph(c *call) (*answer, error) {
	doc, err := io.ReadAll(c.Body)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, errDocumentTooLarge
	case err != nil:
		return nil, fault.New(fault.Invalid, "the body ended early")
	}
	d, isNew, err := s.RunGraphs.Import(c.Context(), c.human.ID, doc)
	if err != nil {
		return nil, err
	}
	body := struct {
		Document importedBody `json:"document"`
		Created  bool         `json:"created"`
	}{s.importedBody(d), isNew}
	if isNew {
		return created(body)
	}
	return ok(body)
}

func (s *server) listGraphs(c *call) (*answer, error) {
	kept, err := s.RunGraphs.Imports(c.Context(), c.human.ID)
	if err != nil {
		return nil, err
	}
	list := make([]importedBody, len(kept))
	for i := range kept {
		list[i] = s.importedBody(&kept[i])
	}
	return ok(map[string]any{"documents": list})
}

// documentID is an id in the path; as webhookID for what is none.
func (c *call) documentID() rungraph.ID {
	id, _ := rungraph.ParseID(c.PathValue("document"))
	return id
}

func (s *server) showGraph(c *call) (*answer, error) {
	_, doc, err := s.RunGraphs.Imported(c.Context(), c.human.ID, c.documentID())
	if err != nil {
		return nil, err
	}
	return ok(verbatim(doc))
}

func (s *server) deleteGraph(c *call) (*answer, error) {
	if err := s.RunGraphs.Delete(c.Context(), c.human.ID, c.documentID()); err != nil {
		return nil, err
	}
	return ok(map[string]bool{"deleted": true})
}
