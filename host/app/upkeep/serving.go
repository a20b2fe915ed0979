package upkeep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/base/store/atomicfile"
	"github.com/skillet-run/skillet/host/base/store/filelock"
	"github.com/skillet-run/skillet/host/record/approval"
)

// A home is served by one process at a time, which has a lock as long. What it says of
// itself is for people, and is true only while the lock is held.
const (
	servingLock = "serve.lock"
	servingFile = "serve.json"
	servingSock = "serve.sock"
)

// Serving says which process serves a home.
type Serving struct {
	PID int `json:"pid"`
	// Since is when it began.
	Since time.Time `json:"since"`
	// Address is where it serves HTTP; empty while it begins.
	Address string `json:"address,omitempty"`
	// Socket is the path of the local socket; empty for none.
	Socket string `json:"socket,omitempty"`
}

// words say who serves a home.
func (s Serving) words() string {
	text := "another process serves the home"
	if s.PID != 0 {
		text = fmt.Sprintf("process %d serves the home since %s", s.PID, s.Since.Local().Format(time.DateTime))
	}
	if s.Address != "" {
		text += ", at " + s.Address
	}
	return text
}

// A Claim is the right to serve a home.
type Claim struct {
	home string
	lock *filelock.Lock
	once sync.Once
}

// Claim makes this process the one that serves the home, until the claim is released. When
// another one does, that is a [fault.KindConflict] error that names it. Other commands go
// on sharing the home, but for those that replace its store or repair its audit log.
func (s *Service) Claim(ctx context.Context, by approval.Human) (*Claim, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return nil, err
	}
	lock, err := filelock.Acquire(ctx, s.path(servingLock), time.Second) // who only looks has it for a moment
	if errors.Is(err, filelock.ErrHeld) && ctx.Err() == nil {
		return nil, fault.Errorf(fault.KindConflict, "%s", served(s.Home).words()).WithHint("end that process first, or use it")
	}
	if err != nil {
		return nil, err
	}
	return &Claim{home: s.Home, lock: lock}, nil
}

// Announce says where the home is served.
func (c *Claim) Announce(address, socket string) (Serving, error) {
	s := Serving{PID: os.Getpid(), Since: time.Now().UTC().Truncate(time.Second), Address: address, Socket: socket}
	b, err := json.Marshal(s)
	if err != nil {
		return s, err
	}
	return s, atomicfile.Write(filepath.Join(c.home, servingFile), append(b, '\n'))
}

// SocketOf is where the local socket of a home is, if there is a service.
func SocketOf(home string) string { return filepath.Join(home, servingSock) }

// Socket is where the local socket of the service is. What a service that was killed left
// there is deleted.
func (c *Claim) Socket() (string, error) {
	path := SocketOf(c.home)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return path, nil
}

// Release lets another process serve the home. It may be called again.
func (c *Claim) Release() (err error) {
	c.once.Do(func() {
		if err = os.Remove(filepath.Join(c.home, servingFile)); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		err = errors.Join(err, c.lock.Release())
	})
	return err
}

// ServedBy says which process serves a home, and whether one does. It opens nothing else of
// the home, which may be missing.
func ServedBy(ctx context.Context, home string) (s Serving, ok bool, err error) {
	held, err := isServed(ctx, home)
	if err != nil || !held {
		return s, false, err
	}
	return served(home), true, nil
}

// isServed reports whether a process serves the home.
func isServed(ctx context.Context, home string) (bool, error) {
	path := filepath.Join(home, servingLock)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	lock, err := filelock.AcquireShared(ctx, path, 0)
	if errors.Is(err, filelock.ErrHeld) && ctx.Err() == nil {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return false, lock.Release()
}

// served is what the process that serves a home said of itself.
func served(home string) (s Serving) {
	b, err := os.ReadFile(filepath.Join(home, servingFile))
	if err == nil {
		_ = json.Unmarshal(b, &s) // what cannot be read is left out
	}
	return s
}

// Alone refuses, with a [fault.KindConflict] error, what nobody may do to a home that is
// served, such as [Service.Rebuild]: whoever asks a person about it first asks here.
func (s *Service) Alone(ctx context.Context, by approval.Principal) error {
	if err := approval.CheckPrincipal(by); err != nil {
		return err
	}
	return alone(ctx, s.Home)
}

func alone(ctx context.Context, home string) error {
	held, err := isServed(ctx, home)
	if err != nil || !held {
		return err
	}
	return fault.Errorf(fault.KindConflict, "this needs the home alone, and %s", served(home).words()).WithHint("end that process first")
}
