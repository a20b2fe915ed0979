package hostfn

import (
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/skillet-run/skillet/host/base/store"
)

const (
	// MaxKey is the longest key, in bytes.
	MaxKey = 512
	// MaxValue is the longest value, in bytes.
	MaxValue = 256 << 10
	// MaxKeys is the most keys one kv_list returns.
	MaxKeys = 1000

	valueVersion = 1
	valueHeader  = 9
	maxTTL       = 10 * 365 * 24 * 3600 // seconds
	maxTries     = 50                   // of a write that others get in the way of
)

func kvFunctions() []function {
	return []function{
		{name: "kv_get", example: `{"key":"k"}`, run: kvGet},
		{name: "kv_put", example: `{"key":"k"}`, run: kvPut},
		{name: "kv_delete", example: `{"key":"k"}`, run: kvDelete},
		{name: "kv_list", example: `{"prefix":""}`, run: kvList},
	}
}

// stored is a value and when it ends.
type stored struct {
	deadline int64 // Unix milliseconds; 0: never
	data     []byte
}

// expired reports whether the value has ended.
func (v stored) expired() bool { return v.deadline != 0 && time.Now().UnixMilli() >= v.deadline }

// pack encodes a value.
func (v stored) pack() []byte {
	b := binary.BigEndian.AppendUint64([]byte{valueVersion}, uint64(v.deadline))
	return append(b, v.data...)
}

// unpack decodes a value; it is false for bytes that are none.
func unpack(b []byte) (stored, bool) {
	if len(b) < valueHeader || b[0] != valueVersion {
		return stored{}, false
	}
	return stored{deadline: int64(binary.BigEndian.Uint64(b[1:])), data: b[valueHeader:]}, true
}

// get returns an entry that is there and has not expired; found is false for one that is not. entry is what
// the store holds in any case.
func (s *state) get(ctx context.Context, key string) (v stored, entry store.Entry, found bool, err error) {
	entry, err = s.kv.Get(ctx, s.values()+key)
	if errors.Is(err, store.ErrNotFound) {
		return stored{}, store.Entry{}, false, nil
	}
	if err != nil {
		return stored{}, store.Entry{}, false, err
	}
	v, ok := unpack(entry.Value)
	if !ok {
		return stored{}, store.Entry{}, false, failf(KindIO, "the stored value is damaged")
	}
	return v, entry, !v.expired(), nil
}

// checkKey refuses keys that are too long or that a person could not read.
func checkKey(key string) error {
	switch {
	case key == "" || len(key) > MaxKey:
		return failf(KindInvalid, "a key has 1 to %d bytes", MaxKey)
	case !utf8.ValidString(key) || strings.ContainsFunc(key, unicode.IsControl):
		return failf(KindInvalid, "a key is valid UTF-8 without control characters")
	}
	return nil
}

// kvGet returns a value.
func kvGet(ctx context.Context, e *Env, meta, _ []byte) (any, []byte, error) {
	var ask struct {
		Key string `json:"key"`
	}
	s, err := e.keyed(ctx, meta, &ask, &ask.Key, 0)
	if err != nil {
		return nil, nil, err
	}
	var answer struct {
		Found    bool   `json:"found"`
		Revision uint64 `json:"revision"`
	}
	v, entry, found, err := s.get(ctx, ask.Key)
	if err != nil || !found {
		return answer, nil, err
	}
	answer.Found, answer.Revision = true, entry.Revision
	return answer, v.data, nil
}

// keyed decodes a request about one key and opens the state.
func (e *Env) keyed(ctx context.Context, meta []byte, ask any, key *string, bytes int64) (*state, error) {
	if err := decode(meta, ask); err != nil {
		return nil, err
	}
	s, err := e.openState(ctx, bytes)
	if err != nil {
		return nil, err
	}
	return s, checkKey(*key)
}

// kvPut stores a value. revision 0 asks that there is none, another number that nobody changed it.
func kvPut(ctx context.Context, e *Env, meta, body []byte) (any, []byte, error) {
	var ask struct {
		Key        string  `json:"key"`
		TTLSeconds int64   `json:"ttl_seconds"`
		Revision   *uint64 `json:"revision"`
	}
	s, err := e.keyed(ctx, meta, &ask, &ask.Key, int64(len(body)))
	switch {
	case err != nil:
		return nil, nil, err
	case len(body) > MaxValue:
		return nil, nil, failf(KindLimit, "value of %d bytes; at most %d", len(body), MaxValue)
	case ask.TTLSeconds < 0 || ask.TTLSeconds > maxTTL:
		return nil, nil, failf(KindInvalid, "ttl_seconds is from 0 to %d", maxTTL)
	}
	v := stored{data: body}
	if ask.TTLSeconds > 0 {
		v.deadline = time.Now().Add(time.Duration(ask.TTLSeconds) * time.Second).UnixMilli()
	}
	var answer struct {
		Revision uint64 `json:"revision"`
	}
	err = retry(func() (err error) {
		answer.Revision, err = s.put(ctx, ask.Key, v, ask.Revision)
		return err
	})
	return answer, nil, err
}

// put is one attempt to store a value.
func (s *state) put(ctx context.Context, key string, v stored, want *uint64) (uint64, error) {
	_, old, found, err := s.get(ctx, key)
	if err != nil {
		return 0, err
	}
	if want != nil && (found && old.Revision != *want || !found && *want != 0) {
		return 0, failf(KindConflict, "the key was changed by someone else")
	}
	b := v.pack()
	name := s.values() + key
	delta := s.cost(name, b)
	if old.Revision != 0 {
		delta -= s.cost(name, old.Value)
	}
	if err := s.reserve(ctx, max(delta, 0)); err != nil { // also makes the account of new state
		return 0, err
	}
	revision, err := s.kv.Put(ctx, name, b, old.Revision)
	if err != nil {
		s.release(ctx, delta)
		return 0, err
	}
	s.release(ctx, -delta)
	if err := s.still(ctx); err != nil {
		_ = s.kv.Delete(context.WithoutCancel(ctx), name, revision) // nobody reads it any more
		return 0, err
	}
	return revision, nil
}

// kvDelete removes a value.
func kvDelete(ctx context.Context, e *Env, meta, _ []byte) (any, []byte, error) {
	var ask struct {
		Key string `json:"key"`
	}
	s, err := e.keyed(ctx, meta, &ask, &ask.Key, 0)
	if err != nil {
		return nil, nil, err
	}
	var answer struct {
		Deleted bool `json:"deleted"`
	}
	err = retry(func() error {
		_, old, found, err := s.get(ctx, ask.Key)
		if err != nil || old.Revision == 0 {
			return err
		}
		if err := s.kv.Delete(ctx, old.Key, old.Revision); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		s.release(ctx, s.cost(old.Key, old.Value))
		answer.Deleted = found
		return s.still(ctx)
	})
	return answer, nil, err
}

// kvList returns the keys with a prefix, in order.
func kvList(ctx context.Context, e *Env, meta, _ []byte) (any, []byte, error) {
	var ask struct {
		Prefix string `json:"prefix"`
		Limit  int    `json:"limit"`
	}
	if err := decode(meta, &ask); err != nil {
		return nil, nil, err
	}
	s, err := e.openState(ctx, 0)
	if err != nil {
		return nil, nil, err
	}
	if ask.Limit < 0 || len(ask.Prefix) > MaxKey || !utf8.ValidString(ask.Prefix) || strings.ContainsFunc(ask.Prefix, unicode.IsControl) {
		return nil, nil, failf(KindInvalid, "the limit is negative, or the prefix could not begin a key")
	}
	if ask.Limit == 0 || ask.Limit > MaxKeys {
		ask.Limit = MaxKeys
	}
	entries, err := s.kv.List(ctx, s.values()+ask.Prefix)
	if err != nil {
		return nil, nil, err
	}
	answer := struct {
		Keys []string `json:"keys"`
	}{Keys: []string{}}
	for _, x := range entries {
		if v, ok := unpack(x.Value); ok && !v.expired() && len(answer.Keys) < ask.Limit {
			answer.Keys = append(answer.Keys, x.Key[len(s.values()):])
		}
	}
	return answer, nil, nil
}
