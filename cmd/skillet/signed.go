package main

import (
	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host/trust"
)

func trustSignerFlag() cli.Flag {
	return &cli.BoolFlag{Name: flagName(string(trust.TrustSigner)), Usage: "accept another signer than the one that is remembered for the skill"}
}

func acceptSourceFlag() cli.Flag {
	return &cli.BoolFlag{Name: flagName(string(trust.AcceptSource)), Usage: "accept that it comes from elsewhere than the version before"}
}

func allowUnsignedFlag() cli.Flag {
	return &cli.BoolFlag{Name: flagName(string(trust.AllowUnsigned)), Usage: "accept a package without a signature that can be verified"}
}

func despiteFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "despite", Usage: "install what the proposal `ID` proposed, although that was rejected or reverted; may be repeated"}
}

// accepted are the flags by which a person accepts what a package lacks.
func accepted(c *cli.Context) []trust.Flag {
	var flags []trust.Flag
	for _, f := range []trust.Flag{trust.TrustSigner, trust.AcceptSource, trust.AllowUnsigned} {
		if c.Bool(flagName(string(f))) {
			flags = append(flags, f)
		}
	}
	return flags
}

// tellTrust says who is met for the first time, and what was accepted.
func (t *terminal) tellTrust(v trust.Verdict) {
	if t.json {
		return
	}
	for _, f := range v.Findings {
		if f.Refused || f.State == trust.FirstSeen {
			t.note("%s@%s: %s", plain(v.Skill), plain(v.Version), plain(f.Words))
		}
	}
}
