package main

import (
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/policies/limit"
)

// limitFlags are the flags that change limits of one call.
func limitFlags() (all []cli.Flag) {
	for _, l := range limit.All() {
		switch name := limitFlag(l); {
		case name == "":
		case l.IsTime():
			all = append(all, &cli.DurationFlag{Name: name, Usage: l.Help()})
		default:
			all = append(all, &cli.Uint64Flag{Name: name, Usage: l.Help()})
		}
	}
	return all
}

// limitFlag is the name of the flag for a limit; empty for none.
func limitFlag(l limit.Limit) string { return strings.ReplaceAll(l.Request(), "_", "-") }

// limits are the limits that flags ask for.
func limits(c *cli.Context) (asked invoke.Limits) {
	for _, l := range limit.All() {
		switch name := limitFlag(l); {
		case name == "":
		case l.IsTime():
			l.Put(&asked, int64(c.Duration(name)))
		default:
			l.Put(&asked, l.Value(c.Uint64(name)))
		}
	}
	return asked
}
