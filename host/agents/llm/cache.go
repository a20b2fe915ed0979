package llm

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/plugins/provider"
)

const cacheKey = "llm/cache/"

// A cache keeps answers. An answer is kept when the request has a temperature of 0:
// only then does who asks the same answer is wanted for the same question. A key is made
// of the whole request, the model and whom the answer is for.
type cache struct {
	kv   store.KV
	ttl  time.Duration
	room int64 // bytes of all answers

	mu     sync.Mutex
	loaded bool
	held   map[string]held // by key
	bytes  int64
}

// held is what is known of an answer without reading it.
type held struct {
	bytes int64
	until int64 // Unix milliseconds
}

// cachedAnswer is an answer in the store.
type cachedAnswer struct {
	Until    int64             `json:"until"` // Unix milliseconds
	Response provider.Response `json:"response"`
}

// Why an answer is neither looked for nor kept.
const (
	cacheOff         = "it is switched off: models.cache_ttl_seconds"
	cacheNotWanted   = "this request wants none"
	cacheTemperature = "only requests with a temperature of 0 have kept answers"
	cachePrivate     = "the request is private and belongs to no task"
)

// unwanted says why a request has no kept answers; empty when it has.
func (c *cache) unwanted(a Ask) string {
	switch {
	case c.ttl <= 0:
		return cacheOff
	case a.NoCache:
		return cacheNotWanted
	case a.Request.Temperature == nil || *a.Request.Temperature != 0:
		return cacheTemperature
	case a.Private && a.Task == "":
		return cachePrivate
	}
	return ""
}

// key is where the answer of a model is kept; empty when none is. The request of a
// private Ask has keys of its task's own.
func (c *cache) key(a Ask, ref Ref) string {
	if c.unwanted(a) != "" {
		return ""
	}
	of := struct {
		Ref             string
		Principal, Task string
		Request         provider.Request
	}{ref.String(), a.Principal, "", a.Request}
	if a.Private {
		of.Task = a.Task
	}
	of.Request.Model = ""
	b, err := json.Marshal(of)
	if err != nil {
		return "" // raw JSON in the request that is not JSON: nothing is cached for it
	}
	sum := sha256.Sum256(b)
	return cacheKey + hex.EncodeToString(sum[:])
}

// get is the answer that is kept under a key.
func (c *cache) get(ctx context.Context, key string) (provider.Response, bool) {
	var k cachedAnswer
	if key == "" {
		return k.Response, false
	}
	e, err := c.kv.Get(ctx, key)
	if err != nil || json.Unmarshal(e.Value, &k) != nil || k.Until <= time.Now().UnixMilli() {
		return provider.Response{}, false
	}
	return k.Response, true
}

// put keeps an answer. Those that end first make room for it; one that is too large
// for the store is not kept.
func (c *cache) put(ctx context.Context, key string, resp provider.Response) error {
	if key == "" || resp.Finish == provider.FinishLength || resp.Finish == provider.FinishFilter {
		return nil
	}
	k := cachedAnswer{time.Now().Add(c.ttl).UnixMilli(), resp}
	v, err := json.Marshal(k)
	if err != nil || len(v) > store.MaxValue || int64(len(v)) > c.room {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.load(ctx); err != nil {
		return err
	}
	c.note(key, held{int64(len(v)), k.Until})
	if err := c.makeRoom(ctx); err != nil {
		return err
	}
	_, err = c.kv.Put(ctx, key, v, store.AnyRevision)
	return err
}

// load finds out what is kept, once.
func (c *cache) load(ctx context.Context) error {
	if c.loaded {
		return nil
	}
	entries, err := c.kv.List(ctx, cacheKey)
	if err != nil {
		return err
	}
	c.held = map[string]held{}
	for _, e := range entries {
		var k cachedAnswer // what cannot be read ends first
		_ = json.Unmarshal(e.Value, &k)
		c.note(e.Key, held{int64(len(e.Value)), k.Until})
	}
	c.loaded = true
	return nil
}

func (c *cache) note(key string, h held) {
	c.bytes += h.bytes - c.held[key].bytes
	c.held[key] = h
}

// makeRoom deletes what has ended and, when that is not enough, what ends first.
func (c *cache) makeRoom(ctx context.Context) error {
	if c.bytes <= c.room {
		return nil
	}
	type one struct {
		key string
		held
	}
	var all []one
	for key, h := range c.held {
		all = append(all, one{key, h})
	}
	slices.SortFunc(all, func(a, b one) int { return cmp.Or(cmp.Compare(a.until, b.until), strings.Compare(a.key, b.key)) })
	for _, x := range all {
		if c.bytes <= c.room {
			break
		}
		if err := c.kv.Delete(ctx, x.key, store.AnyRevision); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		c.bytes -= x.bytes
		delete(c.held, x.key)
	}
	return nil
}
