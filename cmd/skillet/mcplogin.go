package main

import (
	"bufio"
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/base/fault"
)

func (t *terminal) mcpLogin() *cli.Command {
	return command("login", []cli.Flag{
		&cli.StringFlag{Name: "url", Usage: "the server is at this `URL`; needed when it is not installed"},
		&cli.StringSliceFlag{Name: "scope", Usage: "ask for this `SCOPE`, beside those there are; may be repeated"},
		&cli.StringFlag{Name: "client-id", Usage: "what this host is called where tokens are given, an `ID` or the address of a metadata document"},
		&cli.StringFlag{Name: "client-secret", Usage: "the stored secret `NAME` that goes with --client-id"},
		&cli.BoolFlag{Name: "open", Usage: "open the address in the browser of this machine"},
		&cli.BoolFlag{Name: "paste", Usage: "read the address that a browser on another machine ended at"},
		&cli.DurationFlag{Name: "timeout", Usage: "how long to wait for you, a `DURATION`", Value: 5 * time.Minute},
	}, t.withState(t.logInServer))
}

// logInServer logs in to an MCP server: a person agrees in a browser.
func (t *terminal) logInServer(ctx context.Context, c *cli.Context, h *host.Host) error {
	if c.IsSet("client-secret") && !c.IsSet("client-id") {
		return fault.Errorf(fault.KindUsage, "--client-secret goes with --client-id").WithHint("name the client too")
	}
	if c.Duration("timeout") <= 0 {
		return fault.Errorf(fault.KindUsage, "--timeout is not a time to wait").WithHint("for example --timeout 5m")
	}
	ctx, cancel := context.WithTimeout(ctx, c.Duration("timeout"))
	defer cancel()
	name := c.Args().First()
	pending, err := h.Govern().Logins.Begin(ctx, t.person(), govern.LoginRequest{
		Name: name, URL: c.String("url"), ClientID: c.String("client-id"), ClientSecret: c.String("client-secret"), Scopes: c.StringSlice("scope"),
	})
	if err != nil {
		return err
	}
	defer pending.Close()
	t.note("open this address in a browser; %s asks you there:", plain(pending.Issuer))
	t.note("  %s", plain(pending.Address))
	if c.Bool("open") {
		if err := openBrowser(pending.Address); err != nil {
			t.note("skillet: no browser opens: %s", plain(err.Error()))
		}
	}
	if c.Bool("paste") {
		if err := t.pasted(pending); err != nil {
			return err
		}
	}
	got, err := pending.Finish(ctx)
	return t.answered(got, err, func() { t.noteLogin(got) })
}

// pasted reads the address that a browser ended at.
func (t *terminal) pasted(pending *govern.PendingLogin) error {
	fmt.Fprint(t.err, "then paste the address that the browser ends at: ")
	line, err := unlessEnded(t, func() (string, error) { return bufio.NewReader(t.in).ReadString('\n') })
	if err != nil && strings.TrimSpace(line) == "" {
		return fault.Errorf(fault.KindUsage, "no address was pasted: %w", err).WithHint("it begins with %s", pending.Redirect)
	}
	if err := pending.Paste(line); err != nil {
		return fault.Errorf(fault.KindUsage, "what was pasted: %w", err).WithHint("it begins with %s?", pending.Redirect)
	}
	return nil
}

// noteLogin says what came of a login.
func (t *terminal) noteLogin(l govern.ServerLogin) {
	scopes := ""
	if len(l.Scopes) > 0 {
		scopes = ", for " + plain(strings.Join(l.Scopes, " "))
	}
	t.note("logged in to %s at %s, by %s%s", plain(l.Name), plain(l.Server), plain(l.Issuer), scopes)
	switch {
	case l.Expires != nil && !l.Renewed:
		t.note("it holds until %s; then log in again", when(*l.Expires))
	case !l.Renewed:
		t.note("it is not renewed by itself")
	}
	switch {
	case !l.Installed:
		t.note("`skillet mcp add %s --url %s` installs it", plain(l.Name), quoteWord(plain(l.Server)))
	case !l.Used:
		t.note("`skillet update %s` has it use the login", plain(l.Name))
	}
}

func (t *terminal) mcpLogout() *cli.Command {
	return command("logout", nil, t.withState(func(ctx context.Context, c *cli.Context, h *host.Host) error {
		gone, err := h.Govern().Logins.Forget(ctx, t.person(), c.Args().First())
		return t.answered(gone, err, func() {
			t.note("logged out of %s", plain(gone.Name))
			if !gone.Revoked {
				t.note("%s did not take the tokens back; they are good there until they expire", plain(gone.Issuer))
			}
		})
	}))
}

// openBrowser opens an address, which is https or on this machine, in the person's browser.
func openBrowser(address string) error {
	name, args := "xdg-open", []string{address}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", address}
	}
	cmd := exec.Command(name, args...)
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }()
	return nil
}
