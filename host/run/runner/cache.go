package runner

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/internal/duration"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/capability"
)

// MaxCached is the longest answer that is kept, in bytes.
const MaxCached = 256 << 10

// remembered gives an answer again that was kept, and keeps new ones, where the
// manifest and the tool's promises allow it.
func (r *Runner) remembered(a *run, next work) work {
	policy := a.manifest.Performance.Caching
	if a.policies != nil && a.policies.LooksAtCalls() { // who calls, and when, may matter
		return next
	}
	if a.call.NoCache || a.inSession() || !a.manifest.Caches(a.tool) || !a.reproducible() {
		return next
	}
	c := r.cache(owner(a.call.Target), policy)
	return func(ctx context.Context) error {
		code, err := r.interpreted(ctx, a)
		if err != nil {
			return err
		}
		key := a.cacheKey(r.policyDigest(a.policies), code)
		output, ok, err := c.get(ctx, key)
		if err != nil { // it is there to help, and must not be what fails
			r.log.Warn("cache of results", "skill", a.call.Target.Label, "err", err)
		}
		if ok {
			a.output, a.result.Cached = output, true
			return nil
		}
		if err := next(ctx); err != nil || !a.keepable() {
			return err
		}
		if err := c.put(ctx, key, a.output); err != nil {
			r.log.Warn("cache of results", "skill", a.call.Target.Label, "err", err)
		}
		return nil
	}
}

// reproducible reports whether the same call may be answered alike: for packages
// that stay what they are, and guests that cannot draw randomness.
func (a *run) reproducible() bool {
	installed := a.call.Target.Origin != registry.OriginPath && a.call.Target.Origin != registry.OriginDevelopment
	_, draws := a.granted.Allows(capability.Request{Action: capability.Random})
	return installed && !draws
}

// keepable reports whether an answer may be cached: whatever the tool promises, not
// when something was refused, or the call did more than look.
func (a *run) keepable() bool {
	acted := slices.ContainsFunc(a.uses, func(u Use) bool {
		c, err := capability.Parse(u.Capability)
		return err != nil || c.Changes()
	})
	return a.result.Fallback == nil && len(a.result.Denials) == 0 && len(a.result.Asked) == 0 && !acted
}

// interpreted is the digest of what runs a script, which is made of more than its
// package: its interpreter. It is empty for packages that have their module.
func (r *Runner) interpreted(ctx context.Context, a *run) (manifests.Digest, error) {
	if !a.manifest.Interpreted() {
		return "", nil
	}
	c, err := r.code(ctx, a.call.Target, false)
	return c.digest, err
}

// cacheKey names all that an answer depends on.
func (a *run) cacheKey(policies, code manifests.Digest) string {
	b, err := json.Marshal(struct {
		Package, Code, Policies, Input manifests.Digest
		Tool, Workspace                string
		Granted                        []string
		Config                         map[string]string
	}{
		a.call.Target.Package.Digest(), code, policies, manifests.DigestOf(a.call.Input),
		a.tool.Name, a.call.Workspace, a.granted.Strings(), a.call.Config,
	})
	if err != nil {
		panic("runner: " + err.Error()) // texts cannot fail to marshal
	}
	return manifests.DigestOf(b).Hex()
}

// policyDigest names what a set of policies says. It remembers that of the last one,
// which is in force for long.
func (r *Runner) policyDigest(s *policies.Set) manifests.Digest {
	r.mu.Lock()
	defer r.mu.Unlock()
	if d, ok := r.digests[s]; ok {
		return d
	}
	d := policyDigest(s)
	r.digests = map[*policies.Set]manifests.Digest{s: d}
	return d
}

func policyDigest(s *policies.Set) manifests.Digest {
	var b strings.Builder
	if s != nil {
		for _, p := range s.List() {
			b.WriteString(p.Text + "\x00")
		}
	}
	return manifests.DigestOf([]byte(b.String()))
}

// A cache keeps the answers of one skill in the store.
type cache struct {
	kv      store.KV
	account cell[cacheAccount]
	prefix  string
	ttl     time.Duration
	quota   int64
}

// cacheAccount is how many bytes are kept. It may say more than there are, and
// says so only until the next count.
type cacheAccount struct {
	Bytes int64 `json:"bytes"`
}

func (r *Runner) cache(owner string, p *manifests.Caching) cache {
	return cache{
		kv: r.kv, account: cell[cacheAccount]{r.kv, cacheKeys + owner}, prefix: cachedKeys + owner + "/",
		ttl: duration.OfSeconds(p.ResultCacheTTL), quota: int64(cmp.Or(p.MaxCacheSizeMB, manifests.DefaultCacheMB)) << 20,
	}
}

// A kept answer begins with its version, and with the times at which it was made
// and ends, in Unix milliseconds (8 bytes each, big-endian).
const (
	keptVersion = 1
	keptHeader  = 17
)

func keep(output []byte, made, ends time.Time) []byte {
	b := binary.BigEndian.AppendUint64([]byte{keptVersion}, uint64(made.UnixMilli()))
	b = binary.BigEndian.AppendUint64(b, uint64(ends.UnixMilli()))
	return append(b, output...)
}

// decodeAnswer reads an answer; ok is false for bytes that are none.
func decodeAnswer(b []byte) (output []byte, made, ends time.Time, ok bool) {
	if len(b) < keptHeader || b[0] != keptVersion {
		return nil, made, ends, false
	}
	at := func(b []byte) time.Time { return time.UnixMilli(int64(binary.BigEndian.Uint64(b))) }
	return b[keptHeader:], at(b[1:]), at(b[9:]), true
}

// get returns an answer that has not ended.
func (c cache) get(ctx context.Context, key string) (output []byte, ok bool, err error) {
	x, err := c.kv.Get(ctx, c.prefix+key)
	if errors.Is(err, store.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	output, _, ends, ok := decodeAnswer(x.Value)
	return output, ok && time.Now().Before(ends), nil
}

// put keeps an answer, if it is not too long. It is counted before it is written,
// so that the count is never less than what is there.
func (c cache) put(ctx context.Context, key string, output []byte) error {
	now := time.Now()
	b := keep(output, now, now.Add(c.ttl))
	if len(output) > MaxCached || int64(len(b)) > c.quota {
		return nil
	}
	full := false
	err := c.account.update(ctx, func(a cacheAccount) cacheAccount {
		if full = a.Bytes+int64(len(b)) > c.quota; full {
			return a
		}
		a.Bytes += int64(len(b))
		return a
	})
	if err == nil && full {
		err = c.makeRoom(ctx, int64(len(b)))
	}
	if err != nil {
		return err
	}
	_, err = c.kv.Put(ctx, c.prefix+key, b, store.AnyRevision)
	return err
}

// makeRoom deletes what has ended, and the oldest answers until a quarter of the
// quota is free, so that not every answer has to make room. Then it counts what
// there is, with another size bytes.
func (c cache) makeRoom(ctx context.Context, size int64) error {
	entries, err := c.kv.List(ctx, c.prefix)
	if err != nil {
		return err
	}
	now := time.Now()
	slices.SortStableFunc(entries, func(a, b store.Entry) int { return rank(b.Value, now).Compare(rank(a.Value, now)) })
	total := size
	for _, x := range entries { // the newest first
		stays := total+int64(len(x.Value)) <= c.quota-c.quota/4 && !rank(x.Value, now).IsZero()
		if stays {
			total += int64(len(x.Value))
		} else if err := c.kv.Delete(ctx, x.Key, x.Revision); err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return c.account.update(ctx, func(cacheAccount) cacheAccount { return cacheAccount{total} })
}

// rank is when an answer was made; the zero time for one that has ended.
func rank(b []byte, now time.Time) time.Time {
	if _, made, ends, ok := decodeAnswer(b); ok && now.Before(ends) {
		return made
	}
	return time.Time{}
}
