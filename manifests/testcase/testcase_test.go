package testcase_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/testcase"
	"github.com/skillet-run/skillet/policies/goldentest"
)

func read(tb testing.TB, file string) []byte {
	tb.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func glob(tb testing.TB, pattern string) []string {
	tb.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		tb.Fatal(pattern, err)
	}
	return files
}

// TestErrorText holds the errors of every file in testdata/bad to the golden file
// beside it.
func TestErrorText(t *testing.T) {
	for _, file := range glob(t, "testdata/bad/*") {
		if filepath.Ext(file) == ".golden" {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			cases, err := testcase.Parse(read(t, file), filepath.Base(file))
			var problems manifests.Errors
			if cases != nil || !errors.As(err, &problems) {
				t.Fatalf("was not refused: %v, %v", cases, err)
			}
			goldentest.File(t, file+".golden", err.Error()+"\n")
		})
	}
}

// TestRoundTrip demands that a case which is written is read back as it was.
func TestRoundTrip(t *testing.T) {
	for _, file := range glob(t, "testdata/good.*") {
		cases, err := testcase.Parse(read(t, file), file)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			b, err := testcase.Encode(c)
			if err != nil {
				t.Fatal(err)
			}
			again, err := testcase.Parse(b, "again.json")
			if err != nil {
				t.Fatalf("%v\n%s", err, b)
			}
			if b2, err := testcase.Encode(again[0]); err != nil || string(b2) != string(b) {
				t.Errorf("%s\n%s\n%v", b, b2, err)
			}
		}
	}
}

// TestCasesOfSkills demands that the cases of the first-party skills are valid.
func TestCasesOfSkills(t *testing.T) {
	for _, file := range glob(t, "../../skills/*/tests/*.*") {
		if cases, err := testcase.Parse(read(t, file), "tests/"+filepath.Base(file)); err != nil || len(cases) == 0 {
			t.Errorf("%s: %d cases, %v", file, len(cases), err)
		}
	}
}

func TestSections(t *testing.T) {
	cases, err := testcase.Parse(read(t, "testdata/good.txtar"), "good.txtar")
	if err != nil {
		t.Fatal(err)
	}
	c := cases[0]
	input, err := c.Bytes(nil)
	if err != nil || string(input) != "line 1\nline 2\n" || *c.Files["data/a.txt"].Text != "hello\n" {
		t.Errorf("%+v, %v", c, err)
	}
	if d, err := c.Output([]byte("LINE 1\nLINE 3\n"), nil, nil); err != nil || len(d) != 1 {
		t.Errorf("%v, %v", d, err)
	}
	out, ok := testcase.WithSection(read(t, "testdata/good.txtar"), "expect.txt", "LINE 1\nLINE 3\n")
	if !ok || !strings.Contains(string(out), "-- expect.txt --\nLINE 1\nLINE 3\n-- after/") {
		t.Errorf("%v\n%s", ok, out)
	}
	if same, ok := testcase.WithSection(read(t, "testdata/good.txtar"), "expect.txt", "LINE 1\nLINE 2\n"); !ok || string(same) != string(read(t, "testdata/good.txtar")) {
		t.Errorf("%v\n%s", ok, same)
	}
	if _, ok := testcase.WithSection(read(t, "testdata/good.txtar"), "expect.json", ""); ok {
		t.Error("a section that is not there was replaced")
	}
}

func TestFill(t *testing.T) {
	cases, err := testcase.Parse([]byte(`{"name":"x","input":{"p":"${workspace}/a"},"grants":["http:GET ${server}/*"],"denials":[],"expect":"${server}"}`), "x.json")
	if err != nil {
		t.Fatal(err)
	}
	c, err := cases[0].Fill(`/tmp/a "b"`, "http://server.test")
	if err != nil || string(c.Input) != `{"p":"/tmp/a \"b\"/a"}` || c.Grants[0] != "http:GET http://server.test/*" || c.Denials == nil || c.File() != "x.json" {
		t.Errorf("%s %q %v %v", c.Input, c.Grants, c.Denials, err)
	}
}

func TestIsFile(t *testing.T) {
	for name, want := range map[string]bool{
		"tests/a.json": true, "tests/a.yaml": true, "tests/a.yml": true, "tests/a.txtar": true,
		"tests/a.txt": false, "tests/data/a.json": false, "a.json": false, "tests/.a.json": false, "other/a.json": false,
	} {
		if testcase.IsFile(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}

// TestSchemaIsDocumentation demands that every field is described, and is a field
// of the type.
func TestSchemaIsDocumentation(t *testing.T) {
	var s struct {
		Properties map[string]struct {
			Description string `json:"description"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(testcase.Schema(), &s); err != nil {
		t.Fatal(err)
	}
	fields := map[string]bool{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[testcase.Case]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() {
			fields[name] = true
		}
		if f.IsExported() && s.Properties[name].Description == "" {
			t.Errorf("%s is not described", name)
		}
	}
	for name := range s.Properties {
		if !fields[name] {
			t.Errorf("%s is described and read by nobody", name)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/good.*", "testdata/bad/*", "../../skills/*/tests/*.json"} {
		for _, file := range glob(f, pattern) {
			if filepath.Ext(file) != ".golden" {
				f.Add(filepath.Base(file), read(f, file))
			}
		}
	}
	f.Fuzz(func(t *testing.T, name string, b []byte) {
		cases, err := testcase.Parse(b, name)
		if err != nil && cases != nil {
			t.Error("cases and an error")
		}
		for _, c := range cases {
			again, err := testcase.Encode(c)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := testcase.Parse(again, "again.json"); err != nil {
				t.Errorf("%v\n%s", err, again)
			}
			if _, err := c.Fill("/w", "http://s"); err != nil {
				t.Error(err)
			}
			if _, err := c.Output([]byte(`{"a":[1,"x"]}`), func(string) ([]byte, error) { return nil, os.ErrNotExist }, func(s string) string { return s }); err != nil && c.ExpectFile == "" {
				t.Error(err)
			}
		}
	})
}
