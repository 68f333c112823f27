package bindingprocessor

import (
	"errors"

	"go.opentelemetry.io/collector/component"

	"github.com/switchboard-otel/switchboard/app/settings"
	"github.com/switchboard-otel/switchboard/app/spans"
	"github.com/switchboard-otel/switchboard/app/telemetry"
)

// owner is what the processor needs of the switchboard extension, which owns the database.
type owner interface {
	Settings() *settings.Reader
	Spans() *spans.Store
	Telemetry() *telemetry.Metrics
}

// findOwner returns the one extension that can be the processor's owner.
func findOwner(host component.Host) (owner, error) {
	var found owner
	for _, extension := range host.GetExtensions() {
		o, ok := extension.(owner)
		if !ok {
			continue
		}
		if found != nil {
			return nil, errors.New("the switchboard_binding processor found two switchboard extensions; keep one of them under service::extensions")
		}
		found = o
	}
	if found == nil {
		return nil, errors.New("the switchboard_binding processor found no switchboard extension; write `switchboard:` under extensions and add switchboard to service::extensions")
	}
	return found, nil
}
