//go:build !linux

package embedded

import (
	"context"
	"errors"
)

// Server is a running PostgreSQL; there is none on this system.
type Server struct{}

// errUnsupported: that the server ends with its owner rests on Linux.
var errUnsupported = errors.New("the embedded PostgreSQL needs Linux; set SWITCHBOARD_DATABASE_URL to a server")

// Start refuses.
func Start(context.Context, Options) (*Server, error) { return nil, errUnsupported }

// Installed refuses.
func Installed(context.Context) (int, error) { return 0, errUnsupported }

// URL is never called, for there is no Server.
func (s *Server) URL(string) string { return "" }

// Close is never called, for there is no Server.
func (s *Server) Close() error { return nil }
