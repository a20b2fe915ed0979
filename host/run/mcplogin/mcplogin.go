// Package mcplogin logs in to servers of the Model Context Protocol by OAuth, keeps the
// tokens sealed, and renews them.
//
// A login is made by a person, see [Begin]; nothing here asks whether they may. A token goes
// to the origin of its server and nowhere else. It is renewed when it has expired, and when
// its server does not take it, by one process at a time: a refresh token may be good for one
// use.
package mcplogin

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/skillet-run/skillet/host/base/secret"
	"github.com/skillet-run/skillet/host/base/store/filelock"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/internal/text"
)

const (
	// early is how long before its end a token is renewed.
	early = 10 * time.Second
	// renewTime bounds a renewal, and lockWait how long it is waited for that of another.
	renewTime = 20 * time.Second
	lockWait  = 30 * time.Second
	// maxText bounds what is quoted of a server in an error, in bytes.
	maxText = 200
)

var (
	// ErrRefused means that the server, or the one that gives tokens for it, says or does what
	// a login does not go on with.
	ErrRefused = errors.New("the login was refused")
	// ErrUnreachable means that a server does not answer.
	ErrUnreachable = errors.New("it does not answer")
	// ErrElsewhere means that a token was asked for that belongs to another server.
	ErrElsewhere = errors.New("the login is for another server")
)

// Name is the name of the secret that the login of a package is kept as.
func Name(pkg string) string { return "mcp." + pkg }

// A Login is what is kept of one.
type Login struct {
	// Server is the address of the MCP server, and Resource what tokens are for (RFC 8707).
	Server   string `json:"server"`
	Resource string `json:"resource"`
	// Issuer gave the tokens; it renews them at TokenURL, and takes them back at RevokeURL,
	// which may be empty.
	Issuer    string `json:"issuer"`
	TokenURL  string `json:"token_url"`
	RevokeURL string `json:"revoke_url,omitempty"`
	// ClientID and ClientSecret are what this host is called there, and Style is how it says so.
	ClientID     string           `json:"client_id"`
	ClientSecret string           `json:"client_secret,omitempty"`
	Style        oauth2.AuthStyle `json:"style"`

	Scopes  []string  `json:"scopes,omitempty"`
	Access  string    `json:"access"`
	Refresh string    `json:"refresh,omitempty"`
	Expiry  time.Time `json:"expiry,omitzero"` // zero: nobody said
	Since   time.Time `json:"since"`
	// Ended says why the issuer does not renew the tokens any more; empty when it does.
	Ended string `json:"ended,omitempty"`
}

// A View is a login without what is secret in it.
type View struct {
	Server string   `json:"server"`
	Issuer string   `json:"issuer"`
	Scopes []string `json:"scopes"`
	// Since is when a person logged in.
	Since time.Time `json:"since"`
	// Expires is when the token does; nil when nobody said.
	Expires *time.Time `json:"expires,omitempty"`
	// Renewed says that the token is renewed then without a person.
	Renewed bool `json:"renewed"`
	// Ended says why a person has to log in again; empty when nobody has to.
	Ended string `json:"ended,omitempty"`
}

// View is the login without what is secret in it.
func (l Login) View() View {
	v := View{Server: l.Server, Issuer: l.Issuer, Scopes: append([]string{}, l.Scopes...), Since: l.Since, Renewed: l.Refresh != "" && l.Ended == "", Ended: l.Ended}
	if !l.Expiry.IsZero() {
		v.Expires = &l.Expiry
		if v.Ended == "" && l.Refresh == "" && time.Now().After(l.Expiry) {
			v.Ended = expired
		}
	}
	return v
}

const expired = "its token has expired, and came without one to renew it with"

// tokens are what is secret in a login.
func (l Login) tokens() []string {
	return slices.DeleteFunc([]string{l.Access, l.Refresh, l.ClientSecret}, func(s string) bool { return s == "" })
}

// good reports whether the token may be sent; not when it is the one that was refused.
func (l Login) good(refused string) bool {
	return l.Ended == "" && l.Access != refused && (l.Expiry.IsZero() || time.Until(l.Expiry) > early)
}

// A Keeper keeps logins among secrets. It is a [hostfn.LoginSource], and safe for concurrent
// use, by several processes too.
type Keeper struct {
	*secret.Vault
	locks string
	roots *x509.CertPool
}

// NewKeeper makes a Keeper with lock files in a directory, which need not exist. roots are
// the certificate authorities that are trusted; nil for the system's.
func NewKeeper(v *secret.Vault, locks string, roots *x509.CertPool) *Keeper {
	return &Keeper{v, locks, roots}
}

// Of is the login of a name; ok is false when there is none.
func (k *Keeper) Of(ctx context.Context, name string) (l Login, ok bool, err error) {
	b, ok, err := k.Vault.Login(ctx, name)
	if errors.Is(err, secret.ErrNotFound) {
		return l, false, nil
	}
	if err != nil || !ok {
		return l, false, err
	}
	if err := json.Unmarshal(b, &l); err != nil {
		return l, false, fmt.Errorf("secret %s: %w: %w", name, secret.ErrDamaged, err)
	}
	return l, true, nil
}

// Put keeps a login, in the place of what has the name.
func (k *Keeper) Put(ctx context.Context, name string, l Login) error {
	return k.alone(ctx, name, func() error { return k.write(ctx, name, l) })
}

func (k *Keeper) write(ctx context.Context, name string, l Login) error {
	b, err := json.Marshal(l)
	if err != nil {
		return err
	}
	return k.SetLogin(ctx, name, b, l.tokens())
}

// alone does something while no other process renews or replaces the login.
func (k *Keeper) alone(ctx context.Context, name string, do func() error) error {
	if err := secret.CheckName(name); err != nil {
		return err
	}
	if err := os.MkdirAll(k.locks, 0o700); err != nil {
		return err
	}
	lock, err := filelock.Acquire(ctx, filepath.Join(k.locks, name+".lock"), lockWait)
	if err != nil {
		return err
	}
	return errors.Join(do(), lock.Release())
}

// Token is the token of a login for a request to an address: see [hostfn.LoginSource].
// Errors wrap [hostfn.ErrLogin] when a person has to log in again, and [ErrElsewhere] when
// the address is not at the server of the login.
func (k *Keeper) Token(ctx context.Context, name, to, refused string) (token string, ok bool, err error) {
	l, ok, err := k.Of(ctx, name)
	if err != nil || !ok {
		return "", false, err
	}
	if !sameOrigin(l.Server, to) {
		return "", true, fmt.Errorf("%w: it is for %s", ErrElsewhere, text.Short(text.Plain(l.Server), maxText))
	}
	if !l.good(refused) {
		l, err = k.renew(ctx, name, refused)
	}
	return l.Access, true, err
}

// renew gets another token, unless somebody else has meanwhile.
func (k *Keeper) renew(ctx context.Context, name, refused string) (l Login, err error) {
	err = k.alone(ctx, name, func() error {
		var ok bool
		if l, ok, err = k.Of(ctx, name); err != nil {
			return err
		}
		switch {
		case !ok:
			return fmt.Errorf("%w: it was removed", hostfn.ErrLogin)
		case l.good(refused):
			return nil
		case l.Ended != "":
			return fmt.Errorf("%w: %s", hostfn.ErrLogin, l.Ended)
		case l.Refresh == "" && l.Access == refused:
			return fmt.Errorf("%w: its server does not take the token any more, which came without one to renew it with", hostfn.ErrLogin)
		case l.Refresh == "":
			return fmt.Errorf("%w: %s", hostfn.ErrLogin, expired)
		}
		// Whoever asked may go: the answer may be the only one with the next refresh token.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), renewTime)
		defer cancel()
		return k.exchange(ctx, name, &l)
	})
	return l, err
}

// exchange takes the refresh token to the issuer, and keeps what comes back.
func (k *Keeper) exchange(ctx context.Context, name string, l *Login) error {
	client, err := k.client(ctx, l.Server)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	c := clientcredentials.Config{
		ClientID: l.ClientID, ClientSecret: l.ClientSecret, TokenURL: l.TokenURL, AuthStyle: l.Style,
		EndpointParams: url.Values{"grant_type": {"refresh_token"}, "refresh_token": {l.Refresh}, "resource": {l.Resource}},
	}
	t, err := c.Token(context.WithValue(ctx, oauth2.HTTPClient, client))
	var told *oauth2.RetrieveError
	switch {
	case errors.As(err, &told) && isFinal(told):
		l.Ended = fmt.Sprintf("%s does not renew it: %s", host(l.Issuer), quoted(told))
		return errors.Join(fmt.Errorf("%w: %s", hostfn.ErrLogin, l.Ended), k.write(ctx, name, *l))
	case err != nil:
		return fmt.Errorf("the token of the login could not be renewed at %s: %s", host(l.TokenURL), quoted(err))
	}
	if err := l.take(t); err != nil {
		return err
	}
	return k.write(ctx, name, *l)
}

// isFinal reports whether an issuer says that asking again does not help.
func isFinal(e *oauth2.RetrieveError) bool {
	return slices.Contains([]string{"invalid_grant", "invalid_client", "unauthorized_client", "invalid_scope", "invalid_target"}, e.ErrorCode)
}

// take takes over a token that an issuer gave.
func (l *Login) take(t *oauth2.Token) error {
	if !strings.EqualFold(t.Type(), "Bearer") {
		return fmt.Errorf("%w: %s gives tokens of the type %q, not Bearer", ErrRefused, host(l.Issuer), text.Short(text.Plain(t.Type()), maxText))
	}
	if !sendable(t.AccessToken) {
		return fmt.Errorf("%w: %s gives a token that cannot be sent as a header", ErrRefused, host(l.Issuer))
	}
	l.Access, l.Expiry, l.Ended = t.AccessToken, t.Expiry.UTC(), ""
	if t.Expiry.IsZero() {
		l.Expiry = time.Time{}
	}
	if t.RefreshToken != "" {
		l.Refresh = t.RefreshToken
	}
	if s, ok := t.Extra("scope").(string); ok && s != "" {
		l.Scopes = strings.Fields(s)
	}
	return nil
}

// maxToken is the longest token, in bytes: two and what is around them are one secret.
const maxToken = 16 << 10

// sendable reports whether a text can be a bearer token (RFC 6750, section 2.1).
func sendable(s string) bool {
	return s != "" && len(s) <= maxToken && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// Forget deletes a login. It fails with [secret.ErrNotFound], also for a secret that is not one.
func (k *Keeper) Forget(ctx context.Context, name string) (l Login, err error) {
	err = k.alone(ctx, name, func() error {
		var ok bool
		if l, ok, err = k.Of(ctx, name); err == nil && !ok {
			err = secret.ErrNotFound
		}
		if err != nil {
			return err
		}
		return k.Delete(ctx, name)
	})
	return l, err
}

// Revoke asks the issuer of a login to take its tokens back (RFC 7009), and reports whether
// it did.
func (k *Keeper) Revoke(ctx context.Context, l Login) bool {
	if l.RevokeURL == "" {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, renewTime)
	defer cancel()
	client, err := k.client(ctx, l.Server)
	if err != nil {
		return false
	}
	defer client.CloseIdleConnections()
	form := url.Values{"token": {l.Refresh}, "token_type_hint": {"refresh_token"}}
	if l.Refresh == "" {
		form = url.Values{"token": {l.Access}, "token_type_hint": {"access_token"}}
	}
	if l.Style != oauth2.AuthStyleInHeader {
		form.Set("client_id", l.ClientID)
		if l.ClientSecret != "" {
			form.Set("client_secret", l.ClientSecret)
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.RevokeURL, strings.NewReader(form.Encode()))
	if err != nil {
		return false
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if l.Style == oauth2.AuthStyleInHeader {
		req.SetBasicAuth(url.QueryEscape(l.ClientID), url.QueryEscape(l.ClientSecret))
	}
	res, err := client.Do(req)
	if err != nil {
		return false
	}
	return res.Body.Close() == nil && res.StatusCode == http.StatusOK
}

// quoted is what an issuer or the network says, without bodies, in which tokens may be.
func quoted(err error) string {
	var told *oauth2.RetrieveError
	var sent *url.Error
	switch {
	case errors.As(err, &told) && told.ErrorCode != "":
		return text.Short(text.Plain(strings.TrimSuffix(told.ErrorCode+": "+told.ErrorDescription, ": ")), maxText)
	case errors.As(err, &told) && told.Response != nil:
		return fmt.Sprintf("it answers %d", told.Response.StatusCode)
	case errors.As(err, &sent): // the address may have a query
		err = sent.Err
	}
	return text.Short(text.Plain(err.Error()), maxText)
}

// host is the host of an address, for texts.
func host(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "the server"
	}
	return text.Short(text.Plain(u.Host), maxText)
}

// sameOrigin reports whether two addresses have one scheme, host and port.
func sameOrigin(a, b string) bool {
	x, errX := url.Parse(a)
	y, errY := url.Parse(b)
	return errX == nil && errY == nil && x.Host != "" && strings.EqualFold(x.Scheme, y.Scheme) &&
		strings.EqualFold(x.Hostname(), y.Hostname()) && port(x) == port(y)
}

func port(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case strings.EqualFold(u.Scheme, "https"):
		return "443"
	}
	return "80"
}
