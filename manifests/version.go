package manifests

import (
	"strings"

	"github.com/skillet-run/skillet/manifests/semver"
)

// CompareVersions orders two versions by the precedence of Semantic Versioning
// 2.0.0, section 11: negative when a is older than b, 0 when neither is,
// positive when a is newer. Texts that are not versions are compared as text.
func CompareVersions(a, b string) int {
	va, erra := semver.ParseVersion(a)
	vb, errb := semver.ParseVersion(b)
	if erra != nil || errb != nil {
		return strings.Compare(a, b)
	}
	return va.Compare(vb)
}
