package git_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/base/git"
)

// An origin is a repository that others fetch from, and a server for it.
type origin struct {
	t      *testing.T
	dir    string
	server string
}

func newOrigin(t *testing.T) *origin {
	t.Helper()
	program, err := exec.LookPath("git")
	if err != nil {
		t.Skipf("no git here: %v", err)
	}
	root := t.TempDir()
	o := &origin{t: t, dir: filepath.Join(root, "repo")}
	o.git(root, "init", "-q", "-b", "main", "repo")
	o.git(o.dir, "config", "user.name", "ada")
	o.git(o.dir, "config", "user.email", "ada@localhost")
	s := httptest.NewServer(&cgi.Handler{
		Path: program, Args: []string{"http-backend"}, Dir: root,
		Env:    []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "HOME=" + root},
		Stderr: io.Discard,
	})
	t.Cleanup(s.Close)
	o.server = s.URL + "/repo/.git"
	return o
}

func (o *origin) git(dir string, args ...string) string {
	o.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		o.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit writes files and commits them; the hash is returned.
func (o *origin) commit(files map[string]string) string {
	o.t.Helper()
	for name, content := range files {
		path := filepath.Join(o.dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
			o.t.Fatal(err)
		}
	}
	o.git(o.dir, "add", "-A")
	o.git(o.dir, "commit", "-q", "-m", "m")
	return o.git(o.dir, "rev-parse", "HEAD")
}

var limits = git.Limits{Pack: 8 << 20, Objects: 10_000, Content: 32 << 20, Files: 1000}

func (o *origin) fetch(w git.Wanted, l git.Limits) (git.Fetched, error) {
	o.t.Helper()
	return git.Fetch(o.t.Context(), http.DefaultClient, w, l, o.t.TempDir())
}

func TestFetch(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	first := o.commit(map[string]string{"skills/csv/skill.json": "one", "other": "x"})
	o.git(o.dir, "tag", "v1")
	o.git(o.dir, "tag", "-a", "-m", "two", "v1-annotated")
	second := o.commit(map[string]string{"skills/csv/skill.json": "two"})
	o.git(o.dir, "checkout", "-q", "-b", "feature/x")
	third := o.commit(map[string]string{"skills/csv/skill.json": "three"})
	o.git(o.dir, "checkout", "-q", "main")
	o.git(o.dir, "repack", "-q", "-a", "-d")
	for revision, want := range map[string]struct{ commit, content string }{
		"": {second, "two"}, "main": {second, "two"}, "v1": {first, "one"}, "v1-annotated": {first, "one"},
		"feature/x": {third, "three"}, first: {first, "one"}, third: {third, "three"},
	} {
		for _, u := range []string{o.server, "file://" + o.dir} {
			got, err := o.fetch(git.Wanted{URL: u, Revision: revision, Subdir: "skills/csv"}, limits)
			if err != nil {
				t.Errorf("%s %q: %v", u, revision, err)
				continue
			}
			b, err := os.ReadFile(filepath.Join(got.Dir, "skill.json"))
			if got.Commit != want.commit || string(b) != want.content || err != nil {
				t.Errorf("%s %q: %+v, %q, %v", u, revision, got, b, err)
			}
			if _, err := os.Lstat(filepath.Join(got.Dir, "other")); err == nil {
				t.Error("a file from outside of the directory was written")
			}
		}
	}
	for name, c := range map[string]struct {
		w  git.Wanted
		is error
	}{
		"no revision":   {git.Wanted{URL: o.server, Revision: "v9"}, git.ErrNoRevision},
		"no directory":  {git.Wanted{URL: o.server, Subdir: "skills/none"}, git.ErrNoRevision},
		"a file":        {git.Wanted{URL: o.server, Subdir: "other"}, git.ErrNoRevision},
		"no commit":     {git.Wanted{URL: "file://" + o.dir, Revision: strings.Repeat("1", 40)}, git.ErrNoRevision},
		"no repository": {git.Wanted{URL: o.server + "/none"}, git.ErrNoRepository},
		"no folder":     {git.Wanted{URL: "file:///nowhere/at/all"}, git.ErrNoRepository},
		"no scheme":     {git.Wanted{URL: "ext::sh -c true"}, git.ErrNoRepository},
		"ssh":           {git.Wanted{URL: "ssh://localhost/x"}, git.ErrNoRepository},
	} {
		if _, err := o.fetch(c.w, limits); !errors.Is(err, c.is) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What a repository may hold that is no file is written as what it is, or left
// out; nothing of it runs, and nothing is written elsewhere.
func TestFetchRunsNothing(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.commit(map[string]string{"a": "x", ".gitattributes": "* filter=evil\n", ".gitmodules": "[submodule \"s\"]\n path = s\n url = https://localhost:1/s\n"})
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.Symlink(outside, filepath.Join(o.dir, "link")); err != nil {
		t.Fatal(err)
	}
	o.git(o.dir, "update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",s")
	o.git(o.dir, "config", "filter.evil.smudge", "touch "+outside)
	o.git(o.dir, "add", "link")
	o.git(o.dir, "commit", "-q", "-m", "m")
	for _, u := range []string{o.server, "file://" + o.dir} {
		got, err := o.fetch(git.Wanted{URL: u}, limits)
		if err != nil {
			t.Fatal(err)
		}
		to, err := os.Readlink(filepath.Join(got.Dir, "link"))
		if err != nil || to != outside {
			t.Errorf("link to %q, %v", to, err)
		}
		if _, err := os.Lstat(filepath.Join(got.Dir, "s")); err == nil {
			t.Error("the submodule is there")
		}
		if _, err := os.Lstat(outside); err == nil {
			t.Error("something was written elsewhere")
		}
	}
}

// treeOf makes a tree that git itself would not, and a commit of it.
func (o *origin) treeOf(entries ...string) string {
	o.t.Helper()
	cmd := exec.Command("git", "hash-object", "-t", "tree", "-w", "--stdin", "--literally")
	cmd.Dir = o.dir
	cmd.Stdin = strings.NewReader(strings.Join(entries, ""))
	out, err := cmd.Output()
	if err != nil {
		o.t.Fatal(err)
	}
	return o.git(o.dir, "commit-tree", "-m", "m", strings.TrimSpace(string(out)))
}

func TestTreesThatGitWouldNotMake(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.commit(map[string]string{"f": "x", "d/f": "y"})
	raw := func(name string) string {
		var b [20]byte
		if _, err := fmt.Sscanf(o.git(o.dir, "rev-parse", "HEAD:"+name), "%x", sliceOf(&b)); err != nil {
			t.Fatal(err)
		}
		return string(b[:])
	}
	file, dir := raw("f"), raw("d")
	if err := os.WriteFile(filepath.Join(o.dir, "to"), []byte("/tmp"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, entries := range map[string][]string{
		"parent":              {"100644 ..\x00" + file},
		"slash":               {"100644 a/../../b\x00" + file},
		"dot":                 {"100644 .\x00" + file},
		"empty":               {"100644 \x00" + file},
		"twice":               {"100644 a\x00" + file, "100644 a\x00" + file},
		"file, then its tree": {"100644 a\x00" + file, "40000 a\x00" + dir},
		"link, then its tree": {"120000 a\x00" + file, "40000 a\x00" + dir},
		"a tree as a file":    {"100644 a\x00" + dir},
	} {
		commit := o.treeOf(entries...)
		got, err := o.fetch(git.Wanted{URL: "file://" + o.dir, Revision: commit}, limits)
		if !errors.Is(err, git.ErrDamaged) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func sliceOf(b *[20]byte) *[]byte {
	s := b[:]
	return &s
}

func TestFetchIsBounded(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	many := map[string]string{}
	for i := range 50 {
		many[fmt.Sprint("f", i)] = strings.Repeat(fmt.Sprint(i), 1000)
	}
	o.commit(many)
	for name, change := range map[string]func(l *git.Limits){
		"pack":    func(l *git.Limits) { l.Pack = 100 },
		"objects": func(l *git.Limits) { l.Objects = 20 },
		"content": func(l *git.Limits) { l.Content = 20_000 },
		"files":   func(l *git.Limits) { l.Files = 20 },
	} {
		l := limits
		change(&l)
		if _, err := o.fetch(git.Wanted{URL: o.server}, l); !errors.Is(err, git.ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := git.Fetch(ctx, http.DefaultClient, git.Wanted{URL: o.server}, limits, t.TempDir()); !errors.Is(err, context.Canceled) {
		t.Errorf("ended before: %v", err)
	}
}

// object is one entry of a pack (gitformat-pack).
func object(kind byte, size int, head string, content []byte) []byte {
	b := []byte{kind<<4 | byte(size&15)}
	for size >>= 4; size > 0; size >>= 7 {
		b[len(b)-1] |= 0x80
		b = append(b, byte(size&0x7f))
	}
	var z bytes.Buffer
	w := zlib.NewWriter(&z)
	if _, err := w.Write(content); err != nil {
		panic(err)
	}
	w.Close()
	return append(append(b, head...), z.Bytes()...)
}

func packOf(objects ...[]byte) []byte {
	b := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), uint32(len(objects)))
	for _, o := range objects {
		b = append(b, o...)
	}
	sum := sha1.Sum(b)
	return append(b, sum[:]...)
}

// serving answers with a pack, whatever is asked for.
func serving(t *testing.T, pack []byte) string {
	t.Helper()
	line := func(s string) string { return fmt.Sprintf("%04x%s", len(s)+4, s) }
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/info/refs") {
			w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
			fmt.Fprint(w, line("# service=git-upload-pack\n"), "0000", line(strings.Repeat("1", 40)+" HEAD\x00ofs-delta\n"), "0000")
			return
		}
		w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
		fmt.Fprint(w, line("NAK\n"))
		_, _ = w.Write(pack)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/r"
}

// A few bytes that would become gigabytes are refused before they do.
func TestPacksThatGrow(t *testing.T) {
	t.Parallel()
	varint := func(n uint64) string { return string(binary.AppendUvarint(nil, n)) }
	base := object(3, 5, "", []byte("hello"))
	delta := func(target uint64, back string) []byte {
		content := varint(5) + varint(target) + "\x90\x05"
		return object(6, len(content), back, []byte(content))
	}
	zeros := make([]byte, 40<<20)
	for name, c := range map[string]struct {
		pack []byte
		is   error
	}{
		"an object that claims much":    {packOf(object(3, 1<<40, "", []byte("x"))), git.ErrTooLarge},
		"an object that is much":        {packOf(object(3, len(zeros), "", zeros)), git.ErrTooLarge},
		"an object that hides much":     {packOf(object(3, 10, "", zeros)), git.ErrDamaged},
		"a difference that makes much":  {packOf(base, delta(1<<50, string([]byte{byte(len(base))}))), git.ErrTooLarge},
		"more objects than there are":   {append([]byte("PACK\x00\x00\x00\x02\x00\x00\x20\x00"), base...), git.ErrDamaged},
		"objects without end":           {[]byte("PACK\x00\x00\x00\x02\xff\xff\xff\xff"), git.ErrTooLarge},
		"no pack":                       {[]byte("hello, this is no pack"), git.ErrDamaged},
		"nothing":                       {nil, git.ErrDamaged},
		"a difference without a number": {packOf(base, object(6, 1, string([]byte{byte(len(base))}), []byte{0x80})), git.ErrDamaged},
	} {
		dir := t.TempDir()
		_, err := git.Fetch(t.Context(), http.DefaultClient, git.Wanted{URL: serving(t, c.pack)}, limits, dir)
		if !errors.Is(err, c.is) {
			t.Errorf("%s: %v, want %v", name, err, c.is)
		}
	}
}

// FuzzPack has the library read what the inspection let through.
func FuzzPack(f *testing.F) {
	base := object(3, 5, "", []byte("hello"))
	f.Add(packOf(base))
	f.Add(packOf(base, object(6, 4, string([]byte{byte(len(base))}), []byte("\x05\x05\x90\x05"))))
	f.Add([]byte("PACK\x00\x00\x00\x02\x00\x00\x00\x01"))
	f.Fuzz(func(t *testing.T, pack []byte) {
		if _, err := git.Unpack(bytes.NewReader(pack), git.Limits{Pack: 1 << 20, Objects: 1000, Content: 1 << 20, Files: 10}, t.TempDir()); err != nil && len(err.Error()) == 0 {
			t.Error("an error without words")
		}
	})
}
