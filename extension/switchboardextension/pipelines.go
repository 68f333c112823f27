package switchboardextension

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/extension/extensioncapabilities"
)

// The component types that the check knows.
const (
	typeReceiver = "switchboard"
	typeStore    = "switchboard_todospans"
)

// required are the processors between any receiver and the store, in this order: without one of them a span
// would be stored unbound, with attributes that nobody allowed, or with its secrets.
var required = []string{"switchboard_binding", "switchboard_allowlist", "switchboard_masking"}

// asynchronous are processors that answer before the spans are stored.
var asynchronous = []string{"batch", "groupbytrace", "tail_sampling"}

// NotifyConfigSnapshot refuses a configuration under which an answer of 200 would not mean stored, or spans
// would be stored unbound or unmasked (decisions.md 13). The collector calls it before any pipeline starts.
func (s *switchboard) NotifyConfigSnapshot(_ context.Context, snapshot extensioncapabilities.ConfigSnapshot) error {
	conf := snapshot.Effective()
	return errors.Join(checkReceivers(conf), checkPipelines(conf))
}

// pipeline is what service::pipelines says of one.
type pipeline struct {
	Receivers  []string `mapstructure:"receivers"`
	Processors []string `mapstructure:"processors"`
	Exporters  []string `mapstructure:"exporters"`
}

type graph struct {
	pipelines  map[string]pipeline
	connectors map[string]bool
}

// route is one way from a receiver to the store.
type route struct {
	exporter   string
	pipelines  []string
	processors []string
}

func checkPipelines(conf *confmap.Conf) error {
	g, err := readGraph(conf)
	if err != nil {
		return err
	}
	for _, receiver := range g.receivers() {
		routes := g.routes(receiver, nil)
		for _, r := range routes {
			if err := errors.Join(r.checkProcessors(), r.checkSynchronous(receiver)); err != nil {
				return err
			}
		}
		if typeOf(receiver) != typeReceiver {
			continue
		}
		if err := errors.Join(checkOneStore(receiver, routes), g.checkOneBinding(receiver)); err != nil {
			return err
		}
	}
	return nil
}

func readGraph(conf *confmap.Conf) (*graph, error) {
	var service struct {
		Pipelines map[string]pipeline `mapstructure:"pipelines"`
	}
	sub, err := conf.Sub("service")
	if err != nil {
		return nil, err
	}
	if err := sub.Unmarshal(&service, confmap.WithIgnoreUnused()); err != nil {
		return nil, fmt.Errorf("cannot read service::pipelines: %w", err)
	}
	connectors, err := conf.Sub("connectors")
	if err != nil {
		return nil, err
	}
	g := &graph{pipelines: map[string]pipeline{}, connectors: map[string]bool{}}
	for id := range connectors.ToStringMap() {
		g.connectors[id] = true
	}
	for name, p := range service.Pipelines {
		if typeOf(name) == "traces" {
			g.pipelines[name] = p
		}
	}
	return g, nil
}

// typeOf is the type in a component's or pipeline's id: type or type/name.
func typeOf(id string) string {
	t, _, _ := strings.Cut(strings.TrimSpace(id), "/")
	return t
}

// receivers lists where spans enter: what a pipeline receives from that is no connector.
func (g *graph) receivers() []string {
	var all []string
	for _, p := range g.pipelines {
		for _, r := range p.Receivers {
			if !slices.Contains(all, r) && !g.connectors[r] {
				all = append(all, r)
			}
		}
	}
	sort.Strings(all)
	return all
}

// reached lists the pipelines that spans from a receiver or connector pass, each once. The collector itself
// refuses cycles; what was passed bounds the walk all the same.
func (g *graph) reached(from string, passed []string) []string {
	for _, name := range g.names() {
		p := g.pipelines[name]
		if !slices.Contains(p.Receivers, from) || slices.Contains(passed, name) {
			continue
		}
		passed = append(passed, name)
		for _, exporter := range p.Exporters {
			if g.connectors[exporter] {
				passed = g.reached(exporter, passed)
			}
		}
	}
	return passed
}

func (g *graph) names() []string {
	names := make([]string, 0, len(g.pipelines))
	for name := range g.pipelines {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// routes walks from a receiver, or from a connector as one, to every store it reaches.
func (g *graph) routes(from string, passed []string) []route {
	var found []route
	for _, name := range g.names() {
		p := g.pipelines[name]
		if !slices.Contains(p.Receivers, from) || slices.Contains(passed, name) {
			continue
		}
		here := append(slices.Clone(passed), name)
		for _, exporter := range p.Exporters {
			if typeOf(exporter) == typeStore {
				found = append(found, g.route(here, exporter))
				continue
			}
			if g.connectors[exporter] {
				found = append(found, g.routes(exporter, here)...)
			}
		}
	}
	return found
}

func (g *graph) route(pipelines []string, exporter string) route {
	r := route{exporter: exporter, pipelines: pipelines}
	for _, name := range pipelines {
		r.processors = append(r.processors, g.pipelines[name].Processors...)
	}
	return r
}

func (r route) checkProcessors() error {
	next := 0
	for _, p := range r.processors {
		i := slices.Index(required, typeOf(p))
		if i < 0 {
			continue
		}
		if i != next {
			return fmt.Errorf("pipeline %s has %s in the wrong place: write processors: [%s] in this order before %s",
				r.last(), p, strings.Join(required, ", "), r.exporter)
		}
		next++
	}
	if next < len(required) {
		return fmt.Errorf("pipeline %s ends in %s without %s: write processors: [%s]",
			r.last(), r.exporter, required[next], strings.Join(required, ", "))
	}
	return nil
}

func (r route) last() string { return r.pipelines[len(r.pipelines)-1] }

// checkSynchronous makes sure that whoever sent the spans is answered, and known, when they are stored: an
// asynchronous stage answers before, and forgets which endpoint they came from.
func (r route) checkSynchronous(receiver string) error {
	for _, p := range r.processors {
		if slices.Contains(asynchronous, typeOf(p)) {
			return fmt.Errorf("processor %s between receiver %s and exporter %s answers before spans are stored: remove it, or put it into a second pipeline behind the forward connector",
				p, receiver, r.exporter)
		}
	}
	return nil
}

// checkOneStore makes sure that the receiver's answer is that of one store.
func checkOneStore(receiver string, routes []route) error {
	switch {
	case len(routes) == 0:
		return fmt.Errorf("no %s exporter can be reached from receiver %s: add it to the exporters of its pipeline", typeStore, receiver)
	case len(routes) > 1:
		return fmt.Errorf("receiver %s reaches %s in pipeline %s and %s in pipeline %s: a request can only be stored once, remove one of them",
			receiver, routes[0].exporter, routes[0].last(), routes[1].exporter, routes[1].last())
	}
	return nil
}

// checkOneBinding makes sure that a span which belongs nowhere is counted once.
func (g *graph) checkOneBinding(receiver string) error {
	first := ""
	for _, name := range g.reached(receiver, nil) {
		for _, p := range g.pipelines[name].Processors {
			switch {
			case typeOf(p) != required[0]:
			case first == "":
				first = name
			default:
				return fmt.Errorf("receiver %s reaches %s in pipeline %s and in pipeline %s: spans would be counted twice, feed the second one through the forward connector, behind the first one's processors",
					receiver, required[0], first, name)
			}
		}
	}
	return nil
}

var errTwoReceivers = errors.New("two switchboard receivers share the extension's listener: give one of them a listener of its own (http), or remove it")

// checkReceivers refuses two receivers on one listener.
func checkReceivers(conf *confmap.Conf) error {
	receivers, err := conf.Sub("receivers")
	if err != nil {
		return err
	}
	sharing := 0
	for id, value := range receivers.ToStringMap() {
		settings, _ := value.(map[string]any)
		if typeOf(id) == typeReceiver && settings["http"] == nil {
			sharing++
		}
	}
	if sharing > 1 {
		return errTwoReceivers
	}
	return nil
}
