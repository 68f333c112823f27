// Command switchboard is the client of a running Switchboard server; see package app/cli.
package main

import (
	"context"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/switchboard-otel/switchboard/app/cli"
)

// version is set by the build.
var version = "0.1.0-dev"

func main() {
	width, _, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil {
		width = 0
	}
	os.Exit(cli.Main(context.Background(), os.Args[1:], cli.Env{
		Stdin:       os.Stdin,
		Stdout:      os.Stdout,
		Stderr:      os.Stderr,
		Getenv:      os.Getenv,
		Now:         time.Now,
		Version:     version,
		Width:       width,
		Interactive: term.IsTerminal(int(os.Stdin.Fd())),
		ReadSecret:  func() ([]byte, error) { return term.ReadPassword(int(os.Stdin.Fd())) },
	}))
}
