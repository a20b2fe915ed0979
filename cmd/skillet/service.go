package main

import (
	"context"
	"errors"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/cmd/skillet/internal/daemon"
	"github.com/skillet-run/skillet/cmd/skillet/internal/service"
	"github.com/skillet-run/skillet/host/app/upkeep"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/internal/unit"
)

func (t *terminal) serviceCommand() *cli.Command {
	return group("service",
		command("install", append(ofTheMachine(),
			&cli.StringFlag{Name: "account", Usage: "with --system, the account `NAME` that the service runs under, which exists already", Value: "skillet"},
			&cli.BoolFlag{Name: "print", Usage: "print the description of the service, and install nothing"}), t.withoutHome(t.serviceInstall)),
		command("uninstall", ofTheMachine(), t.withoutHome(t.serviceUninstall)),
		command("status", nil, t.withoutHome(t.serviceStatus)))
}

func ofTheMachine() []cli.Flag {
	return []cli.Flag{&cli.BoolFlag{Name: "system", Usage: "for the machine as a whole, which its administrator may do, and not for you"}}
}

// systemHome is the home of the service of a machine.
const systemHome = "/var/lib/skillet"

// wanted is the service that the flags describe.
func (t *terminal) wanted(c *cli.Context) (unit.Service, error) {
	program, err := os.Executable()
	if err != nil {
		return unit.Service{}, err
	}
	s := unit.Service{Program: program, Arguments: append([]string{"serve"}, c.Args().Slice()...)}
	if c.Bool("system") && !c.IsSet("home") {
		s.Home, s.State = systemHome, "skillet"
	} else if s.Home, err = t.home(c); err != nil {
		return s, err
	}
	if !c.Bool("system") {
		return s, nil
	}
	s.User = c.String("account")
	if _, err := user.Lookup(s.User); err != nil && !c.Bool("print") {
		return s, fault.Errorf(fault.KindUsage, "--account %s: this machine has no such account", s.User).
			WithHint("make one, such as with useradd --system --user-group %s", quoteWord(s.User))
	}
	return s, nil
}

func (t *terminal) serviceInstall(ctx context.Context, c *cli.Context) error {
	s, err := t.wanted(c)
	if err != nil {
		return err
	}
	m, err := daemon.Find(c.Bool("system"))
	if c.Bool("print") {
		text := s.Systemd()
		if err == nil {
			text = m.Text(s)
		}
		return t.answer(map[string]string{"text": text}, func() { t.say("%s", strings.TrimSuffix(text, "\n")) })
	}
	if err != nil {
		return serviceError(err)
	}
	if err := m.Install(ctx, s); err != nil {
		return serviceError(err)
	}
	return t.answer(installedService{m.Name, m.Path, s.Home}, func() {
		t.say("%s starts the service of %s: %s", m.Name, plain(s.Home), plain(m.Path))
	})
}

// installedService is what service install and uninstall print.
type installedService struct {
	Manager string `json:"manager"` // "systemd" or "launchd"
	Path    string `json:"path"`
	Home    string `json:"home,omitempty"`
}

func (t *terminal) serviceUninstall(ctx context.Context, c *cli.Context) error {
	m, err := daemon.Find(c.Bool("system"))
	if err == nil {
		err = m.Uninstall(ctx)
	}
	if err != nil {
		return serviceError(err)
	}
	return t.answer(installedService{Manager: m.Name, Path: m.Path}, func() {
		t.say("the service ended, and %s no longer starts it; its home is unchanged", m.Name)
	})
}

// serviceError says what an error of the manager means.
func serviceError(err error) error {
	switch {
	case errors.Is(err, daemon.ErrNoManager):
		return fault.Errorf(fault.KindUsage, "%w", err).WithHint("`skillet service install --print` prints a unit of systemd, and `skillet serve` is what it starts")
	case errors.Is(err, daemon.ErrInstalled):
		return fault.Errorf(fault.KindConflict, "%w", err).WithHint("`skillet service uninstall` first")
	case errors.Is(err, daemon.ErrNotInstalled):
		return fault.Errorf(fault.KindNotFound, "%w", err).WithHint("`skillet service status` says whether a process serves the home")
	case errors.Is(err, os.ErrPermission):
		return fault.Errorf(fault.KindDenied, "%w", err).WithHint("only an administrator may do that; without --system it is for you alone")
	}
	return err
}

// serviceState is what service status prints.
type serviceState struct {
	Home string `json:"home"`
	upkeep.Serving
	// Ready says that the service answers and takes requests.
	Ready bool `json:"ready"`
}

func (t *terminal) serviceStatus(ctx context.Context, c *cli.Context) error {
	home, at, err := t.servedAt(ctx, c)
	if err != nil {
		return err
	}
	ready := answers(ctx, at)
	if err := t.answer(serviceState{home, at, ready == nil}, func() {
		t.say("process %d serves %s since %s, at %s", at.PID, plain(home), at.Since.Local().Format(time.DateTime), at.Address)
	}); err != nil {
		return err
	}
	return ready
}

// answers asks the service whether it takes requests.
func answers(ctx context.Context, at upkeep.Serving) error {
	ctx, stop := context.WithTimeout(ctx, 5*time.Second)
	defer stop()
	conn, err := service.Reach(ctx, at.Socket, at.Address)
	if err != nil {
		return fault.Errorf(fault.KindConflict, "process %d does not answer", at.PID).WithHint("ask again in a moment")
	}
	defer conn.Close()
	if err := conn.Ready(ctx); err != nil {
		return fault.Errorf(fault.KindConflict, "process %d takes no requests: it begins, or is about to end", at.PID).WithHint("ask again in a moment")
	}
	return nil
}

// servedAt is which process serves a home.
func (t *terminal) servedAt(ctx context.Context, c *cli.Context) (home string, at upkeep.Serving, err error) {
	if home, err = t.home(c); err != nil {
		return home, at, err
	}
	at, ok, err := upkeep.ServedBy(ctx, home)
	if err == nil && !ok {
		err = fault.Errorf(fault.KindNotFound, "no process serves %s", plain(home)).
			WithHint("`skillet serve` does, and `skillet service install` has this machine start it")
	}
	return home, at, err
}
