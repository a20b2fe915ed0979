package hostfn

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/capability"
)

// asking is settings with a policy that asks about each file.
func asking(t *testing.T, grants ...string) Settings {
	t.Helper()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "ask.cedar"), []byte(`@id("ask-files")
@approval("required")
@reason("somebody looks at each file")
forbid (principal, action == Action::"fs.read", resource) unless { context.approved };
`), 0o600))
	p, err := policies.Load(dir)
	must(t, err)
	s := settings(t, grants...)
	s.Policies = p
	return s
}

// What a policy asks about is refused, unless a person approved it for this very
// call; and an approval grants nothing that was not granted.
func TestApprovedForThisCall(t *testing.T) {
	t.Parallel()
	dir := tree(t)
	all := "fs.read:" + dir + "/**"
	one := capability.NewSet(capability.MustParse("fs.read:" + dir + "/a.txt"))
	for _, c := range []struct {
		what     string
		grants   []string
		approved capability.Set
		path     string
		kind     Kind
		asks     bool
	}{
		{"not approved", []string{all}, capability.Set{}, "/a.txt", KindDenied, true},
		{"approved", []string{all}, one, "/a.txt", "", false},
		{"another is approved", []string{all}, one, "/sub/b.csv", KindDenied, true},
		{"approved and not granted", nil, one, "/a.txt", KindDenied, false},
		{"what a policy forbids", []string{"fs.read:/etc/**"}, capability.NewSet(capability.MustParse("fs.read:/etc/shadow")), "!/etc/shadow", KindDenied, false},
	} {
		s := asking(t, c.grants...)
		s.Approved = c.approved
		e := open(t, s)
		file := dir + c.path
		if c.path[0] == '!' {
			file = c.path[1:]
		}
		wantKind(t, c.what, call(t, e, "fs_read", field("path", file), nil), c.kind)
		asked := false
		for _, d := range e.Denials() {
			asked = asked || d.Asks
		}
		if asked != c.asks {
			t.Errorf("%s: denials %+v", c.what, e.Denials())
		}
	}
}

// Who runs a path is told how to allow it at once: nothing waits for a skill that
// is not installed.
func TestAskedOfAPath(t *testing.T) {
	t.Parallel()
	dir := tree(t)
	s := asking(t, "fs.read:"+dir+"/**")
	s.Principal.Origin = policies.OriginPath
	e := open(t, s)
	wantKind(t, "read", call(t, e, "fs_read", field("path", dir+"/a.txt"), nil), KindDenied)
	if d := e.Denials(); len(d) == 0 || d[0].Way().String() != "run it again with [set_field allow=fs.read:"+dir+"/a.txt]" {
		t.Errorf("denials %+v", d)
	}
}

// A command that policies would refuse is not offered: what stands against it is said.
func TestOffersNoGrantThatIsRefused(t *testing.T) {
	t.Parallel()
	const team = "key:sha256:0000000000000000000000000000000000000000000000000000000000000001"
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "team.cedar"), []byte(`@id("team-only")
@reason("only packages that the team signed")
forbid (principal, action == Action::"install", resource) unless { principal.signer == "`+team+`" };
`), 0o600))
	p, err := policies.Load(dir)
	must(t, err)
	for signer, offered := range map[string]bool{"": false, team: true} {
		s := settings(t)
		s.Policies, s.Principal.Signer = p, signer
		e := open(t, s)
		wantKind(t, "a file", call(t, e, "fs_read", field("path", "/data/a"), nil), KindDenied)
		wantKind(t, "a host", call(t, e, "http_request", field("url", "https://example.com/a"), nil), KindDenied)
		for _, d := range e.Denials() {
			if (d.Way().String() != "") != offered || slices.Contains(d.Policies, "team-only") == offered || strings.Contains(d.Reason, "may not be given it") == offered {
				t.Errorf("signed by %q: %+v", signer, d)
			}
		}
		if len(e.Denials()) != 2 {
			t.Errorf("denials %+v", e.Denials())
		}
	}
}
