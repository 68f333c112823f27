// Package doctor sends one real span to an endpoint and says, step by step and in words, how far it came. It is
// for people whose spans do not show up: most exporters are silent about a refusal.
package doctor

import (
	"context"
	"net/http"
	"time"
)

// patience bounds each of the two requests. An exporter gives up after as long.
const patience = 10 * time.Second

// SpanName is what the span is called where it is stored.
const SpanName = "switchboard doctor"

// Config is what to examine.
type Config struct {
	// Target is where an exporter of the endpoint would send its spans.
	Target *Target
	// Credential is what it would present, in any of the forms in which people copy it.
	Credential string
	// Todo is the id of the todo that the span names. Without one the span names none, and nothing is stored.
	Todo string
	// Version of this program, for the server's access log.
	Version string
}

// State is what became of a step.
type State string

// The states of a step.
const (
	OK         State = "ok"
	Failed     State = "failed"
	NotReached State = "not reached"
)

// Step is one thing that must hold before a span is shown.
type Step struct {
	Name  string `json:"step"`
	State State  `json:"state"`
	// Found says what happened, Next what to do about it. No step has a credential in it.
	Found string `json:"found,omitempty"`
	Next  string `json:"next,omitempty"`
}

// Report is everything that was found. Its steps are always all there, in the order in which a span passes them.
type Report struct {
	OK    bool   `json:"ok"`
	URL   string `json:"url"`
	Steps []Step `json:"steps"`
	// Stored says that the span is on the todo now; TraceID finds it there.
	Stored  bool   `json:"stored"`
	TraceID string `json:"trace_id,omitempty"`
}

// Failed is the name of the step that did not hold, empty when all do.
func (r *Report) Failed() string {
	for _, step := range r.Steps {
		if step.State == Failed {
			return step.Name
		}
	}
	return ""
}

// The steps, in the order of the server's own checks (decisions.md 1). Everything before the credential is
// found out without showing it to anybody.
const (
	stepAddress    = "address"
	stepOTLP       = "otlp"
	stepCredential = "credential"
	stepPath       = "path"
	stepGrant      = "grant"
	stepRequest    = "request"
	stepBinding    = "binding"
)

var order = []string{stepAddress, stepOTLP, stepCredential, stepPath, stepGrant, stepRequest, stepBinding}

// finding is the first step that did not hold; those before it did.
type finding struct{ step, found, next string }

// examination is one run.
type examination struct {
	Config
	client *http.Client
	found  map[string]string // what the steps that hold have to say
}

// Run examines the endpoint. It fails in no other way than by a report that says so.
func Run(ctx context.Context, cfg Config) *Report {
	e := &examination{Config: cfg, found: map[string]string{}, client: &http.Client{
		Timeout: patience,
		// Exporters do not follow a redirect either, and a credential must not follow anybody who sends one.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	report := &Report{URL: cfg.Target.String()}
	failed := e.probe(ctx)
	if failed == nil {
		failed = e.send(ctx, report)
	}
	report.OK = failed == nil
	for _, name := range order {
		step := Step{Name: name, State: OK, Found: e.found[name]}
		switch {
		case failed != nil && failed.step == name:
			step = Step{Name: name, State: Failed, Found: failed.found, Next: failed.next}
		case step.Found == "":
			step.State = NotReached
		}
		report.Steps = append(report.Steps, step)
	}
	return report
}
