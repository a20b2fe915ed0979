package main

import (
	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host/app/admit"
)

// packageFlags are the flags of a command that brings packages in: its own, and those that
// say what a person accepts of a package, and how much of it is shown.
func packageFlags(own ...cli.Flag) []cli.Flag {
	accept := func(f admit.Flag, usage string) cli.Flag {
		return &cli.BoolFlag{Name: flagName(string(f)), Usage: usage}
	}
	return append(own,
		fullFlag(),
		&cli.StringSliceFlag{Name: flagName(string(admit.TrustSigner)), Usage: "accept the signer with this `FINGERPRINT`, although another one is remembered for the skill; may be repeated"},
		accept(admit.AcceptSource, "accept that it comes from elsewhere than the version before"),
		accept(admit.AllowUnsigned, "accept a package without a signature that can be verified"),
		despiteFlag(),
		&cli.BoolFlag{Name: "no-tests", Usage: "do not run the package's own test cases"},
		&cli.BoolFlag{Name: "allow-failing-tests", Usage: "install it although its own test cases fail, which is kept with the decision"},
		workspaceFlag(),
	)
}

func despiteFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "despite", Usage: "install what the proposal `ID` proposed, although that was rejected or reverted; may be repeated"}
}

// accepted are the flags by which a person accepts what a package lacks.
func accepted(c *cli.Context) []admit.Flag {
	var flags []admit.Flag
	for _, signer := range c.StringSlice(flagName(string(admit.TrustSigner))) {
		flags = append(flags, admit.TrustSigner.Of(signer))
	}
	for _, f := range []admit.Flag{admit.AcceptSource, admit.AllowUnsigned} {
		if c.Bool(flagName(string(f))) {
			flags = append(flags, f)
		}
	}
	return flags
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

func fullFlag() cli.Flag {
	return &cli.BoolFlag{Name: "full", Usage: "show all of what is different, however long it is"}
}
