package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"
)

var mcpTypeScript = installed("mcp-typescript")

// typeScript is a process with one of the SDK's clients, and the endpoint whose address it was given.
type typeScript struct {
	t             *testing.T
	name, version string
	c             *collector
	owner         person
	at            vended

	in     *json.Encoder
	lines  <-chan said
	errors *lockedBuffer
	log    []said
	from   int // what is awaited comes after this
	calls  int
}

// said is a line of agent.mjs.
type said struct {
	ID     int             `json:"id"`
	Answer json.RawMessage `json:"answer"`
	Error  string          `json:"error"`

	Page    string `json:"page"`
	HTTP    string `json:"http"`
	Stream  bool   `json:"stream"`
	Trouble string `json:"trouble"`
	Heard   struct {
		Method string `json:"method"`
		Params struct {
			Meta map[string]string `json:"meta"`
		} `json:"params"`
	} `json:"heard"`
}

type tokens struct {
	Access  string `json:"access_token"`
	Refresh string `json:"refresh_token"`
}

func runTypeScript(t *testing.T, c *collector, owner person, library, version string) *typeScript {
	t.Helper()
	dir, err := mcpTypeScript()
	if err != nil {
		t.Fatal(err)
	}
	s := &typeScript{t: t, name: strings.TrimSpace(library + " " + version), version: version, c: c, owner: owner, at: c.vendAll(owner, "typescript"), errors: &lockedBuffer{}}
	// An older Node warns of how often the SDK listens to one signal; what the SDK itself says must be nothing.
	program := exec.Command("node", "--no-warnings", "agent.mjs", s.at.MCPURL, library, version)
	program.Dir, program.Env, program.Stderr = dir, environment(), s.errors
	in, err := program.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	lines := make(chan said, 1000)
	go func() {
		defer close(lines)
		read(out, lines)
	}()
	t.Cleanup(func() {
		_ = in.Close() // it ends with its input
		defer time.AfterFunc(patience, func() { _ = program.Process.Kill() }).Stop()
		for range lines {
		}
		if err := program.Wait(); err != nil || s.errors.String() != "" {
			t.Errorf("%s: %v\n%s", s.name, err, s.errors)
		}
	})
	s.in, s.lines = json.NewEncoder(in), lines
	return s
}

func read(out io.Reader, into chan<- said) {
	for lines := bufio.NewReader(out); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var s said
		if json.Unmarshal(bytes.TrimSpace(line), &s) != nil {
			s.Trouble = "it says " + string(line)
		}
		into <- s
	}
}

// until returns what the client says next of what match picks. It may have been said since the last mark.
func (s *typeScript) until(what string, match func(said) bool) said {
	s.t.Helper()
	for i := s.from; ; i++ {
		if i == len(s.log) {
			select {
			case line, ok := <-s.lines:
				if !ok {
					s.fatal("ended, waiting for " + what)
				}
				s.log = append(s.log, line)
			case <-time.After(patience):
				s.fatal("does not come to " + what)
			}
		}
		if match(s.log[i]) {
			return s.log[i]
		}
	}
}

func (s *typeScript) fatal(what string) {
	s.t.Helper()
	var tail strings.Builder
	for _, line := range s.log[max(0, len(s.log)-30):] {
		fmt.Fprintf(&tail, "%s%s%s%s%.200s\n", line.HTTP, line.Trouble, line.Error, line.Heard.Method, line.Answer)
	}
	s.t.Fatalf("%s %s\n%s\n%s", s.name, what, s.errors, tail.String())
}

// mark forgets what was said before.
func (s *typeScript) mark() {
	for {
		select {
		case line, ok := <-s.lines:
			if ok {
				s.log = append(s.log, line)
				continue
			}
		default:
		}
		s.from = len(s.log)
		return
	}
}

func (s *typeScript) send(what string, args map[string]any) (id int) {
	s.t.Helper()
	s.calls++
	line := map[string]any{"id": s.calls, "do": what}
	for name, value := range args {
		line[name] = value
	}
	if err := s.in.Encode(line); err != nil {
		s.fatal("cannot be told to " + what)
	}
	return s.calls
}

func (s *typeScript) answer(id int, into any) {
	s.t.Helper()
	line := s.until("an answer", func(l said) bool { return l.ID == id })
	if line.Error != "" {
		s.fatal("fails: " + line.Error)
	}
	if err := json.Unmarshal(line.Answer, into); err != nil {
		s.fatal(err.Error())
	}
}

// do lets the client do something and reads the answer.
func (s *typeScript) do(what string, args map[string]any, into any) {
	s.t.Helper()
	s.answer(s.send(what, args), into)
}

func (s *typeScript) tokens() (t tokens) {
	s.t.Helper()
	s.do("tokens", nil, &t)
	return t
}
