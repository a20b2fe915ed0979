package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/skillet-run/skillet/host/ledger"
	"github.com/skillet-run/skillet/host/store"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// The kinds of change the registry owns.
const (
	kindInstalled = "skill.installed"
	kindRemoved   = "skill.removed"
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
}

func (r record) skill() Skill {
	return Skill{
		Name: r.Name, Version: r.Version, Digest: r.Digest, Kind: r.Kind, Description: r.Description,
		Aliases: r.Aliases, Tools: r.Tools, Source: r.Source, Origin: r.Origin,
		InstalledAt: r.InstalledAt, InstalledBy: r.InstalledBy,
	}
}

type pointer struct {
	Digest manifests.Digest `json:"digest"`
}

// removal is the data of a skill.removed change.
type removal struct {
	Name   string           `json:"name"`
	Digest manifests.Digest `json:"digest"`
	// Next becomes active if the removed version was; empty for none.
	Next manifests.Digest `json:"next,omitempty"`
}

// Installed is the change that makes a kept package an installed version and
// the active one. The package must have been [Registry.Keep]-ed before.
func Installed(p *bundle.Package, source string, origin Origin) (ledger.Change, error) {
	m := p.Manifest()
	var tools []string
	for _, t := range m.Tools {
		tools = append(tools, t.Name)
	}
	return ledger.NewChange(kindInstalled, record{
		V: recordVersion, Name: m.Name, Version: m.Version, Digest: p.Digest(), Kind: m.Type,
		Description: m.Description, Aliases: m.Aliases, Tools: tools, Source: source, Origin: origin,
	})
}

// Removed is the change that takes a version out. If it is the active one, the
// newest of the others becomes active.
func Removed(s Skill, others []Skill) (ledger.Change, error) {
	r := removal{Name: s.Name, Digest: s.Digest}
	if s.Active && len(others) > 0 {
		r.Next = others[0].Digest
	}
	return ledger.NewChange(kindRemoved, r)
}

// A Projection applies the registry's changes to the store.
type Projection struct{}

// Owns reports whether the registry applies changes of this kind.
func (Projection) Owns(kind string) bool {
	return kind == kindInstalled || kind == kindRemoved
}

// Apply brings the store to the state after c.
func (Projection) Apply(ctx context.Context, kv store.KV, at ledger.Stamp, c ledger.Change) error {
	switch c.Kind {
	case kindInstalled:
		return applyInstalled(ctx, kv, at, c.Data)
	case kindRemoved:
		return applyRemoved(ctx, kv, c.Data)
	}
	return fmt.Errorf("registry does not know changes of kind %q", c.Kind)
}

func applyInstalled(ctx context.Context, kv store.KV, at ledger.Stamp, data json.RawMessage) error {
	var rec record
	if err := json.Unmarshal(data, &rec); err != nil {
		return err
	}
	rec.InstalledAt, rec.InstalledBy = at.Time, at.Actor
	if err := put(ctx, kv, skillKey(rec.Name, rec.Digest), rec); err != nil {
		return err
	}
	return activate(ctx, kv, rec.Name, rec.Digest)
}

func applyRemoved(ctx context.Context, kv store.KV, data json.RawMessage) error {
	var r removal
	if err := json.Unmarshal(data, &r); err != nil {
		return err
	}
	if err := drop(ctx, kv, skillKey(r.Name, r.Digest)); err != nil {
		return err
	}
	e, err := kv.Get(ctx, "active/"+r.Name)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	var p pointer
	if err := json.Unmarshal(e.Value, &p); err != nil {
		return fmt.Errorf("read %s: %w: %w", e.Key, store.ErrDamaged, err)
	}
	switch {
	case p.Digest != r.Digest:
		return nil
	case r.Next != "":
		return activate(ctx, kv, r.Name, r.Next)
	}
	return drop(ctx, kv, "active/"+r.Name)
}

func activate(ctx context.Context, kv store.KV, name string, d manifests.Digest) error {
	return put(ctx, kv, "active/"+name, pointer{Digest: d})
}

func skillKey(name string, d manifests.Digest) string { return "skill/" + name + "/" + d.Hex() }

func put(ctx context.Context, kv store.KV, key string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = kv.Put(ctx, key, b, store.Any)
	return err
}

func drop(ctx context.Context, kv store.KV, key string) error {
	err := kv.Delete(ctx, key, store.Any)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}
