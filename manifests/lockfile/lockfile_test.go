package lockfile_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/lockfile"
	"github.com/skillet-run/skillet/policies/goldentest"
)

// sample is a lock with everything a lock can have, in no order.
func sample() *lockfile.Lock {
	artifact := func(name string) lockfile.Artifact {
		return lockfile.Artifact{Digest: manifests.DigestOf([]byte(name)), Source: "./" + name}
	}
	signed := artifact("csv")
	signed.Artifact = manifests.DigestOf([]byte("manifest of csv"))
	signed.Source = "oci://registry.example/skills/csv:1.2.0"
	signed.Signer = "key:" + string(manifests.DigestOf([]byte("key")))
	return &lockfile.Lock{
		Format: lockfile.Format,
		Roots: []lockfile.Requirement{
			{Name: "html", Constraint: ">=2 <4", Version: "3.0.0"},
			{Name: "csv", Constraint: "^1.2", Prereleases: true, Version: "1.2.0"},
			{Name: "chart", Constraint: "*", Optional: true},
		},
		Packages: []lockfile.Package{
			{Name: "html", Version: "3.0.0", Artifact: artifact("html"), Dependencies: []lockfile.Requirement{
				{Name: "text", Constraint: "^1", Closure: "text@^1.0.0", Version: "1.4.2"},
				{Name: "rows", Constraint: "~1.0", Version: "1.0.3", Provider: "list"},
			}},
			{Name: "csv", Version: "1.2.0", Artifact: signed, Dependencies: []lockfile.Requirement{
				{Name: "text", Constraint: "^2", Version: "2.0.0-rc.1"},
			}},
			{Closure: "text@^1.0.0", Name: "text", Version: "1.4.2", Artifact: artifact("text1")},
			{Name: "text", Version: "2.0.0-rc.1", Artifact: artifact("text2")},
			{Name: "list", Version: "0.3.0", Artifact: artifact("list")},
		},
	}
}

func encode(t testing.TB, l *lockfile.Lock) []byte {
	t.Helper()
	b, err := l.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestEncode(t *testing.T) {
	t.Parallel()
	l := sample()
	l.Packages[1].Dependencies[0].Constraint = "^2.0.0-rc.1"
	b := encode(t, l)
	goldentest.File(t, "testdata/sample.lock", string(b))
	again, err := lockfile.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(again, l) {
		t.Errorf("%+v reads back as %+v", l, again)
	}
	slices.Reverse(again.Packages)
	slices.Reverse(again.Roots)
	if !bytes.Equal(encode(t, again), b) {
		t.Error("the order matters")
	}
	if empty := encode(t, &lockfile.Lock{}); string(empty) != "{\n  \"lockfile_version\": 1,\n  \"roots\": [],\n  \"packages\": []\n}\n" {
		t.Errorf("an empty lock is %s", empty)
	}
}

func TestEncodeRefuses(t *testing.T) {
	t.Parallel()
	var problems manifests.Errors
	if _, err := sample().Encode(); !errors.As(err, &problems) || !strings.Contains(err.Error(), "2.0.0-rc.1 does not satisfy text ^2") {
		t.Error(err)
	}
}

// TestBad holds the text of the errors of every file in testdata/bad to the
// golden file beside it.
func TestBad(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/bad/*.lock")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			l, err := lockfile.Parse(b)
			var problems manifests.Errors
			if !errors.As(err, &problems) || l != nil {
				t.Fatalf("got %v, error %v", l, err)
			}
			goldentest.File(t, file+".golden", err.Error()+"\n")
		})
	}
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	if _, err := lockfile.Parse(bytes.Repeat([]byte(" "), lockfile.MaxBytes+1)); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Error(err)
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("testdata/sample.lock")
	if err != nil {
		t.Fatal(err)
	}
	before, err := lockfile.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	after, _ := lockfile.Parse(b)
	if c := lockfile.Compare(before, after); !c.IsEmpty() || c.String() != "" {
		t.Errorf("equal locks differ: %v", c)
	}
	after.Roots[0].Version = "1.0.0"
	after.Roots[1].Constraint = "^1.3"
	after.Roots[1].Version = "1.3.0"
	csv := &after.Packages[slices.IndexFunc(after.Packages, func(p lockfile.Package) bool { return p.Name == "csv" })]
	csv.Version, csv.Signer = "1.3.0", ""
	html := &after.Packages[slices.IndexFunc(after.Packages, func(p lockfile.Package) bool { return p.Name == "html" })]
	html.Dependencies = html.Dependencies[:1]
	after.Packages = slices.DeleteFunc(after.Packages, func(p lockfile.Package) bool { return p.Closure != "" })
	after.Packages = append(after.Packages, lockfile.Package{Name: "chart", Version: "1.0.0"})
	goldentest.File(t, "testdata/compare.golden", lockfile.Compare(before, after).String())
	if c := lockfile.Compare(before, after); c.IsEmpty() || len(c.Changed) != 2 {
		t.Errorf("%+v", c)
	}
}

// FuzzParse demands that every document is either refused with problems, or can
// be written, and then reads back as what it was.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/*.lock", "testdata/bad/*.lock"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatal(files, err)
		}
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := lockfile.Parse(data)
		if err != nil {
			var problems manifests.Errors
			if !errors.As(err, &problems) || len(problems) == 0 || problems[0].Message == "" {
				t.Fatalf("no problems: %v", err)
			}
			return
		}
		b := encode(t, l)
		again, err := lockfile.Parse(b)
		if err != nil {
			t.Fatal(err)
		}
		if c := lockfile.Compare(l, again); !c.IsEmpty() || !bytes.Equal(encode(t, again), b) {
			t.Errorf("reads back with changes:\n%v", c)
		}
	})
}
