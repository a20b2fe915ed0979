package govern

import (
	"cmp"
	"context"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/fetch/source"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/manifests/semver"
)

// ReleaseName is the name that who signs releases of this program has to have been given.
const ReleaseName = "skillet"

// A ReleaseCheck asks whether a release is newer than the program that runs.
type ReleaseCheck struct {
	// Version is that of the program, such as v0.1.0, and Platform such as linux/amd64.
	Version, Platform string
}

// A Release is the newest release for a platform.
type Release struct {
	Version string `json:"version"`
	// Running is the version of the program that asks, and Newer says that the release is
	// newer than that. Unknown says that it cannot be told, because the program is not a release.
	Running string `json:"running"`
	Newer   bool   `json:"newer"`
	Unknown bool   `json:"unknown,omitempty"`
	// File is its archive, SHA256 the digest of that, and Signer who says so.
	File   string `json:"file"`
	SHA256 string `json:"sha256"`
	Signer string `json:"signer"`
	Source string `json:"source"`
}

// maxSums is how long the checksums of releases may be, in bytes, and sumsType how they are
// published in a registry.
const (
	maxSums  = 1 << 20
	sumsType = "application/vnd.skillet.sums.v1+text"
)

// Release asks where the setting releases says for the newest release. It changes nothing, and
// believes only what a signer says who was given the name [ReleaseName]. Errors are [fault.Error]s:
// of [fault.KindUsage] when the setting is empty, of [fault.KindVerification] for what is not
// signed, or by somebody else, and of [fault.KindNotFound] when no release is for the platform.
func (s *Signers) Release(ctx context.Context, by approval.Human, q ReleaseCheck) (Release, error) {
	if err := s.p.begin(ctx, by); err != nil {
		return Release{}, err
	}
	if s.p.Releases == "" {
		return Release{}, fault.Errorf(fault.KindUsage, "it is not known where releases are published").
			WithHint("%s says where", fault.SetSetting("releases", "https://HOST/SHA256SUMS"))
	}
	r, err := source.Parse(s.p.Releases)
	if err != nil {
		return Release{}, fault.Wrap(fault.KindUsage, err)
	}
	d, err := s.p.Sources.Document(ctx, r, source.DocumentType{MediaType: sumsType, MaxBytes: maxSums}, source.Options{})
	if err != nil {
		return Release{}, err
	}
	who, err := s.releaseSigner(ctx, d)
	if err != nil {
		return Release{}, err
	}
	found, err := newest(string(d.Content), q)
	found.Signer, found.Source = who, d.Source
	return found, err
}

// releaseSigner is who signed the checksums of releases, of those who may.
func (s *Signers) releaseSigner(ctx context.Context, d source.Document) (string, error) {
	known, err := s.p.Trust.Known(ctx, "")
	if err != nil {
		return "", err
	}
	refused := error(fault.Errorf(fault.KindVerification, "the checksums of releases are not signed").WithHint("ask whoever publishes them"))
	for i, b := range d.Signatures {
		who, err := known.SignerOf(ReleaseName, d.Content, b)
		if err == nil {
			return who.Title(), nil
		}
		if i == 0 {
			refused = err
		}
	}
	return "", refused
}

// newest is the newest release among the names of files in checksums, as `sha256sum` writes them:
// DIGEST  skillet_v0.1.0_linux_amd64.tar.gz. Releases before others, such as v0.2.0-rc.1, count for
// those alone who run one.
func newest(sums string, q ReleaseCheck) (Release, error) {
	running, err := semver.ParseVersion(strings.TrimPrefix(q.Version, "v"))
	known := err == nil
	found, best := Release{Running: q.Version, Unknown: !known}, semver.Version{}
	for line := range strings.Lines(sums) {
		digest, file, ok := strings.Cut(strings.TrimSpace(line), "  ")
		name, isArchive := strings.CutPrefix(file, ReleaseName+"_v")
		text, platform, _ := strings.Cut(name, "_")
		platform, _, _ = strings.Cut(platform, ".")
		v, err := semver.ParseVersion(text)
		if !ok || !isArchive || err != nil || platform != strings.ReplaceAll(q.Platform, "/", "_") || strings.Contains(text, "-") && !strings.Contains(q.Version, "-") {
			continue
		}
		if found.File == "" || v.Compare(best) > 0 {
			best, found.Version, found.File, found.SHA256 = v, "v"+text, file, digest
		}
	}
	if found.File == "" {
		return found, fault.Errorf(fault.KindNotFound, "no release is published for %s", cmp.Or(q.Platform, "this platform"))
	}
	found.Newer = known && best.Compare(running) > 0
	return found, nil
}
