// Package settings proposes changes of a home's settings. Package config knows
// what settings mean, and package document how a file is changed by decisions.
package settings

import (
	"context"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/base/config"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/document"
	"github.com/skillet-run/skillet/host/record/ledger"
)

// Settings changes the settings of one home. It is safe for concurrent use, also
// by several processes.
type Settings struct{ *document.Files }

// New makes a Settings for the home directory.
func New(l *ledger.Ledger, d *approval.Store, home string) *Settings {
	return &Settings{document.NewFiles(l, d, home, "host:settings", nil, approval.TypeConfigChange)}
}

// A Setting is a setting and the value it is to have, as text; with Unset, its default.
type Setting = config.Change

// A Request is a change that somebody wants.
type Request struct {
	// Settings are changed together.
	Settings []Setting
	// ProposedBy is who wants it: "human:ada", "model:NAME"; Rationale is why.
	ProposedBy string
	Rationale  string
}

// maxSettings is how many settings one proposal changes.
const maxSettings = 32

// Propose records that somebody wants other settings. What cannot be applied is
// refused, with a [fault.KindUsage] error. The same change waits once.
func (s *Settings) Propose(ctx context.Context, r Request) (approval.Proposal, error) {
	if len(r.Settings) > maxSettings {
		return approval.Proposal{}, fault.Errorf(fault.KindUsage, "propose settings: too much at once").WithHint("propose at most %d settings together", maxSettings)
	}
	return s.Files.Propose(ctx, func() (approval.Proposal, error) { return s.proposal(r) })
}

// Plan is what [Settings.Propose] would record, of which nothing is.
func (s *Settings) Plan(r Request) (approval.Proposal, error) { return s.proposal(r) }

func (s *Settings) proposal(r Request) (approval.Proposal, error) {
	before, err := s.Read(config.FileName)
	if err != nil {
		return approval.Proposal{}, err
	}
	c := approval.ConfigChange{FileChange: approval.FileChange{Name: config.FileName, Before: before, After: before}}
	var titles []string
	var changes []config.Change
	for _, set := range r.Settings {
		changes = append(changes, set)
		if set.Unset {
			titles = append(titles, set.Key+" to its default")
		} else {
			titles = append(titles, set.Key+" to "+set.Value)
		}
	}
	after, old, err := config.Edit(before, changes...)
	if err != nil {
		return approval.Proposal{}, err
	}
	c.After = after
	for i, set := range r.Settings {
		c.Settings = append(c.Settings, approval.SettingChange{Key: set.Key, Old: old[i], New: set.Value, Unset: set.Unset})
	}
	return approval.Proposal{
		Type: approval.TypeConfigChange, Title: "set " + strings.Join(titles, ", "),
		Rationale: r.Rationale, ProposedBy: r.ProposedBy, Config: &c,
	}, nil
}
