package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// made is a release for this machine, of the commit that is checked out.
var made struct {
	dir  string
	tag  string // what its files are called after
	fail error
}

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "release")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		made.dir, made.fail = filepath.Join(dir, "out"), nil
		made.tag, made.fail = makeRelease(dir, made.dir)
		return m.Run()
	}())
}

// makeRelease makes a release from a clone, because Go takes the version from one.
func makeRelease(work, out string) (tag string, err error) {
	clone := filepath.Join(work, "clone")
	if b, err := exec.Command("git", "clone", "-q", "..", clone).CombinedOutput(); err != nil {
		return "", fmt.Errorf("git clone: %w: %s", err, b)
	}
	key := filepath.Join(work, "key.pem")
	if err := writeKey(key); err != nil {
		return "", err
	}
	r := release{source: clone, out: out, key: key, platforms: []platform{{runtime.GOOS, runtime.GOARCH}}, progress: func(string, ...any) {}}
	if err := r.make(context.Background()); err != nil {
		return "", err
	}
	return "skillet_" + r.version, nil
}

// writeKey makes a key as whoever publishes has one.
func writeKey(path string) error {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600)
}

// file is the path of a file of the release.
func file(t *testing.T, ending string) string {
	t.Helper()
	if made.fail != nil {
		t.Fatal(made.fail)
	}
	path := filepath.Join(made.dir, made.tag+ending)
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	return path
}

func here() string { return "_" + runtime.GOOS + "_" + runtime.GOARCH }

// run runs a command and returns what it printed.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

func TestArchive(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there it is a .zip")
	}
	f, err := os.Open(file(t, here()+".tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	unpack(t, z, dir)
	if out := run(t, filepath.Join(dir, "skillet"), "version"); !strings.Contains(out, strings.TrimPrefix(made.tag, "skillet_")) {
		t.Errorf("the program says it is %q, want %s", out, made.tag)
	}
	firstMinutes(t, filepath.Join(dir, "skillet"), filepath.Join(dir, "skills"))
	for name, want := range map[string]string{
		"LICENCES.txt": "github.com/tetratelabs/wazero v", "skillet.1": ".TH SKILLET 1", "completions/skillet.bash": "complete",
		"completions/_skillet": "#compdef skillet", "completions/skillet.fish": "complete", "README.md": "Skillet", "LICENSE": "Apache",
	} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !bytes.Contains(text, []byte(want)) {
			t.Errorf("%s does not hold %q (%v)", name, want, err)
		}
	}
}

// firstMinutes installs what comes with a program, without a network and in a fresh home;
// what was changed in its folder is refused.
func firstMinutes(t *testing.T, program, skills string) {
	t.Helper()
	person := t.TempDir()
	skillet := func(args ...string) (string, error) {
		cmd := exec.Command(program, args...)
		cmd.Dir, cmd.Env = person, []string{"HOME=" + person, "PATH=" + person, "SKILLET_SECRET_KEY=file", "HTTPS_PROXY=http://127.0.0.1:1", "HTTP_PROXY=http://127.0.0.1:1"}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for _, step := range []struct{ want, args string }{
		{"(built in)", "search csv"},
		{"signed by key:", "doctor"},
		{"installed text@", "install text --yes"},
		{`"words":1`, "run text:statistics text=hello"},
		{"ok", "verify --all"},
		{"nothing is left behind", "demo"},
	} {
		if out, err := skillet(strings.Fields(step.args)...); err != nil || !strings.Contains(out, step.want) {
			t.Errorf("skillet %s: %v\n%s", step.args, err, out)
		}
	}
	found, err := filepath.Glob(filepath.Join(skills, "csv-*.skill"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the packages of csv are %v, %v", found, err)
	}
	whole, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	whole[len(whole)/2] ^= 1
	if err := os.WriteFile(found[0], whole, 0o644); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if out, err := skillet("install", "csv", "--yes"); !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("a package that was changed: %v\n%s", err, out)
	}
}

// unpack writes what a tar file holds; owners are kept when the test may set them.
func unpack(t *testing.T, r io.Reader, dir string) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for tr := tar.NewReader(r); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Clean(h.Name)
		if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeDir {
			if err := root.Mkdir(name, fs.FileMode(h.Mode)); err != nil && !errors.Is(err, fs.ErrExist) {
				t.Fatal(err)
			}
		} else {
			f, err := root.OpenFile(name, os.O_CREATE|os.O_WRONLY, fs.FileMode(h.Mode))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(f, tr); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if os.Geteuid() == 0 {
			if err := root.Chown(name, h.Uid, h.Gid); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestSums(t *testing.T) {
	file(t, "_sbom.cdx.json")
	if _, err := exec.LookPath("sha256sum"); err != nil {
		t.Skip("sha256sum is not here")
	}
	cmd := exec.Command("sha256sum", "--check", "--strict", sumsFile)
	cmd.Dir = made.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	listed, err := os.ReadFile(filepath.Join(made.dir, sumsFile))
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(made.dir)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(listed, []byte("\n")); n != len(entries)-2 { // itself and its signature
		t.Errorf("%d files are listed, of %d", n, len(entries)-2)
	}
}

func TestBillOfMaterials(t *testing.T) {
	text, err := os.ReadFile(file(t, "_sbom.cdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	var bom struct {
		Format     string `json:"bomFormat"`
		Components []struct{ Name, Version, Purl string }
	}
	if err := json.Unmarshal(text, &bom); err != nil {
		t.Fatal(err)
	}
	for _, c := range bom.Components {
		if c.Name == "github.com/tetratelabs/wazero" && c.Purl == "pkg:golang/github.com/tetratelabs/wazero@"+c.Version {
			return
		}
	}
	t.Errorf("%d components, and none of them is wazero with its version", len(bom.Components))
}

// A Debian package is read by Debian's tool, holds a program that runs, and a unit that systemd takes.
func TestDebianPackage(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("packages are for linux")
	}
	path := file(t, here()+".deb")
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Skip("dpkg-deb is not here")
	}
	if out := run(t, "dpkg-deb", "--field", path, "Package", "Architecture"); !strings.Contains(out, "skillet") || !strings.Contains(out, runtime.GOARCH) {
		t.Errorf("its fields are %q", out)
	}
	dir := t.TempDir()
	run(t, "dpkg-deb", "--extract", path, dir)
	run(t, filepath.Join(dir, "usr/bin/skillet"), "version")
	firstMinutes(t, filepath.Join(dir, "usr/bin/skillet"), filepath.Join(dir, "usr/share/skillet/skills"))
	unit, err := os.ReadFile(filepath.Join(dir, "lib/systemd/system/skillet.service"))
	if err != nil || !bytes.Contains(unit, []byte("User=skillet\n")) {
		t.Errorf("its unit is %q, %v", unit, err)
	}
}

// The container is started from its unpacked layers, as the account and in the root that it
// asks for: it serves its home and says that it is well.
func TestImage(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the image is for linux")
	}
	f, err := os.Open(file(t, "_image.tar"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	at := t.TempDir()
	unpack(t, f, at)
	image := theImage(t, at)
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Config.User != "65532:65532" || len(config.Config.Volumes) != 1 || config.Config.Healthcheck == nil {
		t.Errorf("the configuration is %+v", config.Config)
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can start a process in another root")
	}
	root := t.TempDir()
	layers := mutate.Extract(image)
	defer layers.Close()
	unpack(t, layers, root)
	mount(t, root)
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	serve := within(t, root, config.Config, "serve", "--listen", "127.0.0.1:0", "--json")
	out, err := serve.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = serve.Process.Kill(); _ = serve.Wait() })
	said, err := bufio.NewReader(out).ReadString('}')
	if err != nil || !strings.Contains(said, `"address"`) {
		t.Fatalf("the container says %s (%v)", said, err)
	}
	check := within(t, root, config.Config, config.Config.Healthcheck.Test[2:]...)
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("%q: %v\n%s", config.Config.Healthcheck.Test, err, out)
	}
	if err := serve.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := waitFor(serve, time.Minute); err != nil {
		t.Errorf("the container did not end well: %v", err)
	}
}

func theImage(t *testing.T, dir string) v1.Image {
	t.Helper()
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	image, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

func waitFor(cmd *exec.Cmd, most time.Duration) error {
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		return err
	case <-time.After(most):
		return errors.Join(errors.New("it goes on"), cmd.Process.Kill())
	}
}
