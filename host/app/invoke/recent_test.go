package invoke

import (
	"fmt"
	"testing"

	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

func TestRecent(t *testing.T) {
	var r recent
	sized := func(n, mib int) (manifests.Digest, *bundle.Package) {
		t.Helper()
		p, err := bundle.FromFiles(map[string][]byte{
			"skill.json":  fmt.Appendf(nil, `{"name":"p%d","version":"1.0.0","description":"d","type":"prompt_inline","prompt":"p"}`, n),
			"assets/data": make([]byte, mib<<20),
		})
		if err != nil {
			t.Fatal(err)
		}
		return p.Digest(), p
	}
	var digests []manifests.Digest
	for n := range 5 {
		d, p := sized(n, 30)
		digests = append(digests, d)
		r.add(d, p)
		r.add(d, p)
		if r.get(d) != p {
			t.Errorf("package %d is not kept", n)
		}
	}
	// Four of them have 120 MiB.
	if r.get(digests[0]) != nil || r.get(digests[3]) != nil || r.bytes < 30<<20 || r.bytes > 31<<20 {
		t.Errorf("%d bytes in %d packages are kept", r.bytes, len(r.packages))
	}
}
