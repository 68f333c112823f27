package mask

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// sequential is the plain way to do what REQ-7 asks for, its list and nothing more: one regular expression
// after the other.
var sequential = []*regexp.Regexp{
	regexp.MustCompile(`\bsbk_[A-Za-z0-9_-]{16,}`),
	regexp.MustCompile(`(?i:\bbearer)\s+[A-Za-z0-9._~+/=-]{8,}`),
	regexp.MustCompile(`\bghp_[A-Za-z0-9]{20,}`),
	regexp.MustCompile(`\bgho_[A-Za-z0-9]{20,}`),
	regexp.MustCompile(`\bghu_[A-Za-z0-9]{20,}`),
	regexp.MustCompile(`\bghs_[A-Za-z0-9]{20,}`),
	regexp.MustCompile(`\bghr_[A-Za-z0-9]{20,}`),
	regexp.MustCompile(`\bgithub_pat_[A-Za-z0-9_]{20,}`),
	regexp.MustCompile(`\bxox[abp]-[A-Za-z0-9-]{10,}`),
	regexp.MustCompile(`\bsk-ant-[A-Za-z0-9_-]{16,}`),
	regexp.MustCompile(`\bsk-[A-Za-z0-9_-]{16,}`),
	regexp.MustCompile(`\bAKIA[A-Z0-9]{16}`),
	regexp.MustCompile(`\bASIA[A-Z0-9]{16}`),
}

func maskSequentially(s string) string {
	for _, re := range sequential {
		s = re.ReplaceAllLiteralString(s, Redacted)
	}
	return s
}

// BenchmarkString_AgainstSequentialRE2 is T7 of the performance targets: it reports how many times faster one
// pass is than one regular expression after the other, as the median of seven interleaved pairs.
func BenchmarkString_AgainstSequentialRE2(b *testing.B) {
	clean := strings.Repeat(`{"command":"go test ./...","cwd":"/home/agent/src","note":"the task-runner asks for https://host/x"} `, 11)[:1024]
	dirty := clean[:300] + " ghp_" + a36 + " " + clean[300:600] + "Authorization: Bearer " + a36 + " " + clean[600:900]
	for name, s := range map[string]string{"clean": clean, "dirty": dirty} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			b.ReportAllocs()
			for b.Loop() {
				_ = String(s)
			}
			const rounds = 500
			ratios := make([]float64, 7)
			for i := range ratios {
				slow := timed(rounds, func() { _ = maskSequentially(s) })
				fast := timed(rounds*20, func() { _ = String(s) }) / 20
				ratios[i] = slow.Seconds() / fast.Seconds()
			}
			slices.Sort(ratios)
			b.ReportMetric(ratios[len(ratios)/2], "x-sequential-RE2")
		})
	}
}

func timed(rounds int, f func()) time.Duration {
	start := time.Now()
	for range rounds {
		f()
	}
	return time.Since(start)
}
