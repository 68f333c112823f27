package board

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/switchboard-otel/switchboard/app/rungraph"
)

// graphView is the page of a run-graph document that its human brought: read, and nothing else.
type graphView struct {
	Now time.Time
	*rungraph.Imported
	*rungraph.View
}

var documentNotFoundPage = failure{Status: http.StatusNotFound, Title: "No document here",
	Text: "There is no document with this id that you can see. It may have been deleted, or it belongs to someone else; this page is the same in both cases.",
	To:   "/", ToWords: "To the Board"}

func (b *board) showGraph(w http.ResponseWriter, r *http.Request, v viewer) error {
	// What is no id is the zero one, which no document has.
	id, _ := rungraph.ParseID(r.PathValue("document"))
	kept, doc, err := b.RunGraphs.Imported(r.Context(), v.human.ID, id)
	if errors.Is(err, rungraph.ErrDocumentNotFound) {
		b.show(w, r, v, documentNotFoundPage)
		return nil
	}
	if err != nil {
		return err
	}
	view := &graphView{Now: b.now(), Imported: kept, View: rungraph.Read(doc)}
	return b.render(w, r, http.StatusOK, graphPage(b.shell(r, v, "Run graph", ""), view))
}

// head names the run: by its title, else by its id.
func (g *graphView) head() string {
	if g.Title != "" {
		return g.Title
	}
	return g.View.RunID
}

// madeBy is the producer with its version.
func (g *graphView) madeBy() string {
	if g.ProducerVersion == "" {
		return g.View.Producer
	}
	return g.View.Producer + " " + g.ProducerVersion
}

// counted says how much of the document the page shows.
func (g *graphView) counted() string {
	if shown := len(g.Attempts); shown < g.AttemptsTotal {
		return fmt.Sprintf("the first %d of %d attempts", shown, g.AttemptsTotal)
	}
	return fmt.Sprintf("%d attempts", g.AttemptsTotal)
}

// graphMark draws an attempt's status in the format's own word.
func graphMark(a *rungraph.AttemptView) mark {
	switch a.Status {
	case "queued":
		return mark{"wait", "l-wait", a.Status}
	case "working":
		return mark{"live", "l-live", a.Status}
	case "done":
		return mark{"done", "l-done", a.Status}
	case "failed", "rejected":
		return mark{"dead", "l-fail", a.Status}
	case "lost":
		return mark{"died", "l-died", a.Status}
	default:
		return mark{"off", "l-off", a.Status}
	}
}

// tokens are the counts that the document gives, without those it does not.
func tokens(a *rungraph.AttemptView) (words []string) {
	for _, c := range []struct {
		n    *int64
		word string
	}{{a.Input, "in"}, {a.Cached, "cached"}, {a.Output, "out"}} {
		if c.n != nil {
			words = append(words, strconv.FormatInt(*c.n, 10)+" "+c.word)
		}
	}
	return words
}
