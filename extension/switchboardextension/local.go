package switchboardextension

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// localToken is the name of the access token that the command line of this data folder uses.
const localToken = "command line"

// giveLocalCredential writes what bin/switchboard needs to speak for the local owner: where the server is
// and a token of its own, readable by this user alone. Each start renews it.
func (s *switchboard) giveLocalCredential(ctx context.Context) error {
	if !s.cfg.LocalLogin.On() {
		return nil
	}
	owner, err := s.identity.LocalOwner(ctx)
	if err != nil {
		return fmt.Errorf("cannot make the local owner: %w", err)
	}
	token, err := s.identity.NewAccessToken(ctx, owner.ID, localToken)
	if err != nil {
		return fmt.Errorf("cannot make the command line's credential: %w", err)
	}
	content, err := json.Marshal(map[string]string{"url": s.cfg.baseURL(), "token": token})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.cfg.DataDir, 0o711); err != nil {
		return err
	}
	// A new file is renamed over the old one, so that no reader sees half of it and no old mode stays.
	file, err := os.CreateTemp(s.cfg.DataDir, "cli-*.json") // mode 0600
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(file.Name(), filepath.Join(s.cfg.DataDir, "cli.json"))
	}
	if err != nil {
		_ = os.Remove(file.Name())
	}
	return err
}

// announce says once, for people, that everything answers and where.
func (s *switchboard) announce(w io.Writer) error {
	url := s.cfg.baseURL()
	board, next := url+"/", ""
	if s.cfg.LocalLogin.On() {
		ctx := context.Background()
		owner, err := s.identity.LocalOwner(ctx)
		if err != nil {
			return fmt.Errorf("cannot find the local owner: %w", err)
		}
		link, err := s.identity.NewLoginLink(ctx, owner.ID)
		if err != nil {
			return fmt.Errorf("cannot make a sign-in link: %w", err)
		}
		board = url + "/login/" + link
		if s.cfg.Features.OTLP.On() && s.cfg.Features.MCP.On() {
			next = "  Next       bin/switchboard demo\n"
		}
	}
	lines := "Switchboard is ready\n"
	if s.cfg.Features.Board.On() {
		lines += "  Board      " + board + "\n"
	}
	if s.cfg.Features.MCP.On() {
		lines += "  MCP        " + url + "/mcp/<endpoint>\n"
	}
	if s.cfg.Features.OTLP.On() {
		lines += "  OTLP       " + url + "/otlp/<endpoint>\n"
	}
	_, err := fmt.Fprint(w, lines, "  Database   ", s.db.Describe(), "\n", next)
	return err
}
