// Package session keeps the sessions of skills: state with a name, that one call
// of a skill leaves to the next.
//
// A session is one file, which is replaced as a whole after each call: a process
// that is killed leaves the state before the call, or the one after it. Calls of
// one session take turns, in all processes that have the home open. A session
// belongs to whoever opened it and to one version of one skill, ends when nobody
// called it for a while, and is bounded in size, as all of them are together.
//
// The directory:
//
//	LOCK                            is held while anything below is looked at or changed
//	OWNER/NAME.WHOSE.session        a session
//	OWNER/NAME.WHOSE.turn           is held by the call that goes on with it
//	OWNER/NAME.WHOSE.next           what it will be after the call
//
// OWNER is skill/SKILL or dev/SKILL, WHOSE the beginning of the SHA-256 of who it
// belongs to, in hexadecimal digits.
//
// The package refuses to know what the state is, what a skill may do, and who may
// use whose session.
package session

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/base/store/filelock"
	"github.com/skillet-run/skillet/internal/lazyregexp"
	"github.com/skillet-run/skillet/manifests"
)

// What can be wrong with a session. The errors that wrap these are [fault.Error]s.
var (
	// ErrBusy: another call goes on with it. [fault.KindLimit].
	ErrBusy = errors.New("in use by another call")
	// ErrDamaged: the file is not what was written. [fault.KindVerification].
	ErrDamaged = errors.New("the file of the session is damaged")
	// ErrOld: the file is of an earlier state than the last call left, or of a session
	// that was closed. It is [ErrDamaged], too.
	ErrOld = fmt.Errorf("%w: it was put back, and is older than what the last call left", ErrDamaged)
	// ErrVersion: it belongs to another version of the skill. [fault.KindConflict].
	ErrVersion = errors.New("the session belongs to another version of the skill")
	// ErrEnded: it ended, and its state was kept. [fault.KindConflict].
	ErrEnded = errors.New("the session has ended")
	// ErrNotFound: there is none. [fault.KindNotFound].
	ErrNotFound = errors.New("no such session")
	// ErrLimit: there are too many, or too much is in them. [fault.KindLimit].
	ErrLimit = errors.New("limit of sessions reached")
	// ErrClosed: it was closed while the call ran, and what the call left is gone.
	ErrClosed = errors.New("the session was closed meanwhile")
)

// A Key names a session.
type Key struct {
	// Namespace is where the skill keeps what it keeps: "skill/NAME" or "dev/NAME".
	Namespace string
	// Owner is who the session belongs to: "human:ada".
	Owner string
	Name  string
}

// Skill is the name of the skill.
func (k Key) Skill() string { return k.Namespace[strings.LastIndexByte(k.Namespace, '/')+1:] }

// String is SKILL/NAME.
func (k Key) String() string { return k.Skill() + "/" + k.Name }

var (
	sessionName = lazyregexp.New(`^[a-z0-9][a-z0-9._-]{0,63}$`)
	namespace   = lazyregexp.New(`^(skill|dev)/[a-z0-9][a-z0-9._-]{0,127}$`)
)

// CheckName returns a [fault.KindUsage] error if name is not a name for a session.
func CheckName(name string) error {
	if sessionName().MatchString(name) {
		return nil
	}
	return fault.Errorf(fault.KindUsage, "%q is not a name for a session", name).
		WithHint("use up to 64 lower-case letters, digits and . _ -, beginning with a letter or digit, such as work")
}

// base is the path of the files of a session, without what tells them apart.
func (k Key) base(dir string) (string, error) {
	if !namespace().MatchString(k.Namespace) || strings.Contains(k.Namespace, "..") {
		return "", fmt.Errorf("session %s: %q is not a place", k, k.Namespace)
	}
	if err := CheckName(k.Name); err != nil {
		return "", err
	}
	return filepath.Join(dir, filepath.FromSlash(k.Namespace), k.Name+"."+whose(k.Owner)), nil
}

func whose(owner string) string {
	sum := sha256.Sum256([]byte(owner))
	return hex.EncodeToString(sum[:6])
}

// Terms are what a version of a skill says of its sessions.
type Terms struct {
	Version string
	Digest  manifests.Digest
	// Timeout is how long a session lasts without a call.
	Timeout time.Duration
	// Max is how many one owner may have of the skill.
	Max int
	// Persist says that it outlasts the process; without it the session is in memory
	// alone.
	Persist bool
	// Discard says that a session that ended is deleted; otherwise it waits to be
	// resumed, or closed.
	Discard bool
}

// discards reports whether an ended session is deleted. One in memory alone is.
func (t Terms) discards() bool { return t.Discard || !t.Persist }

// Settings bound all sessions. Zero fields mean the defaults.
type Settings struct {
	// Bytes is the most that the state of one may take, and Total that of all.
	Bytes, Total int64
	// LockWait is how long a command waits for another that looks at the sessions.
	LockWait time.Duration
}

// The defaults of Settings.
const (
	DefaultBytes    = 64 << 20
	DefaultTotal    = 1 << 30
	DefaultLockWait = 30 * time.Second
)

// liveBytes is how much state of sessions is kept in memory, beside the files, for
// the next call in this process.
const liveBytes = 128 << 20

// A Store has the sessions of a home. It is safe for concurrent use, by several
// processes too.
type Store struct {
	log      hclog.Logger
	dir      string
	key      []byte
	settings Settings
	numbers  store.KV // nil for none

	mu   sync.Mutex
	live map[Key]*live
}

// Open returns the sessions in a directory, which is made when it is needed. key
// seals the files.
func Open(log hclog.Logger, dir string, key []byte, s Settings) *Store {
	s.Bytes, s.Total, s.LockWait = cmp.Or(s.Bytes, DefaultBytes), cmp.Or(s.Total, DefaultTotal), cmp.Or(s.LockWait, DefaultLockWait)
	return &Store{log: log, dir: dir, key: key, settings: s, live: map[Key]*live{}}
}

// Remember keeps in kv which state of each session is the last one. Without it an older
// file that is put back is accepted.
func (s *Store) Remember(kv store.KV) { s.numbers = kv }

// look runs f while nobody else looks at the sessions or changes them.
func (s *Store) look(ctx context.Context, f func() error) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("open the sessions: %w", err)
	}
	l, err := filelock.Acquire(ctx, filepath.Join(s.dir, "LOCK"), s.settings.LockWait)
	if err != nil {
		return fmt.Errorf("open the sessions: %w", err)
	}
	return errors.Join(f(), l.Release())
}
