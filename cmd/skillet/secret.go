package main

import (
	"bytes"
	"context"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/base/fault"
)

func (t *terminal) secretCommand() *cli.Command {
	return group("secret", t.secretSet(), t.secretList(), t.secretDelete())
}

func (t *terminal) secretSet() *cli.Command {
	return command("set", nil, t.withHost(func(ctx context.Context, c *cli.Context, h *host.Host) error {
		args := c.Args().Slice()
		if err := govern.CheckSecretName(args[0]); err != nil {
			return err
		}
		value, err := t.readSecret(args[0])
		if err != nil {
			return err
		}
		set, err := h.Govern().Secrets.Set(ctx, t.person(), govern.SetSecret{Name: args[0], Value: value})
		return t.answered(set, err, func() { t.note("set the secret %s, sealed with the key in: %s", args[0], set.SealedBy) })
	}))
}

func (t *terminal) readSecret(name string) ([]byte, error) {
	read := func() ([]byte, error) {
		return unlessEnded(t, func() ([]byte, error) { return limited(t.in, "standard input") })
	}
	if f, ok := t.in.(*os.File); ok && t.inTTY {
		read = func() ([]byte, error) { return t.hidden(f, "value of "+name+" (not shown): ") }
	}
	value, err := read()
	if err != nil {
		return nil, fmt.Errorf("read the secret: %w", err)
	}
	value = bytes.TrimRight(value, "\r\n")
	if len(value) == 0 {
		return nil, fault.Errorf(fault.KindUsage, "the value of %s is empty", name).WithHint("type it at the prompt, or pipe it in")
	}
	return value, nil
}

func (t *terminal) secretList() *cli.Command {
	return command("list ls", nil, t.withHost(func(ctx context.Context, c *cli.Context, h *host.Host) error {
		infos, err := h.Govern().Secrets.List(ctx, t.person())
		return t.answered(infos, err, func() {
			if len(infos) == 0 {
				t.note("no secrets are set; `skillet secret set NAME` sets one")
				return
			}
			var rows [][]string
			for _, s := range infos {
				rows = append(rows, []string{s.Name, when(s.UpdatedAt)})
			}
			t.table("NAME\tCHANGED", rows)
		})
	}))
}

func (t *terminal) secretDelete() *cli.Command {
	return command("remove rm delete", []cli.Flag{yesFlag("delete it")}, t.withHost(func(ctx context.Context, c *cli.Context, h *host.Host) error {
		args := c.Args().Slice()
		if _, err := h.Govern().Secrets.Find(ctx, t.person(), args[0]); err != nil {
			return err
		}
		if err := t.agreed(c, "Delete the secret "+plain(args[0])+"?"); err != nil {
			return err
		}
		gone, err := h.Govern().Secrets.Delete(ctx, t.person(), args[0])
		return t.answered(gone, err, func() { t.note("deleted the secret %s", args[0]) })
	}))
}
