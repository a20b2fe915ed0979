package main

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/registry"
	sources "github.com/skillet-run/skillet/host/source"
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

// trusted says who signed a package and what a person has to know about that. It
// fails when something stands in the way that no flag accepts.
func (t *terminal) trusted(ctx context.Context, c *cli.Context, h *host.Host, got *sources.Fetched, origin registry.Origin) (*trust.Acceptance, error) {
	m := got.Package.Manifest()
	v, err := h.Trust.Assess(ctx, trust.Evidence{
		Skill: m.Name, Version: m.Version, Source: got.Place, Content: got.Package.Digest(), Artifact: got.Artifact,
		Blob: got.Archive, Bundles: got.Signatures,
		// Nobody signs what a model wrote: a person looks at all of it.
		Directory: got.Kind == sources.KindDirectory || origin == registry.OriginGenerated,
	})
	if err != nil {
		return nil, err
	}
	a, err := v.Acceptance(accepted(c)...)
	if err != nil {
		return nil, err
	}
	t.tellTrust(v)
	return &a, nil
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
