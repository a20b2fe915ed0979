package main

import (
	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host/app/admit"
)

func trustSignerFlag() cli.Flag {
	return &cli.BoolFlag{Name: flagName(string(admit.TrustSigner)), Usage: "accept another signer than the one that is remembered for the skill"}
}

func acceptSourceFlag() cli.Flag {
	return &cli.BoolFlag{Name: flagName(string(admit.AcceptSource)), Usage: "accept that it comes from elsewhere than the version before"}
}

func allowUnsignedFlag() cli.Flag {
	return &cli.BoolFlag{Name: flagName(string(admit.AllowUnsigned)), Usage: "accept a package without a signature that can be verified"}
}

func despiteFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "despite", Usage: "install what the proposal `ID` proposed, although that was rejected or reverted; may be repeated"}
}

// accepted are the flags by which a person accepts what a package lacks.
func accepted(c *cli.Context) []admit.Flag {
	var flags []admit.Flag
	for _, f := range []admit.Flag{admit.TrustSigner, admit.AcceptSource, admit.AllowUnsigned} {
		if c.Bool(flagName(string(f))) {
			flags = append(flags, f)
		}
	}
	return flags
}
