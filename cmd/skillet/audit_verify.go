package main

import (
	"context"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/edge/lines"
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
		printAll(t.say, lines.Export(found))
		if !found.Known {
			t.note("the key was not compared with one that you know: compare it, or give that key with --key")
		}
	})
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
	if err := t.answer(v, func() { printAll(t.say, lines.Verification(v)) }); err != nil || v.OK {
		return err
	}
	if !t.json {
		t.tell(explain(v.Problem))
	}
	return reported{fault.KindVerification}
}
