package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// A Stop says why a skill, or a version of one, is not run.
type Stop struct {
	// All is true for one that stops all versions of the skill.
	All bool `json:"all,omitempty"`
	// Quarantined is true for a version that was revoked: it is not enabled again
	// by [Enabled] alone.
	Quarantined bool `json:"quarantined,omitempty"`
	// Former is what stopped the version before it was put into quarantine, and does
	// again afterwards; nil for nothing.
	Former *Stop     `json:"former,omitempty"`
	Reason string    `json:"reason,omitempty"`
	By     string    `json:"by,omitempty"`
	At     time.Time `json:"at,omitzero"`
}

// A Pin holds a skill at the version that is active.
type Pin struct {
	Reason string    `json:"reason,omitempty"`
	By     string    `json:"by,omitempty"`
	At     time.Time `json:"at,omitzero"`
}

// An Avoided is a version that somebody went back from. It is not chosen again by
// itself, nor is any between it and the active version: only a later one is.
type Avoided struct {
	Version string    `json:"version"`
	By      string    `json:"by,omitempty"`
	At      time.Time `json:"at,omitzero"`
}

// A standing is what holds for a skill beyond its versions. It is one entry, so
// that the active version, the way back and what stands in the way of running
// are never apart.
type standing struct {
	// Digest is the active version's; empty while none is.
	Digest manifests.Digest `json:"digest,omitempty"`
	// History has the versions that were active before, the latest last.
	History []manifests.Digest `json:"history,omitempty"`
	// KeepState is true when the active version was activated with the wish to
	// leave the skill's data as it is.
	KeepState bool `json:"keep_state,omitempty"`
	// Disabled stops all versions, Stopped single ones, by the hex of their digests.
	Disabled *Stop           `json:"disabled,omitempty"`
	Stopped  map[string]Stop `json:"stopped,omitempty"`
	Pinned   *Pin            `json:"pinned,omitempty"`
	// Avoided is the latest version that somebody went back from and that was not
	// active since; nil for none.
	Avoided *Avoided `json:"avoided,omitempty"`
	// Needed is true while nobody asked for the skill, which is there for others
	// that need it. Asked says for which versions somebody did.
	Needed bool   `json:"needed,omitempty"`
	Asked  *Asked `json:"asked,omitempty"`
	// Canary is the trial that is under way, and Trial the report of the last one
	// that ended.
	Canary *Canary `json:"canary,omitempty"`
	Trial  *Trial  `json:"trial,omitempty"`
}

// maxHistory is how many former versions are remembered.
const maxHistory = 32

func standingKey(name string) string { return "active/" + name }

// standingOf reads the standing of a skill; the zero value when there is none.
func standingOf(ctx context.Context, kv store.KV, name string) (standing, error) {
	e, err := kv.Get(ctx, standingKey(name))
	if errors.Is(err, store.ErrNotFound) {
		return standing{}, nil
	}
	if err != nil {
		return standing{}, err
	}
	return decodeStanding(e)
}

func decodeStanding(e store.Entry) (standing, error) {
	var s standing
	if err := json.Unmarshal(e.Value, &s); err != nil {
		return s, fmt.Errorf("read %s: %w: %w", e.Key, store.ErrDamaged, err)
	}
	return s, nil
}

// change reads a standing, changes it and writes it back.
func change(ctx context.Context, kv store.KV, name string, do func(*standing)) error {
	s, err := standingOf(ctx, kv, name)
	if err != nil {
		return err
	}
	do(&s)
	return put(ctx, kv, standingKey(name), s)
}

// activate makes d the active version and remembers the one before.
func (s *standing) activate(d manifests.Digest, keepState bool) {
	if d == s.Digest {
		return
	}
	if s.Digest != "" {
		s.History = append(slices.DeleteFunc(s.History, func(o manifests.Digest) bool { return o == s.Digest }), s.Digest)
	}
	s.History = slices.DeleteFunc(s.History, func(o manifests.Digest) bool { return o == d })
	if n := len(s.History) - maxHistory; n > 0 {
		s.History = slices.Clone(s.History[n:])
	}
	s.Digest, s.KeepState, s.Canary = d, keepState, nil
}

// goBack makes d the active version again. Going back further skips what was active
// since.
func (s *standing) goBack(d manifests.Digest, keepState bool) {
	if i := slices.Index(s.History, d); i >= 0 {
		s.History = slices.Clone(s.History[:i])
		s.Digest, s.KeepState, s.Canary = d, keepState, nil
		return
	}
	s.activate(d, keepState)
}

// leave takes a version out; next takes its place if it was the active one.
func (s *standing) leave(d, next manifests.Digest) {
	s.History = slices.DeleteFunc(s.History, func(o manifests.Digest) bool { return o == d || o == next })
	delete(s.Stopped, d.Hex())
	if s.Canary != nil && (s.Canary.Digest == d || s.Canary.Stable == d) {
		s.Canary = nil
	}
	if s.Digest == d {
		s.Digest, s.KeepState = next, false
	}
}

// of says in v what the standing of its skill means for that version.
func (s standing) of(v *Skill) {
	v.Active = s.Digest == v.Digest
	v.Pinned, v.KeepState = s.Pinned, s.KeepState && v.Active
	v.Needed, v.Asked = s.Needed, s.Asked
	if stop, ok := s.Stopped[v.Digest.Hex()]; ok {
		v.Disabled = &stop
	} else if s.Disabled != nil {
		all := *s.Disabled
		all.All, v.Disabled = true, &all
	}
	if c := s.Canary; c != nil && (c.Digest == v.Digest || c.Stable == v.Digest) {
		v.Canary = c
	}
	if v.Active {
		v.Trial, v.Avoided = s.Trial, s.Avoided
	}
}

// avoid notes that somebody went from one version to another: back from a later
// one, or on to one that was avoided.
func (s *standing) avoid(from, to string, at ledger.Stamp) {
	if s.Avoided != nil && manifests.CompareVersions(to, s.Avoided.Version) >= 0 {
		s.Avoided = nil
	}
	if from != "" && manifests.CompareVersions(from, to) > 0 && (s.Avoided == nil || manifests.CompareVersions(from, s.Avoided.Version) > 0) {
		s.Avoided = &Avoided{Version: from, By: at.Actor, At: at.Time}
	}
}

// Avoids reports whether somebody went back from that version of a skill to the
// active one, which s is, or from a later one than that: it is not to be chosen
// unless a person names it.
func (s Skill) Avoids(version string) bool {
	return s.Avoided != nil && manifests.CompareVersions(version, s.Version) > 0 && manifests.CompareVersions(version, s.Avoided.Version) <= 0
}

// stop is the data of skill.disabled and skill.enabled changes. An empty digest
// means all versions.
type stop struct {
	Name        string           `json:"name"`
	Digest      manifests.Digest `json:"digest,omitempty"`
	Reason      string           `json:"reason,omitempty"`
	Quarantined bool             `json:"quarantined,omitempty"`
}

// Disabled is the change after which a version of a skill is not run, whoever
// asks; with an empty digest none is, also of those that are installed later.
func Disabled(name string, d manifests.Digest, reason string) (ledger.Change, error) {
	return ledger.NewChange(kindDisabled, stop{Name: name, Digest: d, Reason: reason})
}

// Quarantined is the change that disables a version because it was revoked.
func Quarantined(s Skill, reason string) (ledger.Change, error) {
	return ledger.NewChange(kindDisabled, stop{Name: s.Name, Digest: s.Digest, Reason: reason, Quarantined: true})
}

// Enabled is the change that ends what [Disabled] and [Quarantined] began. With
// an empty digest it ends what holds for all versions, and single ones stay
// disabled that are.
func Enabled(name string, d manifests.Digest) (ledger.Change, error) {
	return ledger.NewChange(kindEnabled, stop{Name: name, Digest: d})
}

func applyDisabled(ctx context.Context, kv store.KV, at ledger.Stamp, c stop) error {
	why := Stop{Quarantined: c.Quarantined, Reason: c.Reason, By: at.Actor, At: at.Time}
	return change(ctx, kv, c.Name, func(s *standing) {
		if c.Digest == "" {
			s.Disabled = &why
			return
		}
		if s.Stopped == nil {
			s.Stopped = map[string]Stop{}
		}
		if before, stopped := s.Stopped[c.Digest.Hex()]; stopped && why.Quarantined {
			if why.Former = &before; before.Quarantined {
				why.Former = before.Former
			}
		}
		s.Stopped[c.Digest.Hex()] = why
		if s.Canary != nil && s.Canary.Digest == c.Digest {
			s.Canary = nil
		}
	})
}

func applyEnabled(ctx context.Context, kv store.KV, _ ledger.Stamp, c stop) error {
	return change(ctx, kv, c.Name, func(s *standing) {
		if c.Digest == "" {
			s.Disabled = nil
			return
		}
		stop := s.Stopped[c.Digest.Hex()]
		delete(s.Stopped, c.Digest.Hex())
		if stop.Former != nil {
			s.Stopped[c.Digest.Hex()] = *stop.Former
		}
	})
}

// hold is the data of skill.pinned and skill.unpinned changes.
type hold struct {
	Name   string `json:"name"`
	Reason string `json:"reason,omitempty"`
}

// PinnedAt is the change that holds a skill at its active version.
func PinnedAt(name, reason string) (ledger.Change, error) {
	return ledger.NewChange(kindPinned, hold{name, reason})
}

// Unpinned is the change that ends a pin.
func Unpinned(name string) (ledger.Change, error) {
	return ledger.NewChange(kindUnpinned, hold{Name: name})
}

func applyPinned(ctx context.Context, kv store.KV, at ledger.Stamp, h hold) error {
	return change(ctx, kv, h.Name, func(s *standing) { s.Pinned = &Pin{Reason: h.Reason, By: at.Actor, At: at.Time} })
}

func applyUnpinned(ctx context.Context, kv store.KV, _ ledger.Stamp, h hold) error {
	return change(ctx, kv, h.Name, func(s *standing) { s.Pinned = nil })
}

// avoidance is the data of a skill.avoided change.
type avoidance struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// WentBack is the change after which a skill counts as having gone back from a
// version to the active one, see [Avoided]. From an earlier one nobody goes back.
func WentBack(name, version string) (ledger.Change, error) {
	return ledger.NewChange(kindAvoided, avoidance{name, version})
}

func applyAvoided(ctx context.Context, kv store.KV, at ledger.Stamp, a avoidance) error {
	s, err := standingOf(ctx, kv, a.Name)
	if err != nil {
		return err
	}
	to, err := versionOf(ctx, kv, a.Name, s.Digest)
	if err != nil {
		return fmt.Errorf("go back from %s@%s: the active version: %w", a.Name, a.Version, err)
	}
	return change(ctx, kv, a.Name, func(s *standing) { s.avoid(a.Version, to, at) })
}

// activation is the data of a skill.activated change.
type activation struct {
	Name      string           `json:"name"`
	Digest    manifests.Digest `json:"digest"`
	Back      bool             `json:"back,omitempty"`
	KeepState bool             `json:"keep_state,omitempty"`
}

// Activated is the change that makes an installed version the active one.
func Activated(s Skill) (ledger.Change, error) {
	return ledger.NewChange(kindActivated, activation{Name: s.Name, Digest: s.Digest})
}

// RolledBack is the change that makes a version the active one that was active
// before. With keepState, the skill's data stays as it is even if that version
// cannot read it.
func RolledBack(s Skill, keepState bool) (ledger.Change, error) {
	return ledger.NewChange(kindActivated, activation{s.Name, s.Digest, true, keepState})
}

func applyActivated(ctx context.Context, kv store.KV, at ledger.Stamp, a activation) error {
	to, err := versionOf(ctx, kv, a.Name, a.Digest)
	if err != nil {
		return fmt.Errorf("activate %s: the version %s: %w", a.Name, a.Digest.Short(), err)
	}
	before, err := standingOf(ctx, kv, a.Name)
	if err != nil {
		return err
	}
	from := ""
	if a.Back && before.Digest != "" {
		if from, err = versionOf(ctx, kv, a.Name, before.Digest); err != nil {
			return fmt.Errorf("go back from %s: the version %s: %w", a.Name, before.Digest.Short(), err)
		}
	}
	return change(ctx, kv, a.Name, func(s *standing) {
		if a.Back {
			s.goBack(a.Digest, a.KeepState)
		} else {
			s.activate(a.Digest, a.KeepState)
		}
		s.avoid(from, to, at)
	})
}

// versionOf is the version that an installed digest is.
func versionOf(ctx context.Context, kv store.KV, name string, d manifests.Digest) (string, error) {
	e, err := kv.Get(ctx, skillKey(name, d))
	if err != nil {
		return "", err
	}
	r, err := decodeRecord(e)
	return r.Version, err
}

// ErrDisabled means that a skill is disabled. Errors that wrap it are
// [fault.Error]s of [fault.KindDenied].
var ErrDisabled = errors.New("disabled")

// CheckEnabled returns nil when the version may be run, and otherwise an error that wraps
// [ErrDisabled] and says who disabled it and why. What else helps against a quarantine takes
// more than the version: see install.Stopped.
func (s Skill) CheckEnabled() error {
	d := s.Disabled
	switch {
	case d == nil:
		return nil
	case d.Quarantined:
		return fault.Errorf(fault.KindDenied, "%s is %w: it is in quarantine: %s", s.Ref(), ErrDisabled, d.Reason).
			WithHint("update to a version that is not revoked, or %s", fault.Remove(s.Ref()))
	case d.Reason != "":
		return fault.Errorf(fault.KindDenied, "%s is %w by %s: %s", s.Ref(), ErrDisabled, d.By, d.Reason).
			WithHint("%s allows it again", fault.Enable(s.enables()))
	}
	return fault.Errorf(fault.KindDenied, "%s is %w by %s", s.Ref(), ErrDisabled, d.By).
		WithHint("%s allows it again", fault.Enable(s.enables()))
}

func (s Skill) enables() string {
	if s.Active {
		return s.Name
	}
	return s.Ref()
}

// Former returns the version that was active before the one that is, or false
// when there is none that is still installed and may be run.
func (r *Registry) Former(ctx context.Context, name string) (Skill, bool, error) {
	former, err := r.History(ctx, name)
	if err != nil {
		return Skill{}, false, err
	}
	s, err := standingOf(ctx, r.kv, name)
	i := slices.IndexFunc(former, func(v Skill) bool { _, stopped := s.Stopped[v.Digest.Hex()]; return !stopped })
	if err != nil || i < 0 {
		return Skill{}, false, err
	}
	return former[i], true, nil
}

// History returns the versions that were active before, the latest first, as
// far as they are still installed.
func (r *Registry) History(ctx context.Context, name string) ([]Skill, error) {
	s, err := standingOf(ctx, r.kv, name)
	if err != nil {
		return nil, err
	}
	versions, err := r.Versions(ctx, name)
	if err != nil {
		return nil, err
	}
	var all []Skill
	for _, d := range slices.Backward(s.History) {
		if i := slices.IndexFunc(versions, func(v Skill) bool { return v.Digest == d }); i >= 0 {
			all = append(all, versions[i])
		}
	}
	return all, nil
}

// A Leftover says whose data a skill left behind when its last version was
// removed.
type Leftover struct {
	Name   string           `json:"name"`
	Signer string           `json:"signer,omitempty"`
	Source string           `json:"source"`
	Digest manifests.Digest `json:"digest"`
	At     time.Time        `json:"at,omitzero"`
}

// FitsFor reports whether the data belongs to a package with that signer from
// that source: to one of the same signer, or, where neither is signed, to the
// same bytes, or to others from the same place.
func (l Leftover) FitsFor(signer, source string, d manifests.Digest) bool {
	if l.Signer != "" || signer != "" {
		return l.Signer == signer
	}
	return l.Digest == d || placeOf(l.Source) == placeOf(source)
}

// placeOf is a source without what says which version it is: of a file the
// directory, and of an address what stands before a commit, a tag or a digest.
func placeOf(source string) string {
	scheme, rest, ok := strings.Cut(source, "://")
	if !ok {
		if path.Ext(source) == bundle.Extension {
			return path.Dir(source)
		}
		return source
	}
	rest, fragment, _ := strings.Cut(rest, "#")
	rest, _, _ = strings.Cut(rest, "@sha256:")
	if i := strings.LastIndexAny(rest, ":/"); i > 0 && rest[i] == ':' && scheme == "oci" {
		rest = rest[:i]
	}
	if path.Ext(rest) == bundle.Extension {
		rest = path.Dir(rest)
	}
	if !strings.HasPrefix(scheme, "git+") { // a digest
		fragment = ""
	}
	_, dir, _ := strings.Cut(fragment, ":")
	return scheme + "://" + rest + "#" + dir
}

func leftKey(name string) string { return "left/" + name }

// Left returns what a removed skill left behind; false when it left nothing.
func (r *Registry) Left(ctx context.Context, name string) (Leftover, bool, error) {
	e, err := r.kv.Get(ctx, leftKey(name))
	if errors.Is(err, store.ErrNotFound) {
		return Leftover{}, false, nil
	}
	if err != nil {
		return Leftover{}, false, err
	}
	var l Leftover
	if err := json.Unmarshal(e.Value, &l); err != nil {
		return l, false, fmt.Errorf("read %s: %w: %w", e.Key, store.ErrDamaged, err)
	}
	return l, true, nil
}

// Leftovers returns what removed skills left behind, by name.
func (r *Registry) Leftovers(ctx context.Context) ([]Leftover, error) {
	entries, err := r.kv.List(ctx, "left/")
	if err != nil {
		return nil, fmt.Errorf("list what removed skills left: %w", err)
	}
	all := make([]Leftover, 0, len(entries))
	for _, e := range entries {
		l, _, err := r.Left(ctx, strings.TrimPrefix(e.Key, "left/"))
		if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	return all, nil
}

// Purged is the change after which nothing is known of what a removed skill
// left behind. Who makes it deletes that.
func Purged(name string) (ledger.Change, error) {
	return ledger.NewChange(kindPurged, hold{Name: name})
}

func applyPurged(ctx context.Context, kv store.KV, _ ledger.Stamp, h hold) error {
	return ledger.Drop(ctx, kv, leftKey(h.Name))
}
