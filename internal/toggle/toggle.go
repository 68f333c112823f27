// Package toggle reads the on and off of our components' configuration. An operator writes it in YAML, or
// in an environment variable that a YAML passes on, and both spellings must mean the same.
package toggle

import (
	"errors"
	"fmt"
	"os"

	"go.opentelemetry.io/collector/confmap"
)

// Toggle is on for 1 and true, off for 0, false and empty. Anything else fails the start.
type Toggle string

// The values that code compares with.
const (
	On  Toggle = "true"
	Off Toggle = "false"
)

// FromEnv is the default that an environment variable gives: off where it is not set.
func FromEnv(variable string) Toggle { return Toggle(os.Getenv(variable)) }

// On reports whether it is switched on.
func (t Toggle) On() bool { return t == "1" || t == On }

// UnmarshalScalar takes what YAML made of the text: a boolean, a number, a string or nothing.
func (t *Toggle) UnmarshalScalar(value confmap.ScalarValue) error {
	if value.GetRaw() == nil {
		*t = ""
		return nil
	}
	*t = Toggle(fmt.Sprint(value.GetRaw()))
	return nil
}

// Validate refuses every other spelling. The collector calls it and says which key it is.
func (t Toggle) Validate() error {
	switch t {
	case "", "0", "1", On, Off:
		return nil
	}
	return errors.New("must be 1, true, 0, false or empty")
}
