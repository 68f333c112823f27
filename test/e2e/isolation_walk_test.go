package e2e

import (
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// operation is one of the API's document.
type operation struct {
	Parameters []struct {
		Name string `json:"name"`
		In   string `json:"in"`
	} `json:"parameters"`
	RequestBody struct {
		Content map[string]struct {
			Schema struct {
				Required   []string       `json:"required"`
				Properties map[string]any `json:"properties"`
			} `json:"schema"`
		} `json:"content"`
	} `json:"requestBody"`
}

// body is the smallest one that the operation accepts.
func (o operation) body(t *testing.T) map[string]any {
	t.Helper()
	known := map[string]any{"name": "made by the matrix", "title": "made by the matrix", "dead_letter": true,
		"source_type": "generic", "rules": []any{}, "reason": "made by the matrix"}
	body := map[string]any{}
	for _, name := range o.RequestBody.Content["application/json"].Schema.Required {
		if _, found := known[name]; !found {
			t.Errorf("this matrix does not know a value for %s", name)
		}
		body[name] = known[name]
	}
	return body
}

// routes asks every operation of the API's own document for what others have.
func (v *viewer) routes() {
	as := v.as.owner
	var document struct {
		Paths map[string]map[string]operation `json:"paths"`
	}
	if err := json.Unmarshal([]byte(v.api(as, http.MethodGet, "/openapi.json", nil).body), &document); err != nil || len(document.Paths) < 10 {
		v.t.Fatal(len(document.Paths), err)
	}
	for path, operations := range document.Paths {
		for method, o := range operations {
			method = strings.ToUpper(method)
			body := o.body(v.t)
			switch {
			case strings.Contains(path, "{"):
				v.named(method, path, body)
			case method == http.MethodGet:
				v.clean(path, v.api(as, method, path, nil))
				for _, p := range o.Parameters {
					v.asked(func(value string) reply { return v.api(as, method, path+"?"+url.Values{p.Name: {value}}.Encode(), nil) }, p.Name)
				}
			default:
				v.clean(path, v.api(as, method, path, body))
			}
		}
	}
	for _, name := range []string{"queue", "cursor"} {
		v.asked(func(value string) reply {
			return v.api(as, http.MethodPost, "/todos/retry", map[string]any{"dead_letter": true, name: value})
		}, "a bulk retry's "+name)
	}
}

// named asks one route for each thing of others, and for one of the caller's own.
func (v *viewer) named(method, path string, body map[string]any) {
	as := v.as.owner
	placeholder := regexp.MustCompile(`\{(ref|id|webhook|event|document|queue)\}`).FindString(path)
	ask := func(method, name string) reply {
		return v.api(as, method, strings.Replace(path, placeholder, name, 1), body)
	}
	own := v.vendAll(as, "control")
	var foreign []string
	mine := own.Slug
	switch placeholder {
	case "{id}":
		mine = v.pushAs(as, own, map[string]any{"title": "control"})
	case "{webhook}", "{event}":
		control := &tenant{vended: own, mark: "control", owner: as, todos: map[string]string{}}
		v.deliverTo(control)
		mine = map[string]string{"{webhook}": control.webhook, "{event}": control.event}[placeholder]
	case "{document}":
		mine = v.graphOf(as, v.pushAs(as, own, map[string]any{"title": "control"}))
	case "{queue}": // a name that everybody may have: what is in it must be one's own
		mine = "default"
		v.clean(path, ask(method, mine))
	}
	for _, other := range v.others {
		if placeholder == "{ref}" {
			foreign = append(foreign, other.Slug, other.ID)
			continue
		}
		switch placeholder {
		case "{webhook}":
			foreign = append(foreign, other.webhook)
		case "{event}":
			foreign = append(foreign, other.event)
		case "{document}":
			foreign = append(foreign, v.graphOf(other.owner, other.todos["done"]))
		case "{queue}":
		default:
			foreign = append(foreign, values(other.todos)...)
		}
	}
	methods := []string{method}
	if method == http.MethodGet {
		methods = append(methods, http.MethodHead)
	}
	for _, method := range methods {
		for _, name := range foreign {
			if res := v.same(method+" "+path, name, func(name string) reply { return ask(method, name) }); res.status != http.StatusNotFound {
				v.t.Errorf("%s %s of somebody else answers %d %s", method, path, res.status, res.body)
			}
		}
		if res := ask(method, mine); res.status == http.StatusNotFound || res.status >= 500 || placeholder == "" {
			v.t.Errorf("%s %s of the caller's own answers %d %s: the matrix proves nothing", method, path, res.status, res.body)
		}
	}
}

// graphOf keeps the run graph of a todo with its owner, and returns the document's id.
func (n *neighbours) graphOf(owner person, todo string) string {
	n.t.Helper()
	graph := n.api(owner, http.MethodGet, "/todos/"+todo+"/rungraph", nil)
	if graph.status != http.StatusOK {
		n.t.Fatalf("a run graph is answered %d %s", graph.status, graph.body)
	}
	return made[struct{ Document struct{ ID string } }](n.collector, owner, "/rungraph", graph.body).Document.ID
}

// asked sends everything that others are known by as one value of a query.
func (v *viewer) asked(ask func(value string) reply, what string) {
	for _, other := range v.others {
		for _, value := range []string{other.Slug, other.ID, other.todos["pending"], other.todos["dead"], other.mark, other.mark + "-kind", other.asked, other.webhook, other.event} {
			v.same(what, value, ask)
		}
	}
}

var (
	hrefs    = regexp.MustCompile(`href="([^"]*)"`)
	forms    = regexp.MustCompile(`(?s)<form([^>]*)>(.*?)</form>`)
	attrs    = regexp.MustCompile(`\b(action|method|name|value)="([^"]*)"`)
	controls = regexp.MustCompile(`<(?:input|select|button|textarea)\b[^>]*>`)
)

// pages walks the Board as its human does, and asks for each address that names one of their own things by the names
// of others. The forms it finds are filled with those too.
func (v *viewer) pages() {
	w := v.as
	get := func(address string) reply {
		return request(v.t, http.MethodGet, v.url+address, nil, "Cookie", w.owner.cookie)
	}
	own := append([]string{w.Slug, w.ID}, values(w.todos)...)
	todo, found := []string{"/"}, map[string]bool{"/": true}
	named, fields := 0, map[string]bool{}
	for len(todo) > 0 && len(found) < 500 {
		address := todo[0]
		todo = todo[1:]
		page := get(address)
		if page.status != http.StatusOK || strings.Contains(page.body, `action="/login/`) {
			v.t.Fatalf("%s answers %d to its human", address, page.status)
		}
		v.clean(address, page)
		for _, name := range own {
			if strings.Contains(address, name) {
				named++
				v.instead(address, name, func(address string) reply { return get(address) })
			}
		}
		base, err := url.Parse(address)
		if err != nil {
			v.t.Fatal(err)
		}
		for _, m := range hrefs.FindAllStringSubmatch(page.body, -1) {
			next, err := base.Parse(html.UnescapeString(m[1]))
			if err != nil || next.Host != "" || strings.HasPrefix(next.Path, "/static/") {
				continue
			}
			next.Fragment = ""
			if !found[next.String()] {
				found[next.String()] = true
				todo = append(todo, next.String())
			}
		}
		for _, form := range forms.FindAllStringSubmatch(page.body, -1) {
			v.form(get, own, form[1], form[2], fields)
		}
	}
	for _, id := range []string{"x", "td_x", strings.ToUpper(w.todos["done"])} {
		if got, want := get("/todos/"+id), get("/todos/"+v.others[0].todos["done"]); got.status != want.status || got.body != want.body {
			v.t.Errorf("a page tells somebody else's todo from what is no id: %d %d", want.status, got.status)
		}
	}
	if named < len(w.todos) || len(fields) == 0 {
		v.t.Errorf("the walk met %d addresses with a name in them and the fields %v: the matrix proves nothing", named, fields)
	}
}

// form asks a form's query for the names of others, once per field, and posts a form that holds a name of the viewer's
// own with one of theirs in its place.
func (v *viewer) form(get func(string) reply, own []string, head, inside string, done map[string]bool) {
	of := map[string]string{}
	for _, m := range attrs.FindAllStringSubmatch(head, -1) {
		of[m[1]] = html.UnescapeString(m[2])
	}
	body := url.Values{}
	for _, control := range controls.FindAllString(inside, -1) {
		is := map[string]string{}
		for _, m := range attrs.FindAllStringSubmatch(control, -1) {
			is[m[1]] = html.UnescapeString(m[2])
		}
		name := is["name"]
		if name == "" {
			continue
		}
		body.Add(name, is["value"])
		if of["method"] == "get" && !done[of["action"]+name] {
			done[of["action"]+name] = true
			v.asked(func(value string) reply { return get(of["action"] + "?" + url.Values{name: {value}}.Encode()) }, "the field "+name)
			v.asked(func(value string) reply { return get(of["action"] + "?" + url.Values{"before": {value}}.Encode()) }, "the cursor")
		}
	}
	whole := of["action"] + "?" + body.Encode()
	for _, name := range own {
		if of["method"] == "post" && strings.Contains(whole, name) {
			v.instead(whole, name, func(whole string) reply {
				action, body, _ := strings.Cut(whole, "?")
				return request(v.t, http.MethodPost, v.url+action, []byte(body), "Cookie", v.as.owner.cookie, "Content-Type", "application/x-www-form-urlencoded")
			})
		}
	}
}

// instead asks for an address of the viewer's own with each name of others in the place of name.
func (v *viewer) instead(address, name string, ask func(address string) reply) {
	for _, other := range v.others {
		names := values(other.todos)
		if !strings.HasPrefix(name, "td_") {
			names = []string{other.Slug, other.ID}
		}
		for _, theirs := range names {
			v.same(address, theirs, func(theirs string) reply { return ask(strings.ReplaceAll(address, name, theirs)) })
		}
	}
}

func values(m map[string]string) (all []string) {
	for _, value := range m {
		all = append(all, value)
	}
	slices.Sort(all)
	return all
}
