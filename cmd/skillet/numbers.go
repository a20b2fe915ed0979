package main

import (
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host/base/fault"
)

// zeroMeans are the flags for which 0 says something, by command. Any other flag
// with a number or a time takes only what is greater than 0: a limit of 0 could be
// read as no limit at all.
var zeroMeans = map[string][]string{
	"memory list":   {"limit"},         // list all
	"memory search": {"min-relevance"}, // leave out nothing
	"task logs":     {"after"},         // all events
}

// checkNumbers refuses numbers and times that no flag of a command can mean.
func checkNumbers(c *cli.Context, path string) error {
	for _, f := range c.Command.Flags {
		name := f.Names()[0]
		if !c.IsSet(name) {
			continue
		}
		positive, zero := sign(c, f, name)
		if positive || zero && slices.Contains(zeroMeans[path], name) {
			continue
		}
		e := fault.Errorf(fault.KindUsage, "--%s must be more than 0", name)
		if slices.Contains(zeroMeans[path], name) {
			e = fault.Errorf(fault.KindUsage, "--%s must be 0 or more", name)
		}
		return e.WithHint("leave it out for what holds without it; %s", helpFor(path))
	}
	return nil
}

// sign says whether the value of a flag is greater than 0, and whether it is 0.
// What is not a number is neither; a flag of another kind counts as greater.
func sign(c *cli.Context, f cli.Flag, name string) (positive, zero bool) {
	var n float64
	switch f.(type) {
	case *cli.DurationFlag:
		n = float64(c.Duration(name))
	case *cli.IntFlag:
		n = float64(c.Int(name))
	case *cli.Int64Flag:
		n = float64(c.Int64(name))
	case *cli.Uint64Flag:
		n = float64(c.Uint64(name))
	case *cli.Float64Flag:
		n = c.Float64(name)
	default:
		return true, false
	}
	return n > 0, n == 0
}
