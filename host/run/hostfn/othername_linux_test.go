package hostfn

import (
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// The home's files stay closed under a name that somebody gave them elsewhere, by a hard link or a bind mount, and
// so does /proc. Other files with several names are read.
func TestOtherNamesAreFencedOff(t *testing.T) {
	t.Parallel()
	dir := tree(t)
	home := strings.TrimSuffix(dir, "/data") + "/home"
	for _, sub := range []string{"keys", "secrets", "sessions/a", "store", "blobs"} {
		must(t, os.MkdirAll(home+"/"+sub, 0o700))
		must(t, os.WriteFile(home+"/"+sub+"/x", []byte("secret"), 0o600))
		must(t, os.Link(home+"/"+sub+"/x", dir+"/"+strings.ReplaceAll(sub, "/", "-")))
	}
	must(t, os.Link(dir+"/a.txt", dir+"/a2.txt"))
	s := settings(t, "fs.read:"+dir+"/**", "fs.write:"+dir+"/**")
	s.Home = home
	paths := map[string]string{"/keys": "no-skillet-home", "/secrets": "no-skillet-home", "/sessions-a": "no-skillet-home", "/store": "no-skillet-home"}
	for mount, from := range map[string]string{"/m-keys": home + "/keys", "/m-home": home, "/m-proc": "/proc", "/m-key": home + "/keys/x", "/m-status": "/proc/self/status"} {
		if !bind(t, from, dir+mount) {
			continue
		}
		switch mount {
		case "/m-keys":
			paths[mount+"/x"] = "no-skillet-home"
		case "/m-home":
			paths[mount+"/sessions/a/x"] = "no-skillet-home"
		case "/m-proc":
			paths[mount+"/self/environ"] = "no-kernel-files"
		case "/m-key":
			paths[mount] = "no-skillet-home"
		case "/m-status":
			paths[mount] = "no-kernel-files"
		}
	}
	for p, by := range paths {
		e := open(t, s)
		wantKind(t, "read "+p, call(t, e, "fs_read", field("path", dir+p), nil), KindDenied)
		wantKind(t, "write "+p, call(t, e, "fs_write", field("path", dir+p), []byte("x")), KindDenied)
		for _, d := range e.Denials() {
			if !slices.Contains(d.Policies, by) {
				t.Errorf("%s: %+v", p, d)
			}
		}
	}
	e := open(t, s)
	for _, p := range []string{"/a.txt", "/a2.txt", "/sub/b.csv"} {
		wantKind(t, "read "+p, call(t, e, "fs_read", field("path", dir+p), nil), "")
	}
}

// bind mounts one name at another, where this process may.
func bind(t *testing.T, from, to string) bool {
	t.Helper()
	info, err := os.Stat(from)
	must(t, err)
	if info.IsDir() {
		must(t, os.Mkdir(to, 0o755))
	} else {
		must(t, os.WriteFile(to, nil, 0o644))
	}
	if err := unix.Mount(from, to, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		t.Logf("no bind mounts here: %v", err)
		return false
	}
	t.Cleanup(func() { must(t, unix.Unmount(to, unix.MNT_DETACH)) })
	return true
}
