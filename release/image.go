package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"encoding/pem"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// imageUser is the account that the container runs under: none that a system gives to a person.
const imageUser = 65532

// imageHome is the home in the container, and its one volume. The rest may be read-only.
const imageHome = "/data"

// image writes one container image for every linux platform, as an OCI image layout
// (opencontainers/image-spec, image-layout.md) in a tar file: `podman load`, and
// `skopeo copy oci-archive:…`, read it. It holds the program, the packages of its catalog, certificates and nothing else.
func (r *release) image(dir string, programs []program, pages []page) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	some := false
	for _, p := range programs {
		if p.os != "linux" {
			continue
		}
		some = true
		image, err := r.imageOf(p, pages)
		if err != nil {
			return err
		}
		at := &v1.Platform{OS: p.os, Architecture: p.arch}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: at}})
	}
	if !some {
		return nil
	}
	r.say("image")
	work := filepath.Join(filepath.Dir(filepath.Dir(programs[0].path)), "image")
	if _, err := layout.Write(work, index); err != nil {
		return err
	}
	return create(filepath.Join(dir, "skillet_"+r.version+"_image.tar"), func(w io.Writer) error { return r.tarOf(w, work) })
}

func (r *release) imageOf(p program, pages []page) (v1.Image, error) {
	files, err := r.layer(p, pages)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files)), nil },
		tarball.WithCompressedCaching, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.Append(image, mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: r.made}, CreatedBy: "skillet " + r.version}})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created, config.Config = p.os, p.arch, v1.Time{Time: r.made}, r.imageConfig()
	return mutate.ConfigFile(image, config)
}

// imageConfig has the container serve its home to other machines, which needs TLS, and ask
// itself whether it is well.
func (r *release) imageConfig() v1.Config {
	return v1.Config{
		Entrypoint: []string{"/usr/bin/skillet"},
		Cmd:        []string{"serve", "--listen", "0.0.0.0:7777", "--tls-self-signed"},
		User:       strconv.Itoa(imageUser) + ":" + strconv.Itoa(imageUser),
		Env:        []string{"SKILLET_HOME=" + imageHome, "HOME=" + imageHome, "PATH=/usr/bin", "TMPDIR=" + imageHome},
		WorkingDir: imageHome, Volumes: map[string]struct{}{imageHome: {}},
		ExposedPorts: map[string]struct{}{"7777/tcp": {}},
		Healthcheck: &v1.HealthConfig{Test: []string{"CMD", "/usr/bin/skillet", "service", "status"},
			Interval: 30 * time.Second, Timeout: 5 * time.Second, StartPeriod: 10 * time.Second, Retries: 3},
		StopSignal: "SIGTERM",
		Labels: map[string]string{
			"org.opencontainers.image.title": "skillet", "org.opencontainers.image.version": r.version,
			"org.opencontainers.image.licenses": "Apache-2.0",
		},
	}
}

// layer is the file system of the container, as a tar file.
func (r *release) layer(p program, pages []page) ([]byte, error) {
	text, err := os.ReadFile(p.path)
	if err != nil {
		return nil, err
	}
	entries := []tar.Header{
		{Name: "dev/"}, {Name: "proc/"}, {Name: "sys/"}, // where a container engine mounts them
		{Name: "etc/"}, {Name: "etc/ssl/"}, {Name: "etc/ssl/certs/"}, {Name: "usr/"}, {Name: "usr/bin/"}, {Name: "usr/share/"}, {Name: "usr/share/doc/"},
		{Name: "usr/share/doc/skillet/"},
		{Name: "usr/share/skillet/"}, {Name: "usr/share/skillet/skills/"}, {Name: imageHome[1:] + "/", Uid: imageUser, Gid: imageUser, Mode: 0o700},
	}
	var b bytes.Buffer
	t := tar.NewWriter(&b)
	for _, h := range entries {
		h.Typeflag, h.Mode, h.ModTime, h.Format = tar.TypeDir, cmp.Or(h.Mode, 0o755), r.made, tar.FormatPAX
		if err := t.WriteHeader(&h); err != nil {
			return nil, err
		}
	}
	err = errors.Join(
		r.entry(t, "usr/bin/skillet", 0o755, text),
		r.entry(t, "etc/ssl/certs/ca-certificates.crt", 0o644, authorities()),
		r.entry(t, "etc/passwd", 0o644, []byte("skillet:x:65532:65532::"+imageHome+":/sbin/nologin\n")))
	for _, g := range pages {
		if g.name == "LICENCES.txt" || strings.HasPrefix(g.installed, installedSkills) {
			err = errors.Join(err, r.entry(t, g.installed[1:], 0o644, g.text))
		}
	}
	if err := errors.Join(err, t.Close()); err != nil { // its end is written by that
		return nil, err
	}
	return b.Bytes(), nil
}

// authorities are the certificate authorities that browsers trust without conditions, in PEM:
// without them nothing could be fetched from a registry.
func authorities() []byte {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			b.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	return b.Bytes()
}

// tarOf writes the files of a directory in order of their names, with the time of the release.
func (r *release) tarOf(w io.Writer, dir string) error {
	t := tar.NewWriter(w)
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == "." {
			return err
		}
		if e.IsDir() {
			return t.WriteHeader(&tar.Header{Name: path + "/", Mode: 0o755, Typeflag: tar.TypeDir, ModTime: r.made, Format: tar.FormatPAX})
		}
		text, err := os.ReadFile(filepath.Join(dir, path))
		if err != nil {
			return err
		}
		return r.entry(t, path, 0o644, text)
	})
	return cmp.Or(err, t.Close())
}
