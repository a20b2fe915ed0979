package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/policies/limit"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/capability"
)

// prepared brings what the skill keeps to the schema version its manifest names,
// before the first call that meets an older one. Only the manifest's own tool can
// do it; without one, and for newer state, the skill is not run.
func (r *Runner) prepared(a *run, next work) work {
	kv := a.manifest.Security.Permissions.KV
	_, granted := a.granted.Allows(capability.Request{Action: capability.KV})
	if kv == nil || !granted {
		return next
	}
	return func(ctx context.Context) error {
		for {
			err := r.prepare(ctx, a)
			if err == nil {
				return next(ctx)
			}
			if !errors.Is(err, hostfn.ErrMoving) {
				return err
			}
			if !a.until.IsZero() && time.Now().After(a.until) {
				return fault.Errorf(fault.KindConflict, "%s: %w", a.call.Target.Label, err).WithHint("try again when it is done")
			}
			if err := pause(ctx, time.Second/10); err != nil { // another call does it
				return err
			}
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// prepare is one attempt to have state of the right version.
func (r *Runner) prepare(ctx context.Context, a *run) error {
	data := a.state(r.kv)
	have, kept, err := hostfn.StateSchema(ctx, data, a.principal())
	if err != nil {
		return fmt.Errorf("look at what %s keeps: %w", a.call.Target.Label, err)
	}
	want, place := kvSchema(a.manifest), a.call.Target.Place
	switch {
	case kept && have != want && place == PlaceBeside:
		return fault.Errorf(fault.KindConflict, "%s wants data of schema version %d, and another version of it is active, with data of version %d", a.call.Target.Label, want, have).
			WithHint("make it the active version first: %s", fault.RollBack(a.manifest.Name).With(fault.FieldTo, a.manifest.Version))
	case kept && have > want && place == PlaceActive:
		err := hostfn.TakeBackState(ctx, data, a.principal(), want)
		if !errors.Is(err, hostfn.ErrNoFormerState) {
			return err
		}
	}
	if err := schemaFits(a.manifest, have, kept); err != nil {
		return err
	}
	return hostfn.Migration{
		Principal: a.principal(), To: want, QuotaBytes: a.manifest.Limits().KVBytes,
		Lease: a.limits.Wall + time.Minute, Keep: place != PlaceAlone,
		Convert: func(ctx context.Context, from int, scratch store.KV) error { return r.convert(ctx, a, from, scratch) },
	}.Run(ctx, data)
}

// schemaFits refuses state that the skill can neither read nor bring to its own
// version.
func schemaFits(m *manifests.Manifest, have int, kept bool) error {
	want := kvSchema(m)
	switch {
	case !kept || have == want:
		return nil
	case have > want:
		return fault.Errorf(fault.KindConflict, "%s keeps data of schema version %d, and version %s of it knows %d", m.Name, have, m.Version, want).
			WithHint("run the version that wrote it, or remove the skill with what it keeps")
	case m.Security.Permissions.KV.Migrate == "":
		return fault.Errorf(fault.KindConflict, "%s keeps data of schema version %d, version %s of it wants %d, and it has no tool that migrates", m.Name, have, m.Version, want).
			WithHint("its author names one in security.permissions.kv.migrate; until then keep the version you have, or remove the skill with what it keeps")
	}
	return nil
}

// convert has the manifest's tool change a copy of the state. It is lent that and
// nothing else.
func (r *Runner) convert(ctx context.Context, a *run, from int, scratch store.KV) error {
	to := kvSchema(a.manifest)
	input, err := json.Marshal(struct {
		From int `json:"from"`
		To   int `json:"to"`
	}{from, to})
	if err != nil {
		return err
	}
	c := a.call
	c.Tool, c.Input, c.Allow, c.Caller, c.Limits = a.manifest.Security.Permissions.KV.Migrate, input, approval.EphemeralGrant{}, hostCaller, limit.Set{}
	c.Target.Granted, c.scratch, c.lent = approval.Granted{}, scratch, capability.NewSet(capability.MustParse(string(capability.KV)))
	res := r.serve(ctx, c, asMigration, a)
	a.result.Figures = a.result.Figures.Add(res.Figures)
	a.result.Logs = append(a.result.Logs, res.Logs...)
	if res.OK {
		return nil
	}
	return fault.Errorf(fault.KindSkill, "%s could not bring its data from schema version %d to %d, and nothing was changed: %w", a.call.Target.Label, from, to, res.Error).
		WithHint("run the version before, and report it to the author")
}

func kvSchema(m *manifests.Manifest) int {
	if kv := m.Security.Permissions.KV; kv != nil {
		return max(kv.SchemaVersion, 1)
	}
	return 1
}

// fitsState refuses a package whose installed predecessor left data that it can
// do nothing with.
func (r *Runner) fitsState(ctx context.Context, m *manifests.Manifest) error {
	if m.Security.Permissions.KV == nil {
		return nil
	}
	versions, err := registry.New(r.kv, nil).Versions(ctx, m.Name)
	if err != nil || len(versions) == 0 { // what a removed skill left may not be for this one at all
		return err
	}
	s, err := r.State(ctx, m)
	if err != nil || s.Back {
		return err
	}
	return schemaFits(m, s.Schema, s.Kept)
}

// A State is what an installed skill keeps, as one version of it sees it.
type State struct {
	// Kept is false when nothing is kept, which fits any version.
	Kept bool `json:"kept"`
	// Schema is the schema version of what is kept, and Wanted that of the version
	// that looks at it; 0 when that keeps nothing.
	Schema int `json:"schema_version"`
	Wanted int `json:"wanted_version"`
	// Back is true when the data is of a later schema version than wanted, and can
	// be taken back to what it was before.
	Back bool `json:"back"`
}

// Fits reports whether the version finds data that it can work with, once that
// was taken back where it can be.
func (s State) Fits() bool { return !s.Kept || s.Wanted == 0 || s.Schema <= s.Wanted || s.Back }

// State looks at what the installed skill of a manifest's name keeps.
func (r *Runner) State(ctx context.Context, m *manifests.Manifest) (State, error) {
	who := policies.Principal{Skill: m.Name, Origin: policies.OriginUser}
	have, kept, err := hostfn.StateSchema(ctx, r.kv, who)
	if err != nil {
		return State{}, fmt.Errorf("look at what %s keeps: %w", m.Name, err)
	}
	s := State{Kept: kept, Schema: have}
	if m.Security.Permissions.KV != nil {
		s.Wanted = kvSchema(m)
	}
	if !kept || s.Wanted == 0 || have <= s.Wanted {
		return s, nil
	}
	aside, err := hostfn.FormerSchemas(ctx, r.kv, who)
	s.Back = slices.Contains(aside, s.Wanted)
	return s, err
}

// TakeBack takes what an installed skill keeps back to the schema version of a
// manifest, where [State.Back] says that this can be done. The active version
// does it by itself at its first call; doing it before only saves that call the
// time.
func (r *Runner) TakeBack(ctx context.Context, m *manifests.Manifest) error {
	s, err := r.State(ctx, m)
	if err != nil || !s.Back {
		return err
	}
	if err := hostfn.TakeBackState(ctx, r.kv, policies.Principal{Skill: m.Name, Origin: policies.OriginUser}, s.Wanted); err != nil {
		return fmt.Errorf("take back what %s keeps: %w", m.Name, err)
	}
	return nil
}

// A Kept is what is kept of one skill between calls.
type Kept struct {
	hostfn.StateInfo
	// CacheBytes is how much its kept answers take.
	CacheBytes int64 `json:"cache_bytes"`
}

// Kept lists the skills that keep data, and how much.
func (r *Runner) Kept(ctx context.Context) ([]Kept, error) {
	states, err := hostfn.States(ctx, r.kv)
	if err != nil {
		return nil, fmt.Errorf("list what skills keep: %w", err)
	}
	caches, err := r.caches(ctx)
	if err != nil {
		return nil, fmt.Errorf("list kept answers: %w", err)
	}
	var all []Kept
	for _, s := range states {
		k := Kept{StateInfo: s}
		if s.Digest == "" && !s.Development {
			k.CacheBytes = caches[s.Skill]
			delete(caches, s.Skill)
		}
		all = append(all, k)
	}
	for skill, bytes := range caches {
		all = append(all, Kept{StateInfo: hostfn.StateInfo{Skill: skill}, CacheBytes: bytes})
	}
	return all, nil
}

// caches is how much is kept of the answers of each installed skill.
func (r *Runner) caches(ctx context.Context) (map[string]int64, error) {
	prefix := cacheKeys + "skill/"
	entries, err := r.kv.List(ctx, prefix)
	if err != nil {
		return nil, err
	}
	all := map[string]int64{}
	for _, x := range entries {
		var a cacheAccount
		if json.Unmarshal(x.Value, &a) == nil {
			all[strings.TrimPrefix(x.Key, prefix)] = a.Bytes
		}
	}
	return all, nil
}

// Purge deletes everything that is kept of the installed skill of that name: its
// data, its answers, and what is known of its failures.
func (r *Runner) Purge(ctx context.Context, skill string) error {
	if err := hostfn.DeleteState(ctx, r.kv, policies.Principal{Skill: skill, Origin: policies.OriginUser}); err != nil {
		return fmt.Errorf("delete what %s keeps: %w", skill, err)
	}
	owner := "skill/" + skill
	for _, prefix := range []string{aboutKeys + owner + "/", cachedKeys + owner + "/"} {
		if err := r.deletePrefix(ctx, prefix); err != nil {
			return fmt.Errorf("delete what is known of %s: %w", skill, err)
		}
	}
	if r.settings.Sessions != nil {
		if err := r.settings.Sessions.Forget(ctx, owner); err != nil {
			return fmt.Errorf("delete the sessions of %s: %w", skill, err)
		}
	}
	return r.deleteKey(ctx, cacheKeys+owner)
}

// PurgeUninstalled deletes everything that is kept of packages that were run from
// paths, or are in development.
func (r *Runner) PurgeUninstalled(ctx context.Context) error {
	states, err := hostfn.States(ctx, r.kv)
	if err != nil {
		return fmt.Errorf("list what skills keep: %w", err)
	}
	for _, s := range states {
		if s.Digest == "" && !s.Development {
			continue
		}
		if err := hostfn.DeleteState(ctx, r.kv, s.Principal()); err != nil {
			return fmt.Errorf("delete what %s%s keeps: %w", s.Skill, s.Digest, err)
		}
	}
	if err := r.forgetDeveloped(ctx); err != nil {
		return err
	}
	for _, owners := range []string{"path/", "dev/"} {
		if err := r.deletePrefix(ctx, aboutKeys+owners); err != nil {
			return fmt.Errorf("delete what is known of skills that are not installed: %w", err)
		}
	}
	return nil
}

// forgetDeveloped deletes the sessions of skills in development.
func (r *Runner) forgetDeveloped(ctx context.Context) error {
	if r.settings.Sessions == nil {
		return nil
	}
	all, err := r.settings.Sessions.List(ctx)
	if err != nil {
		return err
	}
	for _, s := range all {
		if !strings.HasPrefix(s.Key().Namespace, "dev/") {
			continue
		}
		if err := r.settings.Sessions.Close(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

func (r *Runner) deletePrefix(ctx context.Context, prefix string) error {
	entries, err := r.kv.List(ctx, prefix)
	if err != nil {
		return err
	}
	for _, x := range entries {
		if err := r.deleteKey(ctx, x.Key); err != nil {
			return err
		}
	}
	return nil
}

func (r *Runner) deleteKey(ctx context.Context, key string) error {
	if err := r.kv.Delete(ctx, key, store.AnyRevision); !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return nil
}

// Forget is [Runner.Purge], for who removes a skill.
func (r *Runner) Forget(ctx context.Context, skill string) error { return r.Purge(ctx, skill) }

// Keeps reports whether the installed skill of that name keeps anything.
func (r *Runner) Keeps(ctx context.Context, skill string) (bool, error) {
	_, kept, err := hostfn.StateSchema(ctx, r.kv, policies.Principal{Skill: skill, Origin: policies.OriginUser})
	return kept, err
}

// FitsState proves that a version of an installed skill can work with what the
// skill keeps, once that was taken back where it can be. The error is a
// [fault.Error] of [fault.KindConflict].
func (r *Runner) FitsState(ctx context.Context, m *manifests.Manifest) error {
	s, err := r.State(ctx, m)
	if err != nil || s.Fits() {
		return err
	}
	return schemaFits(m, s.Schema, s.Kept)
}
