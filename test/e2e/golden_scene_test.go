package e2e

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// goldenStage is a collector with a database of its own on which cases are played, one after the other.
type goldenStage struct {
	*external
	*collector
}

// configurations are what a case may name: what they change in the quick start, in the settings and in the environment.
var configurations = map[string]struct {
	old, replacement string
	limits           string
	settings         map[string]string
	env              []string
}{
	"":    {},
	"off": {env: []string{"SWITCHBOARD_OTLP=0"}},
	"caps": {settings: map[string]string{"spans_max_per_attempt": "3", "spans_max_per_todo": "5", "otlp_max_spans_per_request": "20", "otlp_max_request_bytes": "8192",
		"attempt_history_max_per_todo": "5"}},

	"keep-tool-io":    {env: []string{"SWITCHBOARD_OTLP_KEEP_TOOL_IO=true"}},
	"without-dialect": {old: "[switchboard_dialect, ", replacement: "["},
	"drop-plumbing":   {old: "  switchboard_dialect:\n", replacement: "  switchboard_dialect: {drop_plumbing: true}\n"},
	"additional-keys": {old: "  switchboard_allowlist:\n", replacement: "  switchboard_allowlist: {additional_keys: [gen_ai.agent.name, gen_ai.conversation.id]}\n"},

	"one-a-minute-per-endpoint": {limits: "{pre_auth: {per_second: 100000, burst: 100000}, otlp: {per_second: 0.016, burst: 1}}"},
	"one-a-minute-per-address":  {limits: "{pre_auth: {per_second: 0.016, burst: 1}, otlp: {per_second: 100000, burst: 100000}}"},
}

func startGolden(t *testing.T, name string) *goldenStage {
	t.Helper()
	c, ok := configurations[name]
	if !ok {
		t.Fatalf("there is no configuration %q", name)
	}
	quick, err := os.ReadFile(filepath.Join(root, "configs", "quickstart.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if c.limits == "" {
		c.limits = "{pre_auth: {per_second: 100000, burst: 100000}, otlp: {per_second: 100000, burst: 100000}}"
	}
	text := string(quick)
	for _, change := range [][2]string{{"    local_login:", "    rate_limits: " + c.limits + "\n    local_login:"}, {c.old, c.replacement}} {
		if change[0] != "" && strings.Count(text, change[0]) != 1 {
			t.Fatalf("%q is not once in the quick start", change[0])
		}
		text = strings.Replace(text, change[0], change[1], 1)
	}
	config := filepath.Join(dataDir(t), "golden.yaml")
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	s := &goldenStage{external: newExternal(t)}
	for key, value := range c.settings {
		s.exec(t, `INSERT INTO settings (key, value) VALUES ($1, $2)`, key, value)
	}
	s.collector = start(t, withConfig(config), withEnv(append(c.env, "SWITCHBOARD_DATABASE_URL="+s.external.url)...))
	return s
}

func (s *goldenStage) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	if _, err := s.db.Pool.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// scene is one case while it is played: endpoints and todos of its own, by their names.
type scene struct {
	t *testing.T
	*goldenStage
	endpoints map[string]*identity.Endpoint
	todos     []string // in the order in which they came
	owners    map[string]string
	names     map[string]string // what a placeholder stands for
	instants  []instant
}

// instant is the claim or the end of an attempt.
type instant struct {
	name string
	at   time.Time
}

// open begins a case with the endpoint that its requests are sent to.
func (s *goldenStage) open(t *testing.T) *scene {
	t.Helper()
	c := &scene{t: t, goldenStage: s, endpoints: map[string]*identity.Endpoint{}, owners: map[string]string{}, names: map[string]string{}}
	c.vendAs("endpoint", nil)
	c.names["token"] = c.names["endpoint.token"]
	c.names["unknown"] = typeid.Todo.Format(uuid.MustParse("01900000-0000-7000-8000-000000000000"))
	return c
}

func (s *scene) vendAs(name string, verbs []string) {
	s.t.Helper()
	v, err := s.identity.Vend(s.t.Context(), s.owner.ID, identity.VendParams{Name: "golden", Verbs: verbs})
	if err != nil {
		s.t.Fatal(err)
	}
	s.endpoints[name] = &v.Endpoint
	s.names[name], s.names[name+".id"], s.names[name+".token"] = v.Slug, typeid.Endpoint.Format(v.ID), v.Token
}

// given makes what the lines say: one word for what happens, then the name of what it happens to.
func (s *scene) given(lines string) {
	s.t.Helper()
	for line := range strings.Lines(lines) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if err := s.happens(words[0], words[1], words[2:]); err != nil {
			s.t.Fatalf("%s: %v", strings.TrimSpace(line), err)
		}
	}
}

func (s *scene) happens(what, name string, rest []string) error {
	ctx, id := s.t.Context(), s.id(name)
	endpoint := s.endpoints[s.owners[name]]
	switch what {
	case "endpoint":
		s.vendAs(name, rest)
		return nil
	case "revoke":
		_, err := s.identity.Revoke(ctx, s.owner.ID, s.names[name])
		return err
	case "todo":
		s.owners[name] = "endpoint"
		if len(rest) > 0 {
			s.owners[name] = rest[0]
		}
		todo, _, err := s.queue.Push(ctx, s.owner.ID, queue.PushParams{Endpoint: s.endpoints[s.owners[name]], Title: name, MaxAttempts: new(1000)})
		if err != nil {
			return err
		}
		s.todos = append(s.todos, name)
		s.names[name] = typeid.Todo.Format(uuid.UUID(todo.ID))
		return nil
	case "claim":
		return s.claim(endpoint, name, id, rest)
	case "release":
		_, err := s.queue.Release(ctx, endpoint, id, queue.Report{})
		return s.noted(name, id, err)
	case "complete":
		_, err := s.queue.Complete(ctx, endpoint, id, queue.Report{}, nil)
		return s.noted(name, id, err)
	case "refuse":
		return s.refuse(id, rest)
	case "heal":
		_, err := s.db.Pool.Exec(ctx, `DROP TRIGGER refuses_`+refusal(id)+` ON todo_spans`)
		return err
	case "remove": // as retention does
		_, err := s.db.Pool.Exec(ctx, `DELETE FROM todos WHERE id = $1`, id)
		return err
	default:
		return fmt.Errorf("nothing is called %q", what)
	}
}

// refuse has the database answer an error, a broken constraint where nothing else is said, to each span of a todo.
func (s *scene) refuse(id uuid.UUID, sqlstate []string) error {
	code := "23514"
	if len(sqlstate) > 0 {
		code = sqlstate[0]
	}
	_, err := s.db.Pool.Exec(s.t.Context(), fmt.Sprintf(`
		CREATE FUNCTION refuses_%[1]s() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			RAISE EXCEPTION 'CANARY' USING ERRCODE = '%[2]s'; END $$;
		CREATE TRIGGER refuses_%[1]s BEFORE INSERT ON todo_spans FOR EACH ROW
			WHEN (NEW.todo_id = '%[3]s') EXECUTE FUNCTION refuses_%[1]s()`, refusal(id), code, id), pgx.QueryExecModeSimpleProtocol)
	return err
}

func refusal(id uuid.UUID) string { return hex.EncodeToString(id[:]) }

func (s *scene) id(name string) uuid.UUID {
	id, _ := typeid.Todo.Parse(s.names[name])
	return id
}

func (s *scene) claim(endpoint *identity.Endpoint, name string, id uuid.UUID, caller []string) error {
	var p queue.ClaimParams
	if len(caller) > 0 {
		p.CallerTrace = new([16]byte)
		if _, err := hex.Decode(p.CallerTrace[:], []byte(caller[0])); err != nil {
			return err
		}
	}
	c, err := s.queue.Claim(s.t.Context(), endpoint, id, p)
	if err != nil {
		return err
	}
	trace := strings.Split(c.Traceparent, "-")[1]
	s.names[name+".trace"], s.names[name+".trace."+strconv.Itoa(c.AttemptSeq)] = trace, trace
	return s.noted(name, id, nil)
}

// noted remembers when the todo's latest attempt began and ended.
func (s *scene) noted(name string, id uuid.UUID, err error) error {
	if err != nil {
		return err
	}
	var seq int
	var claimed time.Time
	var ended *time.Time
	if err := s.db.Pool.QueryRow(s.t.Context(), `SELECT seq, claimed_at, ended_at FROM todo_attempts WHERE todo_id = $1 ORDER BY seq DESC LIMIT 1`,
		id).Scan(&seq, &claimed, &ended); err != nil {
		return err
	}
	s.instants = append(s.instants, instant{fmt.Sprintf("%s.claimed.%d", name, seq), claimed})
	if ended != nil {
		s.instants = append(s.instants, instant{fmt.Sprintf("%s.ended.%d", name, seq), *ended})
	}
	return nil
}

var placeholder = regexp.MustCompile(`\{([A-Za-z][A-Za-z0-9._-]*)([+-]\d+us)?\}`)

// fill puts what was made in the place of its names. An instant is written in nanoseconds.
func (s *scene) fill(text string) string {
	return placeholder.ReplaceAllStringFunc(text, func(found string) string {
		parts := placeholder.FindStringSubmatch(found)
		if value, ok := s.names[parts[1]]; ok {
			return value
		}
		for _, i := range s.instants {
			if i.name == parts[1] {
				by, _ := time.ParseDuration(parts[2])
				return strconv.FormatInt(i.at.Add(by).UnixNano(), 10)
			}
		}
		s.t.Fatalf("nothing is called %s", found)
		return ""
	})
}

// unfill puts names in the place of what is another one in each run.
func (s *scene) unfill(text string) string {
	var pairs []string
	for name, value := range s.names {
		if _, ofAttempt := s.names[name+".1"]; ofAttempt || name == "token" {
			continue // the name with the attempt's number says more
		}
		pairs = append(pairs, value, "{"+name+"}")
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// instantName is a time as its attempt's, where it lies within a millisecond of its claim or its end.
func (s *scene) instantName(at time.Time) string {
	name, nearest := at.Format(time.RFC3339Nano), time.Millisecond
	for _, i := range s.instants {
		by := at.Sub(i.at)
		if by.Abs() >= nearest {
			continue
		}
		nearest, name = by.Abs(), "{"+i.name+"}"
		if by != 0 {
			name = fmt.Sprintf("{%s%+dus}", i.name, by.Microseconds())
		}
	}
	return name
}
