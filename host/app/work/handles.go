package work

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/record/approval"
)

// Handles are calls that are answered later: whoever made one has its ID, asks for it again, and
// nobody else finds it. They are in the store, and outlive the process.
type Handles struct{ s *Service }

// Handles are calls that are answered later.
func (s *Service) Handles() *Handles { return &Handles{s} }

// A Handle is such a call. What it was, what it waits for and what it came to is the edge's, and is
// kept as it is.
type Handle struct {
	// ID cannot be guessed.
	ID string `json:"id"`
	// Task is the ID of the task that it stands for; empty for a call of a tool.
	Task string `json:"task,omitempty"`
	// State is the edge's word for how it stands, and Waits what it waits for.
	State string          `json:"state"`
	Waits json.RawMessage `json:"waits,omitempty"`
	// Answered are the names of the questions that the caller has answered.
	Answered []string `json:"answered,omitempty"`
	// Created and Updated are when it was made and written last; Until is when it is removed.
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`
	Until   time.Time `json:"until"`
	// Call is what was asked, and Answer what came of it; nil before that. They are at most
	// [MaxHandled] bytes each.
	Call   json.RawMessage `json:"-"`
	Answer json.RawMessage `json:"-"`

	parts    [2]int // how many the store has of Call and Answer
	revision uint64
}

// A handleHead is what the store has of a handle beside the parts of its call and its answer.
type handleHead struct {
	Handle
	Parts [2]int `json:"parts"`
}

func (h handleHead) handle(revision uint64) Handle {
	h.Handle.parts, h.revision = h.Parts, revision
	return h.Handle
}

const (
	// MaxHandled is the longest call or answer of a [Handle], in bytes.
	MaxHandled = 16 << 20
	// HandleLife is how long a [Handle] is kept.
	HandleLife = 24 * time.Hour
	// maxHandles is how many a caller has at most.
	maxHandles = 1000
	// idBytes is how many random bytes the ID of one has.
	idBytes = 20
	// maxHandlePart is the longest part of a call or an answer in the store, in bytes.
	maxHandlePart = 448 << 10
)

// What is kept of handles: the heads by whose they are, and the parts of calls and answers.
const (
	handleKey     = "handle/head/"
	handlePartKey = "handle/part/"
)

// A HandleRequest is a call that is answered later.
type HandleRequest struct {
	// Of tells callers of one name apart, such as the hash of a token.
	Of    string
	Task  string
	State string
	Waits json.RawMessage
	Call  json.RawMessage
}

// Create keeps a call. When it returns, the call is found, also by another process. A caller that
// has too many gets a [fault.KindLimit] error.
func (h *Handles) Create(ctx context.Context, by approval.Principal, q HandleRequest) (Handle, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return Handle{}, err
	}
	if err := h.sweep(ctx, by, q.Of); err != nil {
		return Handle{}, err
	}
	var id [idBytes]byte
	_, _ = rand.Read(id[:]) // it never fails
	now := time.Now().UTC()
	v := Handle{ID: hex.EncodeToString(id[:]), Task: q.Task, State: q.State, Waits: q.Waits, Call: q.Call, Created: now, Updated: now, Until: now.Add(HandleLife)}
	var err error
	if v.parts[0], err = h.putParts(ctx, v.ID, "call", q.Call); err != nil {
		return Handle{}, err
	}
	return v, h.put(ctx, by, q.Of, &v, store.MustNotExist)
}

// sweep removes what has expired of a caller, who has room for another one then.
func (h *Handles) sweep(ctx context.Context, by approval.Principal, of string) error {
	all, err := h.kv().List(ctx, ownedKey(by, of))
	if err != nil {
		return err
	}
	left := 0
	for _, e := range all {
		var v handleHead
		if err := json.Unmarshal(e.Value, &v); err != nil || time.Now().After(v.Until) {
			if err := h.remove(ctx, e.Key, v.handle(e.Revision)); err != nil {
				return err
			}
			continue
		}
		left++
	}
	if left >= maxHandles {
		return fault.Errorf(fault.KindLimit, "%s has %d calls that are answered later, and no room for another one", by.Actor(), left)
	}
	return nil
}

func (h *Handles) remove(ctx context.Context, key string, v Handle) error {
	errs := []error{h.kv().Delete(ctx, key, store.AnyRevision)}
	for i, of := range []string{"call", "answer"} {
		for n := range v.parts[i] {
			errs = append(errs, h.kv().Delete(ctx, partKey(v.ID, of, n), store.AnyRevision))
		}
	}
	for i, err := range errs {
		if errors.Is(err, store.ErrNotFound) {
			errs[i] = nil
		}
	}
	return errors.Join(errs...)
}

// Get returns a call of the caller: a [fault.KindNotFound] error for one that is not there, has
// expired, or is another's.
func (h *Handles) Get(ctx context.Context, by approval.Principal, of, id string) (Handle, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return Handle{}, err
	}
	if b, err := hex.DecodeString(id); err != nil || len(b) != idBytes {
		return Handle{}, notHandled(id)
	}
	e, err := h.kv().Get(ctx, ownedKey(by, of)+id)
	if errors.Is(err, store.ErrNotFound) {
		return Handle{}, notHandled(id)
	}
	if err != nil {
		return Handle{}, err
	}
	var head handleHead
	if err := json.Unmarshal(e.Value, &head); err != nil {
		return Handle{}, fmt.Errorf("read the call %s: %w", id, err)
	}
	v := head.handle(e.Revision)
	if time.Now().After(v.Until) {
		return Handle{}, notHandled(id)
	}
	if v.Call, err = h.parts(ctx, v.ID, "call", v.parts[0]); err == nil {
		v.Answer, err = h.parts(ctx, v.ID, "answer", v.parts[1])
	}
	return v, err
}

func notHandled(id string) error { return fault.Errorf(fault.KindNotFound, "task %.80q not found", id) }

// Change changes a call of the caller, as change says, which may be asked more than once; an error
// of it is returned, and nothing is changed. Of what it changes, Call and ID stay as they were.
func (h *Handles) Change(ctx context.Context, by approval.Principal, of, id string, change func(*Handle) error) (Handle, error) {
	for {
		v, err := h.Get(ctx, by, of, id)
		if err != nil {
			return Handle{}, err
		}
		kept := v.Answer
		if err := change(&v); err != nil {
			return v, err
		}
		if v.Answer != nil && kept == nil {
			if v.parts[1], err = h.putParts(ctx, id, "answer", v.Answer); err != nil {
				return v, err
			}
		}
		v.Updated = time.Now().UTC()
		if err = h.put(ctx, by, of, &v, v.revision); !errors.Is(err, store.ErrConflict) {
			return v, err
		}
	}
}

func (h *Handles) kv() store.KV { return h.s.parts.Models.Store.KV() }

func (h *Handles) put(ctx context.Context, by approval.Principal, of string, v *Handle, prev uint64) error {
	b, err := json.Marshal(handleHead{*v, v.parts})
	if err == nil {
		v.revision, err = h.kv().Put(ctx, ownedKey(by, of)+v.ID, b, prev)
	}
	return err
}

// ownedKey is where the calls of a caller are.
func ownedKey(by approval.Principal, of string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q", by.Actor(), of))
	return handleKey + hex.EncodeToString(sum[:16]) + "/"
}

func partKey(id, of string, n int) string { return fmt.Sprintf("%s%s/%s/%d", handlePartKey, id, of, n) }

func (h *Handles) putParts(ctx context.Context, id, of string, text []byte) (n int, err error) {
	if len(text) > MaxHandled {
		return 0, fault.Errorf(fault.KindLimit, "what is kept of a call has at most %d MiB", MaxHandled>>20)
	}
	for ; len(text) > 0 && err == nil; n++ {
		part := text[:min(len(text), maxHandlePart)]
		text = text[len(part):]
		_, err = h.kv().Put(ctx, partKey(id, of, n), part, store.AnyRevision)
	}
	return n, err
}

func (h *Handles) parts(ctx context.Context, id, of string, n int) ([]byte, error) {
	var text []byte
	for i := range n {
		e, err := h.kv().Get(ctx, partKey(id, of, i))
		if err != nil {
			return nil, fmt.Errorf("read the call %s: %w", id, err)
		}
		text = append(text, e.Value...)
	}
	return text, nil
}
