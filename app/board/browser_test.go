package board

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// browserPatience bounds what a test does with one tab, so that a hang fails and names itself. Nothing waits
// for it on a page that works.
const browserPatience = 5 * time.Minute

// axeSource is axe-core 4.14.1 as npm publishes it, so that the tests need no network.
//
//go:embed testdata/axe/axe.min.js
var axeSource string

func TestAxe_IsTheReleasedFile(t *testing.T) {
	t.Parallel()
	const released = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c"
	if sum := sha256.Sum256([]byte(axeSource)); hex.EncodeToString(sum[:]) != released {
		t.Fatal("testdata/axe/axe.min.js is not the file of axe-core 4.14.1")
	}
}

// browser is the one Chromium of the test process; stopBrowser ends it.
var (
	browserOnce sync.Once
	browser     context.Context
	stopBrowser = func() {}
)

func TestMain(m *testing.M) {
	code := m.Run()
	stopBrowser()
	os.Exit(code)
}

func startBrowser(t testing.TB) context.Context {
	t.Helper()
	path := chromium()
	if path == "" {
		t.Fatal("the browser tests need Chromium: install the package chromium (Debian: apt-get install chromium)")
	}
	browserOnce.Do(func() {
		profile, err := os.MkdirTemp("", "switchboard-chromium-")
		if err != nil {
			t.Fatal(err)
		}
		opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.UserDataDir(profile), chromedp.DisableGPU)
		for _, flag := range []string{"disable-quic", "no-first-run", "disable-background-networking", "disable-component-update", "disable-sync"} {
			opts = append(opts, chromedp.Flag(flag, true))
		}
		if os.Geteuid() == 0 {
			opts = append(opts, chromedp.NoSandbox) // Chromium's sandbox refuses root
		}
		allocator, stopAllocator := chromedp.NewExecAllocator(context.Background(), opts...)
		ctx, stop := chromedp.NewContext(allocator)
		stopBrowser = func() {
			stop()
			stopAllocator()
			_ = os.RemoveAll(profile)
		}
		if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
			t.Fatalf("%s does not start: %v", filepath.Base(path), err)
		}
		browser = ctx
	})
	if browser == nil {
		t.Fatal("the browser did not start, see the first browser test")
	}
	return browser
}

func chromium() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// tab is a browser tab with cookies of its own that listens to everything the browser says about a page.
type tab struct {
	t    testing.TB
	ctx  context.Context
	said iter.Seq2[chromedp.ConsoleMessage, error]
	base string
	look look
}

// look is a way to see a page.
type look struct {
	theme string
	width int64
}

var looks = []look{{"light", 1280}, {"dark", 1280}, {"light", 390}, {"dark", 390}}

func (l look) height() int64 {
	if l.width < 768 {
		return 844
	}
	return 900
}

func (l look) String() string { return fmt.Sprintf("%d-%s", l.width, l.theme) }

// open opens a tab on the Board, signed in as c is; nil is nobody.
func (h *house) open(t testing.TB, c *browserless, l look) *tab {
	t.Helper()
	ctx, stop := chromedp.NewContext(startBrowser(t), chromedp.WithNewBrowserContext())
	t.Cleanup(stop)
	ctx, cancel := context.WithTimeout(ctx, browserPatience)
	t.Cleanup(cancel)
	b := &tab{t: t, ctx: ctx, said: chromedp.Console(ctx), base: h.server.URL, look: l}
	b.do(chromedp.EmulateViewport(l.width, l.height()))
	b.still()
	b.cookie(themeCookie, l.theme)
	if c != nil {
		at, err := url.Parse(h.server.URL)
		if err != nil {
			t.Fatal(err)
		}
		for _, cookie := range c.Jar.Cookies(at) {
			b.cookie(cookie.Name, cookie.Value)
		}
	}
	return b
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

func (b *tab) visit(path string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.base + path))
}

func (b *tab) cookie(name, value string) {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, network.SetCookie, network.SetCookieParams{Name: name, Value: value, URL: b.base}); err != nil {
		b.t.Fatal(err)
	}
}

func (b *tab) scriptsOff() {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		b.t.Fatal(err)
	}
}

// still asks pages not to move: a click lands where its target was when its place was asked for.
func (b *tab) still() {
	b.t.Helper()
	motion := &emulation.MediaFeature{Name: "prefers-reduced-motion", Value: "reduce"}
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{motion}}); err != nil {
		b.t.Fatal(err)
	}
}

// eval evaluates an expression through the browser's protocol, which no policy of the page forbids.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%.80s: %v", expression, err)
	}
	return v
}

// wait waits until an expression is true, across the navigations that lead there.
func (b *tab) wait(expression string) {
	b.t.Helper()
	for b.ctx.Err() == nil {
		_, err := chromedp.Run(b.ctx, chromedp.Poll[bool](expression, chromedp.WithPollingTimeout(0)))
		if err == nil {
			return
		}
		if !navigated(err) {
			b.t.Fatalf("waiting for %s: %v", expression, err)
		}
	}
	b.t.Fatalf("waiting for %s: %v", expression, b.ctx.Err())
}

// navigated reports whether a question failed because the document that was asked has gone.
func navigated(err error) bool {
	return strings.Contains(err.Error(), "context") || strings.Contains(err.Error(), "navigated")
}

// picture takes a picture of a page, two windows of it at most, into the folder that SWITCHBOARD_SCREENS names: of every
// page into an empty folder, and into one that holds pictures, as the documentation's, those that it holds.
func (b *tab) picture(name string) {
	b.t.Helper()
	if !wanted(name, b.look) {
		return
	}
	eval[bool](b, `document.fonts.ready.then(() => true)`)
	b.wait(`!document.querySelector("#stream") || document.documentElement.dataset.live === "on"`)
	height := min(int64(eval[int](b, `document.documentElement.scrollHeight`)), 2*b.look.height())
	b.do(chromedp.EmulateViewport(b.look.width, height))
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	b.do(chromedp.EmulateViewport(b.look.width, b.look.height()))
	if err == nil {
		err = os.WriteFile(pictureFile(name, b.look), png, 0o644)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// wantsAll tells once whether the folder of the pictures was empty when the tests began.
var wantsAll = sync.OnceValue(func() bool {
	held, err := os.ReadDir(os.Getenv("SWITCHBOARD_SCREENS"))
	return err == nil && len(held) == 0
})

func wanted(name string, l look) bool {
	if os.Getenv("SWITCHBOARD_SCREENS") == "" {
		return false
	}
	if wantsAll() {
		return true
	}
	_, err := os.Stat(pictureFile(name, l))
	return err == nil
}

func pictureFile(name string, l look) string {
	return filepath.Join(os.Getenv("SWITCHBOARD_SCREENS"), name+"-"+l.String()+".png")
}

// accessible fails the test for every rule of WCAG 2.1 A and AA that the page breaks.
func (b *tab) accessible() {
	b.t.Helper()
	eval[int](b, axeSource+";1")
	found := eval[string](b, `axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]})
		.then(r => JSON.stringify(r.violations.map(v => v.id + ": " + v.help + "\n  " + v.nodes.map(n => n.html + " " + n.failureSummary).join("\n  "))))`)
	var violations []string
	if err := json.Unmarshal([]byte(found), &violations); err != nil {
		b.t.Fatal(err)
	}
	for _, v := range violations {
		b.t.Errorf("axe: %s", v)
	}
}

// quiet fails the test for everything the browser complained about so far: a policy that was broken, a file
// that is missing, an exception. A page's own status is no complaint.
func (b *tab) quiet(allowed ...string) {
	b.t.Helper()
	const end = "nothing more to say"
	eval[bool](b, `console.log("`+end+`") === undefined`)
messages:
	for m, err := range b.said {
		if err != nil {
			b.t.Fatal(err)
		}
		if m.Text == end {
			return
		}
		for _, a := range allowed {
			if strings.Contains(m.Text, a) {
				continue messages
			}
		}
		b.t.Errorf("the browser says: %s %s (%s)", m.Type, m.Text, m.URL)
	}
}
