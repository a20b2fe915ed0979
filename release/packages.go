package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // registers itself
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm" // registers itself

	"github.com/skillet-run/skillet/internal/unit"
)

// account is what makes the account of the service when the package is installed. The service
// is not started by that: somebody decides to.
const account = `#!/bin/sh
set -e
if ! getent passwd skillet > /dev/null; then
	useradd --system --user-group --home-dir /var/lib/skillet --no-create-home --shell /usr/sbin/nologin skillet
fi
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
`

// stopped ends the service before its program goes. An update, which installs anew, starts it again.
const stopped = `#!/bin/sh
set -e
case "$1" in
	remove|0)
		if [ -d /run/systemd/system ]; then
			systemctl disable --now skillet.service || true
		fi ;;
esac
`

// packaged is the service as the packages install it.
var packaged = unit.Service{
	Program: "/usr/bin/skillet", Arguments: []string{"serve"}, Home: "/var/lib/skillet", User: "skillet", State: "skillet",
}

// systemPackages writes a package for Debian's and one for Red Hat's systems.
func (r *release) systemPackages(dir string, p program, pages []page) error {
	work := filepath.Dir(p.path)
	contents, err := r.contents(work, p, pages)
	if err != nil {
		return err
	}
	scripts := nfpm.Scripts{PostInstall: filepath.Join(work, "postinst"), PreRemove: filepath.Join(work, "prerm")}
	if err := os.WriteFile(scripts.PostInstall, []byte(account), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(scripts.PreRemove, []byte(stopped), 0o755); err != nil {
		return err
	}
	for _, kind := range []string{"deb", "rpm"} {
		info := nfpm.WithDefaults(&nfpm.Info{
			Name: "skillet", Arch: p.arch, Platform: "linux", Version: strings.TrimPrefix(r.version, "v"),
			Section: "utils", Priority: "optional", Maintainer: "The Skillet authors", Vendor: "Skillet",
			Description: "Runs untrusted skills as WebAssembly modules that can do only what they were granted",
			License:     "Apache-2.0", MTime: r.made, DisableGlobbing: true,
			Overridables: nfpm.Overridables{
				Contents: contents, Scripts: scripts,
				RPM: nfpm.RPM{BuildHost: "localhost", Summary: "A host for sandboxed skills", Packager: "The Skillet authors"},
			},
		})
		if err := r.systemPackage(dir, kind, p.platform, info); err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
	}
	return nil
}

func (r *release) systemPackage(dir, kind string, p platform, info *nfpm.Info) error {
	if err := nfpm.PrepareForPackager(info, kind); err != nil {
		return err
	}
	packager, err := nfpm.Get(kind)
	if err != nil {
		return err
	}
	return create(filepath.Join(dir, r.name(p, "."+kind)), func(w io.Writer) error { return packager.Package(info, w) })
}

// contents are the files of a package, and where they go.
func (r *release) contents(work string, p program, pages []page) (files.Contents, error) {
	all := files.Contents{{Source: p.path, Destination: "/usr/bin/skillet", FileInfo: r.owned(0o755)}}
	pages = append(pages[:len(pages):len(pages)], page{"skillet.service", "/lib/systemd/system/skillet.service", []byte(packaged.Systemd())})
	for _, g := range pages {
		source := filepath.Join(work, filepath.Base(g.name))
		if err := os.WriteFile(source, g.text, 0o644); err != nil {
			return nil, err
		}
		all = append(all, &files.Content{Source: source, Destination: g.installed, FileInfo: r.owned(0o644)})
	}
	return all, nil
}

func (r *release) owned(mode os.FileMode) *files.ContentFileInfo {
	return &files.ContentFileInfo{Owner: "root", Group: "root", Mode: mode, MTime: r.made}
}
