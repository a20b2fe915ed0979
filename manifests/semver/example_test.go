package semver_test

import (
	"fmt"
	"log"

	"github.com/skillet-run/skillet/manifests/semver"
)

// Ranges are written as npm writes them. A prerelease is chosen only where a range names one.
func ExampleRange_Newest() {
	r, err := semver.ParseRange("^1.2")
	if err != nil {
		log.Fatal(err)
	}
	var published []semver.Version
	for _, text := range []string{"1.1.9", "1.2.0", "1.10.1", "1.11.0-rc.1", "2.0.0"} {
		published = append(published, semver.MustParseVersion(text))
	}
	newest, ok := r.Newest(published)
	fmt.Println(newest, ok)
	// Output:
	// 1.10.1 true
}

func ExampleVersion_Compare() {
	a, b := semver.MustParseVersion("1.9.0"), semver.MustParseVersion("1.10.0-beta")
	fmt.Println(a.Compare(b), b.IsPrerelease())
	// Output:
	// -1 true
}
