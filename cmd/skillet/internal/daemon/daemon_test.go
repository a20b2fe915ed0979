package daemon

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/skillet-run/skillet/internal/unit"
)

var service = unit.Service{Program: "/usr/bin/skillet", Arguments: []string{"serve"}, Home: "/home/ada/.skillet"}

// recorded is the manager of a system whose commands are written down, and fail from the one named on.
func recorded(t *testing.T, failing string) (*Manager, *[]string) {
	t.Helper()
	m, ran := systemd(false, t.TempDir()), &[]string{}
	m.run = func(_ context.Context, words []string) error {
		line := strings.Join(words, " ")
		*ran = append(*ran, line)
		if failing != "" && strings.Contains(line, failing) {
			return errors.New("refused")
		}
		return nil
	}
	return m, ran
}

func TestInstallAndUninstall(t *testing.T) {
	m, ran := recorded(t, "")
	if err := m.Uninstall(t.Context()); !errors.Is(err, ErrNotInstalled) {
		t.Errorf("uninstall of nothing: %v, want ErrNotInstalled", err)
	}
	if err := m.Install(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(m.Path); err != nil || string(text) != service.Systemd() {
		t.Errorf("the unit is %q, %v", text, err)
	}
	if err := m.Install(t.Context(), service); !errors.Is(err, ErrInstalled) {
		t.Errorf("install again: %v, want ErrInstalled", err)
	}
	if err := m.Uninstall(t.Context()); err != nil {
		t.Fatal(err)
	}
	if m.Installed() {
		t.Error("the unit is still there")
	}
	want := []string{
		"systemctl --user daemon-reload", "systemctl --user enable --now skillet.service",
		"systemctl --user disable --now skillet.service", "systemctl --user daemon-reload",
	}
	if !slices.Equal(*ran, want) {
		t.Errorf("ran %q, want %q", *ran, want)
	}
}

// A service that does not start is not left behind, so that it can be installed again.
func TestInstallOfWhatDoesNotStart(t *testing.T) {
	m, _ := recorded(t, "enable")
	if err := m.Install(t.Context(), service); err == nil {
		t.Error("a service that does not start was installed")
	}
	if m.Installed() {
		t.Error("its unit stayed")
	}
}

// listen is a socket as systemd gives one to a service.
func listen(t *testing.T) *net.UnixConn {
	t.Helper()
	dir, err := os.MkdirTemp("", "notify") // the path of a socket has to be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Skip("no datagram sockets here: ", err)
	}
	t.Cleanup(func() { c.Close() })
	t.Setenv("NOTIFY_SOCKET", path)
	return c
}

func next(t *testing.T, c *net.UnixConn) string {
	t.Helper()
	b := make([]byte, 256)
	if err := c.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	n, err := c.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(b[:n])
}

func TestReady(t *testing.T) {
	c := listen(t)
	t.Setenv("WATCHDOG_USEC", "20000")
	t.Setenv("WATCHDOG_PID", strconv.Itoa(os.Getpid()))
	asked := 0
	ctx, end := context.WithCancel(t.Context())
	stop := Ready(ctx, func(context.Context) error {
		if asked++; asked == 1 {
			return errors.New("not well")
		}
		return nil
	})
	if got := next(t, c); got != "READY=1" {
		t.Fatalf("told %q, want READY=1", got)
	}
	if got := next(t, c); got != "WATCHDOG=1" || asked < 2 {
		t.Errorf("told %q after %d questions, want WATCHDOG=1 only when all is well", got, asked)
	}
	end() // as a signal does, before the service is told to stop
	stop()
	stop()
	for {
		switch got := next(t, c); got {
		case "WATCHDOG=1": // on its way already
		case "STOPPING=1":
			return
		default:
			t.Fatalf("told %q, want STOPPING=1", got)
		}
	}
}
