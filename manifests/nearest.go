package manifests

import "github.com/skillet-run/skillet/internal/nearest"

// didYouMean suggests the name nearest to what was written; empty when none is near.
func didYouMean(written string, names []string) string {
	if best, ok := nearest.Name(written, names); ok {
		return "did you mean " + best + "?"
	}
	return ""
}
