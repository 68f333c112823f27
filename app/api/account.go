package api

import (
	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

var errNoLocalLogin = fault.New(fault.Forbidden, "local sign-in is off on this server; sign in on its Board")

// newLoginLink makes a one-time sign-in link for the caller.
func (s *server) newLoginLink(c *call) (*answer, error) {
	if !s.LocalLogin {
		return nil, errNoLocalLogin
	}
	token, err := s.Identity.NewLoginLink(c.Context(), c.human.ID)
	if err != nil {
		return nil, err
	}
	return created(map[string]string{"url": s.BaseURL + "/login/" + token})
}

type humanBody struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

type statusBody struct {
	Version  string    `json:"version"`
	BaseURL  string    `json:"base_url"`
	Database string    `json:"database"`
	Human    humanBody `json:"human"`
}

// status says which server this is, and who asks.
func (s *server) status(c *call) (*answer, error) {
	return ok(statusBody{
		Version:  s.Version,
		BaseURL:  s.BaseURL,
		Database: s.Describe(),
		Human:    humanBody{typeid.Human.Format(c.human.ID), c.human.Name},
	})
}
