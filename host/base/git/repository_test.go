package git

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var at = time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)

// mustCommit makes a commit of text files; a text of "-" deletes one.
func mustCommit(t *testing.T, r *Repository, message string, files map[string]string) Commit {
	t.Helper()
	var fs []File
	for p, text := range files {
		f := File{Path: p, Content: []byte(text)}
		if text == "-" {
			f.Content = nil
		}
		fs = append(fs, f)
	}
	c, made, err := r.Commit(fs, message, Signature{"human:ada", at})
	if err != nil || !made {
		t.Fatalf("%s: %v, %v", message, made, err)
	}
	return c
}

func open(t *testing.T, dir string) *Repository {
	t.Helper()
	r, err := OpenRepository(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCommits(t *testing.T) {
	dir := t.TempDir()
	r := open(t, dir)
	if _, ok, err := r.Head(); ok || err != nil {
		t.Fatalf("head of nothing: %v, %v", ok, err)
	}
	one := mustCommit(t, r, "one", map[string]string{"a.txt": "1\n", "d/b.txt": "b\n", "d/e/c.txt": ""})
	mustCommit(t, r, "two", map[string]string{"a.txt": "2\n", "d/e/c.txt": "-"})
	r = open(t, dir) // what was written is found again
	log, err := r.Log(10)
	if err != nil || len(log) != 2 || log[0].Message != "two" || log[1].Hash != one.Hash || log[1].By.Name != "human:ada" || !log[1].By.At.Equal(at) {
		t.Errorf("got %+v, %v", log, err)
	}
	for hash, want := range map[string]string{"": "2\n", one.Hash: "1\n"} {
		if b, err := r.Read(hash, "a.txt"); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v", hash, b, err)
		}
	}
	if _, err := r.Read("", "d/e/c.txt"); !errors.Is(err, ErrNoFile) {
		t.Errorf("a deleted file: %v", err)
	}
	l, err := r.List()
	if ps := l.Paths(); err != nil || strings.Join(ps, " ") != "a.txt d/b.txt" {
		t.Errorf("paths: %v, %v", ps, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "d", "e")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an empty directory stays: %v", err)
	}
	if _, made, err := r.Commit([]File{{"a.txt", []byte("2\n")}, {"gone", nil}}, "the same", Signature{"x", at}); made || err != nil {
		t.Errorf("a commit of nothing: %v, %v", made, err)
	}
	likesIt(t, dir)
}

// likesIt has git itself look at a repository.
func likesIt(t *testing.T, dir string) {
	t.Helper()
	for _, args := range [][]string{{"fsck", "--strict"}, {"status", "--porcelain"}} {
		out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput()
		if text := strings.TrimSpace(string(out)); err != nil || args[0] == "status" && text != "" {
			t.Errorf("git %v: %v: %s", args, err, text)
		}
	}
}

// A file takes the place of a directory and the other way round, whatever
// somebody made of the work tree.
func TestWorkTreeIsBroughtUpToDate(t *testing.T) {
	dir := t.TempDir()
	r := open(t, dir)
	mustCommit(t, r, "one", map[string]string{"a": "file\n"})
	mustCommit(t, r, "two", map[string]string{"a": "-", "a/b": "deeper\n"})
	mustCommit(t, r, "three", map[string]string{"a/b": "-", "a": "file again\n"})
	likesIt(t, dir)
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("by hand\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if clean, path, err := r.Clean(); clean || path != "a" || err != nil {
		t.Errorf("by hand: %v %q, %v", clean, path, err)
	}
	if err := r.Restore(); err != nil {
		t.Fatal(err)
	}
	if clean, path, err := r.Clean(); !clean || err != nil {
		t.Errorf("restored: %q, %v", path, err)
	}
	likesIt(t, dir)
}

// Nothing is written outside of the work tree, nor into git's own directory.
func TestPathsStayInside(t *testing.T) {
	dir := t.TempDir()
	r := open(t, filepath.Join(dir, "repo"))
	for _, p := range []string{"../x", "/x", "a/../../x", "", ".", ".git/hooks/post-commit", ".GIT/config", ".gitattributes", "a//b", "a/"} {
		if _, _, err := r.Commit([]File{{p, []byte("x")}}, "m", Signature{"x", at}); err == nil {
			t.Errorf("%q was committed", p)
		}
	}
	if err := os.Symlink(dir, filepath.Join(dir, "repo", "out")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.Commit([]File{{"out/x", []byte("x")}}, "m", Signature{"x", at}); err != nil {
		t.Errorf("a link in the way: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "x")); !errors.Is(err, os.ErrNotExist) {
		t.Error("written through a link")
	}
}

func TestDamageIsAnError(t *testing.T) {
	dir := t.TempDir()
	mustCommit(t, open(t, dir), "one", map[string]string{"a": "a\n"})
	if err := os.RemoveAll(filepath.Join(dir, ".git", "objects")); err != nil {
		t.Fatal(err)
	}
	r := open(t, dir)
	if _, _, err := r.Head(); err == nil {
		t.Error("a head without objects")
	}
	if _, _, err := r.Commit([]File{{"b", []byte("b")}}, "m", Signature{"x", at}); err == nil {
		t.Error("a commit onto damage")
	}
}

func BenchmarkCommit(b *testing.B) {
	r, err := OpenRepository(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	for i := 0; b.Loop(); i++ {
		text := []byte(strings.Repeat("line\n", 200) + time.Duration(i).String())
		files := []File{{"skills/a/package/skill.json", text}, {"skills/a/grants.json", text[:50]}, {"skills/a/versions.json", text[60:]}}
		if _, _, err := r.Commit(files, "m", Signature{"x", at}); err != nil {
			b.Fatal(err)
		}
	}
}

// objects are the files of a repository's objects, by their hash.
func objects(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	paths, err := filepath.Glob(filepath.Join(dir, ".git", "objects", "??", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		all[filepath.Base(filepath.Dir(path))+filepath.Base(path)] = path
	}
	return all
}

// A commit reads nothing of what it does not change, however much there is: it is
// made with all of that taken away. It writes the file, its directories, and itself.
func TestCommitTouchesOnlyWhatChanges(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := map[string]string{}
	for i := range 200 {
		files[fmt.Sprintf("skills/s%d/versions.json", i)] = fmt.Sprint(i)
	}
	last := mustCommit(t, open(t, dir), "many", files)
	before := objects(t, dir)
	for hash, path := range before {
		if hash != last.Hash {
			if err := os.Rename(path, path+".away"); err != nil {
				t.Fatal(err)
			}
		}
	}
	r := open(t, dir)
	if l, err := r.List(); err != nil || !l.Has("skills/s8/versions.json", []byte("8")) || l.Has("skills/s8/versions.json", []byte("9")) {
		t.Errorf("%v", err)
	}
	mustCommit(t, r, "one", map[string]string{"skills/s7/versions.json": "new"})
	written := 0
	for hash, path := range objects(t, dir) {
		if before[hash] == "" && !strings.HasSuffix(path, ".away") {
			written++
		}
	}
	if written != 5 { // a file, three directories, a commit
		t.Errorf("%d objects were written, want 5", written)
	}
	for _, path := range before {
		if err := os.Rename(path+".away", path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	likesIt(t, dir)
}

// What was listed is asked without reading anything: a decision looks at each skill.
func TestListingReadsNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := open(t, dir)
	mustCommit(t, r, "one", map[string]string{"a": "1", "b/c": "2"})
	l, err := r.List()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if got := l.Paths(); !l.Has("b/c", []byte("2")) || l.Has("b", nil) || len(got) != 2 {
		t.Errorf("%v", got)
	}
}

// What an index says that is not that of the last commit is not believed.
func TestIndexOfAnotherCommit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mustCommit(t, open(t, dir), "one", map[string]string{"a": "1", "b/c": "2"})
	path := filepath.Join(dir, ".git", "index")
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	mustCommit(t, open(t, dir), "two", map[string]string{"a": "3"})
	if err := os.WriteFile(path, old, 0o600); err != nil {
		t.Fatal(err)
	}
	if l, err := open(t, dir).List(); err != nil || !l.Has("a", []byte("3")) {
		t.Errorf("%v", err)
	}
}

func TestPack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 20 {
		mustCommit(t, open(t, dir), "one more", map[string]string{fmt.Sprintf("d/f%d", i): fmt.Sprint(i)})
	}
	loose := len(objects(t, dir))
	if n, err := open(t, dir).Pack(true); n != loose || err != nil || len(objects(t, dir)) != loose {
		t.Errorf("dry: %d, %v", n, err)
	}
	if n, err := open(t, dir).Pack(false); n != loose || err != nil || len(objects(t, dir)) != 0 {
		t.Errorf("%d of %d, %v; %d are left", n, loose, err, len(objects(t, dir)))
	}
	mustCommit(t, open(t, dir), "after", map[string]string{"d/f3": "new"})
	if got, err := open(t, dir).Read("", "d/f5"); string(got) != "5" || err != nil {
		t.Errorf("%q %v", got, err)
	}
	likesIt(t, dir)
	if n, err := open(t, dir).Pack(false); n != 4 || err != nil {
		t.Errorf("again: %d %v", n, err)
	}
	if all, err := open(t, dir).Log(100); len(all) != 21 || err != nil {
		t.Errorf("%d commits, %v", len(all), err)
	}
	likesIt(t, dir)
}
