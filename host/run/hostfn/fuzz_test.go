package hostfn

import (
	"bytes"
	"context"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/base/redact"
	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/policies/capability"
)

// FuzzRequestMeta gives every function any request data and body, with much granted but no network.
// Nothing may panic, every response is JSON, and what lies outside the grants stays as it is.
func FuzzRequestMeta(f *testing.F) {
	for i, fn := range functions() {
		f.Add(uint8(i), []byte(fn.example), []byte("body"))
	}
	for _, s := range []string{
		``, `{`, `null`, `[]`, `{"path":"../../x","offset":-1}`, `{"path":"a","recursive":true,"limit":3}`, `{"path":"link/x"}`,
		`{"key":"k","ttl_seconds":1,"revision":0}`, `{"prefix":"\u0000"}`, `{"level":"warn","fields":{"a":"\u001b[1m"}}`,
		`{"url":"http://[::1]:1/%2e%2e/","method":"GET","headers":{"Host":["x"]},"max_bytes":9223372036854775807}`,
		`{"severity":"error","title":"t"}`, `{"path":"a","append":true,"create_only":true}`,
	} {
		for i := range functions() {
			f.Add(uint8(i), []byte(s), []byte("\x1b]0;x\x07"))
		}
	}
	dir := f.TempDir()
	must(f, os.WriteFile(dir+"/secret", []byte("SECRET"), 0o644))
	must(f, os.Mkdir(dir+"/in", 0o755))
	must(f, os.Symlink("../secret", dir+"/in/link"))
	set := settings(f, "fs.read:"+dir+"/in/**", "fs.write:"+dir+"/in/*.none", "kv", "secret:*", "notify", "http:* https://*.none.invalid/*")
	kv := store.Memory()
	f.Cleanup(func() { kv.Close() })
	set.KV, set.Notifier, set.Workspace = kv.KV(), &inbox{}, dir+"/in"
	set.Secrets = vault{"github": "ghp_0123456789"}
	set.Resolver = names(f, nil)
	f.Fuzz(func(t *testing.T, which uint8, meta, body []byte) {
		fn := functions()[int(which)%len(functions())]
		e := open(t, set)
		answer, out := fn.serve(context.Background(), e, meta, body)
		r := parseReply(t, answer, out)
		if strings.Contains(string(out), "SECRET") || strings.Contains(string(answer), "ghp_0123456789") {
			t.Fatalf("%s %s: %s %q", fn.name, meta, answer, out)
		}
		if r.Error.Kind == KindDenied && len(e.Denials()) == 0 {
			t.Fatalf("%s %s: a refusal that nobody hears of", fn.name, meta)
		}
		if b, err := os.ReadFile(dir + "/secret"); err != nil || string(b) != "SECRET" {
			t.Fatalf("%s %s changed the file outside", fn.name, meta)
		}
		for _, l := range e.Logs() {
			if strings.ContainsAny(l.Message, "\x1b\x07\n\r") {
				t.Fatalf("log line %q", l.Message)
			}
		}
	})
}

// FuzzURL checks that what is sent is what was checked: a URL that passes has the granted scheme, host,
// port and path prefix also for net/url, after sending it is the same endpoint, and no redirect out of it passes.
func FuzzURL(f *testing.F) {
	for _, s := range []string{
		"https://api.example.com/v1/x", "https://api.example.com:443/v1/", "HTTPS://API.EXAMPLE.COM/v1/%41", "https://api.example.com/v1/../x",
		"https://api.example.com/v1//..//x", "https://api.example.com@evil.example/v1/", "https://api.example.com.evil.example/v1/",
		"https://api.example.com\\.evil.example/v1/", "https://api.example.com:80/v1/", "http://api.example.com/v1/", "//api.example.com/v1/",
		"https://api.example.com/v1/?u=https://evil.example/#f", "https://api.example.com/v1/%2e%2e/", "https://api.example.com./v1/",
		"https://[::ffff:1.2.3.4]/v1/", "/v1/relative", "v2/../v1/x", "?q", "https://api.example.com/v1/;..;/x", "https://api.example.com/v1/\u2025/",
	} {
		f.Add(s)
	}
	granted := capability.MustParse("http:GET https://api.example.com/v1/*")
	f.Fuzz(func(t *testing.T, text string) {
		base := outgoing{method: "GET", url: "https://api.example.com/v1/base"}
		must(t, base.prepare())
		for _, u := range []string{text, resolve(base.target(), text)} {
			r := outgoing{url: u}
			if r.prepare() != nil || !granted.Allows(r.request()) {
				continue
			}
			sent, err := url.Parse(r.target())
			if err != nil || sent.Scheme != "https" || sent.Hostname() != "api.example.com" || sent.Port() != "" && sent.Port() != "443" ||
				sent.User != nil || sent.Fragment != "" || !strings.HasPrefix(sent.Path, "/v1/") {
				t.Fatalf("%q is sent as %q, %v", u, r.target(), err)
			}
			if strings.Contains(sent.Path, "/../") || strings.HasSuffix(sent.Path, "/..") || strings.Contains(sent.Path, "//") {
				t.Fatalf("%q is sent as %q", u, r.target())
			}
			again := outgoing{url: r.target()}
			if err := again.prepare(); err != nil || again.target() != r.target() {
				t.Fatalf("%q is not stable: %q, %q, %v", u, r.target(), again.target(), err)
			}
			if !sameOrigin(u, base.to) {
				t.Fatalf("%q passes and is of another origin", u)
			}
		}
	})
}

// FuzzRedact checks that a known value is found wherever it stands, and that a text that is cut does not
// end in the beginning of one. The bytes around the value are such that they cannot be part of it.
func FuzzRedact(f *testing.F) {
	f.Add([]byte("secret-value"), 3, 7, 5)
	f.Add([]byte("aaaa"), 0, 2, 3)
	f.Add([]byte("p&=<\"\xc3\xa9"), 9, 0, 12)
	f.Fuzz(func(t *testing.T, value []byte, before, after, limit int) {
		before, after = min(before&0xff, 300), min(after&0xff, 300)
		if len(value) < redact.Shortest || len(value) > 200 || bytes.ContainsAny(value, "\x00"+redacted) {
			return
		}
		var r redactor
		r.add(string(value))
		text := bytes.Join([][]byte{make([]byte, before), value, make([]byte, after)}, nil)
		if got := r.text(string(text)); len(got) != before+len(redacted)+after {
			t.Fatalf("%q became %q", text, got)
		}
		limit = limit & 0x3ff % (len(text) + 1)
		read := min(len(text), limit+r.margin())
		got := r.body(text[:read], int64(limit), read < len(text))
		if len(got) > limit || len(bytes.Trim(got, "\x00"+redacted)) > 0 {
			t.Fatalf("%q cut at %d became %q", text, limit, got)
		}
	})
}

// TestRedactCut: a secret that is cut off where reading stopped does not move into view when others before
// it became shorter.
func TestRedactCut(t *testing.T) {
	t.Parallel()
	secret := "0123456789abcdefghijklmnopqrstuvwxyz"
	var r redactor
	r.add(secret)
	text := strings.Repeat(secret, 40)
	for limit := range 900 {
		got := r.body([]byte(text[:limit+r.margin()]), int64(limit), true)
		if strings.ContainsAny(string(got), "0123456789") || len(got) > limit {
			t.Fatalf("cut at %d: %q", limit, got)
		}
	}
}

// FuzzAddress checks the address rules against the standard library's notions.
func FuzzAddress(f *testing.F) {
	for _, s := range []string{"127.0.0.1", "8.8.8.8", "::1", "2606:4700::1111", "::ffff:8.8.8.8", "::ffff:10.0.0.1", "fe80::1%eth0", "2002:7f00:1::"} {
		f.Add(s)
	}
	blocks := reserved()
	f.Fuzz(func(t *testing.T, s string) {
		a, err := netip.ParseAddr(s)
		if err != nil || !publicAddress(a, blocks) {
			return
		}
		a = a.Unmap()
		if a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast() || a.IsMulticast() || a.IsUnspecified() || !a.IsGlobalUnicast() {
			t.Fatalf("%s counts as public", s)
		}
		if publicAddress(netip.AddrFrom16(a.As16()), blocks) != publicAddress(a, blocks) {
			t.Fatalf("%s is judged differently when mapped", s)
		}
	})
}

// TestPublicAddress: what is public stays reachable.
func TestPublicAddress(t *testing.T) {
	t.Parallel()
	blocks := reserved()
	for _, s := range []string{"8.8.8.8", "1.1.1.1", "93.184.215.14", "100.63.255.255", "100.128.0.0", "172.15.0.1", "172.32.0.1", "192.0.3.1", "198.20.0.1", "223.255.255.255", "2606:4700::1111", "2a00:1450:4001:80e::200e", "::ffff:8.8.8.8"} {
		if !publicAddress(netip.MustParseAddr(s), blocks) {
			t.Errorf("%s counts as not public", s)
		}
	}
	if publicAddress(netip.Addr{}, blocks) {
		t.Error("no address counts as public")
	}
	d := newDialer(nil)
	for _, ctx := range []context.Context{context.Background(), context.WithValue(context.Background(), connectingKey{}, "other")} {
		if d.control(ctx, "tcp", "8.8.8.8:80", nil) == nil {
			t.Error("a connection without a grant")
		}
	}
	wide := capability.MustParse("http:GET http://*.example.com/*")
	for _, host := range []string{"127.0.0.1", "localhost"} {
		if p := passFor(wide, capability.Endpoint{Method: "GET", Scheme: "http", Host: host, Port: 80, Path: "/"}); p != (pass{}) {
			t.Errorf("a grant of other hosts opens %s: %+v", host, p)
		}
	}
	local := context.WithValue(context.Background(), connectingKey{}, connecting{pass: pass{loopback: true}})
	for addr, want := range map[string]bool{"127.0.0.1:80": true, "[::1]:80": true, "10.0.0.1:80": false, "169.254.169.254:80": false} {
		if got := d.control(local, "tcp", addr, nil) == nil; got != want {
			t.Errorf("localhost as %s: %v", addr, got)
		}
	}
	ctx := context.WithValue(context.Background(), connectingKey{}, connecting{pass: pass{addr: netip.MustParseAddr("10.0.0.1")}})
	for addr, want := range map[string]bool{"10.0.0.1:80": true, "[::ffff:10.0.0.1]:80": true, "10.0.0.2:80": false, "127.0.0.1:80": false, "8.8.8.8:80": true, "x": false} {
		if got := d.control(ctx, "tcp", addr, nil) == nil; got != want {
			t.Errorf("%s: %v", addr, got)
		}
	}
}
