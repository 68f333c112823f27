package cli

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

const (
	defaultURL     = "http://127.0.0.1:8321"
	defaultDataDir = ".switchboard"
)

// localFile is what a server with local sign-in leaves in its data folder for the person at that machine.
type localFile struct {
	URL   string `json:"url"`
	Token string `json:"token"`
}

// connect finds the server and a credential for it. The local file's token goes to the local file's server
// only, whatever --url says.
func (a *app) connect() (*client, error) {
	base, local, path, err := a.findServer()
	if err != nil {
		return nil, err
	}
	token := strings.TrimSpace(a.Getenv("SWITCHBOARD_TOKEN"))
	if token == "" && strings.TrimRight(local.URL, "/") == base {
		token = local.Token
	}
	if token == "" {
		return nil, usagef("no credential for %s: set SWITCHBOARD_TOKEN, or run this where the server's %s is (start one with make run)",
			base, path)
	}
	return newClient(base, token), nil
}

// findServer finds the server alone, for those who need no credential of a human's.
func (a *app) findServer() (base string, local localFile, path string, err error) {
	local, path, err = a.readLocalFile()
	if err != nil {
		return "", local, path, err
	}
	base, err = parseServer(firstOf(a.urlFlag, a.Getenv("SWITCHBOARD_URL"), local.URL, defaultURL))
	return base, local, path, err
}

func (a *app) readLocalFile() (local localFile, path string, err error) {
	path = filepath.Join(firstOf(a.Getenv("SWITCHBOARD_DATA_DIR"), defaultDataDir), "cli.json")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return local, path, nil
	}
	if errors.Is(err, fs.ErrPermission) && a.Getenv("SWITCHBOARD_TOKEN") != "" {
		return local, path, nil
	}
	if err != nil {
		return local, path, usagef("cannot read %s: run this as the user who started the server, or set SWITCHBOARD_TOKEN", path)
	}
	if json.Unmarshal(text, &local) != nil || local.URL == "" {
		return local, path, usagef("%s is damaged: start the server again, it writes the file anew", path)
	}
	return local, path, nil
}

// parseServer reads a base URL; the answer has no trailing slash.
func parseServer(s string) (string, error) {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", usagef("the server's url must look like %s", defaultURL)
	}
	return strings.TrimRight(u.String(), "/"), nil
}

func firstOf(values ...string) string {
	for _, v := range values {
		if v = strings.TrimSpace(v); v != "" {
			return v
		}
	}
	return ""
}
