package binding

import "slices"

// caller is the rule after the three: the attempt claimed under the span's trace that was running when the
// span started, else the latest one claimed (decisions.md 19). A span that is stored stays with its todo,
// whatever was claimed since (decisions.md 8).
func (k Known) caller(f Facts) Decision {
	home, stored := k.Homes[f.Key]
	var chosen Decision
	for _, a := range slices.Backward(k.Callers[f.Key.TraceID]) {
		if stored && a.TodoID != home {
			continue
		}
		this := Decision{Rule: Caller, TodoID: a.TodoID, AttemptSeq: a.Seq}
		if contains(a.AttemptWindow, f.Start) {
			return this
		}
		if chosen.Rule == Unbound {
			chosen = this
		}
	}
	return chosen
}
