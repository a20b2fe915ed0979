package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/fault"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/audit"
	"github.com/skillet-run/skillet/host/checkpoint"
)

func (t *terminal) auditExport() *cli.Command {
	return &cli.Command{
		Name:  "export",
		Usage: "write the audit log so that others can verify it",
		Description: "Writes JSON lines: a header with the public key, every entry byte for byte as it is\n" +
			"chained, the signed checkpoints, and a signed last line. The same log makes the same\n" +
			"file. docs/audit.md describes the format; inputs and outputs of runs are in it as\n" +
			"digests only.\n\n" +
			"A time is a date (2026-11-21), RFC 3339, or how long ago (36h, 30d).\n\n" +
			"Examples:\n  skillet audit export -o audit.jsonl\n  skillet audit export --runs --since 30d -o runs.jsonl\n" +
			"  skillet audit export | ssh archive 'cat > audit.jsonl'",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write to this `FILE`, which must not exist"},
			&cli.StringFlag{Name: "since", Usage: "leave out what was before this `TIME`"},
			&cli.StringFlag{Name: "until", Usage: "leave out what was at this `TIME` or later"},
			&cli.BoolFlag{Name: "decisions", Usage: "only decisions"},
			&cli.BoolFlag{Name: "runs", Usage: "only runs"},
		},
		Action: t.withHost(t.exportAudit),
	}
}

func (t *terminal) exportAudit(ctx context.Context, c *cli.Context, h *host.Host) error {
	s, err := auditScope(c, time.Now())
	if err != nil {
		return err
	}
	path := c.String("output")
	if path == "" && t.outTTY {
		return fault.Errorf(fault.KindUsage, "an export is for files and pipes").WithHint("name a file with -o FILE; `skillet audit` shows the log")
	}
	if path == "" {
		_, err := h.ExportAudit(ctx, t.out, s)
		return err
	}
	sum, err := auditExportTo(path, func(w io.Writer) (audit.Summary, error) { return h.ExportAudit(ctx, w, s) })
	if err != nil {
		return err
	}
	return t.answer(sum, func() {
		t.note("wrote %s: %d entries, signed by %s", plain(path), sum.Entries, sum.Key)
		t.note("to verify it: skillet audit verify --export %s --key %s", plain(path), sum.Key)
	})
}

// auditScope is what the flags name of the log.
func auditScope(c *cli.Context, now time.Time) (s audit.Scope, err error) {
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
		return at, fault.Errorf(fault.KindUsage, "--%s %q is no time", flag, text).WithHint("write a date such as 2026-11-21, a time such as 2026-11-21T18:00:00Z, or how long ago, such as 36h or 30d")
	}
	return at, nil
}

// longAgo reads a duration that is not negative.
func longAgo(text string) (time.Duration, error) {
	d, err := span(text)
	if err == nil && d < 0 {
		err = errors.New("it is negative")
	}
	return d, err
}

// auditExportTo writes a file that must not exist, which appears whole or not at all.
func auditExportTo(path string, write func(io.Writer) (audit.Summary, error)) (audit.Summary, error) {
	if exists(path) {
		return audit.Summary{}, fault.Errorf(fault.KindConflict, "%s exists already", path).WithHint("name another file")
	}
	f, err := os.OpenFile(path+".part", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return audit.Summary{}, fault.Errorf(fault.KindConflict, "%s.part exists: another export is at work, or one was cut short", path).WithHint("delete it, or name another file")
	}
	if err != nil {
		return audit.Summary{}, fmt.Errorf("write export: %w", err)
	}
	defer os.Remove(f.Name())
	sum, err := write(f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return sum, err
	}
	return sum, os.Rename(f.Name(), path)
}

// auditKeys is what --json prints of audit key.
type auditKeys struct {
	Home string            `json:"home"`
	Key  checkpoint.Public `json:"key"`
	PEM  string            `json:"pem"`
	// Keys are all keys the home had, the first one first.
	Keys []checkpoint.Entry `json:"keys"`
}

func (t *terminal) auditKey() *cli.Command {
	return &cli.Command{
		Name:  "key",
		Usage: "show the public key that the audit log is signed with",
		Description: "Keep it somewhere else, and `skillet audit verify --key KEY` tells whether the log is\n" +
			"still this home's. The private half is sealed like the secrets are.\n\n" +
			"Examples:\n  skillet audit key\n  skillet audit key --pem > audit-key.pem\n  skillet audit key rotate",
		Flags:  []cli.Flag{&cli.BoolFlag{Name: "pem", Usage: "print it as PEM"}},
		Action: t.withHost(t.showKey),
		Subcommands: []*cli.Command{{
			Name:  "rotate",
			Usage: "sign with a new key from now on",
			Description: "The old key names the new one, so whoever knows the old one can follow. The log is signed\n" +
				"with the new key at once, and what the old one signs from then on is refused.\n\n" +
				"Examples:\n  skillet audit key rotate --yes",
			Flags: []cli.Flag{yesFlag("sign with a new key")},
			Action: t.withState(func(ctx context.Context, c *cli.Context, h *host.Host) error {
				if !c.Bool("yes") {
					if err := t.confirm("audit key rotate", "Sign the audit log with a new key from now on?"); err != nil {
						return err
					}
				}
				if _, err := h.RotateAuditKey(ctx, t.person()); err != nil {
					return err
				}
				return t.showKey(ctx, c, h)
			}),
		}},
	}
}

func (t *terminal) showKey(ctx context.Context, c *cli.Context, h *host.Host) error {
	ring, err := h.AuditKey(ctx)
	if err != nil {
		return err
	}
	pem, err := ring.Current().PEM()
	if err != nil {
		return err
	}
	return t.answer(auditKeys{ring.Name(), ring.Current(), string(pem), ring.Keys}, func() {
		if c.Bool("pem") {
			t.say("%s", strings.TrimSuffix(string(pem), "\n"))
			return
		}
		t.say("%s", ring.Current())
		for _, k := range ring.Keys[:len(ring.Keys)-1] {
			t.note("until it was replaced: %s", k.Key)
		}
	})
}
