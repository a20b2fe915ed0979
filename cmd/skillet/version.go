package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host/app/upkeep"
	"github.com/skillet-run/skillet/host/base/fault"
)

func (t *terminal) versionCommand() *cli.Command {
	return command("version", nil, t.withoutHome(func(context.Context, *cli.Context) error {
		return answered(t, upkeep.ThisBuild(), nil, func(b upkeep.Build) {
			t.say("%s", strings.Join(strings.Fields("skillet "+b.Version+" "+b.Revision+" "+b.Go+" "+b.Platform), " "))
		})
	}))
}

func (t *terminal) exitCodesCommand() *cli.Command {
	return command("exit-codes", nil, func(*cli.Context) error { return t.exitCodes() })
}

// exitCode is what --json prints of one row of the table.
type exitCode struct {
	Code    int        `json:"code"`
	Kind    fault.Kind `json:"kind"`
	Meaning string     `json:"meaning"`
}

// exitCodes prints the table of exit codes.
func (t *terminal) exitCodes() error {
	var codes []exitCode
	for _, o := range fault.Outcomes() {
		codes = append(codes, exitCode(o))
	}
	return t.answer(codes, func() {
		w := tabwriter.NewWriter(t.out, 0, 4, 2, ' ', 0)
		for _, c := range codes {
			fmt.Fprintf(w, "%d\t%s\t%s\n", c.Code, c.Kind, c.Meaning)
		}
		w.Flush()
		t.note("A command that Ctrl-C ends exits with %d, as in any shell.", interrupted)
	})
}
