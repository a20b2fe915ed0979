package install

import (
	"context"
	"fmt"
	"slices"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/review/review"
	"github.com/skillet-run/skillet/policies"
)

// interprets makes a person decide about a package that can run scripts: it asks for
// nothing itself, and does what it likes with all that they were granted. Nobody is
// asked again about the next version of the same signer.
func (i *Installer) interprets(_ context.Context, p *Plan) error {
	names, err := review.Interprets(p.request.Package)
	if err != nil {
		return fault.Wrap(fault.KindVerification, fmt.Errorf("%s@%s: %w", p.Skill, p.Version, err))
	}
	if len(names) == 0 {
		return nil
	}
	why := review.InterpreterWords(names)
	p.Warnings = append(p.Warnings, why)
	if p.Installed || p.Origin == registry.OriginDevelopment || p.sameSigner() && p.former.interprets(names) {
		return nil
	}
	if p.Carried = false; p.Effect == policies.Allow.String() {
		p.Effect, p.Reason = policies.Ask.String(), why
	}
	return nil
}

// interprets reports whether the version before could run scripts for all names.
func (f former) interprets(names []string) bool {
	if f.pkg == nil {
		return false
	}
	had, err := review.Interprets(f.pkg)
	return err == nil && !slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(had, n) })
}
