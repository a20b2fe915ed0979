package capability

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestZeroCapabilityGrantsNothing(t *testing.T) {
	t.Parallel()
	var zero Capability
	for _, a := range append(Actions(), "") {
		r := Request{Action: a, Resource: "x"}
		if zero.Allows(r) {
			t.Errorf("the zero capability allows %s", r)
		}
	}
	if zero.String() != "" || zero.Base() != "" || zero.Resource() != "" || zero.Covers(MustParse("kv")) || !zero.Covers(zero) {
		t.Error("the zero capability is not empty")
	}
	if s := NewSet(zero); !s.IsEmpty() || !s.Covers(zero) {
		t.Error("the zero capability is a member")
	}
}

func TestZeroRequestIsRefused(t *testing.T) {
	t.Parallel()
	all := NewSet(MustParse("fs.read:/**"), MustParse("secret:*"), MustParse("kv"), MustParse("http:* https://x.example/*"))
	if by, ok := all.Allows(Request{}); ok {
		t.Errorf("%s allows the zero request", by)
	}
	if _, err := (Request{}).Canonical(); err == nil {
		t.Error("the zero request has a canonical form")
	}
}

func TestBase(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"fs.read:/data/**":         "/data",
		"fs.read:/data/*.csv":      "/data",
		"fs.read:/data/a*/x":       "/data",
		"fs.read:/data/x/**/y.csv": "/data/x",
		"fs.read:/data/a.csv":      "/data/a.csv",
		"fs.write:/data":           "/data",
		"fs.read:/**":              "/",
		"fs.read:/*":               "/",
		"fs.read:/a*":              "/",
		"fs.read:/":                "/",
		"kv":                       "",
		"secret:git*":              "",
		"http:GET https://x/*":     "",
	} {
		if got := MustParse(text).Base(); got != want {
			t.Errorf("%s: base %q, want %q", text, got, want)
		}
	}
}

func TestEndpoint(t *testing.T) {
	t.Parallel()
	e, ok := MustParse("http:GET,POST https://*.example.com:8443/v1/*").Endpoint()
	want := Endpoint{Method: "GET,POST", Scheme: "https", Host: "*.example.com", Port: 8443, Path: "/v1/*"}
	if !ok || e != want {
		t.Errorf("got %+v", e)
	}
	if _, ok := MustParse("kv").Endpoint(); ok {
		t.Error("kv has an endpoint")
	}
	e, err := Request{Action: HTTP, Resource: "http://[::1]/a?b"}.Endpoint()
	want = Endpoint{Method: "GET", Scheme: "http", Host: "::1", Port: 80, Path: "/a"}
	if err != nil || e != want || e.URL() != "http://[::1]/a" {
		t.Errorf("got %+v, %v, %s", e, err, e.URL())
	}
	if addr, ok := e.Addr(); !ok || !addr.IsLoopback() {
		t.Errorf("address %v, %v", addr, ok)
	}
	if _, err := (Request{Action: KV}).Endpoint(); err == nil {
		t.Error("kv request has an endpoint")
	}
}

func TestRequestCapability(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		request Request
		want    string
	}{
		{Request{FSRead, "", "/etc/passwd"}, "fs.read:/etc/passwd"},
		{Request{FSRead, "", "/a/[b] {c}?"}, "fs.read:/a/[b] {c}?"},
		{Request{FSRead, "", "/a/*"}, `parse request "fs.read:/a/*": no capability can name a file with "*" in its path alone; grant its directory`},
		{Request{FSRead, "", "/a/\u202eb"}, `parse capability "fs.read:/a/\u202eb": it holds the unprintable character U+202E`},
		{Request{HTTP, "", "https://Evil.example/x?secret=1"}, "http:GET https://evil.example/x"},
		{Request{HTTP, "post", "https://evil.example/a*b"}, "http:POST https://evil.example/a%2Ab"},
		{Request{HTTP, "GET", "https://127.1/"}, `parse request "http:GET https://127.1/": "127.1" looks like a number but is not an IPv4 address in dotted decimal such as 127.0.0.1`},
		{Request{KV, "", "some/key"}, "kv"},
		{Request{Secret, "", "github"}, "secret:github"},
		{Request{Clock, "", ""}, "clock"},
	} {
		got := ""
		if c1, err := c.request.Capability(); err != nil {
			got = err.Error()
		} else {
			got = c1.String()
		}
		if got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.request, got, c.want)
		}
	}
}

// TestStringHoldsNoSecrets keeps what a guest or a person puts in a URL beside
// its path out of logs and refusals.
func TestStringHoldsNoSecrets(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"https://x.example/a?key=hunter2", "https://x.example/a#hunter2", "https://u:hunter2@x.example/a",
		"https://u:hunter2@x.example/..", `https:\\u:hunter2@x.example/a`, "u:hunter2@x.example", "https://u:hunter2@x.example:99999/?hunter2",
		"https://u:p@hunter2@x.example/a",
	} {
		r := Request{Action: HTTP, Resource: address}
		line := r.String()
		if _, err := r.Canonical(); err != nil {
			line += err.Error()
		}
		if strings.Contains(line, "hunter2") {
			t.Errorf("%s: %s", address, line)
		}
	}
}

func TestTooMuch(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"fs.read:/" + strings.Repeat("a", MaxLength),
		"fs.read:" + strings.Repeat("/a", MaxSegments+1),
		"http:GET https://" + strings.Repeat("a", 64) + ".example/",
		"http:GET https://" + strings.Repeat("a.", 127) + "example/",
	} {
		if _, err := Parse(text); err == nil {
			t.Errorf("%.40s...: no error", text)
		}
	}
	long := "fs.read:" + strings.Repeat("/a", MaxSegments)
	if _, err := Parse(long); err != nil {
		t.Error(err)
	}
}

// TestHostilePatternsAreQuick compares and intersects patterns made to be slow.
// The limit is far above what is needed, to fail only when the work explodes.
func TestHostilePatternsAreQuick(t *testing.T) {
	t.Parallel()
	deep := MustParse("fs.read:" + strings.Repeat("/**/a", MaxSegments/2))
	deeper := MustParse("fs.read:" + strings.Repeat("/**/a*", MaxSegments/2))
	wide := MustParse("fs.read:/" + strings.Repeat("*a", 900))
	wider := MustParse("fs.read:/" + strings.Repeat("*aa", 600))
	r := Request{Action: FSRead, Resource: strings.Repeat("/a", 2000) + "/b"}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, c := range []Capability{deep, deeper, wide, wider} {
			c.Allows(r)
			for _, d := range []Capability{deep, deeper, wide, wider} {
				c.Covers(d)
				NewSet(c).Intersect(NewSet(d))
			}
		}
	}()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal("comparing hostile patterns does not end")
	}
}

func TestSetJSON(t *testing.T) {
	t.Parallel()
	s, err := ParseSet("kv", "fs.read:/data/**", "fs.read:/data/x")
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(s)
	if want := `["fs.read:/data/**","kv"]`; err != nil || string(data) != want {
		t.Errorf("got %s, %v, want %s", data, err, want)
	}
	var again Set
	if err := json.Unmarshal(data, &again); err != nil || !again.Equal(s) {
		t.Errorf("got %v, %v", again, err)
	}
	if data, err := json.Marshal(Set{}); err != nil || string(data) != "[]" {
		t.Errorf("empty set: %s, %v", data, err)
	}
	var pe *ParseError
	if err := json.Unmarshal([]byte(`["kv","vk:x"]`), &again); !errors.As(err, &pe) || !again.Equal(s) {
		t.Errorf("got %v, and the set is %v", err, again)
	}
	for _, bad := range []string{`"kv"`, `{"kv":1}`, `[1]`, `[""]`} {
		if err := json.Unmarshal([]byte(bad), &again); err == nil {
			t.Errorf("%s is a set", bad)
		}
	}
}

func TestSetCoversByMethod(t *testing.T) {
	t.Parallel()
	s := NewSet(MustParse("http:GET https://x.example/*"), MustParse("http:POST https://x.example/a/*"))
	for text, want := range map[string]bool{
		"http:GET,POST https://x.example/a/b": true,
		"http:GET,POST https://x.example/b":   false,
		"http:GET,PUT https://x.example/a/b":  false,
		"http:* https://x.example/a/b":        false,
	} {
		if got := s.Covers(MustParse(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestDigestIsStable(t *testing.T) {
	t.Parallel()
	s := NewSet(MustParse("kv"), MustParse("fs.read:/data/**"))
	// sha256 of "fs.read:/data/**\nkv\n"
	const want = "sha256:411dd510193214803eecd311eef995bab68a94652685db6e6249b4c404610c5f"
	if got := s.Digest(); got != want {
		t.Errorf("got %s", got)
	}
}

// TestSetIsImmutable changes what a set hands out and looks whether the set
// changed, and checks that nothing in the package's types can be changed from
// outside.
func TestSetIsImmutable(t *testing.T) {
	t.Parallel()
	given := []Capability{MustParse("kv"), MustParse("clock")}
	s := NewSet(given...)
	before := s.Digest()
	given[0] = MustParse("fs.read:/**")
	s.All()[0] = MustParse("fs.read:/**")
	s.Strings()[0] = "x"
	s.Union(NewSet(MustParse("random")))
	s.Minus(NewSet(MustParse("kv"))).All()
	if s.Digest() != before {
		t.Error("the set changed")
	}
	for _, v := range []any{Set{}, Capability{}} {
		for f := range fields(reflect.TypeOf(v)) {
			if f.IsExported() {
				t.Errorf("%T.%s can be changed from outside", v, f.Name)
			}
		}
	}
}

func fields(t reflect.Type) func(func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for i := range t.NumField() {
			if !yield(t.Field(i)) {
				return
			}
		}
	}
}

func BenchmarkAllows(b *testing.B) {
	s := NewSet(MustParse("fs.read:/data/**/*.csv"), MustParse("fs.read:/home/me/notes/**"),
		MustParse("http:GET,POST https://*.example.com/v1/*"), MustParse("kv"), MustParse("secret:git*"))
	for _, r := range []Request{
		{FSRead, "", "/home/me/notes/2026/11/a.md"},
		{FSRead, "", "/etc/passwd"},
		{HTTP, "GET", "https://api.example.com/v1/users/7?page=2"},
		{HTTP, "GET", "https://api.example.com/v1/a%20b"},
		{Secret, "", "github"},
	} {
		b.Run(fmt.Sprintf("%s/%s", r.Action, r.Resource), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.Allows(r)
			}
		})
	}
}

func BenchmarkCovers(b *testing.B) {
	c, d := MustParse("fs.read:/data/**/x/**/*.csv"), MustParse("fs.read:/data/a/**/x/b*/*.csv")
	b.ReportAllocs()
	for b.Loop() {
		c.Covers(d)
	}
}
