package secret

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/zalando/go-keyring"
)

var (
	// ErrNoEntry means that a keyring has nothing under a name.
	ErrNoEntry = errors.New("the keyring has no such entry")
	// ErrNoKeyring means that this session has no keyring.
	ErrNoKeyring = errors.New("this session has no keyring")
	// ErrLocked means that there is a keyring which does not answer, so that
	// nobody knows what is in it.
	ErrLocked = errors.New("the keyring is locked, or does not answer")
)

// A Keyring keeps short texts by name where who can only write files cannot
// change them. Get and Set fail with [ErrNoEntry], [ErrNoKeyring] or
// [ErrLocked].
type Keyring interface {
	Get(name string) (string, error)
	Set(name, value string) error
}

// SystemKeyring is the keyring of the operating system, for the person whose
// session this is.
func SystemKeyring() Keyring { return system{} }

type system struct{}

// service is what all entries of this program are kept under.
const service = "skillet"

func (system) Get(name string) (string, error) {
	var value string
	err := answered(func() (err error) {
		value, err = keyring.Get(service, name)
		return err
	})
	return value, err
}

func (system) Set(name, value string) error {
	return answered(func() error { return keyring.Set(service, name, value) })
}

// keyringWait is how long a keyring may take: a person may have to type a
// password.
const keyringWait = 2 * time.Minute

// answered asks the keyring something, and says what its error means.
func answered(ask func() error) error {
	if !hasSession() {
		return ErrNoKeyring
	}
	done := make(chan error, 1)
	go func() { done <- ask() }()
	select {
	case err := <-done:
		return meaning(err)
	case <-time.After(keyringWait):
		return fmt.Errorf("%w (waited %v)", ErrLocked, keyringWait)
	}
}

// hasSession reports whether there is a session that can have a keyring. Where
// there is no message bus the library would start one, on which nothing is
// unlocked.
func hasSession() bool {
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" || os.Getenv("DBUS_SESSION_BUS_ADDRESS") != "" {
		return true
	}
	dir := filepath.Join("/run/user", strconv.Itoa(os.Getuid()))
	for _, name := range []string{"bus", "dbus-session"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// meaning is the error of this package for one of the library's.
func meaning(err error) error {
	var dial *net.OpError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, keyring.ErrNotFound):
		return ErrNoEntry
	case errors.Is(err, keyring.ErrUnsupportedPlatform), errors.As(err, &dial) && dial.Op == "dial", errors.Is(err, fs.ErrNotExist),
		strings.Contains(err.Error(), "not provided by any"): // nobody on the bus keeps secrets
		return ErrNoKeyring
	}
	return fmt.Errorf("%w: %w", ErrLocked, err)
}
