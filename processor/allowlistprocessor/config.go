package allowlistprocessor

import (
	"errors"
	"fmt"
	"strings"

	"github.com/switchboard-otel/switchboard/app/spans"
	"github.com/switchboard-otel/switchboard/internal/toggle"
)

// Config says what is kept beyond the specification's list.
type Config struct {
	// KeepToolIO keeps tool input and output: what a tool was called with and what it answered, the messages of a
	// model call, the arguments of a process (SWITCHBOARD_OTLP_KEEP_TOOL_IO, off).
	KeepToolIO toggle.Toggle `mapstructure:"keep_tool_io"`
	// AdditionalKeys are further span attributes to keep, each written out (decisions.md 28).
	AdditionalKeys []string `mapstructure:"additional_keys"`
}

// Validate refuses keys that would keep tool input and output by the back door, and keys that match nothing.
func (c *Config) Validate() error {
	var errs []error
	for _, key := range c.AdditionalKeys {
		if err := checkKey(key); err != nil {
			errs = append(errs, fmt.Errorf("additional_keys: %q %w", key, err))
		}
	}
	return errors.Join(errs...)
}

func checkKey(key string) error {
	switch {
	case key == "":
		return errors.New("is no key; remove it")
	case strings.Contains(key, "*"):
		return errors.New("is a pattern; write out each key")
	case spans.IsToolIO(key):
		return errors.New("is tool input or output; keep it with keep_tool_io: true")
	case strings.HasPrefix(key, spans.ReservedPrefix):
		return errors.New("is reserved for the pipeline itself; remove it")
	}
	return nil
}
