package upkeep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/skillet-run/skillet/host/record/approval"
)

// Garbage is what a home does not need.
type Garbage struct {
	// Packages are files of packages that nothing refers to.
	Packages int `json:"package_files"`
	// Downloads are beginnings of downloads that nobody goes on with, Compiled is
	// machine code of modules; Bytes is the size of both together.
	Downloads int   `json:"downloads"`
	Compiled  int   `json:"compiled"`
	Bytes     int64 `json:"bytes"`
	// Recordings are those of calls that are too old, or more than the settings
	// say, and RecordingBytes is their size.
	Recordings     int   `json:"recordings"`
	RecordingBytes int64 `json:"recording_bytes"`
	// Packed are small files of the git history that were put into one.
	Packed int `json:"history_files_packed"`
}

// abandoned is the age at which the beginning of a download is garbage.
const abandoned = time.Hour

// A GarbageRequest says what is deleted.
type GarbageRequest struct {
	// Delete deletes; otherwise it is only counted.
	Delete bool
	// Compiled is for compiled code as well.
	Compiled bool
}

// CollectGarbage deletes what the home does not need. All that is lost by it can be made
// again, but for recordings that the settings say are not to be kept.
func (s *Service) CollectGarbage(ctx context.Context, by approval.Principal, q GarbageRequest) (Garbage, error) {
	var g Garbage
	if err := approval.CheckPrincipal(by); err != nil {
		return g, err
	}
	err := s.CatchUp(ctx)
	if err != nil {
		return g, err
	}
	dry := !q.Delete
	if g.Packages, err = s.Installer.Sweep(ctx, dry); err != nil {
		return g, err
	}
	if g.Recordings, g.RecordingBytes, err = s.Recordings.Prune(dry); err != nil {
		return g, err
	}
	if !dry {
		if err := s.Sessions.Sweep(ctx); err != nil {
			return g, err
		}
	}
	if g.Packed, err = s.History.Pack(ctx, dry); err != nil {
		return g, err
	}
	before := time.Now().Add(-abandoned)
	if g.Downloads, err = g.clear(s.path("cache", "downloads"), before, dry); err != nil || !q.Compiled {
		return g, err
	}
	g.Compiled, err = g.clear(s.path("cache", "compiled"), time.Now(), dry)
	return g, err
}

// clear deletes the files in a directory that were last written before a time.
func (g *Garbage) clear(dir string, before time.Time, dry bool) (int, error) {
	n := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // nothing was kept, or another command was first
			return nil
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil || info.ModTime().After(before) {
			return nil
		}
		n, g.Bytes = n+1, g.Bytes+info.Size()
		if dry {
			return nil
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
	if err != nil {
		return n, fmt.Errorf("clear %s: %w", dir, err)
	}
	return n, nil
}
