package trust

import (
	"errors"
	"fmt"

	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/signature"
)

// maxBundles is how many signatures of one package are looked at.
const maxBundles = 32

// errTooMany means that a package has more signatures than are looked at.
var errTooMany = errors.New("too many signatures")

// Evidence is a package as it was fetched.
type Evidence struct {
	// Skill and Version are those of its manifest.
	Skill, Version string
	// Source says where it came from, in words that are the same for each
	// version: without a tag or a digest. What has no "://" is on this machine.
	Source string
	// Directory is whether it is a directory of whoever installs it: there,
	// nothing is signed.
	Directory bool
	// Listed is whether the catalog of this program lists the artifact: whoever made the
	// program vouches for these bytes, signed or not.
	Listed bool
	// Content is the content digest, Artifact the digest of what was fetched: a
	// .skill file, or an OCI manifest. Empty for a directory.
	Content, Artifact manifests.Digest
	// Blob is the artifact, for signatures that a digest is not enough for; nil
	// when it is not at hand.
	Blob []byte
	// Bundles are the signatures that came with it, not verified.
	Bundles [][]byte
}

// Examine verifies the signatures of a package with the keys and the trust roots
// that are known, and with the keys that the signatures bring.
func (k Known) Examine(e Evidence) Question {
	q, ring, seen := Question{Evidence: e}, k.keyring(), map[signature.Signer]bool{}
	for i, b := range e.Bundles {
		if i == maxBundles {
			q.Failures = append(q.Failures, fmt.Errorf("%w: %d, of which %d were looked at", errTooMany, len(e.Bundles), maxBundles))
			break
		}
		s, err := k.verify(b, e, ring)
		switch {
		case err != nil:
			q.Failures = append(q.Failures, err)
		case !seen[s.Signer]:
			seen[s.Signer] = true
			q.Signatures = append(q.Signatures, s)
		}
	}
	return q
}

func (k Known) verify(bundle []byte, e Evidence, ring signature.Keyring) (signature.Signature, error) {
	s, err := k.verifyArtifact(bundle, e, ring)
	if errors.Is(err, signature.ErrMismatch) && e.Content != e.Artifact {
		// What was signed may be the same package in another form, such as the
		// artifact of a registry that a .skill file was pulled from.
		e.Artifact, e.Blob = e.Content, nil
		if other, failed := k.verifyArtifact(bundle, e, ring); failed == nil {
			s, err = other, nil
		}
	}
	if err != nil {
		return s, err
	}
	return s, s.CheckPackage(e.Skill, e.Version, e.Content)
}

func (k Known) verifyArtifact(bundle []byte, e Evidence, ring signature.Keyring) (signature.Signature, error) {
	s, err := signature.Verify(bundle, e.Artifact, ring)
	if errors.Is(err, signature.ErrNeedsBytes) && e.Blob != nil {
		if err := e.Artifact.Verify(e.Blob); err != nil {
			return s, err
		}
		return signature.VerifyBlob(bundle, e.Blob, ring)
	}
	if !errors.Is(err, signature.ErrKeyless) {
		return s, err
	}
	for _, r := range k.Roots {
		if s, err = r.Verify(bundle, e.Artifact); err == nil {
			return s, nil
		}
	}
	return s, err
}
