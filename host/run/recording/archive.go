package recording

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/base/store/atomicfile"
)

// An Archive keeps the recordings of recent calls of installed skills, in a
// directory that only its owner can read: DIR/SKILL/TIME.recording.json. Of each
// skill the newest stay, within the bounds. It is safe for concurrent use, also by
// several processes.
type Archive struct {
	dir    string
	bounds Bounds
}

// Bounds say how much a [Archive] keeps of each skill. The zero value keeps
// nothing.
type Bounds struct {
	// Calls is how many; zero keeps none.
	Calls int
	// Bytes is how much their files may take together, and Age how old one may
	// become; 0 means unlimited.
	Bytes int64
	Age   time.Duration
}

// NewArchive makes an Archive over dir, which need not exist.
func NewArchive(dir string, b Bounds) *Archive { return &Archive{dir: dir, bounds: b} }

// Keeps reports whether it keeps anything.
func (s *Archive) Keeps() bool { return s.bounds.Calls > 0 }

// ArchiveEntry is a recording in an Archive.
type ArchiveEntry struct {
	// Path is that of its file, At when it was made, and Bytes how long it is.
	Path  string
	At    time.Time
	Bytes int64
}

// timeForm makes names sort as the times do.
const timeForm = "20060102T150405.000000000Z"

// Keep keeps a recording, and evicts the oldest ones that are then too many. One that
// is longer than all that may be kept is evicted at once.
func (s *Archive) Keep(r *Recording) error {
	if !s.Keeps() {
		return nil
	}
	b, err := r.Encode()
	if err != nil {
		return err
	}
	dir, err := s.of(r.Skill)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return fmt.Errorf("keep the recording of %s: %w", r.Ref(), err)
	}
	for at := time.Now().UTC(); ; at = at.Add(time.Nanosecond) { // another call may have ended at the same time
		err := atomicfile.Create(filepath.Join(dir, at.Format(timeForm)+Extension), b)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("keep the recording of %s: %w", r.Ref(), err)
		}
		_, _, err = s.prune(r.Skill, false)
		return err
	}
}

// of is the directory of a skill.
func (s *Archive) of(skill string) (string, error) {
	if skill == "" || !filepath.IsLocal(skill) || strings.ContainsAny(skill, `/\`) {
		return "", fmt.Errorf("not a name of a skill: %.100q", skill)
	}
	return filepath.Join(s.dir, skill), nil
}

// List returns what is kept of a skill, the newest first, but for what has become
// too old.
func (s *Archive) List(skill string) ([]ArchiveEntry, error) {
	dir, err := s.of(skill)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the recordings of %s: %w", skill, err)
	}
	var all []ArchiveEntry
	for _, e := range entries {
		if k, ok := keptAs(dir, e); ok && !s.tooOld(k) {
			all = append(all, k)
		}
	}
	slices.Reverse(all)
	return all, nil
}

func (s *Archive) tooOld(k ArchiveEntry) bool {
	return s.bounds.Age > 0 && time.Since(k.At) > s.bounds.Age
}

// keptAs reads the name of a file.
func keptAs(dir string, e fs.DirEntry) (ArchiveEntry, bool) {
	name, ok := strings.CutSuffix(e.Name(), Extension)
	at, err := time.Parse(timeForm, name)
	if !ok || err != nil {
		return ArchiveEntry{}, false
	}
	info, err := e.Info()
	if err != nil || !info.Mode().IsRegular() {
		return ArchiveEntry{}, false
	}
	return ArchiveEntry{filepath.Join(dir, e.Name()), at, info.Size()}, true
}

// prune lets go of what is too much of a skill, and returns how many recordings
// and bytes that was. With dry it only counts.
func (s *Archive) prune(skill string, dry bool) (gone int, freed int64, err error) {
	dir, err := s.of(skill)
	if err != nil {
		return 0, 0, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, 0, fmt.Errorf("prune the recordings of %s: %w", skill, err)
	}
	n, bytes := 0, int64(0)
	for _, e := range slices.Backward(entries) {
		k, ok := keptAs(dir, e)
		if !ok {
			continue
		}
		n, bytes = n+1, bytes+k.Bytes
		if n <= s.bounds.Calls && (s.bounds.Bytes <= 0 || bytes <= s.bounds.Bytes) && !s.tooOld(k) {
			continue
		}
		gone, freed = gone+1, freed+k.Bytes
		if dry {
			continue
		}
		if err := os.Remove(k.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return gone, freed, fmt.Errorf("prune the recordings of %s: %w", skill, err)
		}
	}
	return gone, freed, nil
}

// Prune lets go of what is too much or too old of all skills, also of those that
// are not called any more, and returns how many recordings and bytes that was.
// With dry it only counts.
func (s *Archive) Prune(dry bool) (gone int, freed int64, err error) {
	skills, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, 0, fmt.Errorf("prune the recordings: %w", err)
	}
	for _, e := range skills {
		if !e.IsDir() {
			continue
		}
		n, bytes, err := s.prune(e.Name(), dry)
		if gone, freed = gone+n, freed+bytes; err != nil {
			return gone, freed, err
		}
	}
	return gone, freed, nil
}

// Forget deletes what is kept of a skill.
func (s *Archive) Forget(skill string) error {
	dir, err := s.of(skill)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("delete the recordings of %s: %w", skill, err)
	}
	return nil
}
