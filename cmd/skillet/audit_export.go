package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/cmd/skillet/internal/cmdline"
	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/base/fault"
)

func (t *terminal) auditExport() *cli.Command {
	return command("export", []cli.Flag{
		&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write to this `FILE`; - for standard output"},
		overFlag(),
		&cli.StringFlag{Name: "since", Usage: "leave out what was before this `TIME`"},
		&cli.StringFlag{Name: "until", Usage: "leave out what was at this `TIME` or later"},
		&cli.BoolFlag{Name: "decisions", Usage: "only decisions"},
		&cli.BoolFlag{Name: "runs", Usage: "only runs"},
	}, t.withHost(t.exportAudit))
}

func (t *terminal) exportAudit(ctx context.Context, c *cli.Context, h *host.Host) error {
	s, err := auditScope(c, time.Now())
	if err != nil {
		return err
	}
	path := c.String("output")
	if path == standardOutput {
		path = ""
	}
	if path == "" && c.Bool("force") {
		return fault.Errorf(fault.KindUsage, "--force replaces a file, and none is named").WithHint("name it with -o FILE, or leave out --force")
	}
	if path == "" && t.outTTY {
		return fault.Errorf(fault.KindUsage, "an export is for files and pipes").WithHint("name a file with -o FILE; `skillet audit` shows the log")
	}
	if path == "" {
		_, err := h.Govern().Audit.Export(ctx, t.person(), t.out, s)
		return err
	}
	sum, err := h.Govern().Audit.ExportFile(ctx, t.person(), govern.ExportFile{Path: path, Over: c.Bool("force"), Scope: s})
	return t.answered(sum, err, func() {
		t.note("wrote %s: %d entries, signed by %s", plain(path), sum.Entries, sum.Key)
		t.note("to verify it: skillet audit verify --export %s --key %s", plain(path), sum.Key)
	})
}

// auditScope is what the flags name of the log.
func auditScope(c *cli.Context, now time.Time) (s govern.ExportScope, err error) {
	for _, log := range []string{"decisions", "runs"} {
		if c.Bool(log) {
			s.Logs = append(s.Logs, log)
		}
	}
	if s.Since, err = moment(c, "since", now); err != nil {
		return s, err
	}
	s.Until, err = moment(c, "until", now)
	return s, err
}

// moment is the time that a flag names; zero when it is not set.
func moment(c *cli.Context, flag string, now time.Time) (time.Time, error) {
	text := c.String(flag)
	if !c.IsSet(flag) {
		return time.Time{}, nil
	}
	if ago, err := longAgo(text); err == nil {
		return now.Add(-ago), nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	at, err := time.ParseInLocation(time.DateOnly, text, time.Local)
	if err != nil {
		return at, fault.Errorf(fault.KindUsage, "--%s %q is not a time", flag, text).WithHint("write a date such as 2026-11-21, a time such as 2026-11-21T18:00:00Z, or how long ago, such as 36h or 30d")
	}
	return at, nil
}

// longAgo reads a duration that is not negative.
func longAgo(text string) (time.Duration, error) {
	d, err := cmdline.Span(text)
	if err == nil && d < 0 {
		err = errors.New("it is negative")
	}
	return d, err
}

func (t *terminal) auditKey() *cli.Command {
	return &cli.Command{
		Name:   "key",
		Flags:  []cli.Flag{&cli.BoolFlag{Name: "pem", Usage: "print it as PEM"}},
		Action: t.withHost(t.showKey),
		Subcommands: []*cli.Command{command("rotate", []cli.Flag{yesFlag("sign with a new key")}, t.withHost(func(ctx context.Context, c *cli.Context, h *host.Host) error {
			if err := t.agreed(c, "Sign the audit log with a new key from now on?"); err != nil {
				return err
			}
			keys, err := h.Govern().Audit.RotateKey(ctx, t.person())
			if err != nil {
				return err
			}
			return t.showKeys(c, keys)
		}))},
	}
}

func (t *terminal) showKey(ctx context.Context, c *cli.Context, h *host.Host) error {
	keys, err := h.Govern().Audit.Key(ctx, t.person())
	if err != nil {
		return err
	}
	return t.showKeys(c, keys)
}

func (t *terminal) showKeys(c *cli.Context, keys govern.AuditKeys) error {
	return t.answer(keys, func() {
		if c.Bool("pem") {
			t.say("%s", strings.TrimSuffix(keys.PEM, "\n"))
			return
		}
		t.say("%s", keys.Key)
		for _, k := range keys.Keys[:len(keys.Keys)-1] {
			t.note("until it was replaced: %s", k.Key)
		}
	})
}
