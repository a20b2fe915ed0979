package transfer

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/base/store/filelock"
)

// Progress is told how many bytes came, each time some did.
type Progress func(n int64)

// A Blob says which bytes are wanted.
type Blob struct {
	// Digest is "sha256:" and 64 lower-case hexadecimal digits.
	Digest string
	// Size is how many bytes it has; -1 when nobody said.
	Size int64
	// Max is the most bytes that are accepted when nobody said how many.
	Max int64
}

func (b Blob) limit() int64 {
	if b.Size >= 0 {
		return b.Size
	}
	return b.Max
}

// Request asks for a blob from the byte at offset on: with a Range header when
// offset is not 0.
type Request func(ctx context.Context, offset int64) (*http.Response, error)

// Downloads keeps the beginnings of large blobs, so that a download that was
// cut short goes on where it stopped, also in another process. What it keeps is
// no more than a hint: every byte counts for the digest. The zero value keeps
// nothing.
type Downloads struct{ dir string }

// NewDownloads keeps beginnings in dir, which it makes when it needs it.
func NewDownloads(dir string) Downloads { return Downloads{dir} }

const (
	// kept is the size from which on the beginning of a blob is kept.
	kept = 1 << 20
	// forgotten is the age at which a beginning is deleted.
	forgotten = 7 * 24 * time.Hour
	// attempts is how often one blob is asked for while bytes keep coming.
	attempts = 5
	pause    = 200 * time.Millisecond
)

// Get downloads a blob and checks its digest and size. The error wraps
// [ErrTampered], [ErrTooLarge] or another error of this package.
func (d Downloads) Get(ctx context.Context, b Blob, ask Request, progress Progress) ([]byte, error) {
	part := d.begin(ctx, b)
	defer part.close()
	content, err := part.fetch(ctx, b, ask, progress)
	if errors.Is(err, ErrTampered) && part.resumed > 0 { // what was kept may be at fault
		part.restart()
		content, err = part.fetch(ctx, b, ask, nil)
	}
	if err == nil || errors.Is(err, ErrTampered) || errors.Is(err, ErrTooLarge) {
		part.forget()
	}
	return content, err
}

// A part is as much of a blob as is there.
type part struct {
	content bytes.Buffer
	hash    hash.Hash
	// resumed is how much of it an earlier download left.
	resumed int64
	// whole says that the server could not go on where we were.
	whole bool

	file *os.File // nil when nothing is kept
	lock *filelock.Lock
}

// begin finds what is there of a blob. When it cannot be kept, because another
// process is at it or the disk does not let us, it is downloaded all the same.
func (d Downloads) begin(ctx context.Context, b Blob) *part {
	p := &part{hash: sha256.New()}
	if d.dir == "" || b.limit() < kept {
		return p
	}
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return p
	}
	d.sweep()
	path := filepath.Join(d.dir, strings.ReplaceAll(b.Digest, ":", "-")+".part")
	lock, err := filelock.Acquire(ctx, path+".lock", 0)
	if err != nil {
		return p
	}
	p.lock = lock
	if p.file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		p.file = nil
		return p
	}
	p.load(b)
	return p
}

// load reads what an earlier download left.
func (p *part) load(b Blob) {
	info, err := p.file.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > b.limit() {
		p.restart()
		return
	}
	if n, err := io.Copy(io.MultiWriter(&p.content, p.hash), io.LimitReader(p.file, b.limit())); err == nil {
		p.resumed = n
		return
	}
	p.restart()
}

// restart forgets all that came.
func (p *part) restart() {
	p.content.Reset()
	p.hash.Reset()
	p.resumed = 0
	if p.file == nil {
		return
	}
	_, err := p.file.Seek(0, io.SeekStart)
	if errors.Join(err, p.file.Truncate(0)) != nil {
		p.leave()
	}
}

// leave stops keeping what comes.
func (p *part) leave() {
	p.file.Close()
	p.file = nil
}

// Write adds what came.
func (p *part) Write(b []byte) (int, error) {
	p.content.Write(b)
	p.hash.Write(b)
	if p.file != nil {
		if _, err := p.file.Write(b); err != nil { // a full disk: then it is not kept
			p.leave()
		}
	}
	return len(b), nil
}

// forget deletes what was kept.
func (p *part) forget() {
	if p.file != nil {
		os.Remove(p.file.Name())
	}
	if p.lock != nil && p.file != nil {
		os.Remove(p.file.Name() + ".lock")
	}
}

func (p *part) close() {
	if p.file != nil {
		p.leave()
	}
	if p.lock != nil {
		p.lock.Release()
	}
}

// fetch asks for the rest of a blob until it is there; as long as bytes keep
// coming it asks again.
func (p *part) fetch(ctx context.Context, b Blob, ask Request, progress Progress) ([]byte, error) {
	if progress != nil && p.resumed > 0 {
		progress(p.resumed)
	}
	for try := 1; ; try++ {
		if b.Size >= 0 && int64(p.content.Len()) == b.Size && (b.Size > 0 || try > 1) {
			break
		}
		before := p.content.Len()
		done, err := p.more(ctx, b, ask, progress)
		if err == nil && done {
			break
		}
		again := p.content.Len() > before && try < attempts
		if err != nil && (!again || !transient(err)) || err == nil && !again {
			return nil, p.incomplete(b, err)
		}
		if err := sleep(ctx, pause); err != nil {
			return nil, err
		}
	}
	return p.check(b)
}

// more asks once, and reads what comes; done when the answer came to its end.
func (p *part) more(ctx context.Context, b Blob, ask Request, progress Progress) (done bool, err error) {
	offset := int64(p.content.Len())
	resp, err := ask(ctx, offset)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	switch {
	case offset > 0 && !p.whole && (resp.StatusCode == http.StatusRequestedRangeNotSatisfiable || resp.StatusCode == http.StatusPartialContent && !startsAt(resp, offset)):
		p.whole = true
		p.restart()
		resp.Body.Close()
		return p.more(ctx, b, ask, progress)
	case resp.StatusCode == http.StatusPartialContent && !startsAt(resp, offset):
		return false, fmt.Errorf("%w: it answers another range than was asked for", ErrProtocol)
	case resp.StatusCode == http.StatusOK && offset > 0: // it does not know ranges
		p.restart()
		offset = 0
	}
	if err := Status(resp); err != nil {
		return false, err
	}
	if err := announced(resp, b, offset); err != nil {
		return false, err
	}
	left := b.limit() - offset
	n, err := io.Copy(io.MultiWriter(p, progress), io.LimitReader(resp.Body, left))
	if err == nil && n == left {
		err = atEnd(resp.Body, b)
	}
	complete := b.Size < 0 || offset+n == b.Size
	if err == nil && !complete && resp.ContentLength >= 0 && n == resp.ContentLength {
		err = fmt.Errorf("%w: it has %d bytes, and should have %d", ErrTampered, offset+n, b.Size)
	}
	return err == nil && complete, err
}

// Write tells how many bytes came.
func (f Progress) Write(b []byte) (int, error) {
	if f != nil {
		f(int64(len(b)))
	}
	return len(b), nil
}

// announced refuses an answer whose length cannot be the blob's.
func announced(resp *http.Response, b Blob, offset int64) error {
	n := resp.ContentLength
	switch {
	case n < 0:
		return nil
	case b.Size >= 0 && offset+n != b.Size:
		return fmt.Errorf("%w: it says it has %d bytes, and should have %d", ErrTampered, offset+n, b.Size)
	case offset+n > b.limit():
		return fmt.Errorf("%w: it has %d bytes, at most %d are accepted", ErrTooLarge, offset+n, b.limit())
	}
	return nil
}

// atEnd demands that nothing follows the last byte that is accepted.
func atEnd(r io.Reader, b Blob) error {
	n, err := io.ReadFull(r, make([]byte, 1))
	switch {
	case n > 0 && b.Size >= 0:
		return fmt.Errorf("%w: it has more than its %d bytes", ErrTampered, b.Size)
	case n > 0:
		return fmt.Errorf("%w: it has more than the %d bytes that are accepted", ErrTooLarge, b.limit())
	case errors.Is(err, io.EOF):
		return nil
	}
	return err
}

// startsAt reports whether an answer is the range that begins at offset
// (RFC 9110, section 14.4).
func startsAt(resp *http.Response, offset int64) bool {
	text, ok := strings.CutPrefix(resp.Header.Get("Content-Range"), "bytes ")
	first, _, dash := strings.Cut(text, "-")
	n, err := strconv.ParseInt(first, 10, 64)
	return ok && dash && err == nil && n == offset
}

// check demands that what came has the digest.
func (p *part) check(b Blob) ([]byte, error) {
	if have := "sha256:" + hex.EncodeToString(p.hash.Sum(nil)); have != b.Digest && b.Digest != "" {
		return nil, fmt.Errorf("%w: its digest is %s, and should be %s", ErrTampered, have, b.Digest)
	}
	return p.content.Bytes(), nil
}

// incomplete is the error of a download that ended too soon.
func (p *part) incomplete(b Blob, err error) error {
	if err == nil {
		err = fmt.Errorf("%w: the answer ended early", ErrUnreachable)
	}
	err = Classify(err)
	if n := p.content.Len(); n > 0 && b.Size > 0 && transient(err) {
		return fmt.Errorf("%w (after %d of %d bytes)", err, n, b.Size)
	}
	return err
}

// transient reports whether asking again may help.
func transient(err error) bool {
	err = Classify(err)
	return errors.Is(err, ErrUnreachable) || errors.Is(err, ErrTimeout)
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// sweep deletes beginnings that nobody came back for.
func (d Downloads) sweep() {
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && old(info) {
			os.Remove(filepath.Join(d.dir, e.Name()))
		}
	}
}

func old(info fs.FileInfo) bool { return time.Since(info.ModTime()) > forgotten }

// Limited reads a body of at most limit bytes. The error wraps [ErrTooLarge].
func Limited(r io.Reader, limit int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, Classify(err)
	}
	if int64(len(b)) > limit {
		return nil, fmt.Errorf("%w: it has more than the %d bytes that are accepted", ErrTooLarge, limit)
	}
	return b, nil
}
