package approval

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/gowebpki/jcs"

	"github.com/skillet-run/skillet/manifests"
)

// ErrNotCanonical means that JSON has no canonical form that says the same: it
// names a member twice, or has a number of more than fifteen digits, which would
// be the same as others when it is read as RFC 8785 reads it.
var ErrNotCanonical = errors.New("the JSON has no canonical form that says the same")

// Canonical is JSON in the form of the JSON Canonicalization Scheme (RFC 8785).
// Errors wrap [ErrNotCanonical].
func Canonical(text []byte) ([]byte, error) {
	if err := exact(text); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotCanonical, err)
	}
	b, err := jcs.Transform(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotCanonical, err)
	}
	return b, nil
}

// CanonicalDigest is the digest of the canonical form, or of the bytes as they
// are where there is none: then only the very same bytes have it.
func CanonicalDigest(text []byte) manifests.Digest {
	if b, err := Canonical(text); err == nil {
		return manifests.DigestOf(b)
	}
	return manifests.DigestOf(text)
}

// maxDigits is how many digits a number may have that no other one becomes when
// both are read as IEEE 754 doubles.
const maxDigits = 15

// exact refuses numbers of which several have the same canonical form.
func exact(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	for {
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if n, ok := t.(json.Number); ok && !precise(n.String()) {
			return fmt.Errorf("the number %.40s has too many digits", n)
		}
	}
}

// leastNumber is far above where doubles lose digits before they vanish.
const leastNumber = 1e-290

// precise reports whether the literal of a number has few digits that count,
// and is neither too large for a double nor so small that it loses some.
func precise(n string) bool {
	mantissa, _, _ := strings.Cut(strings.ToLower(n), "e")
	digits := strings.Trim(strings.NewReplacer("-", "", ".", "").Replace(mantissa), "0")
	f, err := strconv.ParseFloat(n, 64)
	return err == nil && len(digits) <= maxDigits && (digits == "" || math.Abs(f) > leastNumber)
}
