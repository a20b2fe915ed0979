package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/skillet-run/skillet/host/fault"
	"github.com/skillet-run/skillet/internal/openfile"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/audit"
	"github.com/skillet-run/skillet/host/checkpoint"
	"github.com/skillet-run/skillet/host/journal"
	"github.com/skillet-run/skillet/host/ledger"
)

func (t *terminal) auditVerify() *cli.Command {
	return &cli.Command{
		Name:  "verify",
		Usage: "check that nobody changed, cut, reordered or replaced the audit log",
		Description: "The end of the log is signed with a key of this home at every entry; `skillet audit key`\n" +
			"shows the public half. Decisions that were put back as a whole, with an older end, do not fit\n" +
			"the store. Where that was put back, too, and for runs, only comparing with something that was\n" +
			"kept elsewhere tells: an export.\n\n" +
			"With --export no home is needed: the file and the public key are enough.\n\n" +
			"Examples:\n  skillet audit verify\n  skillet audit verify --against audit-monday.jsonl\n" +
			"  skillet audit verify --export audit.jsonl --key audit-key.pem",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "export", Usage: "check this exported `FILE` and no home; - for standard input"},
			&cli.StringFlag{Name: "key", Usage: "the public `KEY` it has to be signed with: its text, or a file with it"},
			&cli.StringFlag{Name: "against", Usage: "also check that the log still has what this exported `FILE` shows"},
		},
		Action: func(c *cli.Context) error {
			if !c.IsSet("export") {
				return t.withHost(t.verifyHome)(c)
			}
			t.json = c.Bool("json")
			if c.IsSet("against") {
				return fault.Errorf(fault.KindUsage, "--against compares a home with an export, and --export looks at no home").WithHint("leave one of them out")
			}
			return t.verifyExport(c.Context, c.String("export"), c.String("key"))
		},
	}
}

// maxKeyText is the size of the largest file that is read for a public key.
const maxKeyText = 16 << 10

// keyText is the key that --key names: what is in the file, or the text itself.
func keyText(ctx context.Context, arg string) ([]byte, error) {
	if arg == "" || strings.HasPrefix(arg, checkpoint.NamePrefix) {
		return []byte(arg), nil
	}
	b, err := readSmall(ctx, arg, maxKeyText)
	if err != nil {
		return nil, fault.Errorf(fault.KindUsage, "read the public key: %w", err).WithHint("give a file, or the text that `skillet audit key` shows")
	}
	return b, nil
}

// readAuditExport verifies an exported file.
func readAuditExport(ctx context.Context, path string, stdin io.Reader, key []byte) (audit.Finding, error) {
	in := stdin
	if path != "-" {
		f, err := openfile.Open(ctx, path)
		if err != nil {
			return audit.Finding{}, fault.Errorf(fault.KindNotFound, "read the export: %w", err)
		}
		defer f.Close()
		in = f
	}
	found, err := audit.Verify(in, key)
	if errors.Is(err, checkpoint.ErrKey) && !errors.Is(err, audit.ErrExport) {
		return found, fault.Wrap(fault.KindUsage, err).WithHint("give a file, or the text that `skillet audit key` shows")
	}
	if err != nil {
		return found, fmt.Errorf("%s: %w", path, err)
	}
	return found, nil
}

func (t *terminal) verifyExport(ctx context.Context, path, keyArg string) error {
	key, err := keyText(ctx, keyArg)
	if err != nil {
		return err
	}
	found, err := readAuditExport(ctx, path, t.in, key)
	if err != nil {
		return err
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

func partLine(p audit.Part) string {
	if p.Last < p.First {
		return fmt.Sprintf("%s: none", plain(p.Log))
	}
	line := fmt.Sprintf("%s: %d to %d, %s to %s", plain(p.Log), p.First, p.Last, when(p.From), when(p.To))
	for _, r := range p.Adopted {
		line += fmt.Sprintf("; %s were unsigned and adopted", r)
	}
	for _, r := range p.Lost {
		line += fmt.Sprintf("; %s were lost before a repair", r)
	}
	return line
}

// verification is what --json prints of audit verify.
type verification struct {
	OK bool `json:"ok"`
	// Unfinished says that a repair of the log was begun, and not finished.
	Unfinished bool           `json:"unfinished,omitempty"`
	Decisions  journal.Report `json:"decisions"`
	Calls      journal.Report `json:"calls"`
	// KnownBy says where it is kept, apart from the log, which key signs it; empty
	// when there is no key yet. Found is whether the key was there before that, and
	// was taken as it was found.
	KnownBy []string `json:"known_by"`
	Found   bool     `json:"found,omitempty"`
	// Against is what the export shows that the log was compared with.
	Against *audit.Finding `json:"against,omitempty"`
}

func (t *terminal) verifyHome(ctx context.Context, c *cli.Context, h *host.Host) error {
	var v verification
	var err1, err2 error
	v.Decisions, err1 = h.Decisions.Verify(ctx)
	v.Calls, err2 = h.Calls.Verify(ctx)
	if err := cmp.Or(err1, err2); err != nil && v.Decisions.Damage == nil && v.Calls.Damage == nil {
		return err
	}
	if err1 == nil && err2 == nil {
		if err := h.Ledger.Fits(ctx); errors.Is(err, ledger.ErrBehind) {
			return err
		}
		if err := compareAudit(ctx, c, h, t.in, &v); err != nil {
			return err
		}
	}
	unfinished := h.UnfinishedRepair()
	v.Unfinished = unfinished != nil
	v.OK, v.KnownBy = err1 == nil && err2 == nil && !v.Unfinished, []string{}
	if known, err := h.AuditKeys.Known(ctx); err == nil && len(known.Anchors) > 0 {
		v.KnownBy, v.Found = known.Places, known.Anchors[0].Found
	}
	if err := t.answer(v, func() { t.showVerification(v) }); err != nil || v.OK {
		return err
	}
	if !t.json {
		t.tell(explain(cmp.Or(err1, err2, unfinished)))
	}
	return reported{fault.KindVerification}
}

// compareAudit compares a log that is whole with the key and the export that the
// caller knows.
func compareAudit(ctx context.Context, c *cli.Context, h *host.Host, stdin io.Reader, v *verification) error {
	key, err := keyText(ctx, c.String("key"))
	if err != nil {
		return err
	}
	if len(key) > 0 {
		if err := h.AuditKeyFollows(ctx, key); err != nil {
			return err
		}
	}
	if !c.IsSet("against") {
		return nil
	}
	found, err := readAuditExport(ctx, c.String("against"), stdin, key)
	if err == nil {
		v.Against, err = &found, h.AuditHas(ctx, found)
	}
	return err
}

func (t *terminal) showVerification(v verification) {
	if v.OK {
		t.say("ok: %d decisions and %d runs, each chained to the one before", v.Decisions.Entries, v.Calls.Entries)
	}
	for _, j := range []struct {
		name   string
		report journal.Report
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
func (t *terminal) showSigned(name string, r journal.Report) {
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
	for _, at := range s.Repairs {
		t.say("    repaired on %s", when(at))
	}
	for _, l := range s.Lost {
		t.say("    entries %s were lost before the repair", l)
	}
}
