package upkeep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/base/outfile"
	"github.com/skillet-run/skillet/host/base/store/atomicfile"
	"github.com/skillet-run/skillet/host/base/store/backup"
	"github.com/skillet-run/skillet/internal/openfile"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/record/token"
	"github.com/skillet-run/skillet/host/record/trust"
)

// A StoreReport is what checking the store found.
type StoreReport = store.Report

// VerifyStore reads everything in the store and checks it. The report is
// complete also when there is damage.
func (s *Service) VerifyStore(ctx context.Context, by approval.Principal) (StoreReport, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return StoreReport{}, err
	}
	return s.verifyStore(ctx)
}

func (s *Service) verifyStore(ctx context.Context) (StoreReport, error) {
	if err := UnfinishedRepair(s.Home); err != nil {
		return StoreReport{}, err
	}
	o, err := s.storeOptions()
	if err != nil {
		return StoreReport{}, err
	}
	r, err := s.backend().Verify(ctx, s.log, s.path("store"), o)
	if errors.Is(err, fs.ErrNotExist) { // nothing was ever stored
		return r, nil
	}
	return r, err
}

// A BackupRequest says where a backup goes.
type BackupRequest struct {
	// Path is of a file, which appears whole or not at all. Over overwrites an existing
	// file, which otherwise is a conflict.
	Path string
	Over bool
	// To is written to instead, when it is not nil.
	To io.Writer
}

// A Backup is one that was written.
type Backup struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
}

// BackUp writes the state of the store, and every stored package, to a file. The
// backup is encrypted when the store is. The error is a [fault.KindConflict] error when
// there is such a file.
func (s *Service) BackUp(ctx context.Context, by approval.Principal, r BackupRequest) (Backup, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return Backup{}, err
	}
	if err := s.CatchUp(ctx); err != nil {
		return Backup{}, err
	}
	if r.To != nil {
		_, err := s.Store.Backup(ctx, r.To)
		return Backup{}, err
	}
	n, err := outfile.Write(r.Path, outfile.Options{Over: r.Over}, func(w io.Writer) error {
		_, err := s.Store.Backup(ctx, w)
		return err
	})
	return Backup{r.Path, n}, err
}

// A RebuildReport says what a store holds after it was rebuilt or restored.
type RebuildReport struct {
	// Decisions is how many decisions of the journal are in the store.
	Decisions uint64 `json:"decisions"`
	// Kept is how many values that skills keep are in it.
	Kept int `json:"kept"`
	// Kinds counts what is in it, kind by kind, and what was in the store before, as
	// far as that could be read.
	Kinds []KindCount `json:"kinds"`
	// Unreadable is how many entries there were, of any kind, that could not be read;
	// those that decisions made are made again. It can be 0 although something is
	// lost: where the last value of an entry cannot be read an older one may stand.
	Unreadable int `json:"unreadable"`
	// Whole says that all of the store could be read.
	Whole bool `json:"whole"`
	// Lost says what could not be read, for people.
	Lost []string `json:"lost"`
	// Backup is where the store as it was is kept; empty when there was none, or
	// nothing was changed.
	Backup string `json:"aside,omitempty"`
}

// A KindCount says how many entries there are of one kind of data.
type KindCount struct {
	Kind   string `json:"kind"`
	Before int    `json:"before"`
	After  int    `json:"after"`
}

// kinds are the kinds of data in the store, by what their keys begin with. The first
// that fits counts.
var kinds = []struct{ prefix, name string }{
	{"kv/account/", "accounts of what skills keep"},
	{"kv/", "values that skills keep"},
	{"memory/record/", "memories"},
	{"memory/", "entries about memories"},
	{"task/run/", "tasks"},
	{"task/", "entries about tasks"},
	{"queue/", "totals of queues"},
	{"budget/", "budgets of models"},
	{"llm/usage/", "days of models' usage"},
	{"llm/cache/", "kept answers of models"},
	{"llm/", "entries about models"},
	{"runner/cached/", "kept answers of skills"},
	{"runner/", "entries about runs"},
	{"skill/", "installed versions"},
	{"grant/", "grants"},
	{"proposal/", "proposals"},
	{"trust/", "entries about trust"},
	{"token/", "tokens of the service"},
	{"session/", "numbers of sessions"},
}

// kindOf is the kind of an entry of the store; empty for what only serves others.
func kindOf(key string) string {
	part, name := store.PartOf(key)
	switch part {
	case store.PartJob:
		return "jobs in queues"
	case store.PartDeadJob:
		return "jobs that were given up"
	case store.PartEvent:
		return "events"
	case store.PartKV:
		for _, k := range kinds {
			if strings.HasPrefix(name, k.prefix) {
				return k.name
			}
		}
		return "other entries"
	}
	return ""
}

// skillValues is the kind of what [RebuildReport.Kept] counts.
const skillValues = "values that skills keep"

// count fills in the counts.
func (r *RebuildReport) count(before, after []store.Item) {
	by := map[string]*KindCount{}
	at := func(key string) *KindCount {
		kind := kindOf(key)
		if by[kind] == nil {
			by[kind] = &KindCount{Kind: kind}
		}
		return by[kind]
	}
	for _, it := range before {
		at(it.Key).Before++
	}
	for _, it := range after {
		at(it.Key).After++
	}
	r.Kinds = []KindCount{}
	for kind, c := range by {
		if kind != "" {
			r.Kinds = append(r.Kinds, *c)
		}
		if kind == skillValues {
			r.Kept = c.After
		}
	}
	slices.SortFunc(r.Kinds, func(a, b KindCount) int { return cmp.Compare(a.Kind, b.Kind) })
}

// A salvaged store is what could be read of the store as it was.
type salvaged struct {
	items  []store.Item
	number uint64
}

// salvage reads the store, damaged or not, and keeps everybody from it until release
// is called.
func (s *Service) salvage(ctx context.Context, r *RebuildReport) (was salvaged, release func() error, err error) {
	o, err := s.storeOptions()
	if err != nil {
		return was, nil, err
	}
	if err := s.Store.Close(); err != nil {
		s.log.Warn("close the store", "err", err)
	}
	held, err := s.backend().Hold(ctx, s.log, s.path("store"), o)
	if errors.Is(err, fs.ErrNotExist) {
		r.Whole = s.untouched()
		if !r.Whole {
			r.Lost = append(r.Lost, "the store is missing")
		}
		return was, func() error { return nil }, nil
	}
	if err != nil {
		return was, nil, err
	}
	found, err := held.Salvage(ctx)
	switch {
	case errors.Is(err, store.ErrDamaged): // nothing can be read at all
		r.Lost = append(r.Lost, err.Error())
	case err != nil:
		return was, nil, errors.Join(err, held.Release())
	default:
		r.found(found)
		was = salvaged{found.Items, found.Number}
		if len(s.unjournaled(was)) == len(was.items) && !s.untouched() {
			r.Whole, r.Lost = false, append(r.Lost, "it has none of the decisions, so it is not the one that was here")
		}
	}
	return was, held.Release, nil
}

func (r *RebuildReport) found(m *store.Remains) {
	r.Whole, r.Lost = m.Whole, append(r.Lost, m.Lost...)
	r.Unreadable = max(0, int(m.Expected)-m.Entries)
	if !r.Whole && len(r.Lost) == 0 {
		r.Lost = append(r.Lost, "what could be read is not what was written last")
	}
}

// untouched reports whether nothing was ever decided, so that there may be no store.
func (s *Service) untouched() bool {
	seq, _, err := s.Decisions.Head()
	return err == nil && seq == 0
}

// Projections are the parts of the state that decisions make.
func Projections() []ledger.Projection {
	return []ledger.Projection{registry.Projection(), approval.Projection(), trust.Projection(), token.Projection()}
}

// unjournaled returns the entries that the journal cannot rebuild.
func (s *Service) unjournaled(was salvaged) []store.Item {
	return slices.DeleteFunc(slices.Clone(was.items), func(it store.Item) bool {
		part, name := store.PartOf(it.Key)
		return part == store.PartKV && s.Ledger.Makes(name)
	})
}

// renewed is the state of a store that is made again, before it is on the disk.
type renewed struct {
	engine store.Engine
	store  store.Store
	ledger *ledger.Ledger
}

// renew makes the state again in memory: of the journal what decisions made, and of
// was everything else.
func (s *Service) renew(ctx context.Context, was salvaged) (*renewed, error) {
	n := &renewed{engine: store.MemoryOf(s.unjournaled(was), was.number)}
	n.store = store.New(n.engine, nil, store.Settings{})
	n.ledger = ledger.New(s.Decisions, n.store.KV(), Projections()...)
	s.SecretKey.Anchors().UseStore(StoredAnchor{n.store.KV()}) // until the store is open again
	_, err := n.ledger.Rebuild(ctx)
	return n, err
}

// items are everything in the state, and a number that is not below any it gave out.
func (n *renewed) items(ctx context.Context) (all []store.Item, number uint64, err error) {
	err = n.engine.Update(ctx, func(tx store.Tx) error {
		if number, err = tx.Number(); err != nil {
			return err
		}
		for it, err := range tx.Scan("", "") {
			if err != nil {
				return err
			}
			all = append(all, it)
		}
		return nil
	})
	return all, number, err
}

// PlanRebuild says what [Service.Rebuild] would find.
func (s *Service) PlanRebuild(ctx context.Context, by approval.Principal) (RebuildReport, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return RebuildReport{}, err
	}
	return s.rebuild(ctx, func(RebuildReport) (bool, error) { return false, nil })
}

// A RebuildRequest says how a store is made again.
type RebuildRequest struct {
	// Lossy goes on although not all of the store can be read.
	Lossy bool
}

// Rebuild makes the store again, with the backend that the settings name: from the
// journal what decisions made, and of the store everything else. When not all of that
// can be read it refuses, with a [fault.KindConflict] error, unless the request says
// otherwise. The store stays as it is when the journal is damaged, and in every case
// until the new one is complete.
func (s *Service) Rebuild(ctx context.Context, by approval.Human, q RebuildRequest) (RebuildReport, error) {
	if err := by.Check(); err != nil {
		return RebuildReport{}, err
	}
	return s.rebuild(ctx, func(r RebuildReport) (bool, error) {
		if !r.Whole && !q.Lossy {
			return false, r.refused("store rebuild", fault.RebuildStore())
		}
		return true, nil
	})
}

// refused is the error of what would lose something.
func (r RebuildReport) refused(command string, again fault.Remedy) error {
	what := strings.Join(r.Lost, "; ")
	if r.Unreadable > 0 {
		what = fmt.Sprintf("%d entries (%s)", r.Unreadable, what)
	}
	return fault.Errorf(fault.KindConflict, "%s would lose what cannot be read of the store: %s; nothing was changed", command, what).
		WithHint("%s shows what would stay; %s goes back to a backup, and %s goes on without what is lost",
			fault.RebuildStore().With(fault.FieldDryRun), fault.RestoreStore(""), again.With(fault.FieldForce))
}

func (s *Service) rebuild(ctx context.Context, goOn func(RebuildReport) (bool, error)) (RebuildReport, error) {
	r := RebuildReport{Kinds: []KindCount{}, Lost: []string{}}
	if err := UnfinishedRepair(s.Home); err != nil {
		return r, err
	}
	if _, err := s.Decisions.Verify(ctx); err != nil {
		return r, err
	}
	err := s.replaceStore(ctx, &r, func(was salvaged) (bool, error) {
		n, err := s.renew(ctx, was)
		if err != nil {
			return false, err
		}
		return s.build(ctx, &r, was, n, goOn)
	})
	return r, err
}

// build makes the store of a state beside the one there is, if goOn says so.
func (s *Service) build(ctx context.Context, r *RebuildReport, was salvaged, n *renewed, goOn func(RebuildReport) (bool, error)) (bool, error) {
	items, number, err := n.items(ctx)
	if err != nil {
		return false, err
	}
	r.count(was.items, items)
	if r.Decisions, _, err = s.Decisions.Head(); err != nil {
		return false, err
	}
	if yes, err := goOn(*r); err != nil || !yes {
		return false, err
	}
	o, err := s.storeOptions()
	if err == nil {
		err = s.wanted().Create(ctx, s.log, s.path(freshStore), o, items, number)
	}
	return err == nil, err
}

// A RestoreRequest says which backup is gone back to.
type RestoreRequest struct {
	// Path is the file. Backup is read instead when it is not nil.
	Path   string
	Backup io.Reader
}

// PlanRestore says what [Service.Restore] would do, or why it would refuse.
func (s *Service) PlanRestore(ctx context.Context, by approval.Principal, q RestoreRequest) (RebuildReport, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return RebuildReport{}, err
	}
	return s.restoreFrom(ctx, q, false)
}

// Restore goes back to a backup of this home. Decisions made since are applied again
// from the journal, so what is lost is what skills kept, and what was remembered and
// done, since. A backup that does not fit the journal is refused, with
// [ErrOtherHome], and nothing is changed then.
func (s *Service) Restore(ctx context.Context, by approval.Human, q RestoreRequest) (RebuildReport, error) {
	if err := by.Check(); err != nil {
		return RebuildReport{}, err
	}
	return s.restoreFrom(ctx, q, true)
}

func (s *Service) restoreFrom(ctx context.Context, q RestoreRequest, goOn bool) (RebuildReport, error) {
	if q.Backup != nil {
		return s.restore(ctx, q.Backup, goOn)
	}
	f, err := openfile.Open(ctx, q.Path)
	if err != nil {
		return RebuildReport{}, fmt.Errorf("read backup: %w", err)
	}
	defer f.Close()
	r, err := s.restore(ctx, f, goOn)
	if errors.Is(err, backup.ErrBackup) || errors.Is(err, ErrOtherHome) || errors.Is(err, store.ErrKey) {
		err = fmt.Errorf("restore %s: %w", q.Path, err)
	}
	return r, err
}

// ErrOtherHome means that a backup has decisions that the journal of this home does
// not have.
var ErrOtherHome = errors.New("the backup is not of this home, or the journal was cut or replaced since")

func (s *Service) restore(ctx context.Context, from io.Reader, goOn bool) (RebuildReport, error) {
	r := RebuildReport{Kinds: []KindCount{}, Lost: []string{}}
	if err := UnfinishedRepair(s.Home); err != nil {
		return r, err
	}
	err := s.replaceStore(ctx, &r, func(was salvaged) (bool, error) {
		items, err := s.unpack(ctx, from, goOn)
		if err != nil {
			return false, err
		}
		r.count(was.items, items)
		r.Whole, r.Unreadable, r.Lost = true, 0, []string{} // the backup is
		r.Decisions, _, err = s.Decisions.Head()
		return goOn, err
	})
	return r, err
}

// unpack makes the store of a backup, beside the one there is, bring it to what the
// journal says, and returns what is in it. With keep its packages come to the others.
func (s *Service) unpack(ctx context.Context, from io.Reader, keep bool) ([]store.Item, error) {
	o, err := s.storeOptions()
	if err != nil {
		return nil, err
	}
	o.Blobs = "" // in the store's own directory
	b, dir := s.wanted(), s.path(freshStore)
	_, err = b.Restore(ctx, s.log, from, dir, o)
	if errors.Is(err, backup.ErrBackup) && !errors.Is(err, store.ErrKey) {
		return nil, fault.Wrap(fault.KindVerification, err).WithHint("nothing was changed; the file is not a backup, or is damaged: use another")
	}
	if err != nil {
		return nil, err
	}
	opened, err := b.Open(s.log, dir, o)
	if err != nil {
		return nil, err
	}
	items, err := s.adopt(ctx, opened, keep)
	if err = errors.Join(err, opened.Close()); err == nil {
		err = errors.Join(os.RemoveAll(s.path(freshStore, "blobs")), atomicfile.SyncTree(dir))
	}
	return items, err
}

// adopt brings a store from a backup to what the journal says.
func (s *Service) adopt(ctx context.Context, from store.Opened, keep bool) (items []store.Item, err error) {
	// What the backup says the home was known by may be older than what it is.
	s.SecretKey.Anchors().UseStore(StoredAnchor{store.Memory().KV()})
	err = ledger.New(s.Decisions, from.KV(), Projections()...).Follow(ctx)
	if errors.Is(err, ledger.ErrBehind) {
		return nil, fmt.Errorf("%w: %w", ErrOtherHome, err)
	}
	if err != nil {
		return nil, err
	}
	if keep {
		if err := copyBlobs(ctx, from.Blobs(), s.Store.Blobs()); err != nil {
			return nil, err
		}
	}
	return from.Items(ctx)
}

func copyBlobs(ctx context.Context, from, to store.Blobs) error {
	digests, err := from.List(ctx)
	for _, d := range digests {
		content, err := from.Get(ctx, d)
		if err == nil {
			err = to.Put(ctx, d, content)
		}
		if err != nil {
			return err
		}
	}
	return err
}
