package ingest_test

import (
	"testing"

	"go.opentelemetry.io/collector/client"

	"github.com/switchboard-otel/switchboard/app/ingest"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// The product does not import the collector, but what it hands over must fit there.
var _ client.AuthData = ingest.AuthData{}

func TestAuthData_GivesTheEndpointsIDAndNothingElse(t *testing.T) {
	id := typeid.New()
	d := ingest.NewAuthData(id)
	if got, want := d.GetAttribute(ingest.EndpointAttribute), typeid.Endpoint.Format(id); got != want {
		t.Errorf("endpoint id %v, want %v", got, want)
	}
	if got := d.GetAttribute("switchboard.endpoint.slug"); got != nil {
		t.Errorf("an unknown attribute is %v, want nil", got)
	}
	if got := d.GetAttributeNames(); len(got) != 1 || got[0] != "switchboard.endpoint.id" {
		t.Errorf("names %v", got)
	}
}
