package mcptest

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// An Issuer is an authorization server (RFC 6749, 7009, 7591, 7636, 8414, 8707 and 9207) with an
// MCP server that takes its tokens alone, both on loopback. Whoever comes to log in is taken
// for a person who agrees. A refresh token is good for one use: the second ends all tokens of
// its login.
type Issuer struct {
	// Server is the address of the MCP server.
	Server string

	issuer, resource *httptest.Server

	mu      sync.Mutex
	o       IssuerOptions
	clients map[string]client
	codes   map[string]code
	access  map[string]grant
	refresh map[string]grant
	used    map[string]string // families of refresh tokens that were used
	counts  IssuerCounts
}

// IssuerOptions are behaviours of an [Issuer]; the zero value is an honest one.
type IssuerOptions struct {
	// Life is how long tokens hold; 0 means an hour.
	Life time.Duration
	// Deny is a person who refuses. Unregistering offers no registration. Documents takes
	// addresses of client metadata as clients.
	Deny, Unregistering, Documents bool
	// WithoutPKCE, WithoutRefresh and WithoutMetadata offer less.
	WithoutPKCE, WithoutRefresh, WithoutMetadata bool
	// Secrets gives clients that register a secret.
	Secrets bool
	// Iss is what the answer says that it is of; empty for the truth. SilentIss leaves it out.
	Iss       string
	SilentIss bool
	// Issuer is what the metadata says; Resource what that of the server is about; Metadata
	// where the server says that is; TokenAt where tokens are given. Empty for the truth.
	Issuer, Resource, Metadata, TokenAt string
	// RedirectTokens answers requests for tokens with a redirect there.
	RedirectTokens string
	// Slow is how long a renewal takes.
	Slow time.Duration
	// Scope is what the tool "lines" needs.
	Scope string
}

// IssuerCounts are what an [Issuer] did.
type IssuerCounts struct{ Registered, Given, Renewed, Reused, Revoked int }

type client struct{ secret, redirect string }

type grant struct {
	client, scope, resource, family string
	until                           time.Time
}

type code struct {
	grant
	redirect, challenge string
}

// NewIssuer starts both servers. Close it.
func NewIssuer(o IssuerOptions) *Issuer {
	s := &Issuer{
		o: o, clients: map[string]client{"known": {"known-secret", ""}}, codes: map[string]code{}, access: map[string]grant{}, refresh: map[string]grant{}, used: map[string]string{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", s.metadata)
	mux.HandleFunc("POST /register", s.register)
	mux.HandleFunc("GET /authorize", s.authorize)
	mux.HandleFunc("POST /token", s.token)
	mux.HandleFunc("POST /revoke", s.revoke)
	s.issuer = httptest.NewServer(mux)
	s.resource = httptest.NewServer(s.guarded())
	s.Server = s.resource.URL + "/mcp"
	return s
}

// Close ends both servers.
func (s *Issuer) Close() {
	s.issuer.Close()
	s.resource.Close()
}

// URL is the issuer's name.
func (s *Issuer) URL() string { return s.issuer.URL }

// Counts are what it did so far.
func (s *Issuer) Counts() IssuerCounts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts
}

// Change changes its behaviour.
func (s *Issuer) Change(do func(*IssuerOptions)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do(&s.o)
}

// Expire has the access tokens end that there are, and with all the refresh tokens too.
func (s *Issuer) Expire(all bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.access)
	if all {
		clear(s.refresh)
	}
}

func (s *Issuer) options() IssuerOptions {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.o
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func oauthError(w http.ResponseWriter, status int, code, words string) {
	answer(w, status, map[string]string{"error": code, "error_description": words})
}

func (s *Issuer) metadata(w http.ResponseWriter, _ *http.Request) {
	o, at := s.options(), s.issuer.URL
	m := oauthex.AuthServerMeta{
		Issuer: or(o.Issuer, at), AuthorizationEndpoint: at + "/authorize", TokenEndpoint: or(o.TokenAt, at+"/token"), RevocationEndpoint: at + "/revoke",
		ResponseTypesSupported: []string{"code"}, GrantTypesSupported: []string{"authorization_code", "refresh_token"}, ScopesSupported: []string{"notes:read", "offline_access"},
		TokenEndpointAuthMethodsSupported: []string{"none", "client_secret_basic", "client_secret_post"}, CodeChallengeMethodsSupported: []string{"S256"},
		ClientIDMetadataDocumentSupported: o.Documents, AuthorizationResponseIssParameterSupported: true,
	}
	if !o.Unregistering {
		m.RegistrationEndpoint = at + "/register"
	}
	if o.Secrets {
		m.TokenEndpointAuthMethodsSupported = []string{"client_secret_basic"}
	}
	if o.WithoutPKCE {
		m.CodeChallengeMethodsSupported = []string{"plain"}
	}
	answer(w, http.StatusOK, m)
}

func (s *Issuer) register(w http.ResponseWriter, r *http.Request) {
	var m oauthex.ClientRegistrationMetadata
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil || len(m.RedirectURIs) != 1 {
		oauthError(w, http.StatusBadRequest, "invalid_redirect_uri", "one is needed")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.Registered++
	id, c := "client-"+rand.Text(), client{redirect: m.RedirectURIs[0]}
	if m.TokenEndpointAuthMethod != "none" {
		c.secret = "secret-" + rand.Text()
	}
	s.clients[id] = c
	answer(w, http.StatusCreated, &oauthex.ClientRegistrationResponse{ClientRegistrationMetadata: m, ClientID: id, ClientSecret: c.secret})
}

// authorize is a person who agrees at once.
func (s *Issuer) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	s.mu.Lock()
	defer s.mu.Unlock()
	c, known := s.clients[q.Get("client_id")]
	to, err := url.Parse(q.Get("redirect_uri"))
	document := s.o.Documents && strings.HasPrefix(q.Get("client_id"), "https://")
	if !known && !document || err != nil || to.Hostname() != "127.0.0.1" || c.redirect != "" && c.redirect != q.Get("redirect_uri") {
		http.Error(w, "unknown client or redirect", http.StatusBadRequest)
		return
	}
	back := url.Values{"state": {q.Get("state")}}
	if !s.o.SilentIss {
		back.Set("iss", or(s.o.Iss, s.issuer.URL))
	}
	switch {
	case q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || q.Get("code_challenge") == "" || q.Get("resource") == "":
		back.Set("error", "invalid_request")
	case s.o.Deny:
		back.Set("error", "access_denied")
		back.Set("error_description", "the person said no")
	default:
		id := "code-" + rand.Text()
		s.codes[id] = code{grant{client: q.Get("client_id"), scope: q.Get("scope"), resource: q.Get("resource"), family: rand.Text()}, q.Get("redirect_uri"), q.Get("code_challenge")}
		back.Set("code", id)
	}
	to.RawQuery = back.Encode()
	http.Redirect(w, r, to.String(), http.StatusFound)
}

// authenticated is the client of a request; false when it is not who it says.
func (s *Issuer) authenticated(r *http.Request) (string, bool) {
	id, secret, basic := r.BasicAuth()
	if !basic {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	c, known := s.clients[id]
	if !known {
		return id, s.o.Documents && strings.HasPrefix(id, "https://")
	}
	return id, c.secret == secret
}

func (s *Issuer) token(w http.ResponseWriter, r *http.Request) {
	if o := s.options(); o.RedirectTokens != "" {
		http.Redirect(w, r, o.RedirectTokens, http.StatusTemporaryRedirect)
		return
	} else if r.PostFormValue("grant_type") == "refresh_token" {
		time.Sleep(o.Slow)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	id, ok := s.authenticated(r)
	if !ok {
		oauthError(w, http.StatusUnauthorized, "invalid_client", "who is that?")
		return
	}
	var g grant
	switch r.PostFormValue("grant_type") {
	case "authorization_code":
		c, ok := s.codes[r.PostFormValue("code")]
		delete(s.codes, r.PostFormValue("code"))
		sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
		if !ok || c.client != id || c.redirect != r.PostFormValue("redirect_uri") || base64.RawURLEncoding.EncodeToString(sum[:]) != c.challenge {
			oauthError(w, http.StatusBadRequest, "invalid_grant", "not such a code")
			return
		}
		g = c.grant
		s.counts.Given++
	case "refresh_token":
		told := r.PostFormValue("refresh_token")
		if g, ok = s.refresh[told]; !ok || g.client != id {
			if family := s.used[told]; family != "" {
				s.counts.Reused++
				s.end(family)
			}
			oauthError(w, http.StatusBadRequest, "invalid_grant", "the refresh token is not good")
			return
		}
		delete(s.refresh, told)
		s.used[told] = g.family
		s.counts.Renewed++
	default:
		oauthError(w, http.StatusBadRequest, "unsupported_grant_type", "")
		return
	}
	if g.resource != r.PostFormValue("resource") {
		oauthError(w, http.StatusBadRequest, "invalid_target", "it is for "+g.resource)
		return
	}
	life := s.o.Life
	if life == 0 {
		life = time.Hour
	}
	g.until = time.Now().Add(life)
	v := map[string]any{"access_token": "access-" + rand.Text(), "token_type": "bearer", "expires_in": int(life.Seconds()), "scope": g.scope}
	s.access[v["access_token"].(string)] = g
	if !s.o.WithoutRefresh {
		v["refresh_token"] = "refresh-" + rand.Text()
		s.refresh[v["refresh_token"].(string)] = g
	}
	answer(w, http.StatusOK, v)
}

// end ends all tokens of a login.
func (s *Issuer) end(family string) {
	for _, all := range []map[string]grant{s.access, s.refresh} {
		for k, g := range all {
			if g.family == family {
				delete(all, k)
			}
		}
	}
}

func (s *Issuer) revoke(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.authenticated(r); !ok {
		oauthError(w, http.StatusUnauthorized, "invalid_client", "")
		return
	}
	s.counts.Revoked++
	for _, all := range []map[string]grant{s.access, s.refresh} {
		if g, ok := all[r.PostFormValue("token")]; ok {
			s.end(g.family)
		}
	}
}

// verify is what the MCP server takes for a token.
func (s *Issuer) verify(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, ok := s.access[token]
	if !ok || g.resource != s.Server || time.Now().After(g.until) {
		return nil, fmt.Errorf("%w: not one of this server", auth.ErrInvalidToken)
	}
	return &auth.TokenInfo{Scopes: strings.Fields(g.scope), Expiration: g.until, UserID: "ada"}, nil
}

// guarded is the MCP server, with its metadata (RFC 9728).
func (s *Issuer) guarded() http.Handler {
	inner := s.scoped(Handler("", true))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o := s.options()
		if strings.HasPrefix(r.URL.Path, "/.well-known/oauth-protected-resource") {
			if o.WithoutMetadata || r.URL.Path != "/.well-known/oauth-protected-resource/mcp" {
				http.NotFound(w, r)
				return
			}
			answer(w, http.StatusOK, oauthex.ProtectedResourceMetadata{Resource: or(o.Resource, s.Server), AuthorizationServers: []string{s.issuer.URL}, ScopesSupported: []string{"notes:read"}})
			return
		}
		auth.RequireBearerToken(s.verify, &auth.RequireBearerTokenOptions{
			ResourceMetadataURL: or(o.Metadata, s.resource.URL+"/.well-known/oauth-protected-resource/mcp"),
		})(inner).ServeHTTP(w, r)
	})
}

// scoped refuses calls of the tool "lines" to tokens without the scope that it needs.
func (s *Issuer) scoped(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		if err != nil {
			http.Error(w, "read", http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		need := s.options().Scope
		if need != "" && bytes.Contains(body, []byte(`"tools/call"`)) && bytes.Contains(body, []byte(`"lines"`)) && !slices.Contains(auth.TokenInfoFromContext(r.Context()).Scopes, need) {
			w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+need+`"`)
			http.Error(w, "more is needed", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}
