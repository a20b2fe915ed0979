package policies

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/policies/capability"
)

func TestMaximum(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, MaximumFile), `{"capabilities": ["fs.read:/srv/**", "http:GET https://*.corp.example/*", "kv"], "reason": "ask the desk"}`)
	m, err := LoadMaximum(dir)
	if err != nil {
		t.Fatal(err)
	}
	bounded := mustLoad(t, "").Within(m)
	for _, c := range []struct {
		query string
		want  Effect
	}{
		{"call granted | fs.read:/srv/a", Allow},
		{"call granted | fs.read:/data/a", Deny},
		{"call granted approved | fs.read:/data/a", Deny},
		{"call granted | fs.write:/srv/a", Deny},
		{"call granted | http:GET https://a.corp.example/", Allow},
		{"call granted | http:POST https://a.corp.example/", Deny},
		{"call | fs.read:/srv/a", Deny},
		{"call granted | kv:notes", Allow},
		{"call granted | clock", Deny},
		{"install | fs.read:/srv/in/**", Ask},
		{"install approved | fs.read:/**", Deny},
		{"install approved | fs.read:/srv/in/**", Allow},
		{"install | -", Allow},
	} {
		d := bounded.Decide(queryOf(t, c.query))
		if d.Effect != c.want {
			t.Errorf("%s: %s, want %s", c.query, Explain(d), c.want)
		}
		if beyond := strings.Contains(d.Reason, "ask the desk"); beyond && (d.Effect != Deny || d.Policies[0] != maximumID) {
			t.Errorf("%s: %s", c.query, Explain(d))
		}
	}
}

// A set within a maximum decides for itself, and so does the one it was made of.
func TestMaximumAfterADecision(t *testing.T) {
	t.Parallel()
	s, q := mustLoad(t, ""), queryOf(t, "call granted | kv")
	none := s.Within(&Maximum{Capabilities: new(capability.Set)})
	for range 2 { // the second is kept
		if d := s.Decide(q); d.Effect != Allow {
			t.Errorf("without a maximum: %s, want allow", Explain(d))
		}
		if d := none.Decide(q); d.Effect != Deny {
			t.Errorf("within nothing: %s, want deny", Explain(d))
		}
	}
}

func TestMaximumOfNothing(t *testing.T) {
	t.Parallel()
	s := mustLoad(t, "")
	dir := t.TempDir()
	if m, err := LoadMaximum(dir); m != nil || err != nil {
		t.Errorf("no file: %v, %v", m, err)
	}
	if m, err := LoadMaximum(""); m != nil || err != nil {
		t.Errorf("no directory: %v, %v", m, err)
	}
	q := queryOf(t, "call granted | kv")
	if d := s.Within(nil).Decide(q); d.Effect != Allow {
		t.Errorf("no maximum: %s", Explain(d))
	}
	write(t, filepath.Join(dir, MaximumFile), `{"max_memory_mb": 64}`)
	m, err := LoadMaximum(dir)
	if err != nil || m.MaxMemoryMB != 64 {
		t.Fatal(m, err)
	}
	if d := s.Within(m).Decide(q); d.Effect != Allow {
		t.Errorf("no capabilities are named: %s", Explain(d))
	}
	write(t, filepath.Join(dir, MaximumFile), `{"capabilities": []}`)
	if m, err = LoadMaximum(dir); err != nil {
		t.Fatal(err)
	}
	if d := s.Within(m).Decide(q); d.Effect != Deny {
		t.Errorf("an empty list: %s", Explain(d))
	}
}

func TestBadMaximum(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{`{"capability": []}`, `unknown field "capability"`},
		{`{"capabilities": ["fs.raed:/"]}`, "fs.read"},
		{`{"max_memory_mb": -1}`, "not above zero"},
		{`{"max_memory_mb": 0}`, "not above zero"},
		{`{"max_execution_seconds": -0.0}`, "not above zero"},
		{`{"max_execution_seconds": 1e-400}`, "not above zero"},
		{`{"max_fuel": 0, "capabilities": []}`, "not above zero"},
		{`{"max_fuel": 18446744073709551616}`, "18446744073709551616"},
		{`{"max_execution_seconds": 1e400}`, "1e400"},
		{"\ufeff{}", "invalid character"},
		{`{} {}`, "something follows"},
		{``, "ends before"},
		{`null`, "null"},
		{`{"capabilities": null}`, "capabilities is null"},
		{`{"capabilities": [], "capabilities": ["fs.read:/**"]}`, "capabilities is given twice"},
		{`{"Capabilities": []}`, `write "capabilities"`},
		{`{"max_memory_mb": 1.5}`, "1.5"},
		{strings.Repeat(" ", MaxFileBytes+1), "longer than"},
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, MaximumFile), c.text)
		_, err := LoadMaximum(dir)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), MaximumFile) {
			t.Errorf("%.40q: %v, want %q", c.text, err, c.want)
		}
	}
}

// A file that was meant to be the maximum is not passed by.
func TestMisnamedMaximum(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Maximum.json", "MAXIMUM.JSON", "maximum.yaml", "maximum.jsonc"} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, name), `{"capabilities": []}`)
		var le *LoadError
		if m, err := LoadMaximum(dir); m != nil || !errors.As(err, &le) || !strings.Contains(le.Message, MaximumFile) {
			t.Errorf("%s: %v, %v", name, m, err)
		}
		write(t, filepath.Join(dir, MaximumFile), `{}`)
		if m, err := LoadMaximum(dir); m == nil || err != nil {
			t.Errorf("beside %s: %v", name, err)
		}
	}
}

// A maximum that cannot be reached is not the same as none.
func TestUnreachableMaximum(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(dir, "gone"), filepath.Join(dir, MaximumFile)); err != nil {
		t.Skip(err)
	}
	if err := os.Symlink(filepath.Join(dir, "away"), filepath.Join(dir, "system")); err != nil {
		t.Skip(err)
	}
	for _, d := range []string{dir, filepath.Join(dir, "system")} {
		var le *LoadError
		if m, err := LoadMaximum(d); m != nil || !errors.As(err, &le) {
			t.Errorf("%s: %v, %v", d, m, err)
		}
	}
}
