package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host/app/admit"
	"github.com/skillet-run/skillet/host/app/author"
)

func noTestsFlag() cli.Flag {
	return &cli.BoolFlag{Name: "no-tests", Usage: "do not run the package's own test cases"}
}

func allowFailingFlag() cli.Flag {
	return &cli.BoolFlag{Name: "allow-failing-tests", Usage: "install it although its own test cases fail, which is kept with the decision"}
}

// testsOf is what the flags say of the test cases of packages.
func testsOf(c *cli.Context) admit.Tests {
	switch {
	case c.Bool("no-tests"):
		return admit.TestsLeftOut
	case c.Bool("allow-failing-tests"):
		return admit.TestsMayFail
	}
	return admit.TestsPass
}

// tally says how many test cases passed.
func tally(r author.CaseReport) string {
	text := fmt.Sprintf("%d passed", r.Passed)
	for _, x := range []struct {
		n    int
		what string
	}{{r.Failed, "failed"}, {r.Skipped, "skipped"}} {
		if x.n > 0 {
			text += fmt.Sprintf(", %d %s", x.n, x.what)
		}
	}
	if n := len(r.Problems); n > 0 {
		text += ", " + count(n, "file") + " that cannot be read"
	}
	if r.Note != "" {
		text += "; " + plain(r.Note)
	}
	return text
}
