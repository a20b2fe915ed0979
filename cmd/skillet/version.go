package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host/task"
)

// build is what is known about this program.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func version() string { return buildInfo().Version }

func buildInfo() build {
	b := build{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if v := info.Main.Version; v != "" {
		b.Version = v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

func (t *terminal) versionCommand() *cli.Command {
	return &cli.Command{
		Name:        "version",
		Usage:       "print the version",
		Description: "Examples:\n  skillet version\n  skillet version --json",
		Action: t.withoutHome(func(context.Context, *cli.Context) error {
			b := buildInfo()
			return t.answer(b, func() {
				t.say("skillet %s %s %s %s", b.Version, b.Revision, b.Go, b.Platform)
			})
		}),
	}
}

func exitCodesCommand() *cli.Command {
	return &cli.Command{
		Name:        "exit-codes",
		Usage:       "the exit codes of all commands (read them with `skillet help exit-codes`)",
		Description: exitCodes() + "\nExamples:\n  skillet run text:statistics text=hello; echo $?",
		Action: func(c *cli.Context) error {
			_, err := fmt.Fprint(c.App.Writer, exitCodes())
			return err
		},
	}
}

// exitCodes is the table of exit codes as text.
func exitCodes() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 4, 2, ' ', 0)
	for _, o := range task.Outcomes() {
		fmt.Fprintf(w, "%d\t%s\t%s\n", o.Code, o.Kind, o.Meaning)
	}
	fmt.Fprintf(w, "%d\t\tended by a signal\n", interrupted)
	w.Flush()
	return b.String()
}
