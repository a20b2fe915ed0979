// Package openfile opens files that a person named. Such a file can be a pipe that
// nobody writes to, where opening and reading wait for ever, so it can be given up.
package openfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// ErrNotRegular means that a path names a directory, a pipe or a device where a regular
// file is wanted.
var ErrNotRegular = errors.New("not a regular file")

// ErrTooLarge means that a file has more bytes than whoever reads it takes.
var ErrTooLarge = errors.New("too large")

// A File is a file open for reading. Its reads end with the context it was opened for.
type File struct {
	*os.File
	ctx  context.Context
	stop func() bool
}

// Open opens a file for reading, which may be a pipe. Opening and reading a pipe wait for
// whoever writes to it, and fail with the error of ctx when that is done.
func Open(ctx context.Context, path string) (*File, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if st.Mode()&fs.ModeNamedPipe == 0 {
		f, err := os.Open(path)
		return file(ctx, f, err)
	}
	type opened struct {
		f   *os.File
		err error
	}
	done := make(chan opened, 1)
	go func() {
		f, err := os.Open(path)
		done <- opened{f, err}
	}()
	select {
	case o := <-done:
		return file(ctx, o.f, o.err)
	case <-ctx.Done():
		// The open goes on until somebody writes to the pipe, or the process ends.
		go func() {
			if o := <-done; o.err == nil {
				o.f.Close()
			}
		}()
		return nil, fmt.Errorf("open %s, a pipe that nobody writes to: %w", path, ctx.Err())
	}
}

func file(ctx context.Context, f *os.File, err error) (*File, error) {
	if err != nil {
		return nil, err
	}
	// Only pipes and the like take a deadline, and only those can wait for long.
	stop := context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Unix(1, 0)) })
	return &File{f, ctx, stop}, nil
}

// Read reads, and fails with the error of the context when that is done.
func (f *File) Read(b []byte) (int, error) {
	n, err := f.File.Read(b)
	if errors.Is(err, os.ErrDeadlineExceeded) && f.ctx.Err() != nil {
		err = f.ctx.Err()
	}
	return n, err
}

// WriteTo copies through Read, so that it ends with the context as well.
func (f *File) WriteTo(w io.Writer) (int64, error) {
	return io.Copy(w, struct{ io.Reader }{f})
}

// Close closes the file.
func (f *File) Close() error {
	f.stop()
	return f.File.Close()
}

// Read reads a file of at most limit bytes, which may be a pipe, see [Open]. It fails with
// [ErrTooLarge] when the file has more.
func Read(ctx context.Context, path string, limit int64) ([]byte, error) {
	f, err := Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, path, limit)
}

// ReadRegular reads a regular file of at most limit bytes. Anything else is not waited
// for, and fails with [ErrNotRegular]; a longer file fails with [ErrTooLarge].
func ReadRegular(path string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %w", path, ErrNotRegular)
	}
	return readAll(f, path, limit)
}

func readAll(r io.Reader, path string, limit int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > limit {
		return nil, fmt.Errorf("%s: %w: it has more than %d bytes", path, ErrTooLarge, limit)
	}
	return b, nil
}
