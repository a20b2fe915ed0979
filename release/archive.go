package main

import (
	"archive/tar"
	"archive/zip"
	"cmp"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// name is what a file of the release for a platform is called: skillet_v0.1.0_linux_amd64.tar.gz.
func (r *release) name(p platform, ending string) string {
	return "skillet_" + r.version + "_" + p.String() + ending
}

// archive writes the program with its pages as a .zip for Windows and as a .tar.gz for others.
func (r *release) archive(dir string, p program, pages []page) error {
	text, err := os.ReadFile(p.path)
	if err != nil {
		return err
	}
	ending, write := ".tar.gz", r.tarGz
	if p.os == "windows" {
		ending, write = ".zip", r.zip
	}
	return create(filepath.Join(dir, r.name(p.platform, ending)), func(w io.Writer) error {
		return write(w, p.program(), text, pages)
	})
}

// create makes a file, which exists only when write has written all of it.
func create(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := cmp.Or(write(f), f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

func (r *release) tarGz(w io.Writer, program string, text []byte, pages []page) error {
	z := gzip.NewWriter(w)
	t := tar.NewWriter(z)
	add := func(name string, mode fs.FileMode, text []byte) error { return r.entry(t, name, mode, text) }
	return cmp.Or(each(add, program, text, pages), t.Close(), z.Close())
}

// entry writes a file to a tar file, with the time of the release.
func (r *release) entry(t *tar.Writer, name string, mode fs.FileMode, text []byte) error {
	h := &tar.Header{Name: name, Mode: int64(mode), Size: int64(len(text)), ModTime: r.made, Format: tar.FormatPAX}
	if err := t.WriteHeader(h); err != nil {
		return err
	}
	_, err := t.Write(text)
	return err
}

func (r *release) zip(w io.Writer, program string, text []byte, pages []page) error {
	z := zip.NewWriter(w)
	add := func(name string, mode fs.FileMode, text []byte) error {
		h := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: r.made}
		h.SetMode(mode)
		f, err := z.CreateHeader(h)
		if err != nil {
			return err
		}
		_, err = f.Write(text)
		return err
	}
	return cmp.Or(each(add, program, text, pages), z.Close())
}

// each hands the program and then its pages to add.
func each(add func(string, fs.FileMode, []byte) error, program string, text []byte, pages []page) error {
	if err := add(program, 0o755, text); err != nil {
		return err
	}
	for _, p := range pages {
		if err := add(p.name, 0o644, p.text); err != nil {
			return err
		}
	}
	return nil
}
