package trail

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/switchboard-otel/switchboard/app/intake"
	"github.com/switchboard-otel/switchboard/app/queue"
)

func event(when int, disposition intake.Disposition, trace string) *intake.Event {
	var e intake.Event
	e.ReceivedAt, e.Verified, e.Disposition, e.RoutingTrace = at(when), true, disposition, json.RawMessage(trace)
	return &e
}

// REQ-12's scenario: routed by lane-s, claimed, noted twice, reaped, claimed again and completed.
func TestMerge_ARelaysStory(t *testing.T) {
	d := todo(attempt(2, 60, 90, "completed"), attempt(1, 10, 50, "reaped"))
	e := event(-1, intake.Routed, `{"stage":"rule","rule_index":1,"rule_id":"lane-s","action":{"queue":"small","work_order":true},
		"evaluated":[{"rule_id":"drop-bots","outcome":"no_match"},{"rule_id":"lane-s","outcome":"match"}]}`)
	got := Merge(e, d, []queue.ActivityEntry{entry(1, 20, "note", 1, `null`), entry(2, 30, "note", 1, `null`)}, 500, 0)
	want := []string{"received", "verified", "routed", "created",
		"attempt 1", "  claimed", "  note", "  note, then quiet for 20s", "  ended", "attempt 2", "  claimed", "  ended"}
	if diff := cmp.Diff(want, told(got)); diff != "" {
		t.Error(diff)
	}
	route := got.Entries[2].Route
	if route.By() != "lane-s" || route.Queue != "small" || !route.WorkOrder || len(route.Evaluated) != 2 {
		t.Errorf("route %+v", route)
	}
	if page := Merge(e, d, nil, 4, 3); page.Older != 1 || page.Newer != 3 || page.Total != 8 {
		t.Errorf("a page of it: %+v", page)
	}
}

func TestRouteOf_WhatDecided(t *testing.T) {
	for name, c := range map[string]struct {
		event *intake.Event
		by    string
		queue string
	}{
		"a named rule":   {event(0, intake.Routed, `{"stage":"rule","rule_id":"a","rule_name":"Big ones","action":{"queue":"q"},"evaluated":[]}`), "Big ones", "q"},
		"no rule":        {event(0, intake.Routed, `{"stage":"default","action":{"queue":"q"},"evaluated":[]}`), "", "q"},
		"a rule failed":  {event(0, intake.Faulted, `{"stage":"fault","action":{},"evaluated":[],"faults":[{"reason":"x"}]}`), "", "quarantine"},
		"nothing can be": {event(0, intake.Routed, `7`), "", ""},
	} {
		if r := RouteOf(c.event); r.By() != c.by || r.Queue != c.queue {
			t.Errorf("%s: by %q to %q", name, r.By(), r.Queue)
		}
	}
}

// A todo that a human had run again came from an event that is older than its predecessors.
func TestMerge_AnOldEventComesFirst(t *testing.T) {
	e := event(0, intake.Routed, `{}`)
	e.ReceivedAt = at(0).Add(-time.Hour)
	got := Merge(e, todo(), nil, 500, 0)
	if diff := cmp.Diff([]string{"received", "verified", "routed", "created"}, told(got)); diff != "" {
		t.Error(diff)
	}
}
