package api

import (
	_ "embed"
	"net/http"
	"slices"
	"strings"

	"github.com/switchboard-otel/switchboard/app/queue"
)

// route is one operation. The table below is the only place that names paths and methods: the mux is built
// from it, and the document is compared with it.
type route struct {
	method, path string
	run          func(*call) (*answer, error)
}

func (s *server) routes() []route {
	return []route{
		{http.MethodGet, "/status", s.status},
		{http.MethodPost, "/login-links", s.newLoginLink},
		{http.MethodGet, "/endpoints", s.listEndpoints},
		{http.MethodPost, "/endpoints", s.vendEndpoint},
		{http.MethodPatch, "/endpoints/{ref}", s.editEndpoint},
		{http.MethodPost, "/endpoints/{ref}/rotate", s.rotateCredential},
		{http.MethodPost, "/endpoints/{ref}/revoke", s.revokeEndpoint},
		{http.MethodPost, "/endpoints/{ref}/todos", s.pushTodo},
		{http.MethodGet, "/todos", s.listTodos},
		{http.MethodPost, "/todos/retry", s.retryTodos},
		{http.MethodGet, "/todos/{id}", s.showTodo},
		{http.MethodPost, "/todos/{id}/claim", s.act(queue.ActionClaim)},
		{http.MethodPost, "/todos/{id}/complete", s.act(queue.ActionComplete)},
		{http.MethodPost, "/todos/{id}/fail", s.act(queue.ActionFail)},
		{http.MethodPost, "/todos/{id}/retry", s.act(queue.ActionRetry)},
		{http.MethodPost, "/todos/{id}/extend", s.act(queue.ActionExtend)},
		{http.MethodPost, "/todos/{id}/release", s.act(queue.ActionRelease)},
		{http.MethodPost, "/todos/{id}/cancel", s.act(queue.ActionCancel)},
		{http.MethodPost, "/todos/{id}/again", s.runAgain},
		{http.MethodPost, "/todos/{id}/quarantine/release", s.admitTodo},
		{http.MethodPost, "/todos/{id}/quarantine/discard", s.discardTodo},
		{http.MethodGet, "/endpoints/{ref}/webhooks", s.endpointWebhooks},
		{http.MethodPost, "/endpoints/{ref}/webhooks", s.createWebhook},
		{http.MethodGet, "/webhooks", s.listWebhooks},
		{http.MethodGet, "/webhooks/{webhook}", s.showWebhook},
		{http.MethodDelete, "/webhooks/{webhook}", s.deleteWebhook},
		{http.MethodPost, "/webhooks/{webhook}/rotate", s.rotateWebhook},
		{http.MethodGet, "/webhooks/{webhook}/rules", s.webhookRules},
		{http.MethodPut, "/webhooks/{webhook}/rules", s.setWebhookRules},
		{http.MethodPost, "/webhooks/{webhook}/rules/test", s.testWebhookRules},
		{http.MethodGet, "/events", s.listEvents},
		{http.MethodGet, "/events/{event}", s.showEvent},
		{http.MethodGet, "/todos/{id}/rungraph", s.todoGraph},
		{http.MethodGet, "/queues/{queue}/rungraph", s.queueGraph},
		{http.MethodGet, importPath, s.listGraphs},
		{http.MethodPost, importPath, s.importGraph},
		{http.MethodGet, "/rungraph/{document}", s.showGraph},
		{http.MethodDelete, "/rungraph/{document}", s.deleteGraph},
	}
}

// byMethod serves one path. GET answers HEAD too.
func byMethod(methods map[string]http.Handler) http.Handler {
	allowed := make([]string, 0, len(methods)+1)
	for m := range methods {
		allowed = append(allowed, m)
		if m == http.MethodGet {
			allowed = append(allowed, http.MethodHead)
		}
	}
	slices.Sort(allowed)
	allow := strings.Join(allowed, ", ")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		method := r.Method
		if method == http.MethodHead {
			method = http.MethodGet
		}
		if h, found := methods[method]; found {
			h.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Allow", allow)
		writeJSON(w, http.StatusMethodNotAllowed, refusal{"this route takes " + allow, "invalid"})
	})
}

//go:embed openapi.json
var document []byte

// documentPath serves the OpenAPI document of this API, to anybody.
const documentPath = "/openapi.json"

func serveDocument(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(document)
}

func noRoute(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusNotFound, refusal{"no such route; see " + Prefix + documentPath, "not_found"})
}
