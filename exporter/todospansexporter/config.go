package todospansexporter

import (
	"errors"
	"time"

	"go.opentelemetry.io/collector/exporter/exporterhelper"
)

// defaultTimeout is well below what exporters of agents wait for an answer with their retries, and above
// what a full request takes on a busy database.
const defaultTimeout = 10 * time.Second

// Config is the exporter's part of the YAML. There is no sending queue and no retry: the answer to the
// request says what is stored, and the producer retries.
type Config struct {
	// TimeoutConfig bounds the storing of one request.
	exporterhelper.TimeoutConfig `mapstructure:",squash"`

	// RequireLedger refuses spans of a receiver that keeps no account of them, as every receiver but
	// `switchboard` does.
	RequireLedger bool `mapstructure:"require_ledger"`
}

// Validate checks the configuration before anything starts.
func (cfg *Config) Validate() error {
	if cfg.Timeout <= 0 {
		return errors.New("timeout must be longer than zero, such as 10s: without one a request could wait for the database for ever")
	}
	return nil
}
