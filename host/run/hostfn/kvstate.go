package hostfn

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/capability"
)

// Key layout in the store. SCOPE is whose state it is:
//
//	skill/NAME   an installed skill, whatever its version
//	dev/NAME     a skill its author is working on
//	path/HEX     a package that was run from a path, by its digest: what has the name of another skill,
//	             or of another file, reads nothing that one keeps
//
// NAME is escaped as in a URL, so that it cannot hold a slash. GEN is empty, or "@" and a number: which of
// several generations of the state is the one that counts is in the account, so that one write of one key
// replaces all of it.
//
//	kv/account/SCOPE       -> JSON: schema version, bytes counted, generation
//	kv/SCOPE/valueGEN/KEY  -> version (1 byte), deadline in Unix milliseconds or 0 (8 bytes, big-endian), value
const (
	stateKeys   = "kv/"
	accountKeys = stateKeys + "account/"
)

// scope says whose state a principal has; empty when it can have none.
func scope(p policies.Principal) string {
	switch {
	case p.Origin == policies.OriginPath && p.Digest != "":
		_, hex, _ := strings.Cut(p.Digest, ":")
		return "path/" + url.PathEscape(hex)
	case p.Skill == "" || p.Origin == policies.OriginPath:
		return ""
	case p.Origin == policies.OriginDevelopment:
		return "dev/" + url.PathEscape(p.Skill)
	}
	return "skill/" + url.PathEscape(p.Skill)
}

// A StateInfo is what is known of a skill's state without reading it.
type StateInfo struct {
	// Skill is the skill's name; empty for a package that was run from a path.
	Skill string `json:"skill,omitempty"`
	// Digest is the digest of a package that was run from a path; empty otherwise.
	Digest string `json:"digest,omitempty"`
	// Development is true for a skill that its author is working on.
	Development bool `json:"development,omitempty"`
	// Schema is the version of what is stored.
	Schema int `json:"schema_version"`
	// Bytes is what counts against the quota: keys and values. After a crash it can be more than there is.
	Bytes int64 `json:"bytes"`
}

// Principal is who the state belongs to, as far as [DeleteState] needs to know.
func (i StateInfo) Principal() policies.Principal {
	switch {
	case i.Digest != "":
		return policies.Principal{Origin: policies.OriginPath, Digest: i.Digest}
	case i.Development:
		return policies.Principal{Origin: policies.OriginDevelopment, Skill: i.Skill}
	}
	return policies.Principal{Origin: policies.OriginUser, Skill: i.Skill}
}

// States lists the state of every skill that has any, by scope.
func States(ctx context.Context, kv store.KV) ([]StateInfo, error) {
	entries, err := kv.List(ctx, accountKeys)
	if err != nil {
		return nil, err
	}
	all := make([]StateInfo, 0, len(entries))
	for _, x := range entries {
		var a account
		if err := json.Unmarshal(x.Value, &a); err != nil {
			return nil, failf(KindIO, "the record of the state %s is damaged", x.Key).because(err)
		}
		kind, name, _ := strings.Cut(strings.TrimPrefix(x.Key, accountKeys), "/")
		name, err := url.PathUnescape(name)
		if err != nil {
			return nil, failf(KindIO, "the key %s is damaged", x.Key).because(err)
		}
		i := StateInfo{Skill: name, Development: kind == "dev", Schema: a.Schema, Bytes: a.Bytes}
		if kind == "path" {
			i.Skill, i.Digest = "", "sha256:"+name
		}
		all = append(all, i)
	}
	return all, nil
}

// DeleteState removes all that the skill keeps in kv. It is for the removal of a skill together with its
// data, and the way out of a schema version that nothing reads any more.
func DeleteState(ctx context.Context, kv store.KV, p policies.Principal) error {
	s := &state{kv: kv, scope: scope(p)}
	if s.scope == "" {
		return nil
	}
	if err := s.deleteAll(ctx, func(string) bool { return true }); err != nil {
		return err
	}
	return ignoreMissing(kv.Delete(ctx, s.accountKey(), store.AnyRevision))
}

// deleteAll deletes the stored values that go picks by their keys.
func (s *state) deleteAll(ctx context.Context, goes func(key string) bool) error {
	entries, err := s.kv.List(ctx, stateKeys+s.scope+"/")
	if err != nil {
		return err
	}
	for _, x := range entries {
		if !goes(x.Key) {
			continue
		}
		if err := ignoreMissing(s.kv.Delete(ctx, x.Key, store.AnyRevision)); err != nil {
			return err
		}
	}
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// state is a skill's state for the length of one function.
type state struct {
	kv         store.KV
	scope      string
	generation string
	quota      int64
	schema     int
}

func (s *state) accountKey() string { return accountKeys + s.scope }

// values is what the keys of the values begin with.
func (s *state) values() string {
	if s.generation == "" {
		return stateKeys + s.scope + "/value/"
	}
	return stateKeys + s.scope + "/value@" + s.generation + "/"
}

// account is the entry that says how much there is, of which schema version, and where.
type account struct {
	Schema     int    `json:"schema"`
	Bytes      int64  `json:"bytes"`
	Generation string `json:"generation,omitempty"`
	// Former are generations that can count again.
	Former []formerState `json:"aside,omitempty"`
	// Moving is set while somebody brings the state to another schema version.
	Moving *moving `json:"moving,omitempty"`
}

// moving says who may write: nobody, until it is over.
type moving struct {
	To    int   `json:"to"`
	Until int64 `json:"until"` // Unix milliseconds; after that the move was given up
}

// openState checks the grant and the schema version.
func (e *Env) openState(ctx context.Context, bytes int64) (*state, error) {
	if _, err := e.permit(capability.Request{Action: capability.KV}, bytes); err != nil {
		return nil, err
	}
	s := &state{kv: e.s.KV, scope: scope(e.s.Principal), quota: e.s.KVQuotaBytes, schema: e.s.KVSchema}
	if s.kv == nil || s.scope == "" {
		return nil, failf(KindIO, "this host stores no state of skills")
	}
	a, _, err := s.account(ctx)
	s.generation = a.Generation
	return s, err
}

// read reads the account as it stands.
func (s *state) read(ctx context.Context) (a account, revision uint64, err error) {
	x, err := s.kv.Get(ctx, s.accountKey())
	if errors.Is(err, store.ErrNotFound) {
		return account{Schema: s.schema}, store.MustNotExist, nil
	}
	if err != nil {
		return a, 0, err
	}
	if err := json.Unmarshal(x.Value, &a); err != nil {
		return a, 0, failf(KindIO, "the record of the state is damaged").because(err)
	}
	return a, x.Revision, nil
}

// account reads the account, and refuses state of another schema version or that is on the move. A move
// that was given up is called off, so that who made it cannot end it any more.
func (s *state) account(ctx context.Context) (account, uint64, error) {
	a, revision, err := s.read(ctx)
	switch {
	case err != nil:
		return account{}, 0, err
	case a.Moving != nil && time.Now().UnixMilli() < a.Moving.Until:
		return account{}, 0, failf(KindConflict, "the state is being brought to schema version %d", a.Moving.To)
	case a.Schema != s.schema:
		return account{}, 0, failf(KindInvalid,
			"the state was written with schema version %d and this skill uses version %d; run the version of the skill that wrote it, or delete the state", a.Schema, s.schema)
	case a.Moving != nil:
		a.Moving = nil
		revision, err = s.write(ctx, a, revision)
	}
	return a, revision, err
}

// still refuses what was written to a state that has been replaced or deleted meanwhile.
func (s *state) still(ctx context.Context) error {
	a, revision, err := s.account(ctx)
	if err == nil && (revision == store.MustNotExist || a.Generation != s.generation) {
		return failf(KindConflict, "the state was replaced during the call")
	}
	return err
}

// write writes the account if nobody else did since revision.
func (s *state) write(ctx context.Context, a account, revision uint64) (uint64, error) {
	b, err := json.Marshal(a)
	if err != nil {
		return 0, err
	}
	return s.kv.Put(ctx, s.accountKey(), b, revision)
}

// reserve counts delta bytes before they are written, so that the count is never less than what is there:
// a crash in between leaves too much counted, and a full account is counted anew before it is refused.
func (s *state) reserve(ctx context.Context, delta int64) error {
	return retry(func() error {
		a, revision, err := s.account(ctx)
		if err != nil {
			return err
		}
		if delta > 0 && a.Bytes+delta > s.quota {
			if a.Bytes, err = s.recount(ctx); err != nil {
				return err
			}
		}
		if delta > 0 && a.Bytes+delta > s.quota {
			return failf(KindLimit, "state quota of %d bytes exceeded", s.quota)
		}
		if delta == 0 && revision != store.MustNotExist {
			return nil
		}
		a.Bytes = max(a.Bytes+delta, 0)
		_, err = s.write(ctx, a, revision)
		return err
	})
}

// release gives back what was reserved or deleted. It works on after the call's end; when it fails, too
// much stays counted until the next count.
func (s *state) release(ctx context.Context, bytes int64) {
	if bytes > 0 {
		_ = s.reserve(context.WithoutCancel(ctx), -bytes)
	}
}

// recount adds up what is there, and removes what has expired.
func (s *state) recount(ctx context.Context) (int64, error) {
	entries, err := s.kv.List(ctx, s.values())
	if err != nil {
		return 0, err
	}
	var sum int64
	for _, x := range entries {
		if v, ok := unpack(x.Value); ok && v.expired() {
			if s.kv.Delete(ctx, x.Key, x.Revision) == nil {
				continue
			}
		}
		sum += s.cost(x.Key, x.Value)
	}
	return sum, nil
}

// cost is what an entry counts: its key without the namespace, and its value with its header.
func (s *state) cost(key string, stored []byte) int64 {
	return int64(len(key)-len(s.values())) + int64(len(stored))
}

// retry repeats a compare-and-set that lost against another writer.
func retry(do func() error) error {
	var err error
	for range maxTries {
		if err = do(); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return err
}
