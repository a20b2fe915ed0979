package jail

import (
	"errors"
	"fmt"
	"io/fs"
)

// refusal is an error that is also fs.ErrPermission.
type refusal string

func (r refusal) Error() string        { return string(r) }
func (r refusal) Is(target error) bool { return target == fs.ErrPermission }

// Refusals of the jail itself. Each is also fs.ErrPermission for errors.Is, and comes wrapped in an
// *fs.PathError (a quota as *QuotaError inside it). A refusal of the guard is the guard's own error.
var (
	// ErrEscape: the path is outside every root, or a link leads out of its root.
	ErrEscape error = refusal("path is outside the granted roots")
	// ErrNotRegular: a FIFO, device or socket, which are never opened, or a symbolic link where a file
	// or directory is needed.
	ErrNotRegular error = refusal("not a regular file or directory")
	// ErrReadOnly: a change in a root without Write.
	ErrReadOnly error = refusal("root is read-only")
	// ErrLinked: opening for writing a file that has other names.
	ErrLinked error = refusal("file has several hard links and cannot be written in place")
	// ErrChanging: somebody replaced a part of the path over and over while it was walked.
	ErrChanging error = refusal("path keeps changing while it is opened")
)

var (
	// ErrQuota is every *QuotaError.
	ErrQuota = errors.New("quota exceeded")
	// ErrName: an empty, relative or over-long path, or one with a NUL byte.
	ErrName = fmt.Errorf("%w path name", fs.ErrInvalid)
	// ErrCrossRoot: renaming from one root to another.
	ErrCrossRoot = errors.New("cannot rename from one root to another")
	// ErrLoop: more than 40 links in one path.
	ErrLoop = errors.New("too many links")
	// ErrIsDir: a file was needed and there is a directory.
	ErrIsDir = errors.New("is a directory")
	// ErrNotDir: a directory was needed and there is something else.
	ErrNotDir = errors.New("not a directory")
)

// QuotaError says which quota an access would have exceeded. errors.Is(err, ErrQuota) holds for it.
type QuotaError struct {
	What  string // "open files", "file size", "bytes written", "files created" or "directory entries"
	Limit int64  // the quota, in bytes or in pieces
}

// Error returns the text, for example "file size quota of 1048576 exceeded".
func (e *QuotaError) Error() string { return fmt.Sprintf("%s quota of %d exceeded", e.What, e.Limit) }

// Is reports true for ErrQuota.
func (e *QuotaError) Is(target error) bool { return target == ErrQuota }
