package badgerstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/store"
)

// Report is what [Verify] found.
type Report struct {
	Entries uint64       // entries that were read and are as they were written
	Commits uint64       // transactions
	Closed  bool         // the store was closed cleanly
	Files   []FileReport // Badger's files
	Blobs   int          // blobs that match their digests
	Damage  []string     // everything that is damaged, for people; empty when nothing is
}

// Verify reads the whole store in dir, which no process may have open
// meanwhile ([Options.LockWait]), and changes nothing. The report is complete
// also when there is an error: errors.Is(err, [store.ErrDamaged]) when
// anything is damaged, fs.ErrNotExist when there is no store.
func Verify(ctx context.Context, log hclog.Logger, dir string, o Options) (Report, error) {
	p := newPlace(log, dir, o)
	if _, err := os.Stat(dir); err != nil {
		return Report{}, fmt.Errorf("verify store: %w", err)
	}
	l, err := p.lock(ctx, true)
	if err != nil {
		return Report{}, fmt.Errorf("verify store %s: %w", dir, err)
	}
	var rep Report
	err = errors.Join(p.verifyDB(ctx, &rep), p.verifyBlobs(ctx, &rep), l.Release())
	if err != nil {
		err = fmt.Errorf("verify store %s: %w", dir, err)
	}
	return rep, err
}

// note adds damage to the report and hands the error on.
func (r *Report) note(err error) error {
	var damage *DamageError
	if errors.As(err, &damage) {
		r.Damage = append(r.Damage, damage.What)
	} else if errors.Is(err, store.ErrDamaged) {
		r.Damage = append(r.Damage, err.Error())
	}
	return err
}

func (p *place) verifyDB(ctx context.Context, rep *Report) error {
	h, err := p.readHead()
	if errors.Is(err, fs.ErrNotExist) && !p.exists() {
		return fmt.Errorf("there is no store: %w", fs.ErrNotExist)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = p.damage(err, "%s is missing", headName)
	}
	if err != nil {
		return rep.note(err)
	}
	if err := p.checkHead(h); err != nil {
		return err
	}
	sealed := p.readSeal()
	if rep.Files, err = p.compare(sealed, true); err != nil {
		return err
	}
	rep.Closed = isClean(sealed, rep.Files)
	if !rep.Closed && !p.swapping() && h.Commits == 0 {
		return nil // half made, and nothing was acknowledged
	}
	found, err := p.verifyEntries(ctx, h, rep)
	rep.Entries, rep.Commits = found.count, found.commits
	return rep.note(err)
}

// verifyEntries examines a copy, so that nothing of the store changes.
func (p *place) verifyEntries(ctx context.Context, h head, rep *Report) (tally, error) {
	if p.swapping() {
		if err := p.finishSwap(); err != nil {
			return tally{}, err
		}
	}
	found, err := p.examineCopy(ctx, h, rep.Files)
	return found, errors.Join(err, os.RemoveAll(p.path(nextName)))
}

func (p *place) verifyBlobs(ctx context.Context, rep *Report) error {
	if _, err := os.Stat(p.options.Blobs); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	blobs, err := store.DirBlobs(p.options.Blobs)
	if err != nil {
		return err
	}
	digests, err := blobs.List(ctx)
	for _, d := range digests {
		_, failed := blobs.Get(ctx, d)
		if failed == nil {
			rep.Blobs++
		}
		err = errors.Join(err, rep.note(failed))
	}
	return err
}
