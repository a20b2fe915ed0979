package code

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/journal"
	"github.com/skillet-run/skillet/host/run/runner"
	"github.com/skillet-run/skillet/manifests"
)

// What a run did is kept after it has ended, so that a skill can be made of it: of the newest
// runs, for as long as runs are kept, with the values of secrets struck out.
const (
	keptKey = "code/kept/"
	tapeKey = "code/tape/"
	// maxKept is of how many runs it is kept, and maxKeptBytes how much that may be. maxTape is
	// the most of one run: its test case has to fit into a file of test cases.
	maxKept      = 100
	maxKeptBytes = 32 << 20
	maxTape      = 448 << 10
)

// A kept is a run that has ended.
type kept struct {
	ID       string           `json:"id"`
	Owner    string           `json:"owner"`
	State    Status           `json:"state"`
	Language string           `json:"language"`
	Engine   string           `json:"engine"` // the interpreter, and the digest of its package
	Digest   manifests.Digest `json:"digest"`
	At       time.Time        `json:"at"`
	// Bytes is how long its tape is; 0 for one without. Why says why it has none.
	Bytes int    `json:"bytes,omitempty"`
	Why   string `json:"why,omitempty"`
}

// A tape is what a run that is done did.
type tape struct {
	Code  string          `json:"code"`
	Data  json.RawMessage `json:"data,omitempty"` // nil for none
	Value json.RawMessage `json:"value"`
	Calls []taped         `json:"calls,omitempty"`
}

// A taped is a call of a tool in it.
type taped struct {
	Skill   string           `json:"skill"`
	Tool    string           `json:"tool"`
	Asked   string           `json:"asked,omitempty"` // the tool as the script named it
	Version string           `json:"version,omitempty"`
	Digest  manifests.Digest `json:"digest,omitempty"`
	Input   string           `json:"input"` // JSON as the script wrote it
	Answer  string           `json:"answer,omitempty"`
	Kind    string           `json:"kind,omitempty"` // of the error that the script was told
	Told    string           `json:"told,omitempty"`
}

// tape counts bytes of what a run does, and reports whether it is still short enough to be kept.
func (r *run) tape(bytes int) bool {
	r.taped += bytes
	return r.taped <= maxTape
}

// keep keeps what a run did that has ended.
func (s *Service) keep(ctx context.Context, r *run, res Result) error {
	engine, _, _ := strings.Cut(r.head.Engine, "@")
	k := kept{ID: r.head.ID, Owner: r.head.Owner, State: res.Status, Language: r.head.Language, Engine: engine, Digest: r.head.Digest, At: time.Now().UTC()}
	if k.State == Done {
		b, why := s.tapeOf(r, res)
		if k.Bytes, k.Why = len(b), why; why == "" {
			if _, err := s.parts.Store.KV().Put(ctx, tapeKey+k.ID, b, store.AnyRevision); err != nil {
				return err
			}
		}
	}
	b, err := json.Marshal(k)
	if err == nil {
		_, err = s.parts.Store.KV().Put(ctx, keptKey+k.ID, b, store.AnyRevision)
	}
	return errors.Join(err, s.evict(ctx))
}

// tapeOf is the tape of a run as it is kept, or why it is not.
func (s *Service) tapeOf(r *run, res Result) (b []byte, why string) {
	const tooLong = "the script, its data, and the inputs and answers of its calls are longer than is kept"
	t := tape{Code: r.code, Data: r.data, Value: res.Value}
	if !r.tape(len(r.code) + len(r.data) + len(res.Value)) {
		return nil, tooLong
	}
	for _, st := range r.steps {
		t.Calls = append(t.Calls, taped{st.Skill, st.Tool, st.asked, st.Version, st.Digest, string(st.body), string(st.Answer), st.Kind, st.Told})
	}
	b, err := json.Marshal(t)
	if err != nil {
		return nil, "it cannot be written down"
	}
	clean := []byte(s.parts.Redact(string(b)))
	var read tape
	switch {
	case len(clean) > maxTape:
		return nil, tooLong
	case json.Unmarshal(clean, &read) != nil || read.Code != t.Code:
		return nil, "the script holds what is, or looks like, the value of a secret"
	}
	return clean, ""
}

// evict removes what is kept of runs that are old, and of the oldest when they are too many.
func (s *Service) evict(ctx context.Context) error {
	all, err := s.allKept(ctx)
	bytes, kv := 0, s.parts.Store.KV()
	for i, k := range all {
		if bytes += k.Bytes; i < maxKept && bytes <= maxKeptBytes && time.Since(k.At) < s.set.Keep {
			continue
		}
		for _, key := range []string{keptKey, tapeKey} {
			err = errors.Join(err, ignore(kv.Delete(ctx, key+k.ID, store.AnyRevision), store.ErrNotFound))
		}
	}
	return err
}

// allKept are the runs of which anything is kept, the newest first.
func (s *Service) allKept(ctx context.Context) (all []kept, err error) {
	entries, err := s.parts.Store.KV().List(ctx, keptKey)
	for _, e := range entries {
		var k kept
		if json.Unmarshal(e.Value, &k) != nil {
			return nil, fmt.Errorf("read %s: %w", e.Key, store.ErrDamaged)
		}
		all = append(all, k)
	}
	slices.SortFunc(all, func(a, b kept) int { return cmp.Or(b.At.Compare(a.At), strings.Compare(b.ID, a.ID)) })
	return all, err
}

// LastRun stands for the newest run of the caller that is done.
const LastRun = "last"

// ran finds a run that is done, and what it did.
func (s *Service) ran(ctx context.Context, by approval.Principal, id string) (kept, tape, error) {
	all, err := s.allKept(ctx)
	if err != nil {
		return kept{}, tape{}, err
	}
	i := slices.IndexFunc(all, func(k kept) bool {
		return k.ID == id && sees(by, k.Owner) || id == LastRun && k.State == Done && k.Owner == by.Actor()
	})
	if i < 0 {
		return kept{}, tape{}, s.unkept(ctx, by, id)
	}
	k, t := all[i], tape{}
	switch {
	case k.State != Done:
		return k, t, fault.Errorf(fault.KindConflict, "the run %s failed, and a skill that fails helps nobody", k.ID).WithHint("mend the script, and run it again")
	case k.Why != "":
		return k, t, fault.Errorf(fault.KindConflict, "what the run %s did is not kept: %s", k.ID, k.Why)
	}
	e, err := s.parts.Store.KV().Get(ctx, tapeKey+k.ID)
	if errors.Is(err, store.ErrNotFound) { // it was evicted just now
		return k, t, evicted(k.ID)
	}
	if err == nil && json.Unmarshal(e.Value, &t) != nil {
		err = fmt.Errorf("read %s: %w", e.Key, store.ErrDamaged)
	}
	return k, t, err
}

func evicted(id string) error {
	return fault.Errorf(fault.KindNotFound, "what the run %s did is not kept any more", id).
		WithHint("it is kept of the last %d runs, for some days; run the script again", maxKept)
}

// unkept says why nothing is kept of a run.
func (s *Service) unkept(ctx context.Context, by approval.Principal, id string) error {
	if id == LastRun {
		return fault.Errorf(fault.KindNotFound, "nothing is kept of any run of yours").WithHint("run a script first")
	}
	r, err := s.load(ctx, id)
	switch {
	case err == nil && !sees(by, r.head.Owner):
		return missing(id)
	case err == nil && (r.head.State == Paused || r.head.State == Uncertain):
		return fault.Errorf(fault.KindConflict, "the run %s waits, and has not ended", id).WithHint("let it go on first, once somebody has decided")
	case err == nil && r.head.State == running:
		return fault.Errorf(fault.KindConflict, "the run %s has not ended", id)
	case err == nil:
		return evicted(id)
	case !errors.Is(err, store.ErrNotFound) && fault.AsError(err).Kind != fault.KindNotFound:
		return err
	}
	of, err := s.recorded(ctx, by, id)
	switch {
	case err != nil:
		return err
	case of == nil:
		return missing(id)
	case of.Task != "":
		return fault.Errorf(fault.KindUsage, "the run %s is a call of %s:%s, and no script", id, of.Skill, of.Tool).WithHint("it was made for the run %s", of.Task)
	}
	return fault.Errorf(fault.KindUsage, "the run %s is a call of %s:%s, and no script", id, of.Skill, of.Tool).WithHint("the run of a script has an id of its own, which its result names")
}

var errFound = errors.New("found")

// recorded is the call of a tool on record that has this id; nil for none that the caller may
// know of.
func (s *Service) recorded(ctx context.Context, by approval.Principal, id string) (found *runner.Record, err error) {
	err = s.parts.Calls.Replay(ctx, 0, func(e journal.Entry) error {
		if e.Kind != runner.KindRun || !strings.Contains(string(e.Data), id) || !sees(by, e.Actor) {
			return nil
		}
		var r runner.Record
		if err := json.Unmarshal(e.Data, &r); err != nil || string(r.RunID) != id {
			return err
		}
		found = &r
		return errFound
	})
	return found, ignore(err, errFound)
}
