// Package history keeps what decisions led to in a git repository in the home:
// the skills that are active with their sources and grants, the settings, the
// policies and the agents, one commit for each decision that changed something of it. So
// history is ordinary git: log, blame and diff.
//
// It is a projection of the ledger and decides nothing. Whatever goes wrong with
// it undoes no decision, and it can be made again at any time; what it cannot
// know any more, such as the sources of versions that were removed long ago, is
// then left out.
//
// # Files
//
//	skills/NAME/versions.json  the installed versions, and which one is active
//	skills/NAME/grants.json    their grants
//	skills/NAME/files.txt      the index of the active package: digest, size, path
//	skills/NAME/package/...    those of its files that are text
//	config.yaml                the settings
//	policies/...               the policies
//	agents/NAME.yaml           the definitions of agents
//
// The name of a commit's author is the actor of the decision. The file
// .git/skillet-decision holds the number and hash of the last decision that is in
// it.
package history

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/skillet-run/skillet/host/base/git"
	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/base/store/atomicfile"
	"github.com/skillet-run/skillet/host/base/store/filelock"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/host/record/registry"
)

// A History is the repository of a home. It is safe for concurrent use, also by
// several processes.
type History struct {
	ledger   *ledger.Ledger
	kv       store.KV
	blobs    store.Blobs
	settings Settings
}

// Settings say where things are.
type Settings struct {
	// Home is the home; the repository is the directory "history" in it.
	Home string
	// Head returns the number and hash of the last decision.
	Head func() (seq uint64, hash string, err error)
	// LockWait is how long a command waits for another that writes.
	LockWait time.Duration
}

// New makes a History over the state that decisions led to.
func New(l *ledger.Ledger, kv store.KV, blobs store.Blobs, s Settings) *History {
	return &History{ledger: l, kv: kv, blobs: blobs, settings: s}
}

// Dir is the name of the repository's directory in the home, and Lock that of
// its lock file.
const (
	Dir  = "history"
	Lock = "history.lock"
)

// Dir is the directory of the repository.
func (h *History) Dir() string { return filepath.Join(h.settings.Home, Dir) }

func (h *History) cursorPath() string { return filepath.Join(h.Dir(), ".git", "skillet-decision") }

// A cursor is the last decision that is in the repository.
type cursor struct {
	seq  uint64
	hash string
}

func (h *History) cursor() (cursor, error) {
	var c cursor
	b, err := os.ReadFile(h.cursorPath())
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return c, nil
	}
	if err != nil {
		return c, fmt.Errorf("read the history: %w", err)
	}
	if _, err := fmt.Sscanf(string(b), "%d %s\n", &c.seq, &c.hash); err != nil { // torn: then it is made again
		return cursor{}, nil
	}
	return c, nil
}

// Behind reports how many decisions are not in the repository yet. It reads two
// small files.
func (h *History) Behind() (uint64, error) {
	c, err := h.cursor()
	if err != nil {
		return 0, err
	}
	seq, hash, err := h.settings.Head()
	if err != nil || c == (cursor{seq, hash}) {
		return 0, err
	}
	if c.seq >= seq { // the record of decisions was repaired
		return 1, nil
	}
	return seq - c.seq, nil
}

// CatchUp does what [History.Sync] does when the repository is behind, after state, which
// brings the state of the home to the last decision.
func (h *History) CatchUp(ctx context.Context, state func(context.Context) error) error {
	n, err := h.Behind()
	if err != nil || n == 0 {
		return err
	}
	if err := state(ctx); err != nil {
		return err
	}
	return h.Sync(ctx)
}

// Sync brings the repository to the last decision. A repository that cannot be
// read is set aside and made again.
func (h *History) Sync(ctx context.Context) error {
	if n, err := h.Behind(); err != nil || n == 0 {
		return err
	}
	return h.locked(ctx, func() error {
		if err := h.sync(ctx); err == nil || ctx.Err() != nil {
			return err
		}
		return h.remake(ctx)
	})
}

// Repair makes the repository what decisions led to, whatever happened to it:
// changes by hand are taken back, and a repository that is damaged is set aside
// and made again.
func (h *History) Repair(ctx context.Context) error {
	return h.locked(ctx, func() error {
		if err := h.mend(ctx); err == nil || ctx.Err() != nil {
			return err
		}
		return h.remake(ctx)
	})
}

// Pack puts the many small files of the repository into one, and reports how many.
// With dry it changes nothing.
func (h *History) Pack(ctx context.Context, dry bool) (n int, err error) {
	if _, err := os.Stat(filepath.Join(h.Dir(), ".git", "HEAD")); errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	err = h.locked(ctx, func() error {
		repo, err := git.OpenRepository(h.Dir())
		if err == nil {
			n, err = repo.Pack(dry)
		}
		return err
	})
	return n, err
}

func (h *History) mend(ctx context.Context) error {
	if err := h.sync(ctx); err != nil {
		return err
	}
	repo, err := git.OpenRepository(h.Dir())
	if err == nil {
		err = repo.Restore()
	}
	if err == nil {
		err = h.byHand(ctx, repo)
	}
	if err == nil {
		_, err = h.Check(ctx)
	}
	return err
}

// locked does what no other command may do at the same time.
func (h *History) locked(ctx context.Context, do func() error) error {
	lock, err := filelock.Acquire(ctx, filepath.Join(h.settings.Home, Lock), h.settings.LockWait)
	if err != nil {
		return fmt.Errorf("write the history: %w", err)
	}
	defer lock.Release()
	return do()
}

// remake moves the repository away under a name that says when, and makes it
// again.
func (h *History) remake(ctx context.Context) error {
	aside := h.Dir() + ".aside-" + time.Now().UTC().Format("20060102-150405.000000000")
	if err := os.Rename(h.Dir(), aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("set the history aside: %w", err)
	}
	return h.sync(ctx)
}

func (h *History) sync(ctx context.Context) error {
	seq, hash, err := h.settings.Head()
	if err != nil || seq == 0 {
		return err
	}
	repo, err := git.OpenRepository(h.Dir())
	if err != nil {
		return err
	}
	from, err := h.from(repo)
	if err != nil || from == (cursor{seq, hash}) {
		return err
	}
	records, err := h.after(ctx, from, seq)
	if err != nil {
		return err
	}
	if len(records) > 1 {
		if err := h.replay(ctx, repo, records); err != nil {
			return err
		}
	}
	last := records[len(records)-1]
	if last.Subject != settingsFile && !strings.HasPrefix(last.Subject, agentFiles) {
		if err := h.byHand(ctx, repo); err != nil {
			return err
		}
	}
	if err := h.commit(ctx, repo, source{h.kv, h.blobs, h.settings.Home, false}, last); err != nil {
		return err
	}
	return h.advance(cursor{seq, hash})
}

// settingsFile is the subject of decisions about settings, and agentFiles is what
// those about agents begin with.
const (
	settingsFile = "config.yaml"
	agentFiles   = "agents/"
)

// from is the last decision that is in the repository: of the cursor, or, where
// there is none, of the last commit.
func (h *History) from(repo *git.Repository) (cursor, error) {
	c, err := h.cursor()
	if err != nil || c.seq > 0 {
		return c, err
	}
	head, ok, err := repo.Head()
	if err != nil || !ok {
		return cursor{}, err
	}
	_, trailers, _ := strings.Cut(head.Message, "\nDecision: ")
	if _, err := fmt.Sscanf(trailers, "%d\n", &c.seq); err != nil {
		return cursor{}, fmt.Errorf("the last commit of %s names no decision", h.Dir())
	}
	return c, nil
}

// byHand makes a commit of settings, policies and agents that somebody changed without a
// decision, so that it is not taken for a part of the next one.
func (h *History) byHand(ctx context.Context, repo *git.Repository) error {
	head, ok, err := repo.Head()
	if err != nil || !ok {
		return err
	}
	there, err := repo.List()
	if err != nil {
		return err
	}
	files, err := source{home: h.settings.Home}.others(there.Paths())
	if err != nil {
		return err
	}
	message := "settings, policies or agents changed without a decision\n\nDecision: " + decisionOf(head.Message) + "\n"
	_, _, err = repo.Commit(files, message, git.Signature{Name: "unknown", At: time.Now()})
	return err
}

// decisionOf is the number of the decision that a commit is about.
func decisionOf(message string) string {
	_, rest, _ := strings.Cut(message, "\nDecision: ")
	number, _, _ := strings.Cut(rest, "\n")
	return number
}

func (h *History) advance(c cursor) error {
	if err := atomicfile.Write(h.cursorPath(), fmt.Appendf(nil, "%d %s\n", c.seq, c.hash)); err != nil {
		return fmt.Errorf("write the history: %w", err)
	}
	return nil
}

// after are the decisions after a cursor; at least the last one.
func (h *History) after(ctx context.Context, from cursor, last uint64) ([]ledger.Record, error) {
	start := min(from.seq, last-1)
	var records []ledger.Record
	err := h.ledger.History(ctx, start, func(r ledger.Record) error {
		records = append(records, r)
		return nil
	})
	if err == nil && len(records) == 0 {
		err = fmt.Errorf("the record of decisions ends before decision %d", last)
	}
	return records, err
}

// replay makes the commits of all records but the last one, each of the state
// that its decision led to, in a store of its own.
func (h *History) replay(ctx context.Context, repo *git.Repository, records []ledger.Record) error {
	mem := store.Memory()
	defer mem.Close()
	first, last := records[0].Seq, records[len(records)-1].Seq
	return h.ledger.History(ctx, 0, func(r ledger.Record) error {
		if r.Seq >= last {
			return nil
		}
		if err := apply(ctx, mem.KV(), r); err != nil {
			return err
		}
		if r.Seq < first || len(r.Changes) == 0 {
			return nil
		}
		return h.commit(ctx, repo, source{mem.KV(), h.blobs, "", false}, r)
	})
}

// apply brings a store to the state after a decision, as far as this package
// looks at it.
func apply(ctx context.Context, kv store.KV, r ledger.Record) error {
	at := ledger.Stamp{Seq: r.Seq, Time: r.Time, Actor: r.Actor}
	for _, c := range r.Changes {
		for _, p := range []ledger.Projection{registry.Projection(), approval.Projection()} {
			if !p.Owns(c.Kind) {
				continue
			}
			if err := p.Apply(ctx, kv, at, c); err != nil {
				return fmt.Errorf("replay decision %d: %w", r.Seq, err)
			}
		}
	}
	return nil
}

// commit makes the commit of one decision, if it changed something that is kept
// here.
func (h *History) commit(ctx context.Context, repo *git.Repository, s source, r ledger.Record) error {
	files, err := s.files(ctx, repo)
	if err != nil {
		return err
	}
	_, _, err = repo.Commit(files, message(r), git.Signature{Name: oneLine(r.Actor), At: r.Time})
	return err
}

// message says what a commit is about, with the facts as trailers.
func message(r ledger.Record) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n\n", oneLine(r.Kind), oneLine(r.Subject))
	if r.Note != "" && !strings.HasPrefix(r.Note, "sha256:") {
		fmt.Fprintf(&b, "%s\n\n", oneLine(r.Note))
	}
	fmt.Fprintf(&b, "Decision: %d\nActor: %s\n", r.Seq, oneLine(r.Actor))
	if strings.HasPrefix(r.Note, "sha256:") {
		fmt.Fprintf(&b, "Digest: %s\n", oneLine(r.Note))
	}
	fmt.Fprintf(&b, "Entry: %s\n", r.Hash)
	return b.String()
}

// Check says in one line how far the repository is; an error says what is wrong
// with it.
func (h *History) Check(ctx context.Context) (string, error) {
	n, err := h.Behind()
	if err != nil {
		return "", err
	}
	if n > 0 {
		return "", fmt.Errorf("%d of the decisions %w %s yet", n, ErrBehind, h.Dir())
	}
	if _, err := os.Lstat(h.Dir()); errors.Is(err, fs.ErrNotExist) {
		return "nothing was decided yet", nil
	}
	if _, err := os.Stat(filepath.Join(h.Dir(), ".git", "HEAD")); err != nil { // opening it would make one
		return "", fmt.Errorf("%s is not a git repository: %w", h.Dir(), err)
	}
	repo, err := git.OpenRepository(h.Dir())
	if err != nil {
		return "", err
	}
	files, err := source{h.kv, h.blobs, h.settings.Home, true}.files(ctx, repo)
	if err != nil {
		return "", err
	}
	path, err := differs(repo, files)
	if err != nil {
		return "", err
	}
	if path != "" {
		return "", &StaleError{h.Dir(), path}
	}
	clean, path, err := repo.Clean()
	if err == nil && !clean {
		err = fmt.Errorf("somebody changed %s in %s by hand", path, h.Dir())
	}
	return fmt.Sprintf("%s has every decision", h.Dir()), err
}

// ErrBehind means that decisions are not in the history yet: a process died between the
// two, or could not write it.
var ErrBehind = errors.New("are not in the git history")

// A StaleError means that the last commit does not have a file as it is now.
type StaleError struct {
	Dir  string // of the git history
	Path string // in it
}

// Error names both.
func (e *StaleError) Error() string {
	return fmt.Sprintf("the git history %s does not have %s as it is", e.Dir, e.Path)
}

// Edited reports whether the file is one that people change in the home: the settings,
// a policy or an agent. The next decision brings it into the history, and nothing is wrong.
func (e *StaleError) Edited() bool { return !strings.HasPrefix(e.Path, "skills/") }
