package oauth

import "net/http"

// serverMetadata is RFC 8414's, as far as it says something here.
type serverMetadata struct {
	Issuer                        string   `json:"issuer"`
	AuthorizationEndpoint         string   `json:"authorization_endpoint"`
	TokenEndpoint                 string   `json:"token_endpoint"`
	RegistrationEndpoint          string   `json:"registration_endpoint"`
	RevocationEndpoint            string   `json:"revocation_endpoint"`
	ScopesSupported               []string `json:"scopes_supported"`
	ResponseTypesSupported        []string `json:"response_types_supported"`
	ResponseModesSupported        []string `json:"response_modes_supported"`
	GrantTypesSupported           []string `json:"grant_types_supported"`
	TokenAuthMethodsSupported     []string `json:"token_endpoint_auth_methods_supported"`
	RevocationAuthMethods         []string `json:"revocation_endpoint_auth_methods_supported"`
	CodeChallengeMethodsSupported []string `json:"code_challenge_methods_supported"`
	// The answer to the client names its sender, so that a client of several servers is not led to mix them up (RFC 9207).
	IssParameterSupported bool `json:"authorization_response_iss_parameter_supported"`
}

// The grants and the one way of a client to say who it is: public clients have no secret.
var (
	grantTypes  = []string{"authorization_code", "refresh_token"}
	authMethods = []string{"none"}
)

func (s *Server) metadata(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, serverMetadata{
		Issuer:                        s.BaseURL,
		AuthorizationEndpoint:         s.BaseURL + AuthorizePath,
		TokenEndpoint:                 s.BaseURL + tokenPath,
		RegistrationEndpoint:          s.BaseURL + registerPath,
		RevocationEndpoint:            s.BaseURL + revokePath,
		ScopesSupported:               []string{scope},
		ResponseTypesSupported:        []string{"code"},
		ResponseModesSupported:        []string{"query"},
		GrantTypesSupported:           grantTypes,
		TokenAuthMethodsSupported:     authMethods,
		RevocationAuthMethods:         authMethods,
		CodeChallengeMethodsSupported: []string{"S256"},
		IssParameterSupported:         true,
	})
}
