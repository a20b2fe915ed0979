package source_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/fetch/source"
	"github.com/skillet-run/skillet/manifests"
)

var someDigest = "sha256:" + strings.Repeat("ab", 32)

func TestRefs(t *testing.T) {
	t.Parallel()
	d := manifests.Digest(someDigest)
	for text, want := range map[string]struct {
		ref   source.Ref
		place string
	}{
		"./text":             {source.Ref{Kind: source.KindDirectory, Path: "./text"}, "./text"},
		"..":                 {source.Ref{Kind: source.KindDirectory, Path: ".."}, ".."},
		"/a/b@c/text":        {source.Ref{Kind: source.KindDirectory, Path: "/a/b@c/text"}, "/a/b@c/text"},
		"text-1.0.0.skill":   {source.Ref{Kind: source.KindFile, Path: "text-1.0.0.skill"}, "."},
		"dist/t-1.0.0.skill": {source.Ref{Kind: source.KindFile, Path: "dist/t-1.0.0.skill"}, "dist"},
		"text":               {source.Ref{Kind: source.KindName, Name: "text"}, "text"},
		"text@^1.2":          {source.Ref{Kind: source.KindName, Name: "text", Constraint: "^1.2"}, "text"},
		"text@>=1 <2 || 3.x": {source.Ref{Kind: source.KindName, Name: "text", Constraint: ">=1 <2 || 3.x"}, "text"},
		"builtin:text@^1.2":  {source.Ref{Kind: source.KindBuiltin, Name: "text", Constraint: "^1.2"}, "builtin:text"},
		"text@latest":        {source.Ref{Kind: source.KindName, Name: "text", Constraint: "latest"}, "text"},
		"https://h.example/a/b.skill": {
			source.Ref{Kind: source.KindURL, URL: "https://h.example/a/b.skill"}, "https://h.example/a",
		},
		"https://h.example:8443/b.skill?x=y#" + someDigest: {
			source.Ref{Kind: source.KindURL, URL: "https://h.example:8443/b.skill?x=y", Digest: d}, "https://h.example:8443/",
		},
		"git+https://h.example/r.git": {
			source.Ref{Kind: source.KindGit, URL: "https://h.example/r.git"}, "git+https://h.example/r.git",
		},
		"git+https://h.example/r#v1.0.0:skills/text": {
			source.Ref{Kind: source.KindGit, URL: "https://h.example/r", Revision: "v1.0.0", Subdir: "skills/text"}, "git+https://h.example/r#:skills/text",
		},
		"git+file:///srv/r#:x":            {source.Ref{Kind: source.KindGit, URL: "file:///srv/r", Subdir: "x"}, "git+file:///srv/r#:x"},
		"mcp+https://h.example/mcp#forms": {source.Ref{Kind: source.KindMCP, URL: "https://h.example/mcp", Skill: "forms"}, "mcp+https://h.example/mcp#forms"},
		"mcp+http://localhost:7777/mcp#skill://acme/forms/SKILL.md@" + someDigest: {
			source.Ref{Kind: source.KindMCP, URL: "http://localhost:7777/mcp", Skill: "skill://acme/forms/SKILL.md", Digest: d}, "mcp+http://localhost:7777/mcp#skill://acme/forms/SKILL.md",
		},
		"oci://h.example/a/b:1.0.0": {
			source.Ref{Kind: source.KindRegistry, Host: "h.example", Repository: "a/b", Tag: "1.0.0"}, "oci://h.example/a/b",
		},
		"oci://[::1]:5000/a": {source.Ref{Kind: source.KindRegistry, Host: "[::1]:5000", Repository: "a"}, "oci://[::1]:5000/a"},
		"oci://localhost:5000/a@" + someDigest: {
			source.Ref{Kind: source.KindRegistry, Host: "localhost:5000", Repository: "a", Digest: d}, "oci://localhost:5000/a",
		},
		"oci-layout:dir":                {source.Ref{Kind: source.KindLayout, Path: "dir"}, "oci-layout:dir"},
		"oci-layout:/a b/c@d:1.0.0":     {source.Ref{Kind: source.KindLayout, Path: "/a b/c@d", Tag: "1.0.0"}, "oci-layout:/a b/c@d"},
		"oci-layout:/x:y/z":             {source.Ref{Kind: source.KindLayout, Path: "/x:y/z"}, "oci-layout:/x:y/z"},
		"oci-layout:/x/y@" + someDigest: {source.Ref{Kind: source.KindLayout, Path: "/x/y", Digest: d}, "oci-layout:/x/y"},
	} {
		r, err := source.Parse(text)
		if err != nil || r != want.ref {
			t.Errorf("%s: %+v, %v", text, r, err)
		}
		if r.String() != text || r.Location() != want.place {
			t.Errorf("%s is written %s, its place %s", text, r, r.Location())
		}
	}
	if r, err := source.Parse("oci://h.example/a:1.0.0@" + someDigest); err != nil || r.Tag != "" || r.Digest != d {
		t.Errorf("a tag beside a digest: %+v, %v", r, err)
	}
}

func TestTextsThatAreNoRefs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                   "empty",
		"a\nb":                               "control characters",
		"Text":                               "lower-case",
		"text@":                              "nothing follows",
		"text@banana":                        "banana",
		"text:tool":                          "lower-case",
		"ftp://h/x":                          "ftp://",
		"git+ssh://git@h/x":                  "git+ssh://",
		"https://ada:word@h.example/x":       "password",
		"https://h.example/x#sha256:12":      "digest",
		"https:///x":                         "names no host",
		"git+https://h/r#-upload-pack=x":     "not a branch",
		"git+https://h/r#a..b":               "not a branch",
		"git+https://h/r#v1:../../etc":       "not a directory",
		"git+https://h/r#v1:/etc":            "not a directory",
		"git+file://host/x":                  "absolute path",
		"mcp+https://h/mcp":                  "mcp+https://HOST/PATH#SKILL",
		"mcp+https://h/mcp#":                 "mcp+https://HOST/PATH#SKILL",
		"mcp+https://h/mcp#a b":              "mcp+https://HOST/PATH#SKILL",
		"mcp+https://h/mcp#a@sha256:12":      "digest of the package",
		"mcp+https://u:p@h/mcp#a":            "password",
		"oci://h":                            "oci://HOST/REPOSITORY",
		"oci://h/UPPER":                      "not the name of a repository",
		"oci://h/a:":                         "not a tag",
		"oci://h/a:-x":                       "not a tag",
		"oci://h/a/../b":                     "not the name of a repository",
		"oci://h/a@sha256:" + someDigest:     "not a digest",
		"oci://h/a@md5:00":                   "not the name of a repository",
		"oci://u@h/a":                        "oci://HOST/REPOSITORY",
		"oci://h:port/a":                     "oci://HOST/REPOSITORY",
		"oci-layout:":                        "oci-layout:DIR",
		"oci://" + strings.Repeat("x", 5000): "too long",
	} {
		r, err := source.Parse(text)
		if !errors.Is(err, source.ErrRef) || !strings.Contains(err.Error(), want) || r != (source.Ref{}) {
			t.Errorf("%.80q: %+v, %v; want %q", text, r, err, want)
		}
	}
}

// What is read is written the same, and read again the same; and its parts are
// such as can be put into requests and paths.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"./x", "x@^1", "https://h/x.skill#" + someDigest, "git+https://h/r#v1:a/b", "oci://h:1/a/b:c", "oci://[::1]/a@" + someDigest,
		"oci-layout:a:b", "mcp+https://h/mcp#a/b@" + someDigest, "git+file:///r", "x.skill", "oci-layout:/a@" + someDigest + ":b", "http://h%20/x", "https://h/%zz",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := source.Parse(text)
		if err != nil {
			if !errors.Is(err, source.ErrRef) || strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		again, err := source.Parse(r.String())
		if err != nil || again != r {
			t.Errorf("%q is %+v, written %q, and read %+v, %v", text, r, r, again, err)
		}
		if strings.ContainsAny(r.Host+r.Repository+r.Tag, " \\@?#%") || strings.Contains(r.Repository, "..") || strings.Contains(r.Subdir, "..") && !strings.Contains(r.Subdir, "...") {
			t.Errorf("%q: %+v", text, r)
		}
	})
}
