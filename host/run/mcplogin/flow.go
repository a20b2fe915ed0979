package mcplogin

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/skillet-run/skillet/internal/text"
)

// A Request says where to log in, and as what.
type Request struct {
	// Server is the address of the MCP server.
	Server string
	// ClientID is what this host is called at the issuer, or the address of a client metadata
	// document; empty to be registered there. ClientSecret goes with it, and may be empty.
	ClientID, ClientSecret string
	// Scopes are what is asked for; none for what the server says.
	Scopes []string
}

// An Attempt is a login for which a person has to open an address. Close it.
type Attempt struct {
	// Address is what the person opens, and Issuer who asks them there.
	Address, Issuer string
	// Redirect is where the browser is sent in the end, on this machine.
	Redirect string

	login    Login
	client   *http.Client
	config   oauth2.Config
	verifier string
	state    string
	iss      bool // the issuer says who it is in its answer

	listener net.Listener
	server   *http.Server
	once     sync.Once
	answer   chan url.Values
}

// Begin finds out who gives tokens for a server, and as what this host asks for one. It
// listens for the browser from then on. Errors wrap [ErrRefused] when the server does not
// say, or says what is not safe.
func (k *Keeper) Begin(ctx context.Context, r Request) (a *Attempt, err error) {
	server, err := checkAddress("the server", r.Server)
	if err != nil {
		return nil, err
	}
	client, err := k.client(ctx, r.Server)
	if err != nil {
		return nil, err
	}
	a = &Attempt{client: client, answer: make(chan url.Values, 1), verifier: oauth2.GenerateVerifier(), state: rand.Text()}
	made := a
	defer func() {
		if err != nil {
			made.Close()
		}
	}()
	challenge, err := ask(ctx, client, r.Server)
	if err != nil {
		return nil, err
	}
	resource, err := resourceOf(ctx, client, server, challenge)
	if err != nil {
		return nil, err
	}
	issuer, err := issuerOf(ctx, client, server, resource)
	if err != nil {
		return nil, err
	}
	a.login = Login{
		Server: r.Server, Resource: resource.Resource, Issuer: issuer.Issuer, TokenURL: issuer.TokenEndpoint, RevokeURL: issuer.RevocationEndpoint,
		Scopes: scopes(r.Scopes, challenge, resource, issuer), Since: time.Now().UTC(),
	}
	if err := a.listen(); err != nil {
		return nil, err
	}
	if err := a.register(ctx, r, issuer); err != nil {
		return nil, err
	}
	a.Issuer, a.iss = issuer.Issuer, issuer.AuthorizationResponseIssParameterSupported
	a.config = oauth2.Config{
		ClientID: a.login.ClientID, ClientSecret: a.login.ClientSecret, RedirectURL: a.Redirect, Scopes: a.login.Scopes,
		Endpoint: oauth2.Endpoint{AuthURL: issuer.AuthorizationEndpoint, TokenURL: issuer.TokenEndpoint, AuthStyle: a.login.Style},
	}
	a.Address = a.config.AuthCodeURL(a.state, oauth2.S256ChallengeOption(a.verifier), oauth2.SetAuthURLParam("resource", a.login.Resource))
	return a, nil
}

// ask asks the server something without a token, and returns what it says about tokens.
func ask(ctx context.Context, client *http.Client, server string) (map[string]string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, server, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	res, err := client.Do(req)
	if err != nil {
		if errors.Is(err, ErrRefused) || ctx.Err() != nil {
			return nil, cmp.Or(ctx.Err(), err)
		}
		return nil, fmt.Errorf("%w: %s: %s", ErrUnreachable, host(server), quoted(err))
	}
	defer res.Body.Close()
	_, _ = io.CopyN(io.Discard, res.Body, 64<<10)
	if res.StatusCode != http.StatusUnauthorized {
		return nil, fmt.Errorf("%w: %s answers %d without a token, and asks for no login", ErrRefused, host(server), res.StatusCode)
	}
	return Challenge(res.Header), nil
}

// Challenge is what a server says with 401 or 403 about the token it wants: the parameters
// of the first challenge of the scheme Bearer (RFC 6750, section 3), with names in lower case. It is empty when it says
// nothing that can be read.
func Challenge(h http.Header) map[string]string {
	all, err := oauthex.ParseWWWAuthenticate(h.Values("WWW-Authenticate"))
	if err != nil {
		return map[string]string{}
	}
	for _, c := range all {
		if c.Scheme == "bearer" && c.Params != nil {
			return c.Params
		}
	}
	return map[string]string{}
}

const wellKnown = "/.well-known/oauth-protected-resource"

// place is where metadata may be, and what it has to be about.
type place struct{ at, resource string }

// places are where the metadata of a server may be (RFC 9728, sections 3.1 and 5.1).
func places(server *url.URL, named string) ([]place, error) {
	whole := *server
	whole.RawQuery = ""
	root := whole
	root.Path, root.RawPath = "", ""
	if named != "" {
		u, err := checkAddress("its metadata", named)
		if err != nil {
			return nil, err
		}
		if !sameOrigin(named, server.String()) {
			return nil, fmt.Errorf("%w: the server at %s names metadata at another place, %s", ErrRefused, text.Plain(server.Host), shown(named))
		}
		all := []place{{named, server.String()}}
		if path, ok := strings.CutPrefix(u.Path, wellKnown); ok && strings.HasPrefix(server.Path, path) {
			about := root
			about.Path = path
			all = append(all, place{named, about.String()})
		}
		return all, nil
	}
	return []place{{root.String() + wellKnown + strings.TrimSuffix(whole.Path, "/"), server.String()}, {root.String() + wellKnown, root.String()}}, nil
}

// resourceOf is the metadata of a server (RFC 9728).
func resourceOf(ctx context.Context, client *http.Client, server *url.URL, challenge map[string]string) (*oauthex.ProtectedResourceMetadata, error) {
	all, err := places(server, challenge["resource_metadata"])
	if err != nil {
		return nil, err
	}
	var why error
	for _, p := range all {
		m, err := oauthex.GetProtectedResourceMetadata(ctx, p.at, p.resource, client)
		if err == nil && len(m.AuthorizationServers) == 0 {
			err = errors.New("it names nobody who gives tokens")
		}
		if err == nil {
			return m, nil
		}
		why = errors.Join(why, err)
	}
	return nil, fmt.Errorf("%w: %s does not say who gives tokens (RFC 9728): %s", ErrRefused, text.Plain(server.Host), quoted(why))
}

// issuerOf is who gives tokens (RFC 8414, or OpenID Connect Discovery).
func issuerOf(ctx context.Context, client *http.Client, server *url.URL, m *oauthex.ProtectedResourceMetadata) (*oauthex.AuthServerMeta, error) {
	issuer := m.AuthorizationServers[0]
	if err := checkNamed(server, "who gives tokens", issuer); err != nil {
		return nil, err
	}
	meta, err := auth.GetAuthServerMetadata(ctx, issuer, client)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: who gives tokens, %s: %s", ErrRefused, host(issuer), quoted(err))
	case meta == nil:
		return nil, fmt.Errorf("%w: %s, which is said to give tokens, does not say how (RFC 8414)", ErrRefused, host(issuer))
	case !slices.Contains(meta.CodeChallengeMethodsSupported, "S256"):
		return nil, fmt.Errorf("%w: %s does not take PKCE with S256", ErrRefused, host(issuer))
	case len(meta.GrantTypesSupported) > 0 && !slices.Contains(meta.GrantTypesSupported, "authorization_code"):
		return nil, fmt.Errorf("%w: %s gives no tokens to people, by the grant authorization_code", ErrRefused, host(issuer))
	case meta.AuthorizationEndpoint == "" || meta.TokenEndpoint == "":
		return nil, fmt.Errorf("%w: %s does not say where it gives tokens", ErrRefused, host(issuer))
	}
	for _, e := range []struct{ what, address string }{
		{"where one logs in", meta.AuthorizationEndpoint}, {"where tokens are given", meta.TokenEndpoint},
		{"where clients are registered", meta.RegistrationEndpoint}, {"where tokens are taken back", meta.RevocationEndpoint},
	} {
		if e.address == "" {
			continue
		}
		if err := checkNamed(server, e.what, e.address); err != nil {
			return nil, err
		}
	}
	return meta, nil
}

// scopes are what is asked for: what a person says, or else the server. offline_access is
// what makes some issuers give a token to renew with.
func scopes(said []string, challenge map[string]string, m *oauthex.ProtectedResourceMetadata, issuer *oauthex.AuthServerMeta) []string {
	all := slices.Clone(said)
	if len(all) == 0 {
		all = strings.Fields(challenge["scope"])
	}
	if len(all) == 0 {
		all = slices.Clone(m.ScopesSupported)
	}
	if slices.Contains(issuer.ScopesSupported, "offline_access") {
		all = append(all, "offline_access")
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// register finds out as what this host asks: as what a person says, or as what the issuer
// makes of it (RFC 7591).
func (a *Attempt) register(ctx context.Context, r Request, issuer *oauthex.AuthServerMeta) error {
	l := &a.login
	methods := issuer.TokenEndpointAuthMethodsSupported
	if r.ClientID != "" {
		u, err := url.Parse(r.ClientID)
		if err == nil && u.Scheme == "https" && u.Path != "" && !issuer.ClientIDMetadataDocumentSupported {
			return fmt.Errorf("%w: %s takes no address of a document as the name of a client", ErrRefused, host(issuer.Issuer))
		}
		l.ClientID, l.ClientSecret, l.Style = r.ClientID, r.ClientSecret, oauth2.AuthStyleInParams
		if r.ClientSecret != "" && (len(methods) == 0 || slices.Contains(methods, "client_secret_basic")) {
			l.Style = oauth2.AuthStyleInHeader
		}
		return nil
	}
	if issuer.RegistrationEndpoint == "" {
		return &UnregisteredError{host(issuer.Issuer), a.Redirect}
	}
	method := "none"
	for _, m := range []string{"client_secret_post", "client_secret_basic", "none"} {
		if slices.Contains(methods, m) {
			method = m
		}
	}
	c, err := oauthex.RegisterClient(ctx, issuer.RegistrationEndpoint, &oauthex.ClientRegistrationMetadata{
		RedirectURIs: []string{a.Redirect}, TokenEndpointAuthMethod: method, GrantTypes: []string{"authorization_code", "refresh_token"},
		ResponseTypes: []string{"code"}, ClientName: "Skillet", Scope: strings.Join(l.Scopes, " "), ApplicationType: "native",
	}, a.client)
	if err != nil {
		return fmt.Errorf("%w: %s registers no client: %s", ErrRefused, host(issuer.Issuer), registrationFailure(err))
	}
	if len(c.ClientID) > maxToken || len(c.ClientSecret) > maxToken {
		return fmt.Errorf("%w: %s registers a client with a name that is too long", ErrRefused, host(issuer.Issuer))
	}
	l.ClientID, l.ClientSecret, l.Style = c.ClientID, c.ClientSecret, oauth2.AuthStyleInParams
	if c.ClientSecret != "" && c.TokenEndpointAuthMethod != "client_secret_post" && c.TokenEndpointAuthMethod != "none" {
		l.Style = oauth2.AuthStyleInHeader
	}
	return nil
}

// registrationFailure is what an issuer says, without the body that the library quotes.
func registrationFailure(err error) string {
	var told *oauthex.ClientRegistrationError
	if errors.As(err, &told) {
		return quoted(told)
	}
	said, _, _ := strings.Cut(quoted(err), ": {")
	return said
}

// An UnregisteredError means that the issuer registers no clients by itself: somebody has to
// register this host there first. errors.Is matches [ErrRefused].
type UnregisteredError struct{ Issuer, Redirect string }

// Error says what has to be registered.
func (e *UnregisteredError) Error() string {
	return fmt.Sprintf("%s registers no clients by itself: register one there, for programs on people's machines, that is sent back to http://127.0.0.1/callback with any port", e.Issuer)
}

// Is reports whether target is ErrRefused.
func (e *UnregisteredError) Is(target error) bool { return target == ErrRefused }

// listen waits for the browser at a port that nobody can guess.
func (a *Attempt) listen() (err error) {
	if a.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return fmt.Errorf("wait for the browser: %w", err)
	}
	a.Redirect = "http://" + a.listener.Addr().String() + callback
	a.server = &http.Server{Handler: http.HandlerFunc(a.arrived), ReadHeaderTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10}
	go func() { _ = a.server.Serve(a.listener) }()
	return nil
}

const callback = "/callback"

// arrived takes the answer that a browser brings. One that is not of this login changes nothing.
func (a *Attempt) arrived(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Referrer-Policy", "no-referrer")
	q, err := a.read(r.URL)
	if r.Method != http.MethodGet || r.Host != a.listener.Addr().String() || err != nil {
		http.Error(w, "This is not the answer to a login that waits here.", http.StatusBadRequest)
		return
	}
	a.give(q)
	_, _ = io.WriteString(w, "Skillet has the answer, and says the rest where you began. You can close this page.\n")
}

// errAnswer means that an address is not the answer to the login.
var errAnswer = errors.New("it is not the address that this login ends at")

// read is the answer in an address to which a browser was sent.
func (a *Attempt) read(u *url.URL) (url.Values, error) {
	if u.Path != callback || len(u.RawQuery) > 2*maxToken {
		return nil, errAnswer
	}
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, errAnswer
	}
	for _, name := range []string{"state", "code", "iss", "error"} {
		if len(q[name]) > 1 {
			return nil, errAnswer
		}
	}
	if subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(a.state)) != 1 || (q.Get("code") == "") == (q.Get("error") == "") {
		return nil, errAnswer
	}
	return q, nil
}

func (a *Attempt) give(q url.Values) { a.once.Do(func() { a.answer <- q }) }

// Paste takes the address that a browser was sent to in the end, of a browser on another
// machine. It fails for what is not that address.
func (a *Attempt) Paste(address string) error {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Scheme != "http" || "http://"+u.Host+u.Path != a.Redirect {
		return errAnswer
	}
	q, err := a.read(u)
	if err == nil {
		a.give(q)
	}
	return err
}

// Wait waits until the person has decided, and gets the tokens. Errors wrap [ErrRefused]
// when the person or the issuer refuses, and the error of ctx when it ends.
func (a *Attempt) Wait(ctx context.Context) (Login, error) {
	var q url.Values
	select {
	case <-ctx.Done():
		return Login{}, ctx.Err()
	case q = <-a.answer:
	}
	if err := a.checkIssuer(q); err != nil {
		return Login{}, err
	}
	if e := q.Get("error"); e != "" {
		return Login{}, fmt.Errorf("%w: %s says %s", ErrRefused, host(a.Issuer), text.Short(text.Plain(strings.TrimSuffix(e+": "+q.Get("error_description"), ": ")), maxText))
	}
	t, err := a.config.Exchange(context.WithValue(ctx, oauth2.HTTPClient, a.client), q.Get("code"),
		oauth2.VerifierOption(a.verifier), oauth2.SetAuthURLParam("resource", a.login.Resource))
	if err != nil {
		if ctx.Err() != nil {
			return Login{}, ctx.Err()
		}
		return Login{}, fmt.Errorf("%w: %s gives no token: %s", ErrRefused, host(a.login.TokenURL), quoted(err))
	}
	l := a.login
	return l, l.take(t)
}

// checkIssuer looks whether the answer is from who was asked (RFC 9207).
func (a *Attempt) checkIssuer(q url.Values) error {
	iss, there := q.Get("iss"), q.Has("iss")
	switch {
	case !there && a.iss:
		return fmt.Errorf("%w: the answer does not say that it is of %s, which says so of all its answers", ErrRefused, host(a.Issuer))
	case there && iss != a.Issuer:
		return fmt.Errorf("%w: the answer is of %s, and %s was asked", ErrRefused, shown(iss), shown(a.Issuer))
	}
	return nil
}

// Close stops waiting for the browser. It may be called twice.
func (a *Attempt) Close() {
	if a.server != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second) // the page that is being sent
		defer cancel()
		if a.server.Shutdown(ctx) != nil {
			_ = a.server.Close()
		}
	}
	a.client.CloseIdleConnections()
}

// shown is an address for texts, without what may be secret in it.
func shown(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "what cannot be read"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return text.Short(text.Plain(u.String()), maxText)
}
