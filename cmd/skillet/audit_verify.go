package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/internal/openfile"
)

func (t *terminal) auditVerify() *cli.Command {
	return command("verify", []cli.Flag{
		&cli.StringFlag{Name: "export", Usage: "check this exported `FILE` and no home; - for standard input"},
		&cli.StringFlag{Name: "key", Usage: "the public `KEY` it has to be signed with: its text, or a file with it"},
		&cli.StringFlag{Name: "against", Usage: "also check that the log still has what this exported `FILE` shows"},
	}, func(c *cli.Context) error {
		if !c.IsSet("export") {
			return t.withHost(t.verifyHome)(c)
		}
		t.json = c.Bool("json")
		if c.IsSet("against") {
			return fault.Errorf(fault.KindUsage, "--against compares a home with an export, and --export looks at no home").WithHint("leave one of them out")
		}
		return t.verifyExport(c.Context, c.String("export"), c.String("key"))
	})
}

// maxKeyText is the size of the largest file that is read for a public key.
const maxKeyText = 16 << 10

// keyText is the key that --key names: what is in the file, or the text itself.
func keyText(ctx context.Context, arg string) ([]byte, error) {
	if arg == "" || govern.IsAuditKey(arg) {
		return []byte(arg), nil
	}
	b, err := readSmall(ctx, arg, maxKeyText)
	if err != nil {
		return nil, fault.Errorf(fault.KindUsage, "read the public key: %w", err).WithHint("give a file, or the text that `skillet audit key` shows")
	}
	return b, nil
}

// openExport opens an exported file; "-" is standard input.
func (t *terminal) openExport(ctx context.Context, path string) (io.ReadCloser, error) {
	if path == "-" {
		return io.NopCloser(t.in), nil
	}
	f, err := openfile.Open(ctx, path)
	if err != nil {
		return nil, fault.Errorf(fault.KindNotFound, "read the export: %w", err)
	}
	return f, nil
}

func (t *terminal) verifyExport(ctx context.Context, path, keyArg string) error {
	key, err := keyText(ctx, keyArg)
	if err != nil {
		return err
	}
	in, err := t.openExport(ctx, path)
	if err != nil {
		return err
	}
	defer in.Close()
	found, err := govern.VerifyExport(in, key)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return t.answer(found, func() {
		t.say("ok: %d entries of %s, each chained to the one before", found.Entries, plain(found.Home))
		for _, p := range found.Logs {
			t.say("  %s", partLine(p))
		}
		t.say("signed by %s", found.Key)
		if !found.Known {
			t.note("nobody said which key it has to be: compare it with the one you know, or give that with --key")
		}
	})
}

func partLine(p govern.Part) string {
	if p.Last < p.First {
		return fmt.Sprintf("%s: none", plain(p.Log))
	}
	line := fmt.Sprintf("%s: %d to %d, %s to %s", plain(p.Log), p.First, p.Last, when(p.From), when(p.To))
	for _, r := range p.Adopted {
		line += fmt.Sprintf("; %s were unsigned and adopted", r)
	}
	for _, r := range p.Carried {
		line += fmt.Sprintf("; %s were carried over by a repair", r)
	}
	for _, r := range p.Lost {
		line += fmt.Sprintf("; %s were lost before a repair", r)
	}
	return line
}

func (t *terminal) verifyHome(ctx context.Context, c *cli.Context, h *host.Host) error {
	var req govern.VerifyRequest
	var err error
	if req.Key, err = keyText(ctx, c.String("key")); err != nil {
		return err
	}
	if path := c.String("against"); c.IsSet("against") {
		in, err := t.openExport(ctx, path)
		if err != nil {
			return err
		}
		defer in.Close()
		req.Against = in
	}
	v, err := h.Govern().Audit.Verify(ctx, t.person(), req)
	if err != nil {
		return err
	}
	if err := t.answer(v, func() { t.showVerification(v) }); err != nil || v.OK {
		return err
	}
	if !t.json {
		t.tell(explain(v.Problem))
	}
	return reported{fault.KindVerification}
}

func (t *terminal) showVerification(v govern.Verification) {
	if v.OK {
		t.say("ok: %d decisions and %d runs, each chained to the one before", v.Decisions.Entries, v.Calls.Entries)
	}
	for _, j := range []struct {
		name   string
		report govern.Report
	}{{"decisions", v.Decisions}, {"runs", v.Calls}} {
		switch d := j.report.Damage; {
		case d != nil:
			t.say("damaged: the first %d %s are whole, up to %s: %s", j.report.Entries, j.name, plain(d.File), plain(d.What))
		case !v.OK:
			t.say("ok: %d %s", j.report.Entries, j.name)
		default:
			t.showSigned(j.name, j.report)
		}
		if n := j.report.Unacknowledged; n > 0 && j.report.Damage == nil {
			t.say("  %s: %s behind the last entry, of a command that was cut short: the next one keeps what is whole and deletes the rest", j.name, count(int(n), "byte"))
		}
	}
	if v.OK && len(v.KnownBy) > 0 {
		found := ""
		if v.Found {
			found = ", as the key was found"
		}
		t.say("  the home is known by it: %s%s", plain(strings.Join(v.KnownBy, ", ")), found)
	}
	if v.Against != nil {
		t.say("the log has everything that the export shows")
	}
}

// showSigned says what of a log that is whole is signed.
func (t *terminal) showSigned(name string, r govern.Report) {
	s := r.Signed
	switch {
	case r.Entries == 0:
		return
	case s == nil:
		t.say("  %s: not signed yet, the next one signs for all", name)
		return
	case s.From > r.Entries:
		t.say("  %s: signed from the next one on, by %s", name, s.Key)
	default:
		t.say("  %s: signed from entry %d on, by %s", name, s.From, s.Key)
	}
	for _, a := range s.Adopted {
		t.say("    entries %s were found unsigned, and adopted on %s", a.Range, when(a.Time))
	}
	for _, a := range s.Carried {
		t.say("    entries %s were carried over by a repair on %s, with new numbers", a.Range, when(a.Time))
	}
	for _, at := range s.Repairs {
		t.say("    repaired on %s", when(at))
	}
	for _, l := range s.Lost {
		t.say("    entries %s were lost before the repair", l)
	}
}
