package e2e

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/chromedp/chromedp"
)

// demonstration is what `bin/switchboard demo --json` prints.
type demonstration struct {
	Todos []struct {
		ID  string `json:"id"`
		URL string `json:"url"`
	} `json:"todos"`
	LoginURL string `json:"login_url"`
}

// The first thing a new user sees: the demo prints pages, and the printed link opens one with attempts and
// a waterfall whose spans came over OTLP from the stock exporter, bound by the claim's traceparent.
func TestDemo_PrintsPagesThatShowWhatHappened(t *testing.T) {
	t.Parallel()
	c := start(t)
	var demo demonstration
	c.cliJSON(&demo, "demo")
	if len(demo.Todos) < 3 || demo.LoginURL == "" {
		t.Fatalf("%+v", demo)
	}
	outcomes, spans := map[string]int{}, 0
	for _, todo := range demo.Todos {
		tr := c.trail(todo.ID)
		minted := map[string]int{}
		for _, a := range tr.Attempts {
			minted[a.TraceID] = a.Seq
			if a.Outcome != nil {
				outcomes[*a.Outcome]++
			}
			if a.Died {
				outcomes["died"]++
			}
		}
		for _, sp := range tr.Spans {
			spans++
			if sp.AttemptSeq == nil || minted[sp.TraceID] != *sp.AttemptSeq {
				t.Errorf("%s: a span was not bound by the trace of its claim: %+v", todo.ID, sp)
			}
		}
	}
	if outcomes["completed"] == 0 || outcomes["failed"] == 0 || outcomes["died"] == 0 || spans < 10 {
		t.Errorf("the demo shows %v and %d spans", outcomes, spans)
	}

	b := openBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 900), chromedp.Navigate(demo.LoginURL), chromedp.Click("main button"), chromedp.WaitVisible("table.wf-table"))
	for what, script := range map[string]string{
		"attempts in the timeline": `document.querySelectorAll('.tl-attempt').length`,
		"rows of spans":            `document.querySelectorAll('tr.wf-row').length`,
		"an outcome card":          `document.querySelectorAll('#outcome').length`,
	} {
		if n := b.number(script); n < 1 {
			t.Errorf("the page shows no %s", what)
		}
	}
	// The link was spent by the button: it works once.
	b.do(chromedp.Navigate(demo.LoginURL))
	if n := b.number(`document.querySelectorAll('form[action*="login"] button').length`); n != 0 {
		t.Error("a spent link still offers to sign in")
	}
}

type browser struct {
	t   *testing.T
	ctx context.Context
}

func openBrowser(t *testing.T) *browser {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil && path == "" {
			path = found
		}
	}
	if path == "" {
		t.Fatal("no browser: install the package chromium (Debian: apt-get install chromium)")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.UserDataDir(dataDir(t)), chromedp.DisableGPU)
	for _, flag := range []string{"disable-quic", "no-first-run", "disable-background-networking", "disable-component-update", "disable-sync"} {
		options = append(options, chromedp.Flag(flag, true))
	}
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium's sandbox refuses root
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	ctx, stop := chromedp.NewContext(allocator)
	t.Cleanup(stop)
	ctx, cancel := context.WithTimeout(ctx, patience)
	t.Cleanup(cancel)
	return &browser{t, ctx}
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

func (b *browser) number(script string) int {
	b.t.Helper()
	n, err := chromedp.Run(b.ctx, chromedp.Evaluate[int](script))
	if err != nil {
		b.t.Fatal(err)
	}
	return n
}
