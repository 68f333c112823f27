package spans

// Attributes under this prefix carry what one stage of the pipeline found to the next: the binding's todo
// and attempt, the allow-list's category and tool. The binding strips incoming ones, so that nobody can
// forge them, and the exporter removes them before it stores (decisions.md 14).
const (
	ReservedPrefix   = "switchboard.bound."
	ReservedTodo     = ReservedPrefix + "todo_id"     // string, "td_..."
	ReservedAttempt  = ReservedPrefix + "attempt_seq" // int; absent: the span has no attempt
	ReservedLearn    = ReservedPrefix + "learn"       // bool; the span's own attribute bound it, so its trace is remembered
	ReservedCategory = ReservedPrefix + "category"    // string
	ReservedTool     = ReservedPrefix + "tool"        // string; absent: no tool
)
