package demo

import (
	"context"
	"fmt"
)

// story is one todo and what its workers do with it.
type story struct {
	title   string
	payload any
	work    func(ctx context.Context, cfg *Config, id string) error
}

type object map[string]any

// flakyTest fails once with a summary; the next worker reads it and succeeds.
var flakyTest = story{
	title:   "Fix the flaky checkout test",
	payload: object{"repository": "acme/shop", "test": "TestCheckout_AppliesCoupon", "failures_last_week": 7},
	work: func(ctx context.Context, cfg *Config, id string) error {
		if err := failOnce(ctx, cfg, id); err != nil {
			return err
		}
		return fixAfterReading(ctx, cfg, id)
	},
}

func failOnce(ctx context.Context, cfg *Config, id string) error {
	w, err := cfg.hire(ctx, "demo/fixer/run-1")
	if err != nil {
		return err
	}
	c, err := w.claimNext(ctx, id, arguments{})
	if err != nil {
		return err
	}
	r := w.begin(ctx, c)
	r.chat(240, 1840, 210)
	r.tool("read_file", "call_1", 40, 0)
	r.tool("bash", "call_2", 320, 1)
	if err := w.note(ctx, c, "reproduced it: fails 1 run in 12, only with -race"); err != nil {
		return err
	}
	r.chat(310, 2960, 380)
	r.tool("edit_file", "call_3", 60, 0)
	r.tool("bash", "call_4", 350, 1)
	r.chat(180, 3610, 140)
	err = r.finish(ctx, "fail", c, arguments{
		"summary":             "Locking the cart in the test helper did not help: the race is in the coupon cache, not in the cart. Look at its expiry goroutine next.",
		"retry_after_seconds": 0,
	})
	if err != nil {
		return err
	}
	return w.leave(ctx)
}

func fixAfterReading(ctx context.Context, cfg *Config, id string) error {
	w, err := cfg.hire(ctx, "demo/fixer/run-2")
	if err != nil {
		return err
	}
	c, err := w.claim(ctx, id)
	if err != nil {
		return err
	}
	if len(c.PriorAttempts) != 1 || c.PriorAttempts[0].Summary == nil {
		return fmt.Errorf("the claim should carry the failed attempt before it")
	}
	w.progress("read     the summary of attempt %d", c.PriorAttempts[0].Seq)
	r := w.begin(ctx, c)
	r.chat(280, 2410, 260)
	r.tool("read_file", "call_1", 40, 0)
	r.tool("edit_file", "call_2", 50, 0)
	if err := w.note(ctx, c, "the expiry goroutine writes without the lock; fixed, running the test 200 times"); err != nil {
		return err
	}
	r.tool("bash", "call_3", 520, 0)
	r.tool("open_pull_request", "call_4", 90, 0, r.fetch)
	r.chat(160, 3300, 120)
	err = r.finish(ctx, "complete", c, arguments{
		"summary":  "The coupon cache's expiry goroutine wrote without the lock. Fixed; 200 runs with -race are green.",
		"artifact": "https://example.com/acme/shop/pull/482",
		"result":   object{"pull_request": 482, "runs": 200, "failures": 0},
	})
	if err != nil {
		return err
	}
	return w.leave(ctx)
}

// deadWorker loses its worker; the next claim takes over when the lease has lapsed, and is told so.
var deadWorker = story{
	title:   "Bring the certificate runbook up to date",
	payload: object{"document": "runbooks/tls-rotation.md", "owner": "platform"},
	work: func(ctx context.Context, cfg *Config, id string) error {
		if err := dieAtWork(ctx, cfg, id); err != nil {
			return err
		}
		return takeOver(ctx, cfg, id)
	},
}

func dieAtWork(ctx context.Context, cfg *Config, id string) error {
	w, err := cfg.hire(ctx, "demo/writer/run-1")
	if err != nil {
		return err
	}
	c, err := w.claimNext(ctx, id, arguments{"lease_ttl_seconds": 1})
	if err != nil {
		return err
	}
	r := w.begin(ctx, c)
	r.chat(150, 1520, 180)
	r.tool("read_file", "call_1", 40, 0)
	if err := w.note(ctx, c, "half of the steps are checked"); err != nil {
		return err
	}
	return r.vanish(ctx)
}

func takeOver(ctx context.Context, cfg *Config, id string) error {
	w, err := cfg.hire(ctx, "demo/writer/run-2")
	if err != nil {
		return err
	}
	w.progress("waiting  for the lease of demo/writer/run-1 to lapse")
	c, err := w.claim(ctx, id)
	if err != nil {
		return err
	}
	if len(c.PriorAttempts) != 1 || !c.PriorAttempts[0].Died {
		return fmt.Errorf("the claim should carry the died attempt before it")
	}
	w.progress("read     that attempt %d died", c.PriorAttempts[0].Seq)
	r := w.begin(ctx, c)
	r.chat(200, 1610, 220)
	r.tool("read_file", "call_1", 30, 0)
	r.tool("fetch_page", "call_2", 60, 0, r.fetch)
	r.tool("edit_file", "call_3", 50, 0)
	r.chat(140, 2250, 160)
	err = r.finish(ctx, "complete", c, arguments{
		"summary": "All twelve steps checked against the current setup; three had changed.",
		"result":  object{"steps": 12, "changed": 3},
	})
	if err != nil {
		return err
	}
	return w.leave(ctx)
}

// releaseNotes succeeds at once, under a fence.
var releaseNotes = story{
	title:   "Draft the release notes of version 2.8",
	payload: object{"from": "v2.7.0", "to": "v2.8.0-rc1"},
	work: func(ctx context.Context, cfg *Config, id string) error {
		w, err := cfg.hire(ctx, "demo/scribe/run-1")
		if err != nil {
			return err
		}
		c, err := w.claimNext(ctx, id, arguments{"require_fence": true})
		if err != nil {
			return err
		}
		r := w.begin(ctx, c)
		r.tool("git_log", "call_1", 80, 0)
		r.chat(260, 5200, 740)
		if err := w.note(ctx, c, "41 changes read, 9 are worth telling"); err != nil {
			return err
		}
		r.tool("write_file", "call_2", 30, 0)
		err = r.finish(ctx, "complete", c, arguments{
			"summary":  "Nine entries, upgrade steps first.",
			"artifact": "https://example.com/acme/shop/releases/v2.8.0",
			"result":   object{"entries": 9, "upgrade_steps": 2},
		})
		if err != nil {
			return err
		}
		return w.leave(ctx)
	},
}
