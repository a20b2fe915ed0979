// Package daemon installs skillet as a service of systemd or launchd, and reports to
// systemd whether it is ready and alive.
package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/skillet-run/skillet/internal/unit"
)

// ErrNoManager is returned where neither systemd nor launchd runs.
var ErrNoManager = errors.New("neither systemd nor launchd runs here")

// ErrInstalled is returned when the service is installed already.
var ErrInstalled = errors.New("the service is installed already")

// ErrNotInstalled is returned when the service is not installed.
var ErrNotInstalled = errors.New("the service is not installed")

// A Manager is the service manager of this machine.
type Manager struct {
	// Name is "systemd" or "launchd".
	Name string
	// Path is the file that describes the service to the manager.
	Path string

	text  func(unit.Service) string
	start [][]string // commands that start it now and from then on
	stop  [][]string // commands that stop and disable it
	after [][]string // commands for after the file was removed
	run   func(ctx context.Context, command []string) error
}

// Find returns the manager of this machine: of one person's services, or of the system's,
// which only an administrator may change. It fails with [ErrNoManager] where there is none.
func Find(whole bool) (*Manager, error) {
	config, err := os.UserConfigDir()
	if err != nil && !whole {
		return nil, err
	}
	switch {
	case runtime.GOOS == "darwin":
		return launchd(whole, filepath.Dir(config)), nil
	case exists("/run/systemd/system"):
		return systemd(whole, config), nil
	}
	return nil, ErrNoManager
}

// systemd starts a unit: systemctl(1).
func systemd(whole bool, config string) *Manager {
	dir, control := filepath.Join(config, "systemd", "user"), []string{"systemctl", "--user"}
	if whole {
		dir, control = "/etc/systemd/system", []string{"systemctl"}
	}
	with := func(args ...string) []string { return append(control[:len(control):len(control)], args...) }
	return &Manager{
		Name: "systemd", Path: filepath.Join(dir, "skillet.service"), text: unit.Service.Systemd, run: command,
		start: [][]string{with("daemon-reload"), with("enable", "--now", "skillet.service")},
		stop:  [][]string{with("disable", "--now", "skillet.service")},
		after: [][]string{with("daemon-reload")},
	}
}

// launchd starts an agent of a person, or a daemon: launchctl(1).
func launchd(whole bool, library string) *Manager {
	dir, domain := filepath.Join(library, "LaunchAgents"), "gui/"+strconv.Itoa(os.Getuid())
	if whole {
		dir, domain = "/Library/LaunchDaemons", "system"
	}
	path := filepath.Join(dir, "skillet.plist")
	return &Manager{
		Name: "launchd", Path: path, text: unit.Service.Launchd, run: command,
		start: [][]string{{"launchctl", "bootstrap", domain, path}},
		stop:  [][]string{{"launchctl", "bootout", domain + "/skillet"}},
	}
}

func command(ctx context.Context, words []string) error {
	out, err := exec.CommandContext(ctx, words[0], words[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(words, " "), err, bytes.TrimSpace(out))
	}
	return nil
}

// Text is the description of a service as the manager reads it.
func (m *Manager) Text(s unit.Service) string { return m.text(s) }

// Installed reports whether the service is installed.
func (m *Manager) Installed() bool { return exists(m.Path) }

// Install starts the service now, and at each boot or login. If it cannot be started, its file
// is removed again. It fails with [ErrInstalled] if the service is already installed.
func (m *Manager) Install(ctx context.Context, s unit.Service) error {
	if err := os.MkdirAll(filepath.Dir(m.Path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(m.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return ErrInstalled
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(m.text(s))
	if err = errors.Join(err, f.Close()); err == nil {
		err = m.all(ctx, m.start)
	}
	if err == nil {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	_ = m.all(ctx, m.stop) // it may have been started in part, or not at all
	err = errors.Join(err, os.Remove(m.Path))
	_ = m.all(ctx, m.after)
	return err
}

// Uninstall stops the service and removes its file. It fails with [ErrNotInstalled] if the
// service is not installed.
func (m *Manager) Uninstall(ctx context.Context) error {
	if !m.Installed() {
		return ErrNotInstalled
	}
	stopped := m.all(ctx, m.stop)
	if err := os.Remove(m.Path); err != nil {
		return errors.Join(stopped, err)
	}
	return errors.Join(stopped, m.all(ctx, m.after))
}

func (m *Manager) all(ctx context.Context, commands [][]string) error {
	for _, c := range commands {
		if err := m.run(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
