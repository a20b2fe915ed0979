package invoke

import (
	"sync"

	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/run/runner"
	cache "github.com/skillet-run/skillet/internal/recent"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// maxRecent bounds the packages that are kept in memory, in bytes.
const maxRecent = 128 << 20

// recent keeps the packages that were run last, checked, so that not every call reads
// them anew. What a digest names never changes; whether it may be run is asked elsewhere,
// each time. The zero value is empty and ready to use.
type recent struct {
	mu       sync.Mutex
	bytes    int64
	packages map[manifests.Digest]*bundle.Package
}

func (r *recent) get(d manifests.Digest) *bundle.Package {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.packages[d]
}

// add keeps a package, and forgets the others when they are too many.
func (r *recent) add(d manifests.Digest, p *bundle.Package) {
	size := int64(0)
	for _, f := range p.Files() {
		size += f.Size
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.packages[d] != nil || size > maxRecent {
		return
	}
	if r.packages == nil || r.bytes+size > maxRecent {
		r.bytes, r.packages = 0, map[manifests.Digest]*bundle.Package{}
	}
	r.packages[d] = p
	r.bytes += size
}

// A callee is what a call of an installed skill runs.
type callee struct {
	target runner.Target
	skill  registry.Skill
}

// recentlyCalled keeps what calls of references ran, in one epoch: see [SkillsParts.Decided].
type recentlyCalled = cache.Cache[manifests.Ref, callee]
