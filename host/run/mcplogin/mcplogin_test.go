package mcplogin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/base/secret"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/host/run/mcpserver/mcptest"
)

// renewer says to a process of the test binary in which home it is to renew a login.
const renewer = "MCPLOGIN_TEST_HOME"

func TestMain(m *testing.M) {
	home, ok := os.LookupEnv(renewer)
	if !ok {
		os.Exit(m.Run())
	}
	words := strings.Split(home, "|")
	token, _, err := keeperIn(words[0]).Token(context.Background(), Name("notes"), words[1], words[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Print(token)
	os.Exit(0)
}

func keeperIn(home string) *Keeper {
	key := secret.NewKey(secret.KeyOptions{Home: home, Location: secret.LocationFile})
	return NewKeeper(secret.Open(filepath.Join(home, "secrets"), key), filepath.Join(home, "secrets"), nil)
}

// issuer starts an authorization server.
func issuer(t *testing.T, o mcptest.IssuerOptions) *mcptest.Issuer {
	t.Helper()
	s := mcptest.NewIssuer(o)
	t.Cleanup(s.Close)
	return s
}

// browse is a person with a browser.
func browse(t *testing.T, address string) string {
	t.Helper()
	res, err := http.Get(address)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Error(err)
	}
	return string(b)
}

// logIn logs in, and keeps the login.
func logIn(t *testing.T, k *Keeper, r Request) Login {
	t.Helper()
	a, err := k.Begin(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if page := browse(t, a.Address); !strings.Contains(page, "You can close this page") {
		t.Errorf("the browser shows %q", page)
	}
	l, err := a.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Put(t.Context(), Name("notes"), l); err != nil {
		t.Fatal(err)
	}
	return l
}

// TestLogin logs in as a client that was registered by itself, with a secret and without,
// and as one that is known.
func TestLogin(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		o       mcptest.IssuerOptions
		r       Request
		clients int
	}{
		{"registered", mcptest.IssuerOptions{}, Request{}, 1},
		{"registered with a secret", mcptest.IssuerOptions{Secrets: true}, Request{}, 1},
		{"known", mcptest.IssuerOptions{Unregistering: true}, Request{ClientID: "known", ClientSecret: "known-secret"}, 0},
		{"a document", mcptest.IssuerOptions{Unregistering: true, Documents: true}, Request{ClientID: "https://example.com/client.json"}, 0},
		{"scopes", mcptest.IssuerOptions{}, Request{Scopes: []string{"notes:write"}}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, k := issuer(t, c.o), keeperIn(t.TempDir())
			c.r.Server = s.Server
			l := logIn(t, k, c.r)
			want := []string{"notes:read", "offline_access"}
			if c.r.Scopes != nil {
				want[0] = c.r.Scopes[0]
			}
			if !slices.Equal(l.Scopes, want) || l.Issuer != s.URL() || l.Resource != s.Server || s.Counts().Registered != c.clients {
				t.Errorf("%+v, %+v", l.View(), s.Counts())
			}
			token, ok, err := k.Token(t.Context(), Name("notes"), s.Server, "")
			if err != nil || !ok || token != l.Access || takes(t, s.Server, token) != http.StatusOK {
				t.Errorf("%q, %v, %v", token, ok, err)
			}
			if next, _, err := k.Token(t.Context(), Name("notes"), s.Server, token); err != nil || next == token || takes(t, s.Server, next) != http.StatusOK {
				t.Errorf("renewed: %q, %v", next, err)
			}
			now, _, err := k.Of(t.Context(), Name("notes"))
			if values := k.Values(t.Context()); err != nil || !slices.Contains(values, now.Access) || !slices.Contains(values, now.Refresh) {
				t.Errorf("what is struck out of texts lacks a token: %v", err)
			}
			if _, err := k.Get(t.Context(), Name("notes")); !errors.Is(err, secret.ErrLogin) {
				t.Errorf("as a secret it is %v", err)
			}
			gone, err := k.Forget(t.Context(), Name("notes"))
			if err != nil || !k.Revoke(t.Context(), gone) || takes(t, s.Server, now.Access) != http.StatusUnauthorized {
				t.Errorf("logout: %v, %+v", err, s.Counts())
			}
			if _, err := k.Forget(t.Context(), Name("notes")); !errors.Is(err, secret.ErrNotFound) {
				t.Errorf("logout again: %v", err)
			}
		})
	}
}

// takes is how an MCP server answers to a token.
func takes(t *testing.T, server, token string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return errorsOr(res.Body.Close(), res.StatusCode)
}

func errorsOr(err error, status int) int {
	if err != nil {
		return 0
	}
	return status
}

// TestRefused is about what a login does not go on with.
func TestRefused(t *testing.T) {
	t.Parallel()
	away := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(away.Close)
	for _, c := range []struct {
		name, want string
		o          mcptest.IssuerOptions
		late       bool // it is found out when the person has agreed
	}{
		{"no PKCE", "does not take PKCE with S256", mcptest.IssuerOptions{WithoutPKCE: true}, false},
		{"no registration", "registers no clients by itself", mcptest.IssuerOptions{Unregistering: true}, false},
		{"no metadata", "does not say who gives tokens", mcptest.IssuerOptions{WithoutMetadata: true}, false},
		{"metadata of another resource", "does not say who gives tokens", mcptest.IssuerOptions{Resource: "https://bank.example/mcp"}, false},
		{"metadata at another place", "names metadata at another place", mcptest.IssuerOptions{Metadata: away.URL + "/.well-known/oauth-protected-resource/mcp"}, false},
		{"another issuer", "does not match issuer", mcptest.IssuerOptions{Issuer: "https://other.example"}, false},
		{"tokens in plain text", "does not use HTTPS", mcptest.IssuerOptions{TokenAt: "http://tokens.example/token"}, false},
		{"the person refuses", "access_denied: the person said no", mcptest.IssuerOptions{Deny: true}, true},
		{"the answer of another", "the answer is of https://other.example", mcptest.IssuerOptions{Iss: "https://other.example"}, true},
		{"the answer of nobody", "does not say that it is of", mcptest.IssuerOptions{SilentIss: true}, true},
		{"tokens by a redirect", "a redirect, which is not followed", mcptest.IssuerOptions{RedirectTokens: away.URL}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, k := issuer(t, c.o), keeperIn(t.TempDir())
			a, err := k.Begin(t.Context(), Request{Server: s.Server})
			if c.late {
				if err != nil {
					t.Fatal(err)
				}
				defer a.Close()
				browse(t, a.Address)
				_, err = a.Wait(t.Context())
			}
			if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
	k := keeperIn(t.TempDir())
	for _, address := range []string{"http://mcp.example.com/mcp", "ftp://127.0.0.1/mcp", "https://user:pass@example.com/mcp", "nowhere", away.URL} {
		if _, err := k.Begin(t.Context(), Request{Server: address}); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", address, err)
		}
	}
	gone := httptest.NewServer(nil)
	gone.Close()
	if _, err := k.Begin(t.Context(), Request{Server: gone.URL}); !errors.Is(err, ErrUnreachable) {
		t.Errorf("%v", err)
	}
}

// TestStrangers brings answers that are not those of the login: they end nothing.
func TestStrangers(t *testing.T) {
	t.Parallel()
	s, k := issuer(t, mcptest.IssuerOptions{}), keeperIn(t.TempDir())
	a, err := k.Begin(t.Context(), Request{Server: s.Server})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for _, query := range []string{"", "?code=x", "?code=x&state=y", "?state=" + a.state, "?code=x&code=y&state=" + a.state, "?error=x&code=y&state=" + a.state, "?%zz"} {
		if page := browse(t, a.Redirect+query); !strings.Contains(page, "not the answer") {
			t.Errorf("%s: %s", query, page)
		}
		if err := a.Paste(a.Redirect + query); err == nil {
			t.Errorf("%s was taken when pasted", query)
		}
	}
	if err := a.Paste("http://127.0.0.1:1/callback?code=x&state=" + a.state); err == nil {
		t.Error("an address of another port was taken")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	// a browser on another machine, which cannot show the page it is sent to
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Get(a.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if err := a.Paste(" " + res.Header.Get("Location") + "\n"); err != nil {
		t.Fatal(err)
	}
	if l, err := a.Wait(t.Context()); err != nil || l.Access == "" {
		t.Errorf("%v", err)
	}
	a.Close()
	if _, err := http.Get(a.Redirect); err == nil {
		t.Error("it still listens")
	}
}

// TestElsewhere asks for the token for other servers.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	s, k := issuer(t, mcptest.IssuerOptions{}), keeperIn(t.TempDir())
	logIn(t, k, Request{Server: s.Server})
	u, err := url.Parse(s.Server)
	if err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{s.URL() + "/mcp", "https://" + u.Host + "/mcp", "http://127.0.0.1/mcp", "http://127.0.0.1.example:" + u.Port() + "/mcp", ""} {
		if token, _, err := k.Token(t.Context(), Name("notes"), to, ""); token != "" || !errors.Is(err, ErrElsewhere) {
			t.Errorf("%s: %q, %v", to, token, err)
		}
	}
	if err := k.Set(t.Context(), "plain", []byte("value")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"plain", "absent"} {
		if _, ok, err := k.Token(t.Context(), name, s.Server, ""); ok || err != nil {
			t.Errorf("%s: %v, %v", name, ok, err)
		}
	}
}

// TestRenewedOnce has many ask at once, in this process and in others, for a token in the
// place of one that has expired: one of them renews it.
func TestRenewedOnce(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	s, k := issuer(t, mcptest.IssuerOptions{Slow: 200 * time.Millisecond}), keeperIn(home)
	l := logIn(t, k, Request{Server: s.Server})
	s.Expire(false)
	got := make([]string, 12)
	var all sync.WaitGroup
	for i := range got {
		all.Go(func() {
			if i%3 != 0 {
				token, _, err := k.Token(t.Context(), Name("notes"), s.Server, l.Access)
				if got[i] = token; err != nil {
					t.Error(err)
				}
				return
			}
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), renewer+"="+home+"|"+s.Server+"|"+l.Access)
			out, err := cmd.Output()
			if got[i] = string(out); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	slices.Sort(got)
	if got = slices.Compact(got); len(got) != 1 || takes(t, s.Server, got[0]) != http.StatusOK {
		t.Errorf("%d different tokens", len(got))
	}
	if c := s.Counts(); c.Renewed != 1 || c.Reused != 0 {
		t.Errorf("%+v", c)
	}
}

// TestRenewedAlthoughCancelled cancels whoever asked while the issuer answers: the next
// refresh token is kept.
func TestRenewedAlthoughCancelled(t *testing.T) {
	t.Parallel()
	s, k := issuer(t, mcptest.IssuerOptions{Slow: 300 * time.Millisecond}), keeperIn(t.TempDir())
	l := logIn(t, k, Request{Server: s.Server})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	if _, _, err := k.Token(ctx, Name("notes"), s.Server, l.Access); err != nil {
		t.Log(err)
	}
	now, _, err := k.Of(t.Context(), Name("notes"))
	if err != nil || now.Refresh == l.Refresh {
		t.Fatalf("the next token was lost: %v", err)
	}
	if next, _, err := k.Token(t.Context(), Name("notes"), s.Server, now.Access); err != nil || next == now.Access {
		t.Errorf("%v", err)
	}
}

// TestEnded is about logins that are not renewed any more.
func TestEnded(t *testing.T) {
	t.Parallel()
	s, k := issuer(t, mcptest.IssuerOptions{}), keeperIn(t.TempDir())
	l := logIn(t, k, Request{Server: s.Server})
	s.Expire(true)
	for range 2 { // the second time nobody is asked
		if _, _, err := k.Token(t.Context(), Name("notes"), s.Server, l.Access); !errors.Is(err, hostfn.ErrLogin) || !strings.Contains(err.Error(), "invalid_grant") {
			t.Errorf("%v", err)
		}
	}
	now, _, err := k.Of(t.Context(), Name("notes"))
	if v := now.View(); err != nil || v.Ended == "" || v.Renewed {
		t.Errorf("%+v, %v", v, err)
	}
	again := logIn(t, k, Request{Server: s.Server})
	if token, _, err := k.Token(t.Context(), Name("notes"), s.Server, ""); err != nil || token != again.Access {
		t.Errorf("after the second login: %v", err)
	}
	s.Close() // not an end: it may come back
	if _, _, err := k.Token(t.Context(), Name("notes"), s.Server, again.Access); err == nil || errors.Is(err, hostfn.ErrLogin) || strings.Contains(err.Error(), again.Refresh) {
		t.Errorf("%v", err)
	}

	short := issuer(t, mcptest.IssuerOptions{Life: time.Second, WithoutRefresh: true})
	logIn(t, k, Request{Server: short.Server})
	if _, _, err := k.Token(t.Context(), Name("notes"), short.Server, ""); !errors.Is(err, hostfn.ErrLogin) {
		t.Errorf("without a refresh token: %v", err)
	}
}

// TestNearness is about where what a server names may be.
func TestNearness(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]nearness{
		"93.184.216.34": public, "2606:2800::1": public, "10.1.2.3": private, "100.64.0.1": private, "fd00::1": private, "127.0.0.1": loopback, "::1": loopback,
		"::ffff:127.0.0.1": loopback, "169.254.169.254": never, "fe80::1": never, "0.0.0.0": never, "224.0.0.1": never,
	} {
		if got := nearnessOf(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: %d, want %d", address, got, want)
		}
	}
	far := &url.URL{Scheme: "https", Host: "mcp.example.com", Path: "/mcp"}
	for _, address := range []string{"http://127.0.0.1/token", "https://localhost/token", "https://[::1]/token", "http://example.com/token", "https://a@example.com"} {
		if err := checkNamed(far, "it", address); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// FuzzAnswer brings addresses to a login that waits: none is taken without the state, and
// none is taken with two answers in it.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{"", "?code=a&state=STATE", "?error=a&state=STATE&iss=x", "?state=STATE&state=x&code=a", "?code=%00&state=STATE", "?state=STATE;code=a"} {
		f.Add("/callback" + s)
	}
	f.Fuzz(func(t *testing.T, address string) {
		a := &Attempt{state: "STATE", Redirect: "http://127.0.0.1:1234/callback", answer: make(chan url.Values, 1)}
		if a.Paste("http://127.0.0.1:1234"+address) != nil {
			return
		}
		q := <-a.answer
		if q.Get("state") != "STATE" || (q.Get("code") == "") == (q.Get("error") == "") || len(q["code"]) > 1 || len(q["iss"]) > 1 {
			t.Errorf("%q was taken as %v", address, q)
		}
	})
}

// FuzzChallenge reads what servers say with 401: what is read can be shown.
func FuzzChallenge(f *testing.F) {
	for _, s := range []string{`Bearer resource_metadata="https://a.example/x", scope="a b"`, `Basic realm="x", Bearer error="insufficient_scope"`, `Bearer a="`, `Bearer`, `,,,"`} {
		f.Add(s, "https://a.example/mcp")
	}
	f.Fuzz(func(t *testing.T, header, server string) {
		says := Challenge(http.Header{"Www-Authenticate": {header}})
		u, err := checkAddress("the server", server)
		if err != nil {
			return
		}
		all, err := places(u, says["resource_metadata"])
		if err != nil {
			return
		}
		for _, p := range all {
			if !sameOrigin(p.at, server) || !sameOrigin(p.resource, server) {
				t.Errorf("%q of %s leads to %v", header, server, p)
			}
		}
	})
}
