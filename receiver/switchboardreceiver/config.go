package switchboardreceiver

import (
	"errors"

	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/configoptional"
)

// Config is the receiver's part of the YAML. What the operator may tune while it runs (the size and span caps) are
// rows of the settings table; switching OTLP on and the rate limits are the extension's.
type Config struct {
	// HTTP gives the receiver a listener of its own, for a tier that only ingests. Absent, it answers on the
	// extension's listener.
	HTTP configoptional.Optional[confighttp.ServerConfig] `mapstructure:"http"`
}

// Validate refuses what would answer a request before the receiver has authenticated it, or in another way than
// it promises (decisions.md 1 and 2).
func (c *Config) Validate() error {
	if !c.HTTP.HasValue() {
		return nil
	}
	http := c.HTTP.Get()
	var errs []error
	if http.NetAddr.Endpoint == "" {
		errs = append(errs, errors.New("http::endpoint is missing; write an address such as 127.0.0.1:4318, or remove http to use the extension's listener"))
	}
	if len(http.CompressionAlgorithms) > 0 {
		errs = append(errs, errors.New("http::compression_algorithms must stay empty; the receiver unpacks gzip itself, after authentication"))
	}
	if http.MaxRequestBodySize != 0 {
		errs = append(errs, errors.New("http::max_request_body_size must stay unset; the limit is the setting otlp_max_request_bytes"))
	}
	if http.Auth.HasValue() {
		errs = append(errs, errors.New("http::auth must stay unset; the receiver authenticates with the endpoint's credential"))
	}
	if http.CORS.HasValue() {
		errs = append(errs, errors.New("http::cors must stay unset; the receiver does not serve browsers"))
	}
	return errors.Join(errs...)
}
