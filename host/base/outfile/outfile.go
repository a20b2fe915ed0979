// Package outfile writes files outside of the home, where a person wants them.
package outfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/skillet-run/skillet/host/base/fault"
)

// Options say how a file is written.
type Options struct {
	// Mode is that of a new file, before the process's mask; 0 means 0600.
	Mode fs.FileMode
	// Over overwrites an existing file, which otherwise is a [fault.KindConflict]
	// error.
	Over bool
}

// Check refuses, with a [fault.KindConflict] error, a path that [Write] would not write to.
func Check(path string, over bool) error {
	switch st, err := os.Lstat(path); {
	case err != nil:
		return nil
	case st.IsDir():
		return fault.Errorf(fault.KindConflict, "%s is a directory", path).WithHint("name a file")
	case !over:
		return fault.Errorf(fault.KindConflict, "%s exists already", path).WithHint("name another file, or write over it with %s", fault.SetField(fault.FieldForce))
	case !st.Mode().IsRegular():
		return fault.Errorf(fault.KindConflict, "%s is not a regular file", path).WithHint("name another file")
	}
	return nil
}

// Write writes a file, and returns its size in bytes. It appears whole or not at all: what
// is written is in PATH.part until then.
func Write(path string, o Options, write func(io.Writer) error) (int64, error) {
	if o.Mode == 0 {
		o.Mode = 0o600
	}
	if err := Check(path, o.Over); err != nil {
		return 0, err
	}
	f, err := os.OpenFile(path+".part", os.O_WRONLY|os.O_CREATE|os.O_EXCL, o.Mode)
	if errors.Is(err, fs.ErrExist) {
		return 0, fault.Errorf(fault.KindConflict, "%s.part exists: another export is at work, or one was cut short", path).WithHint("delete it, or name another file")
	}
	if err != nil {
		return 0, fmt.Errorf("write %s: %w", path, err)
	}
	defer os.Remove(f.Name())
	w := bufio.NewWriter(f)
	if err := errors.Join(write(w), w.Flush()); err != nil {
		return 0, errors.Join(err, f.Close())
	}
	st, err := f.Stat()
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return 0, fmt.Errorf("write %s: %w", path, err)
	}
	return st.Size(), os.Rename(f.Name(), path)
}
