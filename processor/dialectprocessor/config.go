package dialectprocessor

import "github.com/switchboard-otel/switchboard/internal/toggle"

// Config says what beside the rewriting is done.
type Config struct {
	// DropPlumbing leaves out the spans that show an agent's own machinery, so that they do not use up the caps of an
	// attempt (off). What is left out counts as filtered, not as rejected (decisions.md 13).
	DropPlumbing toggle.Toggle `mapstructure:"drop_plumbing"`
}
