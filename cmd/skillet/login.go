package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/admit"
	"github.com/skillet-run/skillet/host/base/fault"
)

func (t *terminal) loginCommand() *cli.Command {
	return command("login", []cli.Flag{
		&cli.StringFlag{Name: "username", Aliases: []string{"u"}, Usage: "the `NAME`; without it, it is asked for"},
		&cli.BoolFlag{Name: "password-stdin", Usage: "read the password from standard input"},
		plainHTTPFlag(),
	}, t.withHost(t.login))
}

func (t *terminal) login(ctx context.Context, c *cli.Context, h *host.Host) error {
	to, err := h.Admit().RegistryHost(ctx, t.person(), c.Args().First())
	if err != nil {
		return err
	}
	user, err := t.username(c, to)
	if err != nil {
		return err
	}
	password, err := t.password(c, user, to)
	if err != nil {
		return err
	}
	kept, err := h.Admit().Login(ctx, t.person(), admit.LoginRequest{Host: to, Username: user, Password: password, PlainHTTP: c.Bool("plain-http")})
	return t.answered(kept, err, func() {
		t.note("logged in to %s as %s", to, plain(user))
		if kept.Plaintext {
			t.note("skillet: the password is in %s as it is; a credential helper (credsStore in that file) keeps it better", kept.Path)
		}
	})
}

func (t *terminal) username(c *cli.Context, to string) (string, error) {
	user := c.String("username")
	if user == "" && t.canAsk() && !c.Bool("password-stdin") {
		fmt.Fprintf(t.err, "user name for %s: ", to)
		line, err := unlessEnded(t, func() (string, error) { return bufio.NewReader(t.in).ReadString('\n') })
		if err != nil {
			return "", fmt.Errorf("read the user name: %w", err)
		}
		user = strings.TrimSpace(line)
	}
	if user == "" || strings.Contains(user, ":") {
		return "", fault.Errorf(fault.KindUsage, "log in to %s: it takes a user name, without a colon", to).WithHint("name it with --username NAME")
	}
	return user, nil
}

// password reads the password: from standard input when that was asked for, or
// from a prompt that does not show it.
func (t *terminal) password(c *cli.Context, user, to string) (string, error) {
	read := func() ([]byte, error) {
		return unlessEnded(t, func() ([]byte, error) { return limited(t.in, "standard input") })
	}
	if f, ok := t.in.(*os.File); !c.Bool("password-stdin") {
		if !ok || !t.inTTY {
			return "", fault.Errorf(fault.KindUsage, "log in to %s: nobody can be asked for the password here", to).WithHint("pipe it in, with --password-stdin")
		}
		read = func() ([]byte, error) { return t.hidden(f, "password of "+plain(user)+" at "+to+" (not shown): ") }
	}
	b, err := read()
	if err != nil {
		return "", fmt.Errorf("read the password: %w", err)
	}
	b = bytes.TrimRight(b, "\r\n")
	if len(b) == 0 {
		return "", fault.Errorf(fault.KindUsage, "log in to %s: the password is empty", to).WithHint("type it at the prompt, or pipe it in with --password-stdin")
	}
	return string(b), nil
}

func (t *terminal) logoutCommand() *cli.Command {
	return command("logout", nil, t.withHost(func(ctx context.Context, c *cli.Context, h *host.Host) error {
		from, err := h.Admit().Logout(ctx, t.person(), c.Args().First())
		if err != nil {
			return err
		}
		return t.answer(struct {
			Host string `json:"host"`
		}{from}, func() { t.note("logged out of %s", from) })
	}))
}
