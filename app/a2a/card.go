package a2a

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/switchboard-otel/switchboard/app/identity"
)

const bearer a2a.SecuritySchemeName = "bearer"

// card shows an endpoint's agent card: to whoever asks, when its owner made it public, else to its own bearer. A
// card that is not public and one that does not exist are the same 401.
func (s *Server) card(w http.ResponseWriter, r *http.Request) {
	if !s.Gate.Reached(w, r) {
		return
	}
	endpoint, err := s.Identity.PublicCard(r.Context(), r.PathValue("endpoint"))
	if errors.Is(err, identity.ErrUnauthenticated) {
		endpoint, err = s.Gate.Enter(w, r), nil
	}
	switch {
	case err != nil:
		s.Gate.Broken(w, err)
		return
	case endpoint == nil:
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Content-Type-Options", "nosniff")
	_ = json.NewEncoder(w).Encode(s.cardOf(endpoint)) // the caller has gone; there is nobody to tell
}

// cardOf says what an endpoint's agent can be asked, and how. Which queues and verbs it has is nobody else's business.
func (s *Server) cardOf(e *identity.Endpoint) *a2a.AgentCard {
	here := a2a.NewAgentInterface(s.BaseURL+"/a2a/"+url.PathEscape(e.Slug), a2a.TransportProtocolJSONRPC)
	media := []string{"text/plain", "application/json"}
	return &a2a.AgentCard{
		Name:                e.AgentName,
		Description:         "Takes work into a durable queue; an agent claims it and works on it. A task can take long: subscribe to it, or come back.",
		Version:             s.Version,
		SupportedInterfaces: []*a2a.AgentInterface{here},
		Capabilities:        a2a.AgentCapabilities{Streaming: true},
		DefaultInputModes:   media,
		DefaultOutputModes:  media,
		Skills: []a2a.AgentSkill{{ID: "work", Name: "Work on what you send", Tags: []string{"queue"},
			Description: "Each message without a task becomes a task; its first line is the title."}},
		SecuritySchemes: a2a.NamedSecuritySchemes{bearer: a2a.HTTPAuthSecurityScheme{Scheme: "Bearer",
			Description: "The endpoint's credential, sbk_..., or an access token for it."}},
		SecurityRequirements: a2a.SecurityRequirementsOptions{{bearer: {}}},
	}
}
