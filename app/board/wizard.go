package board

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/switchboard-otel/switchboard/app/agentsetup"
	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/postgres"
)

// The steps of the wizard. Each page carries what the others hold in hidden fields, so that two tabs never mix and
// nothing is kept of an endpoint that was not made.
const (
	stepAgent = iota + 1
	stepVerbs
	stepDefaults
	stepVend // makes it
)

var stepNames = []string{"Agent and queues", "What it may do", "Defaults", "Credential"}

// nextWord names where a step's button leads.
func nextWord(step int) string {
	return []string{"Next: what it may do", "Next: defaults", "Vend it"}[step-1]
}

// queueWords names the queues of a draft.
func queueWords(d draft) string {
	if queues := d.queueList(); len(queues) > 0 {
		return strings.Join(queues, ", ")
	}
	return identity.DefaultQueue
}

// wizardView is the wizard at one of its steps.
type wizardView struct {
	Step    int
	Draft   draft
	Form    string
	Refused string
	Queues  []string // that the human's endpoints have, as suggestions
}

// draft is an endpoint that is being described, as it was typed.
type draft struct {
	Name, Kind, Queues string
	Verbs              []string
	defaultsForm
	Days string // until it expires; empty: never
}

func draftOf(r *http.Request) draft {
	d := draft{Name: strings.TrimSpace(r.PostFormValue("name")), Kind: r.PostFormValue("kind"), Queues: strings.TrimSpace(r.PostFormValue("queues")),
		Verbs: r.PostForm["verb"], defaultsForm: defaultsFormOf(r), Days: strings.TrimSpace(r.PostFormValue("days"))}
	return d
}

// queueList are the queues that were typed, between commas or spaces.
func (d draft) queueList() []string {
	return strings.FieldsFunc(d.Queues, func(c rune) bool { return c == ',' || c == ' ' || c == '\t' })
}

func (d draft) has(verb string) bool { return slices.Contains(d.Verbs, verb) }

// params reads the draft.
func (d draft) params() (p identity.VendParams, err error) {
	p = identity.VendParams{Name: d.Name, Queues: d.queueList(), Verbs: d.Verbs, RequireFence: d.Fence}
	if d.Kind != "" {
		p.Kind = &d.Kind
	}
	if p.DefaultLeaseTTLSeconds, p.DefaultMaxAttempts, err = d.read(); err != nil {
		return p, err
	}
	days, err := wholeOf("the days until it expires", d.Days, "must be a whole number, 1 to 36500")
	if days != nil {
		lasts := time.Duration(min(*days, 36500)) * 24 * time.Hour
		p.ExpiresIn = &lasts
	}
	return p, err
}

// check refuses what a step may not leave behind; the rest is judged when the endpoint is made.
func (d draft) check(step int) error {
	switch {
	case step == stepAgent && d.Name == "":
		return fault.InvalidArgument("the agent's name", "must be given")
	case step == stepAgent && slices.ContainsFunc(d.queueList(), func(q string) bool { return !identity.ValidQueue(q) }):
		return fault.InvalidArgument("a queue", "must be lower-case letters, digits, '.', '_' or '-', 64 bytes at most; quarantine is reserved")
	case step == stepVerbs && len(d.Verbs) == 0:
		return fault.InvalidArgument("what it may do", "must hold at least one verb")
	default:
		return nil
	}
}

func (b *board) showWizard(w http.ResponseWriter, r *http.Request, v viewer) error {
	return b.wizard(w, r, v, http.StatusOK, &wizardView{Step: stepAgent, Draft: draft{Verbs: identity.DrainVerbs}})
}

func (b *board) wizard(w http.ResponseWriter, r *http.Request, v viewer, status int, view *wizardView) error {
	endpoints, err := b.Identity.Endpoints(r.Context(), v.human.ID)
	if err != nil {
		return err
	}
	view.Form, view.Queues = v.form, queuesOf(endpoints)
	return b.render(w, r, status, wizardPage(b.shell(r, v, "Vend an endpoint", "/endpoints"), view))
}

// stepWizard goes to the step that a button names: back freely, on only when this one is in order.
func (b *board) stepWizard(w http.ResponseWriter, r *http.Request, v viewer) error {
	from, to := stepOf(r.PostFormValue("step")), stepOf(r.PostFormValue("go"))
	d := draftOf(r)
	if to <= from {
		return b.wizard(w, r, v, http.StatusOK, &wizardView{Step: to, Draft: d})
	}
	err := d.check(from)
	if err == nil && to == stepVend {
		return b.vend(w, r, v, d, from)
	}
	if err != nil {
		return b.wizard(w, r, v, http.StatusUnprocessableEntity, &wizardView{Step: from, Draft: d, Refused: refusal(err)})
	}
	return b.wizard(w, r, v, http.StatusOK, &wizardView{Step: to, Draft: d})
}

func (b *board) vend(w http.ResponseWriter, r *http.Request, v viewer, d draft, from int) error {
	p, err := d.params()
	var vended *identity.Vended
	if err == nil {
		vended, err = b.Identity.Vend(r.Context(), v.human.ID, p)
	}
	if err != nil && fault.From(err, postgres.Fault).Code == fault.Invalid {
		return b.wizard(w, r, v, http.StatusUnprocessableEntity, &wizardView{Step: from, Draft: d, Refused: refusal(err)})
	}
	if err != nil {
		return err
	}
	return b.showCredential(w, r, v, vended, false)
}

// quickVend makes an endpoint of a name alone: the default queue, the drain verbs, no expiry.
func (b *board) quickVend(w http.ResponseWriter, r *http.Request, v viewer) error {
	d := draftOf(r)
	if d.Name == "" {
		d.Name = "agent"
	}
	d.Verbs = identity.DrainVerbs
	return b.vend(w, r, v, d, stepAgent)
}

func refusal(err error) string { return sentence(fault.From(err, postgres.Fault).Message) }

// stepOf reads a step; anything else is the first.
func stepOf(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < stepAgent || n > stepVend {
		return stepAgent
	}
	return n
}

// verbGroup is what the wizard offers together.
type verbGroup struct {
	Legend, Hint string
	Verbs        []string
}

// verbHints say what a verb is for.
var verbHints = map[string]string{
	identity.VerbClaimNext: "take the oldest ready todo", identity.VerbClaim: "take one by id",
	identity.VerbHeartbeat: "extend the lease, leave notes, send spans", identity.VerbComplete: "finish with a result",
	identity.VerbFail: "give a verdict, ask for a retry", identity.VerbRelease: "hand it back without a verdict",
	identity.VerbListTodos: "see the queue; includes get_todo", identity.VerbGetTodo: "read one todo with its history",
	identity.VerbGetDefaultLease: "read its own default lease", identity.VerbSetDefaultLease: "change its own default lease",
	identity.VerbRequestInput: "ask, and wait for an answer", identity.VerbRequestAuth: "wait until somebody has signed in",
}

// verbGroups are all verbs that can be granted: those that drain the queue, and those that are granted only by name.
func verbGroups() []verbGroup {
	var ask, lease, work []string
	for _, v := range identity.Verbs {
		switch {
		case slices.Contains(identity.DrainVerbs, v):
		case strings.HasSuffix(v, "default_lease"):
			lease = append(lease, v)
		case strings.HasPrefix(v, "request_"):
			ask = append(ask, v)
		default:
			work = append(work, v)
		}
	}
	groups := []verbGroup{{"Work the queue", "", []string{identity.VerbClaimNext, identity.VerbClaim, identity.VerbHeartbeat, identity.VerbComplete,
		identity.VerbFail, identity.VerbRelease, identity.VerbListTodos, identity.VerbGetTodo}}}
	if len(work) > 0 {
		groups = append(groups, verbGroup{"Bring work in", "Never granted by default.", work})
	}
	return append(groups, verbGroup{"Ask whoever sent the work", "Never granted by default.", ask},
		verbGroup{"Tune itself", "Never granted by default.", lease})
}

// kindChoices are the agents that have a guide of their own.
func kindChoices() []choice {
	all := []choice{{"", "Another client, or not known yet"}}
	for _, g := range agentsetup.Guides {
		all = append(all, choice{g.Kind, g.Title})
	}
	return all
}
