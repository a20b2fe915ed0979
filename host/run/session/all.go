package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/base/store/atomicfile"
	"github.com/skillet-run/skillet/host/base/store/filelock"
	"github.com/skillet-run/skillet/manifests"
)

// An Info is what is known of a session.
type Info struct {
	Skill string `json:"skill"`
	Name  string `json:"name"`
	// Owner is who it belongs to; empty for a damaged one.
	Owner string `json:"owner,omitempty"`
	// Version and Digest are those of the package that it goes on with.
	Version string           `json:"version,omitempty"`
	Digest  manifests.Digest `json:"digest,omitempty"`
	// Tool is that of the last call; empty before the first.
	Tool  string `json:"tool,omitempty"`
	Calls int    `json:"calls"`
	// CreatedAt, UsedAt and ExpiresAt are in UTC; zero for a damaged one. UsedAt is
	// when the last call ended.
	CreatedAt time.Time `json:"created_at,omitzero"`
	UsedAt    time.Time `json:"used_at,omitzero"`
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	// AgeSeconds and IdleSeconds are how long ago that was.
	AgeSeconds  float64 `json:"age_seconds"`
	IdleSeconds float64 `json:"idle_seconds"`
	// Bytes is what its state takes.
	Bytes int64 `json:"bytes"`
	// InUse is true while a call goes on with it, Ended when it has ended and waits
	// to be resumed, and Damaged when it can only be closed.
	InUse   bool `json:"in_use"`
	Ended   bool `json:"ended,omitempty"`
	Damaged bool `json:"damaged,omitempty"`
	// Memory is true for one that ends with this process.
	Memory bool `json:"memory,omitempty"`

	key  Key
	base string
}

// Key names the session.
func (i Info) Key() Key { return i.key }

func (h header) info(now time.Time) Info {
	created, used := time.UnixMilli(h.Created).UTC(), time.UnixMilli(h.Used).UTC()
	return Info{
		Skill: h.key().Skill(), Name: h.Name, Owner: h.Owner, Version: h.Version, Digest: h.Digest, Tool: h.Tool, Calls: h.Calls,
		CreatedAt: created, UsedAt: used, ExpiresAt: h.ends().UTC(), AgeSeconds: now.Sub(created).Seconds(), IdleSeconds: now.Sub(used).Seconds(),
		Bytes: h.Bytes, Ended: h.ended(now), key: h.key(),
	}
}

// List returns all sessions: those in the home, and those in the memory of this
// process. What has ended and is to be deleted then is deleted.
func (s *Store) List(ctx context.Context) ([]Info, error) {
	var all []Info
	if _, err := os.Stat(s.dir); errors.Is(err, fs.ErrNotExist) {
		return s.inMemory(nil), nil
	}
	err := s.look(ctx, func() (err error) {
		all, err = s.files(ctx)
		for i := range all {
			all[i].InUse = inUse(ctx, all[i].base)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list the sessions: %w", err)
	}
	all = s.inMemory(all)
	slices.SortFunc(all, func(a, b Info) int {
		return cmp.Or(cmp.Compare(a.Skill, b.Skill), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Owner, b.Owner))
	})
	return all, nil
}

// inMemory adds the sessions that are in no file.
func (s *Store) inMemory(all []Info) []Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, l := range s.live {
		if !l.memory {
			continue
		}
		i := l.head.info(time.Now())
		if i.Memory, i.key = true, k; !i.Ended {
			all = append(all, i)
		}
	}
	return all
}

// files reads the headers of all files, and deletes what has ended. The lock is
// held.
func (s *Store) files(ctx context.Context) ([]Info, error) {
	paths, err := s.paths("*.session")
	if err != nil {
		return nil, err
	}
	var all []Info
	for _, path := range paths {
		i, err := s.file(ctx, path)
		if err != nil {
			return nil, err
		}
		if i.Ended && i.base == "" {
			continue
		}
		all = append(all, i)
	}
	return all, nil
}

// paths returns the files whose names match a pattern. Special characters in the path of
// the directory have no meaning.
func (s *Store) paths(pattern string) ([]string, error) {
	paths, err := fs.Glob(os.DirFS(s.dir), "*/*/"+pattern)
	for i := range paths {
		paths[i] = filepath.Join(s.dir, filepath.FromSlash(paths[i]))
	}
	return paths, err
}

// file describes one file. The base of one that is not there any more is empty.
func (s *Store) file(ctx context.Context, path string) (Info, error) {
	base := strings.TrimSuffix(path, ".session")
	h, _, found, err := s.read(ctx, path, false)
	if errors.Is(err, ErrDamaged) {
		return s.damaged(base)
	}
	if err != nil || !found {
		return Info{Ended: true}, err
	}
	i := h.info(time.Now())
	i.base = base
	if i.Ended && h.Discard && s.discard(ctx, h.key(), base) == nil {
		i.base = ""
	}
	return i, nil
}

// damaged describes a session of which only the name of its file can be read.
func (s *Store) damaged(base string) (Info, error) {
	rel, err := filepath.Rel(s.dir, filepath.Dir(base))
	if err != nil {
		return Info{}, err
	}
	name := filepath.Base(base)
	if dot := strings.LastIndexByte(name, '.'); dot > 0 {
		name = name[:dot]
	}
	k := Key{Namespace: filepath.ToSlash(rel), Name: name}
	i := Info{Skill: k.Skill(), Name: name, Damaged: true, key: k, base: base}
	if st, err := os.Stat(base + ".session"); err == nil {
		i.Bytes = st.Size()
	}
	return i, nil
}

// inUse reports whether a call has its turn.
func inUse(ctx context.Context, base string) bool {
	if _, err := os.Stat(base + ".turn"); err != nil {
		return false
	}
	l, err := filelock.Acquire(ctx, base+".turn", 0)
	if err != nil {
		return errors.Is(err, filelock.ErrHeld)
	}
	l.Release()
	return false
}

// Close deletes a session. A call that goes on with it answers, and what it leaves
// is lost.
func (s *Store) Close(ctx context.Context, i Info) error {
	s.forget(i.key)
	if i.Memory {
		return nil
	}
	if err := s.look(ctx, func() error { return s.discard(ctx, i.key, i.base) }); err != nil {
		return fmt.Errorf("close session %s: %w", i.key, err)
	}
	return nil
}

// discard deletes the files of a session. The lock is held.
func (s *Store) discard(ctx context.Context, k Key, base string) error {
	s.forget(k)
	if err := s.outdate(ctx, k); err != nil {
		return err
	}
	if err := os.Remove(base + ".session"); err != nil {
		return gone(err)
	}
	if !inUse(ctx, base) { // whoever looks for its turn looks under the lock
		for _, f := range []string{".turn", ".next"} {
			if err := gone(os.Remove(base + f)); err != nil {
				return err
			}
		}
	}
	return atomicfile.SyncDir(filepath.Dir(base))
}

// Resume lets a session that has ended go on. The error for one that is damaged, or
// not there any more, is a [fault.Error].
func (s *Store) Resume(ctx context.Context, i Info) error {
	err := s.look(ctx, func() error {
		h, state, found, err := s.read(ctx, i.base+".session", true)
		if err != nil {
			return unreadable(i.key, err)
		}
		if !found {
			return NotFound(i.key.String())
		}
		h.Used, h.Number = time.Now().UnixMilli(), h.Number+1
		b, err := s.pack(h, state)
		if err != nil {
			return err
		}
		if err := atomicfile.Write(i.base+".session", b); err != nil {
			return err
		}
		return s.note(ctx, h.key(), h.Number)
	})
	if err != nil {
		return fmt.Errorf("resume session %s: %w", i.key, err)
	}
	return nil
}

// NotFound is the error for a session that is not there.
func NotFound(name string) error {
	return fault.Errorf(fault.KindNotFound, "session %s: %w", name, ErrNotFound).WithHint("%s shows those there are", fault.List(fault.Sessions))
}

// Forget deletes the sessions of a skill, with everything else that is kept of it.
// place is as in [Key].
func (s *Store) Forget(ctx context.Context, owner string) error {
	if !namespace().MatchString(owner) {
		return nil
	}
	if _, err := os.Stat(s.dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return s.look(ctx, func() error {
		all, err := s.files(ctx)
		if err != nil {
			return err
		}
		for _, i := range all {
			if i.key.Namespace == owner {
				err = errors.Join(err, s.discard(ctx, i.key, i.base))
			}
		}
		return err
	})
}

// Sweep deletes what has ended, and what calls left that were killed.
func (s *Store) Sweep(ctx context.Context) error {
	if _, err := os.Stat(s.dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return s.look(ctx, func() error {
		if _, err := s.files(ctx); err != nil {
			return err
		}
		return s.sweepRest(ctx)
	})
}

// sweepRest deletes files that belong to no call and no session.
func (s *Store) sweepRest(ctx context.Context) error {
	var err error
	for _, pattern := range []string{"*.next", "*.turn", atomicfile.Pattern} {
		paths, bad := s.paths(pattern)
		if bad != nil {
			return bad
		}
		for _, p := range paths {
			if !inUse(ctx, strings.TrimSuffix(p, filepath.Ext(p))) && !needed(p) {
				err = errors.Join(err, gone(os.Remove(p)))
			}
		}
	}
	return err
}

// needed reports whether a file belongs to a session, or may be on its way to.
func needed(path string) bool {
	st, err := os.Stat(path)
	if err != nil || time.Since(st.ModTime()) < time.Hour && filepath.Ext(path) != ".turn" {
		return true
	}
	_, err = os.Stat(strings.TrimSuffix(path, ".turn") + ".session")
	return err == nil
}

// room makes sure that there may be one session more. The lock is held.
func (s *Store) room(ctx context.Context, k Key, most int) error {
	all, err := s.files(ctx)
	if err != nil {
		return fmt.Errorf("count the sessions: %w", err)
	}
	n := 0
	for _, i := range s.inMemory(all) {
		if i.key.Namespace == k.Namespace && i.Owner == k.Owner && !i.Ended {
			n++
		}
	}
	if n < most {
		return nil
	}
	return fault.Errorf(fault.KindLimit, "session %s: %w: %d of %s are open, and its manifest allows %d", k, ErrLimit, n, k.Skill(), most).
		WithHint("close one: %s shows them, %s closes one", fault.List(fault.Sessions), fault.CloseSession(k.Skill()+"/NAME"))
}

// fits makes sure that a session may take size bytes. The lock is held.
func (s *Store) fits(ctx context.Context, k Key, size int64) error {
	all, err := s.files(ctx)
	if err != nil {
		return fmt.Errorf("count the sessions: %w", err)
	}
	total := size
	for _, i := range s.inMemory(all) {
		if i.key != k {
			total += i.Bytes
		}
	}
	if total <= s.settings.Total {
		return nil
	}
	return fault.Errorf(fault.KindLimit, "session %s: %w: all sessions would take %s, and may take %s; it stays as it was before the call",
		k, ErrLimit, megabytes(total), megabytes(s.settings.Total)).
		WithHint("close some: %s shows their sizes; or raise sessions_total_mb of this host", fault.List(fault.Sessions))
}
