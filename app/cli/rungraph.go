package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/switchboard-otel/switchboard/app/rungraph"
)

func (a *app) rungraphCommand() *cobra.Command {
	return group("rungraph", "Run-graph documents (OCP): write, check, keep",
		a.rungraphExportCommand(), a.rungraphValidateCommand(), a.rungraphImportCommand())
}

func (a *app) rungraphExportCommand() *cobra.Command {
	var todo, queue, since string
	var full bool
	c := &cobra.Command{
		Use:   "export (--todo TODO | --queue QUEUE --since TIME)",
		Short: "Print a todo, or what a queue got in a window, as a run-graph document",
		Long: `Print a todo, or what a queue got in a window, as a run-graph document (OCP 0.3): attempts, how each ended and how that
is known, models and tokens. Titles, payloads, results and notes never go into it; summaries only with --full.`,
		Args: arguments(),
		RunE: func(c *cobra.Command, _ []string) error {
			if (todo == "") == (queue == "") {
				return usagef("name either --todo or --queue; see %s --help", c.CommandPath())
			}
			path, query := "/todos/"+url.PathEscape(todo)+"/rungraph", url.Values{}
			if queue != "" {
				seconds, err := parseTime("since", since, time.Second)
				if err != nil {
					return err
				}
				path = "/queues/" + url.PathEscape(queue) + "/rungraph"
				query.Set("from", a.Now().Add(-time.Duration(seconds)*time.Second).UTC().Format(time.RFC3339))
			}
			if full {
				query.Set("full", "true")
			}
			server, err := a.connect()
			if err != nil {
				return err
			}
			doc, err := server.get(c.Context(), path, query)
			if err != nil {
				return err
			}
			_, err = a.Stdout.Write(doc)
			return err
		},
	}
	flags := c.Flags()
	flags.StringVar(&todo, "todo", "", "one todo")
	flags.StringVar(&queue, "queue", "", "the todos of a queue, of all your endpoints")
	flags.StringVar(&since, "since", "24h", "with --queue: made since then, such as 90m, 12h or 30d")
	flags.BoolVar(&full, "full", false, "with the summaries that agents wrote, in an extension")
	return c
}

func (a *app) rungraphImportCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "import FILE",
		Short: "Keep a run-graph document of any producer, to be read on the Board",
		Args:  arguments("FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			doc, err := readDocument(args[0])
			if err != nil {
				return usagef("cannot read %s: %v", args[0], reason(err))
			}
			server, err := a.connect()
			if err != nil {
				return err
			}
			answer, err := server.call(c.Context(), http.MethodPost, "/rungraph", doc)
			if err != nil || a.json {
				return a.jsonOr(err, answer)
			}
			var imported struct {
				Document struct{ URL string }
				Created  bool
			}
			if err := json.Unmarshal(answer, &imported); err != nil {
				return err
			}
			fmt.Fprintln(a.Stdout, line(imported.Document.URL))
			if !imported.Created {
				a.hint("This document was kept already.")
			}
			return nil
		},
	}
}

// checkedFile is one file of a check, as --json prints it.
type checkedFile struct {
	Path     string             `json:"path"`
	OCP      *string            `json:"ocp"` // null when the document does not say
	OK       bool               `json:"ok"`
	Errors   int                `json:"errors"`
	Warnings int                `json:"warnings"`
	LeftOff  int                `json:"left_off"` // findings that were counted only
	Findings []rungraph.Finding `json:"findings"`
}

func (a *app) rungraphValidateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "validate FILE...",
		Short: "Check run-graph documents of any producer and version against the schema and the rules",
		Long: `Check run-graph documents of any producer and version against the schema and the rules. Nothing leaves this machine.
Exits with 1 when a document has an error, with 2 when a file cannot be read; warnings never fail a document.`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("%s takes files; see %s --help", c.Name(), c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			files, unreadable, err := a.checkFiles(c.Context(), args)
			if err != nil {
				return err
			}
			broken := 0
			for _, f := range files {
				if !f.OK {
					broken++
				}
			}
			if err := a.printChecked(files, broken == 0); err != nil {
				return err
			}
			switch {
			case unreadable != nil:
				return usagef("cannot read a file: %v", reason(unreadable))
			case broken > 0:
				return fmt.Errorf("%d of %s not conform", broken, does(len(files)))
			}
			return nil
		},
	}
}

func does(n int) string {
	if n == 1 {
		return "1 document does"
	}
	return fmt.Sprintf("%d documents do", n)
}

// checkFiles checks one file after the other and then what they show together. A file that cannot be read is a finding
// of its own, so that the others are still told.
func (a *app) checkFiles(ctx context.Context, paths []string) (files []checkedFile, unreadable, err error) {
	reports := make([]*rungraph.Report, len(paths))
	for i, path := range paths {
		doc, err := readDocument(path)
		if err != nil {
			unreadable = err
			reports[i] = rungraph.Unreadable(reason(err).Error())
			continue
		}
		if reports[i], err = rungraph.Validate(ctx, doc, a.progress(path, len(doc))); err != nil {
			return nil, nil, err
		}
	}
	rungraph.CrossCheck(reports)
	for i, r := range reports {
		f := checkedFile{Path: paths[i], OK: r.OK(), Errors: r.Errors, Warnings: r.Warnings, LeftOff: r.LeftOff(), Findings: r.Findings}
		if r.Version != "" {
			f.OCP = &r.Version
		}
		if f.Findings == nil {
			f.Findings = []rungraph.Finding{}
		}
		files = append(files, f)
	}
	return files, unreadable, nil
}

func (a *app) printChecked(files []checkedFile, ok bool) error {
	if a.json {
		answer, err := json.Marshal(struct {
			OK    bool          `json:"ok"`
			Files []checkedFile `json:"files"`
		}{ok, files})
		return a.jsonOr(err, answer)
	}
	for _, f := range files {
		verdict := "PASS"
		if !f.OK {
			verdict = "FAIL"
		}
		fmt.Fprintf(a.Stdout, "%s  %s  (%s, %s)\n", verdict, line(f.Path), counted(f.Errors, "error"), counted(f.Warnings, "warning"))
		for _, finding := range f.Findings {
			fmt.Fprintf(a.Stdout, "  %s %s %s: %s\n", finding.Level, finding.Code, line(finding.Path), line(finding.Message))
		}
		if f.LeftOff > 0 {
			fmt.Fprintf(a.Stdout, "  and %d more\n", f.LeftOff)
		}
	}
	return nil
}

// progress keeps a line on the terminal while a large document is checked; nil where there is no terminal.
func (a *app) progress(path string, size int) func(done, total int) {
	if a.Width == 0 || size < 1<<20 {
		return nil
	}
	shown := -1
	return func(done, total int) {
		percent := int(int64(done) * 100 / int64(total))
		if percent == shown {
			return
		}
		shown = percent
		text := fit(fmt.Sprintf("%3d%% checked: %s", percent, line(path)), a.columns()-1)
		if percent == 100 {
			text = strings.Repeat(" ", textColumns(text)) + "\r" // what is printed next stands on a clean line
		}
		fmt.Fprintf(a.Stderr, "\r%s", text)
	}
}

// readDocument reads a file no further than a check would.
func readDocument(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var doc bytes.Buffer
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
		doc.Grow(int(min(info.Size(), rungraph.MaxBytes)) + bytes.MinRead)
	}
	_, err = io.Copy(&doc, io.LimitReader(file, rungraph.MaxBytes+1))
	return doc.Bytes(), err
}

// reason is what went wrong with a file, without its name once more.
func reason(err error) error {
	var wrong *os.PathError
	if errors.As(err, &wrong) {
		return wrong.Err
	}
	return err
}
