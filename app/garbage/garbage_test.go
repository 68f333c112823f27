package garbage

import (
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

func TestPercentFor_FallsToGosOwnAsTheHeapGrows(t *testing.T) {
	t.Parallel()
	for inUse, want := range map[uint64]int{0: 400, 10 << 20: 400, 16 << 20: 300, 32 << 20: 100, 64 << 20: 100, 1 << 40: 100} {
		if got := percentFor(inUse); got != want {
			t.Errorf("of %d bytes in use: %d percent, want %d", inUse, got, want)
		}
	}
}

func percentNow() uint64 {
	sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// until collects garbage until a collection was followed by the percent.
func until(t *testing.T, percent uint64) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for percentNow() != percent {
		if time.Now().After(deadline) {
			t.Fatalf("%d percent, want %d", percentNow(), percent)
		}
		runtime.GC()
		runtime.Gosched()
	}
}

func TestTune_FollowsWhatIsInUse(t *testing.T) {
	t.Setenv("GOGC", "")
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	Tune()
	until(t, most)
	held := make([]byte, 2*small)
	until(t, least)
	runtime.KeepAlive(held)
	until(t, most)
}

func TestTune_LeavesAnOperatorsChoiceAlone(t *testing.T) {
	if os.Getenv("GOGC") != "200" { // in a process of its own, which the other test has not tuned
		child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		child.Env = append(os.Environ(), "GOGC=200")
		if out, err := child.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	Tune()
	for range 3 {
		runtime.GC()
		if got := percentNow(); got != 200 {
			t.Fatalf("%d percent of an operator's 200", got)
		}
	}
}
