package source

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/fetch/source/oci"
	"github.com/skillet-run/skillet/host/fetch/source/transfer"
)

// HostOf is the host that a person means by a host, the address of a registry,
// or the name of a configured one; of an MCP server it is the whole address. The
// error wraps [ErrRef].
func (f *Fetcher) HostOf(text string) (string, error) {
	if r, ok := serverOf(text); ok {
		return "mcp+" + r.URL, nil
	}
	if i := slices.IndexFunc(f.settings.Registries, func(r Registry) bool { return r.Name == text }); i >= 0 {
		host, _ := split(f.settings.Registries[i].URL)
		return host, nil
	}
	host, _ := split(strings.TrimSuffix(text, "/"))
	if !isHost(host) {
		return "", f.explain("find the registry "+text, Ref{}, fmt.Errorf("%w: %q is not a host; write HOST or HOST:PORT", ErrRef, text))
	}
	return host, nil
}

// Login asks a registry whether a name and a password are good, or an MCP server
// whether a token is, and stores them where Docker stores them. The error wraps [transfer.ErrUnauthorized] when they
// are not.
func (f *Fetcher) Login(ctx context.Context, host, user, password string, o Options) (oci.StoredCredential, error) {
	ctx, cancel := f.bounded(ctx)
	defer cancel()
	if r, ok := serverOf(host); ok {
		kept, err := f.loginMCP(ctx, r, user, password, o)
		if err != nil {
			err = f.explain("log in to "+host, r, err)
		}
		return kept, err
	}
	r := Ref{Kind: KindRegistry, Host: host}
	kept, err := f.credentials.Login(ctx, f.connect(f.site(r, o), host), user, password)
	if err != nil {
		return oci.StoredCredential{}, f.explain("log in to "+host, r, err)
	}
	return kept, nil
}

// Logout deletes the name and the password for a registry. The error wraps
// [transfer.ErrNotFound] when there are none.
func (f *Fetcher) Logout(ctx context.Context, host string) error {
	if err := f.credentials.Logout(ctx, dialled(host)); err != nil {
		err = f.explain("log out of "+host, Ref{}, err)
		if e := (*fault.Error)(nil); errors.Is(err, transfer.ErrNotFound) && errors.As(err, &e) {
			return e.WithHint("what is stored is in the config.json of Docker; %s stores more", fault.LogIn(host))
		}
		return err
	}
	return nil
}
