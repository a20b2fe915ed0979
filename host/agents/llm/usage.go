package llm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/skillet-run/skillet/host/base/store"
)

const usageKey = "llm/usage/"

// A Use is what was used on one day by those who have all of its words in common.
type Use struct {
	// Day is one of UTC: "2026-11-22".
	Day      string `json:"day"`
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Tier     Tier   `json:"tier,omitempty"`
	Task     string `json:"task,omitempty"`
	Agent    string `json:"agent,omitempty"`
	Purpose  string `json:"purpose,omitempty"`
	Usage
}

// Usage is what requests took.
type Usage struct {
	// Calls counts the attempts, Failed those of them that failed, and Cached the
	// requests that were answered from the cache, which do not count as Calls.
	Calls  int64 `json:"calls"`
	Failed int64 `json:"failed,omitempty"`
	Cached int64 `json:"cached,omitempty"`
	// OutputTokens are all that were generated, ThinkingTokens among them.
	InputTokens    int64 `json:"input_tokens"`
	OutputTokens   int64 `json:"output_tokens"`
	ThinkingTokens int64 `json:"thinking_tokens,omitempty"`
	// Estimated counts the Calls whose tokens are estimates.
	Estimated int64 `json:"estimated,omitempty"`
	MicroUSD  int64 `json:"micro_usd,omitempty"`
	// TookMS is how long the attempts took together, in milliseconds.
	TookMS int64 `json:"took_ms"`
}

// Add counts o too.
func (s *Usage) Add(o Usage) {
	s.Calls += o.Calls
	s.Failed += o.Failed
	s.Cached += o.Cached
	s.InputTokens += o.InputTokens
	s.OutputTokens += o.OutputTokens
	s.ThinkingTokens += o.ThinkingTokens
	s.Estimated += o.Estimated
	s.MicroUSD += o.MicroUSD
	s.TookMS += o.TookMS
}

// A Filter selects uses; what is empty selects all.
type Filter struct {
	// From and To are days, both of which are in it: "2026-11-01".
	From, To                              string
	Provider, Model, Task, Agent, Purpose string
	Tier                                  Tier
}

func (f Filter) matches(u Use) bool {
	for _, p := range [][2]string{
		{f.Provider, u.Provider}, {f.Model, u.Model}, {f.Task, u.Task}, {f.Agent, u.Agent},
		{f.Purpose, u.Purpose}, {string(f.Tier), string(u.Tier)},
	} {
		if p[0] != "" && p[0] != p[1] {
			return false
		}
	}
	return (f.From == "" || u.Day >= f.From) && (f.To == "" || u.Day <= f.To)
}

// A tally counts what is used.
type tally struct {
	kv store.KV

	mu    sync.Mutex
	since map[Use]Usage // since the last save; the Usage of the key is zero
	all   map[Use]Usage // of this process, by provider, model and tier
}

// count adds to what those with the words of u used.
func (t *tally) count(u Use, s Usage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.total(Use{Provider: u.Provider, Model: u.Model, Tier: u.Tier}, s)
	u.Day, u.Usage = time.Now().UTC().Format(time.DateOnly), Usage{}
	sum := t.since[u]
	sum.Add(s)
	if t.since == nil {
		t.since = map[Use]Usage{}
	}
	t.since[u] = sum
}

// maxCounted is how many models, each by its tiers, are counted by themselves.
const maxCounted = 1000

func (t *tally) total(u Use, s Usage) {
	if t.all == nil {
		t.all = map[Use]Usage{}
	}
	if _, known := t.all[u]; !known && len(t.all) >= maxCounted {
		u = Use{Provider: OtherModels, Model: OtherModels}
	}
	sum := t.all[u]
	sum.Add(s)
	t.all[u] = sum
}

// OtherModels stands for the models beyond the first thousand in [Router.Counted].
const OtherModels = "(other)"

// Counted is what this process used so far, by provider, model and tier, in no order.
func (r *Router) Counted() []Use {
	r.usage.mu.Lock()
	defer r.usage.mu.Unlock()
	var all []Use
	for u, s := range r.usage.all {
		u.Usage = s
		all = append(all, u)
	}
	return all
}

// save writes what was counted. What cannot be written is kept for the next time.
func (t *tally) save(ctx context.Context) error {
	t.mu.Lock()
	counted := t.since
	t.since = nil
	t.mu.Unlock()
	var errs []error
	for u, s := range counted {
		err := change(ctx, t.kv, u.key(), func(kept *Use) {
			sum := kept.Usage
			sum.Add(s)
			*kept = u
			kept.Usage = sum
		})
		if err != nil {
			errs = append(errs, err)
			t.putBack(u, s)
		}
	}
	return errors.Join(errs...)
}

func (t *tally) putBack(u Use, s Usage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.since == nil {
		t.since = map[Use]Usage{}
	}
	s2 := t.since[u]
	s2.Add(s)
	t.since[u] = s2
}

func (u Use) key() string {
	words := []string{u.Provider, u.Model, string(u.Tier), u.Task, u.Agent, u.Purpose}
	b, _ := json.Marshal(words) // strings always can be
	return usageKey + u.Day + "/" + digest(string(b))
}

// Usage lists what was used, by day, and of each day the most expensive first. What
// other processes used in the last second may be missing.
func (r *Router) Usage(ctx context.Context, f Filter) ([]Use, error) {
	if err := r.usage.save(ctx); err != nil {
		return nil, fmt.Errorf("read usage: %w", err)
	}
	entries, err := r.usage.kv.List(ctx, usageKey+common(f.From, f.To))
	if err != nil {
		return nil, fmt.Errorf("read usage: %w", err)
	}
	var all []Use
	for _, e := range entries {
		var u Use
		if err := json.Unmarshal(e.Value, &u); err != nil {
			return nil, fmt.Errorf("read usage %s: %w: %w", e.Key, store.ErrDamaged, err)
		}
		if f.matches(u) {
			all = append(all, u)
		}
	}
	slices.SortStableFunc(all, func(a, b Use) int {
		return cmp.Or(strings.Compare(a.Day, b.Day), cmp.Compare(b.MicroUSD, a.MicroUSD), cmp.Compare(b.OutputTokens, a.OutputTokens), strings.Compare(a.Model, b.Model))
	})
	return all, nil
}

// common is what two days begin with; nothing when one of them is open.
func common(from, to string) string {
	n := 0
	for n < len(from) && n < len(to) && from[n] == to[n] {
		n++
	}
	return from[:n]
}

// PruneUsage forgets what was used before a day.
func (r *Router) PruneUsage(ctx context.Context, before string) (removed int, err error) {
	entries, err := r.usage.kv.List(ctx, usageKey)
	for _, e := range entries {
		if strings.TrimPrefix(e.Key, usageKey) >= before {
			break // they are in the order of days
		}
		switch gone := r.usage.kv.Delete(ctx, e.Key, store.AnyRevision); {
		case gone == nil:
			removed++
		case !errors.Is(gone, store.ErrNotFound):
			err = errors.Join(err, gone)
		}
	}
	if err != nil {
		return removed, fmt.Errorf("forget usage: %w", err)
	}
	return removed, nil
}
