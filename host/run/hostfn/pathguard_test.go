package hostfn

import (
	"errors"
	"os"
	"path"
	"strings"
	"testing"
)

// A wide grant does not reach into another home of skillet's, and no skill
// makes a directory look like one.
func TestOtherHomesAreFencedOff(t *testing.T) {
	t.Parallel()
	dir := tree(t)
	must(t, os.MkdirAll(dir+"/home2/secrets", 0o700))
	must(t, os.WriteFile(dir+"/home2/"+HomeMarker, nil, 0o600))
	must(t, os.WriteFile(dir+"/home2/secrets/k.age", []byte("sealed"), 0o600))
	must(t, os.Symlink("home2/secrets/k.age", dir+"/shortcut"))
	e := env(t, "fs.read:"+dir+"/**", "fs.write:"+dir+"/**")
	for _, c := range []struct{ name, path string }{
		{"fs_read", "/home2/secrets/k.age"}, {"fs_read", "/shortcut"}, {"fs_list", "/home2"}, {"fs_stat", "/home2/secrets"},
		{"fs_write", "/home2/secrets/k.age"}, {"fs_write", "/home2/new"}, {"fs_write", "/" + HomeMarker}, {"fs_write", "/sub/" + strings.ToUpper(HomeMarker)},
	} {
		wantKind(t, c.name+" "+c.path, call(t, e, c.name, field("path", dir+c.path), []byte("x")), KindDenied)
	}
	wantKind(t, "beside it", call(t, e, "fs_read", field("path", dir+"/a.txt"), nil), "")
	files, err := e.FS()
	must(t, err)
	for from, to := range map[string]string{"/home2": "/moved", "/home2/secrets": "/moved", "/a.txt": "/home2/a.txt", "/sub/b.csv": "/sub/" + HomeMarker} {
		if err := files.Rename(dir+from, dir+to); !errors.Is(err, ErrDenied) {
			t.Errorf("moved %s to %s: %v", from, to, err)
		}
	}
	for _, d := range e.Denials() {
		if len(d.Policies) != 1 || d.Policies[0] != "no-skillet-home" || d.Way().String() != "" {
			t.Errorf("denial %+v", d)
		}
	}
}

// The host's own key stays closed under each of its names, and nothing moves it
// to another.
func TestOwnFilesAreFencedOff(t *testing.T) {
	t.Parallel()
	dir := tree(t)
	key := dir + "/sub/deep/key"
	must(t, os.WriteFile(key, []byte("00ff"), 0o600))
	must(t, os.Symlink("sub/deep/key", dir+"/link"))
	must(t, os.Link(key, dir+"/name"))
	s := settings(t, "fs.read:"+dir+"/**", "fs.write:"+dir+"/**")
	s.Own = []string{dir + "/link"}
	e := open(t, s)
	for _, p := range []string{"/link", "/name", "/sub/deep/key"} {
		wantKind(t, "read "+p, call(t, e, "fs_read", field("path", dir+p), nil), KindDenied)
		wantKind(t, "write "+p, call(t, e, "fs_write", field("path", dir+p), []byte("x")), KindDenied)
	}
	files, err := e.FS()
	must(t, err)
	for _, from := range []string{"/sub", "/sub/deep", "/sub/deep/key", "/name"} {
		if err := files.Rename(dir+from, dir+"/moved"); !errors.Is(err, ErrDenied) {
			t.Errorf("moved %s: %v", from, err)
		}
	}
	wantKind(t, "beside it", call(t, e, "fs_read", field("path", dir+"/sub/deep/c"), nil), "")
	wantKind(t, "a new file beside it", call(t, e, "fs_write", field("path", dir+"/sub/deep/new"), nil), "")
}

// What a person keeps keys in stays closed under the widest grant there is.
func TestWidestGrantReachesNoKeys(t *testing.T) {
	t.Parallel()
	dir := tree(t)
	s := settings(t, "fs.read:/**", "fs.write:/**")
	s.Home = dir + "/home"
	for _, p := range []string{"/.ssh/id_ed25519", "/.gnupg/secring", "/.aws/credentials", "/.skillet/keys/identity", "/home/keys/identity", "/home/config.yaml"} {
		must(t, os.MkdirAll(path.Dir(dir+p), 0o700))
		must(t, os.WriteFile(dir+p, []byte("secret"), 0o600))
		e := open(t, s)
		wantKind(t, "read "+p, call(t, e, "fs_read", field("path", dir+p), nil), KindDenied)
		wantKind(t, "write "+p, call(t, e, "fs_write", field("path", dir+p), []byte("x")), KindDenied)
	}
}

// A link that leads out is refused with where it leads, and how that could be
// allowed: the skill itself hears neither.
func TestEscapeSaysWhere(t *testing.T) {
	t.Parallel()
	dir := tree(t)
	outside := path.Dir(dir) + "/secret"
	must(t, os.Symlink(path.Dir(dir)+"/.ssh/id", dir+"/key"))
	must(t, os.MkdirAll(path.Dir(dir)+"/.ssh", 0o700))
	must(t, os.WriteFile(path.Dir(dir)+"/.ssh/id", nil, 0o600))
	for link, want := range map[string][]string{
		"/out": {"leads to " + outside, "[grant tester fs.read:" + outside + "], and name it by that path"},
		"/key": {"credentials are never opened to a skill", ""},
	} {
		e := env(t, "fs.read:"+dir+"/**")
		wantKind(t, link, call(t, e, "fs_read", field("path", dir+link), nil), KindDenied)
		d := e.Denials()
		if len(d) != 1 || !strings.Contains(d[0].Reason, want[0]) || d[0].Way().String() != want[1] {
			t.Errorf("%s: %+v", link, d)
		}
	}
	e := env(t, "fs.write:"+dir+"/**")
	wantKind(t, "write", call(t, e, "fs_write", field("path", dir+"/out"), []byte("x")), KindDenied)
	if d := e.Denials(); len(d) != 1 || !strings.HasPrefix(d[0].Request, "fs.write:") || !strings.Contains(d[0].Way().String(), "[grant tester fs.write:"+outside) {
		t.Errorf("write: %+v", d)
	}
	e = env(t, "fs.read:"+dir+"/**")
	files, err := e.FS() // as WASI has it
	must(t, err)
	if _, err := files.ReadFile(dir+"/key", 10); err == nil || len(e.Denials()) != 1 {
		t.Errorf("through the file tree: %v, %+v", err, e.Denials())
	}
}
