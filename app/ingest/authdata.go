// Package ingest holds what the ways in for spans share: the receiver of this distribution, and a stock otlp
// receiver that authenticates through the extension.
package ingest

import (
	"github.com/google/uuid"

	"github.com/switchboard-otel/switchboard/app/typeid"
)

// EndpointAttribute is the name under which AuthData gives the endpoint's id, a string "ep_...".
const EndpointAttribute = "switchboard.endpoint.id"

// AuthData says whose spans a request carries. It has the methods of the collector's client.AuthData, so that
// it travels through a pipeline as client.Info.Auth: binding and exporter take the endpoint from there and
// from nowhere else (decisions.md 15).
type AuthData struct{ endpoint string }

// NewAuthData returns the identity of a request that was authenticated as the endpoint.
func NewAuthData(endpoint uuid.UUID) AuthData {
	return AuthData{endpoint: typeid.Endpoint.Format(endpoint)}
}

// GetAttribute returns the endpoint's id for EndpointAttribute and nil for any other name.
func (d AuthData) GetAttribute(name string) any {
	if name != EndpointAttribute {
		return nil
	}
	return d.endpoint
}

// GetAttributeNames lists the attributes there are.
func (AuthData) GetAttributeNames() []string { return []string{EndpointAttribute} }
