// Package skillset reads and writes sets: several packages in one file, with what
// was installed, active, pinned and granted where the set was made. It is how a
// home's skills come to another machine, or to one without a network.
//
// A set is a tar archive (POSIX.1-2001): set.json, which lists what follows, and
// then the packages as .skill files, in that order. The same skills make the same
// bytes. What is read is believed in nothing: each package is checked as any
// other, and its digest is compared with the list.
//
// The package knows no home. What a set says of grants is what somebody says:
// nothing is granted by it.
package skillset

import (
	"archive/tar"
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/policies/capability"
)

// ErrMalformed means that a file is not a set, or is damaged.
var ErrMalformed = errors.New("not a set of skills")

// version is the version of the format.
const version = 1

// Bounds of what is read.
const (
	maxList    = 4 << 20   // bytes of set.json
	maxSkills  = 1000      // packages
	maxPadding = 10 << 10  // zeros behind the end: tar writes records of so much
	maxFile    = 512 << 20 // bytes of one package as it is packed
	listName   = "set.json"
)

// A Set says what is in the file.
type Set struct {
	V      int     `json:"v"`
	Skills []Entry `json:"skills"`
}

// An Entry is one version of a skill. Of a skill with several, the active one is
// the last.
type Entry struct {
	Name    string           `json:"name"`
	Version string           `json:"version"`
	Digest  manifests.Digest `json:"digest"`
	// Active is true for the version that was the active one, and Pinned says that
	// the skill was held at it; Reason why.
	Active bool   `json:"active"`
	Pinned bool   `json:"pinned,omitempty"`
	Reason string `json:"pin_reason,omitempty"`
	// Avoided is the version that somebody went back from to the active one.
	Avoided string `json:"avoided,omitempty"`
	// Stopped says that the version was not run, or with All that no version of the
	// skill was; nil for one that was.
	Stopped *Stop `json:"stopped,omitempty"`
	// Needed is true when nobody asked for the skill, and others needed it.
	Needed bool `json:"needed,omitempty"`
	// Source is where it came from.
	Source string `json:"source,omitempty"`
	// Grants are what it was granted for good.
	Grants []Grant `json:"grants,omitempty"`
	// Signatures are the Sigstore bundles that name the package by its digest.
	Signatures [][]byte `json:"signatures,omitempty"`
}

// A Stop says why something was not run where the set was made.
type Stop struct {
	All    bool   `json:"all,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// A Grant is a capability that was given where the set was made.
type Grant struct {
	Capability capability.Capability `json:"capability"`
	Reason     string                `json:"reason,omitempty"`
}

// File is the name of the entry's package in the archive.
func (e Entry) File() string { return "skills/" + e.Name + "-" + e.Version + bundle.Extension }

// Write writes a set. open reads the packages, one at a time.
func Write(w io.Writer, skills []Entry, open func(Entry) (*bundle.Package, error)) error {
	if len(skills) > maxSkills {
		return fmt.Errorf("write set: %d packages are more than %d", len(skills), maxSkills)
	}
	list, err := json.MarshalIndent(Set{version, skills}, "", "  ")
	if err != nil {
		return fmt.Errorf("write set: %w", err)
	}
	if len(list) > maxList {
		return fmt.Errorf("write set: its list of %d bytes is longer than %d", len(list), maxList)
	}
	t := tar.NewWriter(w)
	if err := put(t, listName, append(list, '\n')); err != nil {
		return fmt.Errorf("write set: %w", err)
	}
	for _, e := range skills {
		if err := writePackage(t, e, open); err != nil {
			return fmt.Errorf("write set: %s@%s: %w", e.Name, e.Version, err)
		}
	}
	if err := t.Close(); err != nil {
		return fmt.Errorf("write set: %w", err)
	}
	return nil
}

func writePackage(t *tar.Writer, e Entry, open func(Entry) (*bundle.Package, error)) error {
	p, err := open(e)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := p.WriteArchive(&b); err != nil {
		return err
	}
	return put(t, e.File(), b.Bytes())
}

// put writes a file with nothing in its header that could differ the next time.
func put(t *tar.Writer, name string, content []byte) error {
	if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(content)), Format: tar.FormatPAX}); err != nil {
		return err
	}
	_, err := t.Write(content)
	return err
}

// A Reader reads a set.
type Reader struct {
	in    *bufio.Reader
	tar   *tar.Reader
	start func() error // goes back to the beginning
	set   Set
}

// NewReader reads a set to its end before anything of it is used: what a Reader
// gives was found whole, and whoever installs one package after the other does not
// stop half way because the set is damaged. The error wraps [ErrMalformed], or is
// r's.
func NewReader(r io.ReadSeeker) (*Reader, error) {
	s := &Reader{}
	s.start = func() error {
		if _, err := r.Seek(0, io.SeekStart); err != nil {
			return err
		}
		s.in = bufio.NewReader(r)
		s.tar = tar.NewReader(s.in)
		return nil
	}
	if err := s.list(); err != nil {
		return nil, err
	}
	for _, err := range s.All() {
		if err != nil {
			return nil, err
		}
	}
	return s, nil
}

// list reads the list, which is the first file.
func (s *Reader) list() error {
	if err := s.start(); err != nil {
		return fmt.Errorf("read set: %w", err)
	}
	b, err := s.file(listName, maxList)
	if err != nil {
		return fmt.Errorf("read set: %w", err)
	}
	s.set = Set{}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	err = d.Decode(&s.set)
	if err == nil && d.More() {
		err = errors.New("something follows the list")
	}
	if err != nil {
		return fmt.Errorf("read set: %w: %s: %w", ErrMalformed, listName, err)
	}
	if err := s.set.check(); err != nil {
		return fmt.Errorf("read set: %w: %w", ErrMalformed, err)
	}
	return nil
}

// check refuses lists that a person could be fooled by.
func (s Set) check() error {
	switch {
	case s.V != version:
		return fmt.Errorf("it has format %d, and this skillet knows %d", s.V, version)
	case len(s.Skills) > maxSkills:
		return fmt.Errorf("it lists %d packages, which are more than %d", len(s.Skills), maxSkills)
	}
	seen, active := map[string]bool{}, map[string]bool{}
	for _, e := range s.Skills {
		ref, err := manifests.ParseRef(e.Name + "@" + e.Version)
		if err != nil || ref.Name != e.Name || ref.Version != e.Version {
			return fmt.Errorf("%q is not a version of a skill", e.Name+"@"+e.Version)
		}
		if _, err := manifests.ParseDigest(string(e.Digest)); err != nil {
			return err
		}
		if avoided, err := manifests.ParseRef(e.Name + "@" + e.Avoided); e.Avoided != "" && (err != nil || avoided.Version != e.Avoided) {
			return fmt.Errorf("%q, which %s went back from, is not a version", e.Avoided, e.Name)
		}
		if seen[e.File()] {
			return fmt.Errorf("it lists %s@%s twice", e.Name, e.Version)
		}
		seen[e.File()] = true
		if e.Active && active[e.Name] {
			return fmt.Errorf("it says of two versions of %s that they are active", e.Name)
		}
		active[e.Name] = active[e.Name] || e.Active
	}
	return nil
}

// Set is the list.
func (s *Reader) Set() Set { return Set{s.set.V, slices.Clone(s.set.Skills)} }

// A Content is one entry with its package.
type Content struct {
	Entry
	Package *bundle.Package
}

// All reads the packages in the order of the list, each time from the beginning. It
// ends with an error when one is not what the list says, or something is left over: [ErrMalformed], those of
// package bundle, and the reader's.
func (s *Reader) All() iter.Seq2[Content, error] {
	return func(yield func(Content, error) bool) {
		if err := s.list(); err != nil {
			yield(Content{}, err)
			return
		}
		for _, e := range s.set.Skills {
			c, err := s.content(e)
			if err != nil {
				err = fmt.Errorf("read set: %s@%s: %w", e.Name, e.Version, err)
			}
			if !yield(c, err) || err != nil {
				return
			}
		}
		if err := s.end(); err != nil {
			yield(Content{}, fmt.Errorf("read set: %w", err))
		}
	}
}

// end makes sure that nothing follows what is listed but the zeros with which a
// tar archive ends.
func (s *Reader) end() error {
	if _, err := s.tar.Next(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: something follows that is not listed", ErrMalformed)
	}
	rest, err := io.ReadAll(io.LimitReader(s.in, maxPadding+1))
	if err != nil {
		return err
	}
	if len(rest) > maxPadding || len(bytes.Trim(rest, "\x00")) > 0 {
		return fmt.Errorf("%w: something follows the end of the archive", ErrMalformed)
	}
	return nil
}

func (s *Reader) content(e Entry) (Content, error) {
	b, err := s.file(e.File(), maxFile)
	if err != nil {
		return Content{}, err
	}
	p, err := bundle.ReadArchive(bytes.NewReader(b))
	if err != nil {
		return Content{}, err
	}
	m := p.Manifest()
	if m.Name != e.Name || m.Version != e.Version {
		return Content{}, fmt.Errorf("%w: the package is %s@%s", ErrMalformed, m.Name, m.Version)
	}
	if p.Digest() != e.Digest {
		return Content{}, fmt.Errorf("%w: its digest is %s, and should be %s", ErrMalformed, p.Digest(), e.Digest)
	}
	return Content{e, p}, nil
}

// file reads the next entry of the archive, which must be that one.
func (s *Reader) file(name string, most int64) ([]byte, error) {
	h, err := s.tar.Next()
	switch {
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("%w: %s is missing", ErrMalformed, name)
	case errors.Is(err, tar.ErrHeader) || errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	case err != nil:
		return nil, err
	case h.Name != name || h.Typeflag != tar.TypeReg:
		return nil, fmt.Errorf("%w: there is %q where %s should be", ErrMalformed, shorten(h.Name), name)
	case h.Size > most:
		return nil, fmt.Errorf("%w: %s has %d bytes, which are more than %d", ErrMalformed, name, h.Size, most)
	}
	b, err := io.ReadAll(s.tar)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("%w: %s is cut off", ErrMalformed, name)
	}
	return b, err
}

func shorten(s string) string {
	if len(s) > 200 {
		s = s[:200] + "..."
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
