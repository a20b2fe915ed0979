package semver

import (
	"cmp"
	"strconv"
	"strings"
)

// Bounds on what is read, the ones npm has.
const (
	// MaxLength is how many bytes a version may have.
	MaxLength = 256
	// MaxNumber is the largest major, minor or patch number: the largest integer
	// that every JSON reader keeps exact.
	MaxNumber = 1<<53 - 1
)

// A Version is a version of Semantic Versioning 2.0.0. The zero value is 0.0.0.
// Versions can be compared with ==, which, unlike [Version.Compare], looks at
// build metadata too.
type Version struct {
	major, minor, patch uint64
	pre, build          string // without the leading - and +
}

// ParseVersion reads a version: three numbers, perhaps a prerelease, perhaps
// build metadata (semver 2.0.0, sections 2, 9 and 10). The error is an [*Error]
// that wraps [ErrVersion].
func ParseVersion(text string) (Version, error) {
	v, ok := strictVersion(text)
	if !ok {
		return Version{}, versionError(text)
	}
	return v, nil
}

func strictVersion(text string) (Version, bool) {
	p, ok := parsePartial(text)
	return p.version, ok && len(text) <= MaxLength && p.parts == 3 && p.firstWildcard == 3
}

// MustParseVersion is [ParseVersion] for versions written in a program; it
// panics when text is none.
func MustParseVersion(text string) Version {
	v, err := ParseVersion(text)
	if err != nil {
		panic(err)
	}
	return v
}

// String returns v as [ParseVersion] reads it.
func (v Version) String() string {
	b := make([]byte, 0, 16+len(v.pre)+len(v.build))
	b = strconv.AppendUint(b, v.major, 10)
	b = append(b, '.')
	b = strconv.AppendUint(b, v.minor, 10)
	b = append(b, '.')
	b = strconv.AppendUint(b, v.patch, 10)
	if v.pre != "" {
		b = append(append(b, '-'), v.pre...)
	}
	if v.build != "" {
		b = append(append(b, '+'), v.build...)
	}
	return string(b)
}

// MarshalText returns v as text.
func (v Version) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads v as [ParseVersion] does.
func (v *Version) UnmarshalText(text []byte) (err error) {
	*v, err = ParseVersion(string(text))
	return err
}

// Major, Minor and Patch return the three numbers of v.
func (v Version) Major() uint64 { return v.major }

// Minor returns the second number of v.
func (v Version) Minor() uint64 { return v.minor }

// Patch returns the third number of v.
func (v Version) Patch() uint64 { return v.patch }

// Prerelease returns what stands behind the hyphen, such as "rc.1"; empty for a
// release.
func (v Version) Prerelease() string { return v.pre }

// Build returns the build metadata, what stands behind the plus sign.
func (v Version) Build() string { return v.build }

// IsPrerelease reports whether v is a prerelease.
func (v Version) IsPrerelease() bool { return v.pre != "" }

// Compare orders by precedence (semver 2.0.0, section 11): negative when v is
// older than w, 0 when neither is, positive when v is newer. Build metadata does
// not count.
func (v Version) Compare(w Version) int {
	if c := v.compareNumbers(w); c != 0 {
		return c
	}
	return comparePrerelease(v.pre, w.pre)
}

// CompareBuild orders like [Version.Compare], and versions of the same
// precedence by their build metadata, the way prereleases are ordered, so that
// only equal texts compare as 0.
func (v Version) CompareBuild(w Version) int {
	if c := v.Compare(w); c != 0 {
		return c
	}
	if (v.build == "") != (w.build == "") { // no metadata first, other than no prerelease
		return cmp.Compare(len(v.build), len(w.build))
	}
	return comparePrerelease(v.build, w.build)
}

func (v Version) compareNumbers(w Version) int {
	if v.major != w.major {
		return cmp.Compare(v.major, w.major)
	}
	if v.minor != w.minor {
		return cmp.Compare(v.minor, w.minor)
	}
	return cmp.Compare(v.patch, w.patch)
}

func comparePrerelease(a, b string) int {
	if a == b {
		return 0
	}
	if a == "" || b == "" { // a release is newer than its prereleases
		return cmp.Compare(len(b), len(a))
	}
	for a != "" && b != "" {
		var x, y string
		x, a, _ = strings.Cut(a, ".")
		y, b, _ = strings.Cut(b, ".")
		if c := compareIdentifier(x, y); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b)) // the one that goes on is newer
}

// compareIdentifier orders one identifier: numbers by value, however long, and
// before words; words as text.
func compareIdentifier(x, y string) int {
	nx, ny := isNumeric(x), isNumeric(y)
	switch {
	case nx && ny:
		x, y = strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
		return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y))
	case nx:
		return -1
	case ny:
		return 1
	}
	return strings.Compare(x, y)
}

func isNumeric(id string) bool { return strings.Trim(id, "0123456789") == "" }

// release returns the release with the numbers of v.
func (v Version) release() Version { return Version{major: v.major, minor: v.minor, patch: v.patch} }

// floor returns the oldest version with the numbers of v, its prerelease 0.
func (v Version) floor() Version {
	v = v.release()
	v.pre = "0"
	return v
}

// next returns the release right after the release of v; there is none behind
// the last.
func (v Version) next() (Version, bool) {
	switch {
	case v.patch < MaxNumber:
		return Version{major: v.major, minor: v.minor, patch: v.patch + 1}, true
	case v.minor < MaxNumber:
		return Version{major: v.major, minor: v.minor + 1}, true
	case v.major < MaxNumber:
		return Version{major: v.major + 1}, true
	}
	return Version{}, false
}
