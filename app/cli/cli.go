// Package cli is the switchboard command: a client of a running server's human HTTP API, for a person at a
// terminal and for scripts (every command has --json).
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // the server refused, or could not be reached
	exitUsage  = 2 // the command line is wrong, or a file it names cannot be read
)

// Env is the process around the command.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	Now            func() time.Time
	Version        string

	// Width is the terminal's width in columns; 0 means that Stdout is no terminal.
	Width int
	// Interactive says that somebody can answer a question on Stdin.
	Interactive bool
	// ReadSecret reads a line from the terminal without showing it. It is only called when Interactive.
	ReadSecret func() ([]byte, error)
}

// app is one run of the command.
type app struct {
	Env
	urlFlag string
	json    bool
	started bool // the command line was understood; what fails from here on is no usage error
}

// Main runs one command line (without the program's name) and returns its exit code. Errors go to Stderr, in
// one or two lines that say what to do.
func Main(ctx context.Context, args []string, env Env) int {
	a := &app{Env: env}
	root := a.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	fmt.Fprintf(a.Stderr, "switchboard: %s\n", clean(err.Error()))
	var usage *usageError
	if a.started && !errors.As(err, &usage) {
		return exitFailed
	}
	return exitUsage
}

// usageError is a mistake in the command line that only the command itself can see.
type usageError struct{ message string }

func (e *usageError) Error() string { return e.message }

func usagef(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

func (a *app) root() *cobra.Command {
	root := group("switchboard", "Push todos, vend endpoints to agents, and read what happened",
		a.endpointCommand(), a.todoCommand(), a.webhookCommand(), a.eventCommand(), a.quarantineCommand(), a.rungraphCommand(), a.loginLinkCommand(), a.statusCommand(), a.versionCommand(), a.demoCommand(), a.doctorCommand())
	root.Long = `The client of a running Switchboard server.

It finds the server and its credential from --url or SWITCHBOARD_URL and SWITCHBOARD_TOKEN, else from cli.json in
the server's data folder (SWITCHBOARD_DATA_DIR, by default .switchboard in the current folder).`
	root.SilenceErrors, root.SilenceUsage = true, true
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	root.PersistentFlags().StringVar(&a.urlFlag, "url", "", "the server, such as http://127.0.0.1:8321")
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print the answer as JSON")
	var version bool
	root.Flags().BoolVar(&version, "version", false, "print this command's version")
	run := root.RunE
	root.RunE = func(c *cobra.Command, args []string) error {
		if version && len(args) == 0 {
			return a.printVersion()
		}
		return run(c, args)
	}
	root.PersistentPreRun = func(*cobra.Command, []string) { a.started = true }
	return root
}

// group is a command that only holds others. Cobra would print help and exit 0 for a misspelt one; a script
// must see that it failed.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short}
	c.AddCommand(commands...)
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usagef("unknown command %q; see %s --help", args[0], c.CommandPath())
		}
		return c.Help()
	}
	c.Args = cobra.ArbitraryArgs
	return c
}

// arguments demands exactly the named arguments.
func arguments(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == len(names) {
			return nil
		}
		if len(names) == 0 {
			return usagef("%s takes no arguments; see %s --help", c.Name(), c.CommandPath())
		}
		return usagef("%s takes %s; see %s --help", c.Name(), strings.Join(names, " and "), c.CommandPath())
	}
}

// columns is how wide the output may be.
func (a *app) columns() int {
	if a.Width > 0 {
		return a.Width
	}
	return 80
}
