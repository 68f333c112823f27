// Package garbage decides when the process collects its garbage.
package garbage

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	// small is the heap, in bytes, up to which there is no hurry.
	small = 64 << 20
	// Between these percents lies what a heap may grow by between two collections. Less is Go's own. More bounds what
	// happens when a heap that was next to nothing grows at once: it is collected at small, and then, should its new
	// percent come late, at five times that at most.
	least, most = 100, 400
)

// Tune lets a heap of which little is in use grow to 64 MiB, and to five times what is in use, before its garbage is
// collected. A server that stores thousands of spans a second uses ten, and would look through those whenever as much
// was allocated. A heap of which 32 MiB or more are in use is collected as by Go itself. Where GOGC is set its operator
// has decided, and Tune does nothing; GOMEMLIMIT holds as ever. It is to be called once, as the process starts.
func Tune() {
	if os.Getenv("GOGC") == "" {
		adjust()
	}
}

// adjust runs after every collection.
func adjust() {
	debug.SetGCPercent(percentFor(inUse()))
	runtime.AddCleanup(new(unused), func(struct{}) { adjust() }, struct{}{})
}

// unused is an object that the next collection finds. It has a pointer, because the runtime puts small objects without
// one together with others, which may stay.
type unused struct{ _ *int }

func percentFor(inUse uint64) int {
	if inUse >= small {
		return least
	}
	return int(min(most, max(least, 100*(small-inUse)/max(inUse, 1))))
}

// inUse is how many bytes the last collection found to be in use.
func inUse() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
