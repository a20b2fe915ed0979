// Command release makes what is published of a version of skillet: for each platform an archive
// with the program, its pages and its licences, and an MCP bundle; packages for Debian and Red Hat systems; a
// container image as an OCI layout; a bill of materials; checksums, and a signature of them.
//
// The same commit and the same version of Go give the same bytes: files have the time of the
// commit, and the program is built without paths of this machine. It uses git and go, and
// starts no container engine.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// platforms are those that are built when nobody says which.
const platforms = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64"

// engines are the interpreters that go with the program when nobody says which.
const engines = "qjs,python,cpython"

func main() {
	var r release
	flag.StringVar(&r.source, "source", "..", "the `DIR` of skillet's sources")
	flag.StringVar(&r.out, "output", "../dist/release", "write to `DIR`, which is made")
	flag.StringVar(&r.key, "key", "", "sign the checksums and the packages of skills with the private key in `FILE` (PEM, PKCS #8); the program carries its public half")
	flag.BoolVar(&r.modified, "modified", false, "also from sources that are not committed")
	which := flag.String("platforms", platforms, "build for `OS/ARCH`, separated by commas")
	engines := flag.String("engines", engines, "bring these interpreters, separated by commas; empty for none. They are made of packages of npm")
	flag.Parse()
	r.engines = strings.FieldsFunc(*engines, func(c rune) bool { return c == ',' })
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := errors.Join(noArguments(flag.Args()), r.parse(*which))
	if err == nil {
		err = r.make(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		stop()
		os.Exit(1)
	}
}

func noArguments(args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s: it takes flags only", args[0])
	}
	return nil
}

// A release is one version, made into files.
type release struct {
	source, out, key string
	modified         bool
	platforms        []platform
	engines          []string
	progress         func(format string, a ...any) // nil: standard error

	version string    // that of the module, "v0.1.0"
	made    time.Time // when the commit was made
}

// A platform is what Go builds for: "linux", "amd64".
type platform struct{ os, arch string }

// here is the platform of this machine.
func (r *release) here() platform { return platform{runtime.GOOS, runtime.GOARCH} }

func (p platform) String() string { return p.os + "_" + p.arch }

// program is the name of the program there.
func (p platform) program() string {
	if p.os == "windows" {
		return "skillet.exe"
	}
	return "skillet"
}

func (r *release) parse(list string) error {
	for name := range strings.SplitSeq(list, ",") {
		system, arch, ok := strings.Cut(name, "/")
		if !ok || system == "" || arch == "" {
			return fmt.Errorf("-platforms %s: want OS/ARCH, such as linux/amd64", name)
		}
		r.platforms = append(r.platforms, platform{system, arch})
	}
	return nil
}

func (r *release) say(format string, a ...any) {
	if r.progress != nil {
		r.progress(format, a...)
		return
	}
	fmt.Fprintf(os.Stderr, format+"\n", a...)
}

// make writes the release to a new directory and puts that in place of the old one when it is whole.
func (r *release) make(ctx context.Context) (err error) {
	out := filepath.Clean(r.out)
	if err := checkReplaceable(out); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(filepath.Dir(out), ".release-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	files := filepath.Join(dir, "files")
	if err := errors.Join(os.Mkdir(files, 0o755), os.Mkdir(filepath.Join(dir, "build"), 0o755)); err != nil {
		return err
	}
	if err := r.fill(ctx, filepath.Join(dir, "build"), files); err != nil {
		return err
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	if err := os.Rename(files, out); err != nil {
		return err
	}
	r.say("skillet %s is in %s", r.version, out)
	return nil
}

// checkReplaceable refuses a directory that holds something else than a release.
func checkReplaceable(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, sumsFile)); err != nil {
		return fmt.Errorf("%s is not empty and holds no release: name another directory", dir)
	}
	return nil
}

// fill builds in one directory and writes what is published to the other.
func (r *release) fill(ctx context.Context, build, files string) error {
	skills, err := r.shelve(ctx, build)
	if err != nil {
		return err
	}
	programs, err := r.build(ctx, build, skills)
	if err != nil {
		return err
	}
	pages, err := r.pages(ctx, programs, skills)
	if err != nil {
		return err
	}
	for _, p := range programs {
		r.say("%s: archive", p.platform)
		if err := r.archive(files, p, pages); err != nil {
			return fmt.Errorf("%s: %w", p.platform, err)
		}
		if err := r.bundle(files, p, pages); err != nil {
			return fmt.Errorf("%s: %w", p.platform, err)
		}
		if p.os == "linux" {
			r.say("%s: packages", p.platform)
			if err := r.systemPackages(files, p, pages); err != nil {
				return fmt.Errorf("%s: %w", p.platform, err)
			}
		}
	}
	if err := r.serverEntry(files, programs); err != nil {
		return fmt.Errorf("%s: %w", serverFile, err)
	}
	if err := r.image(files, programs, pages); err != nil {
		return fmt.Errorf("image: %w", err)
	}
	if err := r.billOfMaterials(files, programs, skills); err != nil {
		return fmt.Errorf("bill of materials: %w", err)
	}
	return r.sums(files)
}
