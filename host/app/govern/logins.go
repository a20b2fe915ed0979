package govern

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/base/secret"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/host/run/mcplogin"
	"github.com/skillet-run/skillet/manifests"
)

// Logins are those at MCP servers. Nobody gets a token.
type Logins struct{ p *Parts }

// A LoginRequest asks to log in to an MCP server.
type LoginRequest struct {
	// Name is that of the package of the server, which need not be installed yet.
	Name string
	// URL is where the server is; empty for where the installed package says.
	URL string
	// ClientID is what this host is called where tokens are given, and ClientSecret the name
	// of a stored secret that goes with it; both empty to be registered there.
	ClientID, ClientSecret string
	// Scopes are what to ask for, beside those of a login that there is; none for what the server says.
	Scopes []string
}

// A ServerLogin is a login at an MCP server, without what is secret in it.
type ServerLogin struct {
	// Name is that of the package, and Secret that of the secret which the login is kept as.
	Name   string `json:"skill"`
	Secret string `json:"secret"`
	mcplogin.View
	// Installed says that there is a package of the name, and Used that it asks for the login.
	Installed bool `json:"installed"`
	Used      bool `json:"used"`
}

// A PendingLogin waits for a person, who opens its Address. Close it.
type PendingLogin struct {
	*mcplogin.Attempt
	p     *Parts
	by    approval.Human
	login ServerLogin
}

// Begin finds out who gives tokens for a server, and what a person has to open to agree.
func (s *Logins) Begin(ctx context.Context, by approval.Human, req LoginRequest) (*PendingLogin, error) {
	if err := s.p.begin(ctx, by); err != nil {
		return nil, err
	}
	l := ServerLogin{Name: req.Name, Secret: mcplogin.Name(req.Name)}
	if err := CheckSecretName(l.Secret); err != nil {
		return nil, err
	}
	server, err := s.server(ctx, req, &l)
	if err != nil {
		return nil, err
	}
	r := mcplogin.Request{Server: server, ClientID: req.ClientID, Scopes: slices.Clone(req.Scopes)}
	if req.ClientSecret != "" {
		value, err := s.p.Secrets.Get(ctx, req.ClientSecret)
		if err != nil {
			return nil, err
		}
		r.ClientSecret = string(value)
	}
	was, ok, err := s.p.Logins.Of(ctx, l.Secret)
	if err != nil && !errors.Is(err, secret.ErrDamaged) {
		return nil, err
	}
	if ok && len(r.Scopes) > 0 && was.Server == server {
		r.Scopes = append(r.Scopes, was.Scopes...)
	}
	a, err := s.p.Logins.Begin(ctx, r)
	if err != nil {
		return nil, loginFault(err)
	}
	return &PendingLogin{a, s.p, by, l}, nil
}

// server is where the server is, with what is installed of it.
func (s *Logins) server(ctx context.Context, req LoginRequest, l *ServerLogin) (string, error) {
	skill, err := s.p.Registry.Lookup(ctx, manifests.Ref{Name: req.Name})
	if k := fault.AsError(err); err != nil && k.Kind == fault.KindNotFound {
		if req.URL == "" {
			return "", fault.Errorf(fault.KindUsage, "no MCP server %s is installed, and nothing says where it is", req.Name).WithHint("name its address with %s", fault.SetField(fault.FieldURL))
		}
		return req.URL, nil
	}
	if err != nil {
		return "", err
	}
	m, err := s.p.Registry.Manifest(ctx, skill.Digest)
	if err != nil {
		return "", err
	}
	if !m.Type.IsMCP() || m.MCP.URL == "" {
		return "", fault.Errorf(fault.KindUsage, "%s is installed, and is not an MCP server at an address", req.Name).WithHint("log in under another name, and add the server by that")
	}
	if req.URL != "" && req.URL != m.MCP.URL {
		return "", fault.Errorf(fault.KindConflict, "%s is at %s, and not at %s", req.Name, m.MCP.URL, req.URL).WithHint("leave out %s, or log in under another name", fault.OmitField(fault.FieldURL))
	}
	l.Installed = true
	l.Used = slices.ContainsFunc(m.Security.Permissions.Secrets, func(p manifests.SecretPermission) bool { return p.Name == l.Secret })
	return m.MCP.URL, nil
}

// Finish waits until the person has agreed, keeps the login, and records that.
func (l *PendingLogin) Finish(ctx context.Context) (ServerLogin, error) {
	got, err := l.Wait(ctx)
	if err != nil {
		return ServerLogin{}, loginFault(err)
	}
	l.login.View = got.View()
	err = l.p.Ledger.Commit(ctx, func(context.Context) (ledger.Decision, error) {
		return ledger.Decision{Kind: "login.made", Actor: l.by.Actor(), Subject: l.login.Name}, l.p.Logins.Put(ctx, l.login.Secret, got)
	})
	return l.login, err
}

// A LoggedOut is a login that was forgotten.
type LoggedOut struct {
	Name   string `json:"skill"`
	Issuer string `json:"issuer"`
	// Revoked says that the issuer took the tokens back; it may not offer that.
	Revoked bool `json:"revoked"`
}

// Forget deletes a login, asks its issuer to take the tokens back, and records that. It
// fails with a [fault.KindNotFound] error when there is none.
func (s *Logins) Forget(ctx context.Context, by approval.Human, name string) (LoggedOut, error) {
	if err := s.p.begin(ctx, by); err != nil {
		return LoggedOut{}, err
	}
	at := mcplogin.Name(name)
	if err := CheckSecretName(at); err != nil {
		return LoggedOut{}, err
	}
	var l mcplogin.Login
	err := s.p.Ledger.Commit(ctx, func(context.Context) (ledger.Decision, error) {
		var err error
		l, err = s.p.Logins.Forget(ctx, at)
		return ledger.Decision{Kind: "login.removed", Actor: by.Actor(), Subject: name}, err
	})
	if errors.Is(err, secret.ErrNotFound) {
		return LoggedOut{}, fault.Errorf(fault.KindNotFound, "nobody is logged in to %s", name).WithHint("%s logs in", fault.LogInServer(name))
	}
	if err != nil {
		return LoggedOut{}, err
	}
	return LoggedOut{name, l.Issuer, s.p.Logins.Revoke(ctx, l)}, nil
}

// loginFault is an error of a login with its kind, and with what helps.
func loginFault(err error) error {
	var unregistered *mcplogin.UnregisteredError
	switch {
	case errors.As(err, &unregistered):
		return fault.Errorf(fault.KindSkill, "%w", err).WithHint("then log in with its name: %s", fault.SetField(fault.FieldClientID))
	case errors.Is(err, context.DeadlineExceeded):
		return fault.Errorf(fault.KindLimit, "nobody agreed in time: %w", err).WithHint("begin again, with more time: %s", fault.SetField(fault.FieldTimeout))
	case errors.Is(err, mcplogin.ErrRefused):
		return fault.Wrap(fault.KindSkill, err)
	case errors.Is(err, mcplogin.ErrUnreachable):
		return fault.Wrap(fault.KindUnreachable, err)
	}
	return fmt.Errorf("log in: %w", err)
}
