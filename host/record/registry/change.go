package registry

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// The kinds of change the registry owns.
const (
	kindInstalled     = "skill.installed"
	kindRemoved       = "skill.removed"
	kindPurged        = "skill.purged"
	kindActivated     = "skill.activated"
	kindDisabled      = "skill.disabled"
	kindEnabled       = "skill.enabled"
	kindPinned        = "skill.pinned"
	kindUnpinned      = "skill.unpinned"
	kindAvoided       = "skill.avoided"
	kindCanaryStarted = "canary.started"
	kindCanaryEnded   = "canary.ended"
	kindLinked        = "skill.linked"
	kindAsked         = "skill.asked"
)

// recordVersion is the version of the stored form of a record.
const recordVersion = 1

// record is the stored form of an installed version. It has no active flag:
// the pointer under active/ is the only place that says so.
type record struct {
	V           int              `json:"v"`
	Name        string           `json:"name"`
	Version     string           `json:"version"`
	Digest      manifests.Digest `json:"digest"`
	Kind        manifests.Kind   `json:"kind"`
	Description string           `json:"description,omitempty"`
	Aliases     []string         `json:"aliases,omitempty"`
	Tools       []string         `json:"tools,omitempty"`
	Source      string           `json:"source,omitempty"`
	Origin      Origin           `json:"origin"`
	InstalledAt time.Time        `json:"installed_at,omitzero"`
	InstalledBy string           `json:"installed_by,omitempty"`
	// Of what is below, records of earlier skillets know nothing.
	SourceKind   string           `json:"source_kind,omitempty"`
	Signer       string           `json:"signer,omitempty"`
	Artifact     manifests.Digest `json:"artifact,omitempty"`
	Dependencies []Dependency     `json:"dependencies,omitempty"`
	// Beside is true for a version that was not to be the active one. It is of the
	// change alone.
	Beside bool `json:"beside,omitempty"`
	// Needed and Asked are of the change alone, too: they are about the skill.
	Needed bool   `json:"needed,omitempty"`
	Asked  *Asked `json:"asked,omitempty"`
}

func (r record) skill() Skill {
	return Skill{
		Name: r.Name, Version: r.Version, Digest: r.Digest, Kind: r.Kind, Description: r.Description,
		Aliases: r.Aliases, Tools: r.Tools, Source: r.Source, Origin: r.Origin,
		InstalledAt: r.InstalledAt, InstalledBy: r.InstalledBy,
		SourceKind: r.SourceKind, Signer: r.Signer, Artifact: r.Artifact, Dependencies: r.Dependencies,
	}
}

// removal is the data of a skill.removed change.
type removal struct {
	Name   string           `json:"name"`
	Digest manifests.Digest `json:"digest"`
	// Next becomes active if the removed version was; empty for none.
	Next manifests.Digest `json:"next,omitempty"`
	// Left is what stays behind; nil when nothing does.
	Left *Leftover `json:"left,omitempty"`
}

// A Provenance says where a package came from, as far as that was verified. The
// zero value of a field means that nothing is known.
type Provenance struct {
	// Source is where it came from in the form in which it can be fetched again,
	// and SourceKind what sort of place that is: "path", "file", "oci".
	Source     string
	SourceKind string
	Origin     Origin
	// Signer is the verified and trusted signer.
	Signer string
	// Artifact is the digest of what was fetched: of the OCI manifest, or of the
	// .skill file.
	Artifact manifests.Digest
	// Dependencies are the skills it needs, as they were resolved.
	Dependencies []Dependency
	// Beside keeps the version that is active active.
	Beside bool
	// Needed is true when the skill is installed because others need it, and nobody
	// asked for it. Asked says for which versions somebody did; nil leaves that as
	// it is.
	Needed bool
	Asked  *Asked
}

// Installed is the change that makes a kept package an installed version and
// the active one. The package must have been [Registry.Keep]-ed before.
func Installed(p *bundle.Package, source string, origin Origin) (ledger.Change, error) {
	return Provenance{Source: source, Origin: origin}.Installed(p)
}

// Installed is [Installed] for a package of which more is known.
func (from Provenance) Installed(p *bundle.Package) (ledger.Change, error) {
	m := p.Manifest()
	var tools []string
	for _, t := range m.Tools {
		tools = append(tools, t.Name)
	}
	return ledger.NewChange(kindInstalled, record{
		V: recordVersion, Name: m.Name, Version: m.Version, Digest: p.Digest(), Kind: m.Type,
		Description: m.Description, Aliases: m.Aliases, Tools: tools, Source: from.Source, Origin: from.Origin,
		SourceKind: from.SourceKind, Signer: from.Signer, Artifact: from.Artifact, Dependencies: from.Dependencies, Beside: from.Beside,
		Needed: from.Needed, Asked: from.Asked,
	})
}

// Removed is the change that takes a version out. If it is the active one, the
// newest of the others that runs becomes active. What the skill keeps stays
// behind with the last version, for who installs the same skill again; see
// [Purged].
func Removed(s Skill, others []Skill) (ledger.Change, error) {
	r := removal{Name: s.Name, Digest: s.Digest}
	switch {
	case len(others) == 0:
		r.Left = &Leftover{Name: s.Name, Signer: s.Signer, Source: s.Source, Digest: s.Digest}
	case s.Active:
		r.Next = others[0].Digest
		if i := slices.IndexFunc(others, func(o Skill) bool { return o.Disabled == nil }); i >= 0 {
			r.Next = others[i].Digest
		}
	}
	return ledger.NewChange(kindRemoved, r)
}

// Projection applies the changes of the registry to the store.
func Projection() ledger.Projection {
	return ledger.Table{Name: "registry", State: []string{"skill/", "active/", "left/"}, Kinds: map[string]ledger.Apply{
		kindInstalled:     ledger.On(applyInstalled),
		kindRemoved:       ledger.On(applyRemoved),
		kindPurged:        ledger.On(applyPurged),
		kindActivated:     ledger.On(applyActivated),
		kindDisabled:      ledger.On(applyDisabled),
		kindEnabled:       ledger.On(applyEnabled),
		kindPinned:        ledger.On(applyPinned),
		kindUnpinned:      ledger.On(applyUnpinned),
		kindAvoided:       ledger.On(applyAvoided),
		kindCanaryStarted: ledger.On(applyCanaryStarted),
		kindCanaryEnded:   ledger.On(applyCanaryEnded),
		kindLinked:        ledger.On(applyLinked),
		kindAsked:         ledger.On(applyAsked),
	}}
}

func applyInstalled(ctx context.Context, kv store.KV, at ledger.Stamp, rec record) error {
	stored := rec
	stored.InstalledAt, stored.InstalledBy = at.Time, at.Actor
	stored.Beside, stored.Needed, stored.Asked = false, false, nil
	if err := put(ctx, kv, skillKey(rec.Name, rec.Digest), stored); err != nil {
		return err
	}
	if err := ledger.Drop(ctx, kv, leftKey(rec.Name)); err != nil || rec.Beside {
		return err
	}
	return change(ctx, kv, rec.Name, func(s *standing) {
		s.want(rec)
		s.activate(rec.Digest, false)
		s.avoid("", rec.Version, at)
	})
}

func applyRemoved(ctx context.Context, kv store.KV, at ledger.Stamp, r removal) error {
	if err := ledger.Drop(ctx, kv, skillKey(r.Name, r.Digest)); err != nil {
		return err
	}
	if r.Left != nil {
		r.Left.At = at.Time
		if err := put(ctx, kv, leftKey(r.Name), r.Left); err != nil {
			return err
		}
	}
	rest, err := kv.List(ctx, "skill/"+r.Name+"/")
	if err != nil {
		return err
	}
	if len(rest) == 0 {
		return ledger.Drop(ctx, kv, standingKey(r.Name))
	}
	return change(ctx, kv, r.Name, func(s *standing) { s.leave(r.Digest, r.Next) })
}

func skillKey(name string, d manifests.Digest) string { return "skill/" + name + "/" + d.Hex() }

func put(ctx context.Context, kv store.KV, key string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = kv.Put(ctx, key, b, store.AnyRevision)
	return err
}
