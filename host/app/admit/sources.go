package admit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/author/toolchain"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/fetch/source"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/record/signer"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// A Found is a skill that a registry has, and an Absence a registry that could not be
// searched.
type (
	Found   = source.Found
	Absence = source.Absence
)

// A Transfer says how a place is reached. The zero value reaches it with TLS, and tells
// nobody how far it is.
type Transfer struct {
	// PlainHTTP allows the place to be reached without TLS.
	PlainHTTP bool
	// Progress is told how many bytes of how many came or went; total is -1 when nobody
	// knows. It is called by several goroutines, one at a time.
	Progress func(done, total int64)
}

func (t Transfer) options() source.Options {
	return source.Options{PlainHTTP: t.PlainHTTP, Progress: t.Progress}
}

// A SearchRequest says what the catalog of this program and registries are searched for.
type SearchRequest struct {
	// Text is in the name or the description, whatever the case; empty is in all.
	Text string
	// PlainHTTP allows registries to be reached without TLS.
	PlainHTTP bool
	// Installed has [Service.Discover] ask no registry.
	Installed bool
}

// A SearchResult is what a search found.
type SearchResult struct {
	Found []Found `json:"found"`
	// Missing are registries that were not, or not wholly, searched.
	Missing []Absence `json:"missing"`
}

// Search looks for skills in the catalog of this program and in the registries of the
// settings. It fails with a
// [fault.KindUnreachable] error when it found nothing and no registry was searched wholly:
// that nothing is there cannot be said.
func (s *Service) Search(ctx context.Context, by approval.Principal, r SearchRequest) (SearchResult, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return SearchResult{}, err
	}
	found, missing, err := s.parts.Sources.Search(ctx, r.Text, source.Options{PlainHTTP: r.PlainHTTP})
	if err == nil && len(found) == 0 && len(missing) > 0 && len(missing) == s.parts.Sources.Registries() {
		err = unsearched(missing)
	}
	return SearchResult{found, missing}, err
}

// A Discovery is what is installed, and what comes with this program or is published in the
// registries of the settings.
type Discovery struct {
	// Installed are the active versions of skills.
	Installed []Skill `json:"installed" nullable:"false"`
	// Published is the newest version in the catalog and in each registry, and Missing are registries that were
	// not, or not wholly, searched.
	Published []Found   `json:"published" nullable:"false"`
	Missing   []Absence `json:"missing" nullable:"false"`
}

// Discover looks for skills here, in the catalog and in the registries of the settings, of
// which there may be none. That no registry answers keeps nobody from what is installed.
func (s *Service) Discover(ctx context.Context, by approval.Principal, r SearchRequest) (Discovery, error) {
	d := Discovery{Published: []Found{}, Missing: []Absence{}}
	all, err := s.List(ctx, by, Listing{Text: r.Text})
	if d.Installed = all; err != nil || r.Installed || !s.parts.Sources.Searchable() {
		return d, err
	}
	found, missing, err := s.parts.Sources.Search(ctx, r.Text, source.Options{PlainHTTP: r.PlainHTTP})
	d.Published, d.Missing = append(d.Published, found...), append(d.Missing, missing...)
	return d, err
}

func unsearched(missing []Absence) error {
	var words []string
	for _, m := range missing {
		words = append(words, fmt.Sprintf("registry %s: %s", m.Registry, m.Reason))
	}
	return fault.Errorf(fault.KindUnreachable, "no registry could be searched completely, and nothing was found: %s", strings.Join(words, "; ")).
		WithHint("try again when it answers; %s shows where it is", fault.List(fault.Settings))
}

// A PullRequest says which package is written to a file.
type PullRequest struct {
	// From is where it is: a path, NAME@VERSION, https://, git+https://, oci:// or
	// oci-layout:.
	From string
	// Output is the .skill file to write, or a directory that it is written to under its
	// own name. Replace allows that another package there is written over.
	Output  string
	Replace bool
	Transfer
}

// Pulled says where a package was written.
type Pulled struct {
	Name       string           `json:"name"`
	Version    string           `json:"version"`
	Digest     manifests.Digest `json:"digest"`
	Source     string           `json:"source"`
	From       string           `json:"from,omitempty"`
	Artifact   manifests.Digest `json:"artifact,omitempty"`
	Path       string           `json:"path"`
	Signatures []string         `json:"signatures"` // paths
}

// Pull fetches a package and writes it to a file, with its signatures beside it. It
// installs nothing, and judges no signature.
func (s *Service) Pull(ctx context.Context, by approval.Principal, r PullRequest) (Pulled, error) {
	if err := writes(by); err != nil {
		return Pulled{}, err
	}
	if r.Output == "" {
		return Pulled{}, fault.Errorf(fault.KindUsage, "pull %s: no file to write it to", r.From)
	}
	a := s.arrive(ctx, r.From, r.Progress, r.PlainHTTP)
	if a.err != nil {
		return Pulled{}, a.err
	}
	got := a.got
	out := r.Output
	if st, err := os.Stat(out); filepath.Ext(out) != bundle.Extension || err == nil && st.IsDir() {
		out = filepath.Join(out, got.Package.FileName())
	}
	signatures, err := s.parts.Sources.Write(got, out, r.Replace)
	m := got.Package.Manifest()
	return Pulled{m.Name, m.Version, got.Package.Digest(), got.Source, got.From, got.Artifact, out, signatures}, err
}

// A PushRequest says what is published, and where.
type PushRequest struct {
	// Package is the path of a directory or of a .skill file, or NAME[@VERSION] of an
	// installed skill.
	Package string
	// To is oci://HOST/REPO, oci-layout:DIR, a .skill file, a directory for one, or a
	// name that a registry of the settings serves.
	To string
	// Unsigned publishes it without a signature.
	Unsigned bool
	// Tags are further tags, such as latest.
	Tags []string
	// Replace allows that what was published under the same version is replaced.
	Replace bool
	Transfer
}

// Pushed says where a package was published.
type Pushed struct {
	Name    string           `json:"name"`
	Version string           `json:"version"`
	Digest  manifests.Digest `json:"digest"`
	source.Pushed
	Signer string `json:"signer,omitempty"`
	// NewKey is true when the key that signed it was made for that, also when it was not
	// published then.
	NewKey bool `json:"-"`
}

// Push signs a package with the key of the home, which it makes when there is none, and
// publishes it.
func (s *Service) Push(ctx context.Context, by approval.Human, r PushRequest) (Pushed, error) {
	if err := s.ready(ctx, by); err != nil {
		return Pushed{}, err
	}
	to, err := destination(r.To)
	if err != nil {
		return Pushed{}, err
	}
	p, err := s.toPublish(ctx, r.Package)
	if err != nil {
		return Pushed{}, err
	}
	parcel, err := s.parts.Sources.Parcel(p, to)
	if err != nil {
		return Pushed{}, err
	}
	m := p.Manifest()
	out := Pushed{Name: m.Name, Version: m.Version, Digest: p.Digest()}
	how := source.Pushing{Options: r.options(), Tags: r.Tags, Replace: r.Replace}
	if !r.Unsigned {
		signed, err := s.parts.Sign(ctx, by, p, parcel.Artifact)
		if err != nil {
			return Pushed{}, err
		}
		how.Signatures, out.Signer, out.NewKey = [][]byte{signed.Bundle}, string(signed.Signer), signed.Made
	}
	out.Pushed, err = s.parts.Sources.Push(ctx, parcel, how)
	return out, err
}

// destinations are the kinds of places that packages are published to.
var destinations = []source.Kind{source.KindRegistry, source.KindLayout, source.KindFile, source.KindDirectory, source.KindName}

// destination reads a reference of where something is published.
func destination(text string) (source.Ref, error) {
	r, err := source.ParseArgument(text)
	if err == nil && !slices.Contains(destinations, r.Kind) {
		err = fault.Errorf(fault.KindUsage, "nothing can be published to a %s, as %s is", r.Kind, text).
			WithHint("name oci://HOST/REPO, oci-layout:DIR, a FILE.skill, or a name that a registry in config.yaml serves")
	}
	return r, err
}

// toPublish is the package at a path, or that of an installed skill.
func (s *Service) toPublish(ctx context.Context, text string) (*bundle.Package, error) {
	if source.IsPath(text) {
		if err := toolchain.Current(text); err != nil {
			return nil, err
		}
		return source.Open(text)
	}
	ref, err := manifests.ParseRef(text)
	if err != nil || ref.Tool != "" {
		return nil, fault.Errorf(fault.KindUsage, "%s is neither the path of a package nor an installed skill", text).
			WithHint("a path begins with ./ or /; %s shows what is installed", fault.List(fault.Skills))
	}
	skill, err := s.parts.Registry.Lookup(ctx, ref)
	if e := fault.AsError(err); e != nil && errors.Is(err, registry.ErrNotFound) && exists(ref.Name) {
		return nil, e.WithHint("there is a file of that name: to mean it, write ./%s", text)
	}
	if err != nil {
		return nil, err
	}
	return s.parts.Registry.Package(ctx, skill.Digest)
}

// A Signature is one of a package.
type Signature = signer.Signature

// A LoginRequest is a name and a password for a registry.
type LoginRequest struct {
	// Host is HOST[:PORT], the address of a registry, or the name of one in the settings.
	Host string
	// Username has no colon in it.
	Username string
	Password string
	// PlainHTTP allows the registry to be reached without TLS: anybody on the way can
	// read the password.
	PlainHTTP bool
}

// A LoginResult says where a password is kept.
type LoginResult struct {
	Host     string `json:"host"`
	Username string `json:"username"`
	Path     string `json:"path"`
	// Plaintext is true when the file at Path has the password as it is.
	Plaintext bool `json:"plaintext"`
}

// Login asks a registry whether a name and a password are good, and keeps them where other
// clients of registries do.
func (s *Service) Login(ctx context.Context, by approval.Human, r LoginRequest) (LoginResult, error) {
	host, err := s.RegistryHost(ctx, by, r.Host)
	if err != nil {
		return LoginResult{}, err
	}
	switch {
	case r.Username == "" || strings.Contains(r.Username, ":"):
		return LoginResult{}, fault.Errorf(fault.KindUsage, "log in to %s: it takes a user name, without a colon", host)
	case r.Password == "":
		return LoginResult{}, fault.Errorf(fault.KindUsage, "log in to %s: the password is empty", host)
	}
	kept, err := s.parts.Sources.Login(ctx, host, r.Username, r.Password, source.Options{PlainHTTP: r.PlainHTTP})
	return LoginResult{host, r.Username, kept.Path, kept.Plaintext}, err
}

// Logout deletes the name and the password for a registry, and returns its host.
func (s *Service) Logout(ctx context.Context, by approval.Human, registry string) (host string, err error) {
	if host, err = s.RegistryHost(ctx, by, registry); err != nil {
		return "", err
	}
	return host, s.parts.Sources.Logout(ctx, host)
}

// RegistryHost is the host that is meant by a host, the address of a registry, or the name
// of one in the settings.
func (s *Service) RegistryHost(_ context.Context, by approval.Principal, text string) (string, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return "", err
	}
	return s.parts.Sources.HostOf(text)
}
