package queue

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/skillet-run/skillet/host/base/store"
)

// Limits of an item.
const (
	MaxBody  = 256 << 10 // bytes of a body
	MaxMeta  = 32        // entries of the metadata
	MaxLabel = 256       // bytes of an ID, an owner, and a key or value of the metadata
)

// Again says when work may be begun a second time.
type Again string

// What may be begun a second time.
const (
	// Never: neither after a failure nor when nobody knows how far the worker came.
	// Such an item becomes a dead letter, and a person decides.
	Never Again = ""
	// TakeOver: when its worker was lost, because the work itself finds out how far
	// it came, but not after a failure.
	TakeOver Again = "take_over"
	// Always: the work is idempotent.
	Always Again = "always"
)

// An Item is a piece of work.
type Item struct {
	// ID names it; pushing an ID again while it is known adds nothing. Empty
	// means a new one.
	ID string `json:"id"`
	// Owner is whom it is done for, which limits of owners count; may be empty.
	Owner string `json:"owner,omitempty"`
	// Priority decides which item is next; the zero value is the most urgent.
	Priority store.Priority `json:"priority"`
	// After is how long it waits at least; zero for not at all.
	After time.Duration `json:"-"`
	// Again says when it may be begun a second time.
	Again Again `json:"again,omitempty"`
	// Attempts is how often it is begun at most; zero means [Settings].Attempts,
	// which is also the most.
	Attempts int `json:"attempts,omitempty"`
	// Meta and Body are for whoever does the work.
	Meta map[string]string `json:"meta,omitempty"`
	Body []byte            `json:"-"`
}

// Errors a caller may test for. They come wrapped.
var (
	// ErrInvalid: an item breaks a rule, which the message names.
	ErrInvalid = errors.New("invalid")
	// ErrFull: there is no room for an item of that priority; see [FullError].
	ErrFull = errors.New("the queue is full")
	// ErrNotFound: no item has that ID, or it is not in the state that is meant.
	ErrNotFound = errors.New("no such item")
)

func (i *Item) check() error {
	switch {
	case !isLabel(i.ID) || i.Owner != "" && !isLabel(i.Owner):
		return fmt.Errorf("%w: IDs and owners have 1 to %d bytes and no control characters", ErrInvalid, MaxLabel)
	case i.Priority > store.Low:
		return fmt.Errorf("%w: priority %d", ErrInvalid, i.Priority)
	case i.After < 0 || i.Attempts < 0:
		return fmt.Errorf("%w: a delay of %v, %d attempts", ErrInvalid, i.After, i.Attempts)
	case i.Again != Never && i.Again != TakeOver && i.Again != Always:
		return fmt.Errorf("%w: it is not known when to begin it again: %q", ErrInvalid, i.Again)
	case len(i.Meta) > MaxMeta || len(i.Body) > MaxBody:
		return fmt.Errorf("%w: %d entries of metadata and a body of %d bytes; at most %d and %d", ErrInvalid, len(i.Meta), len(i.Body), MaxMeta, MaxBody)
	}
	for k, v := range i.Meta {
		if !isLabel(k) || len(v) > MaxLabel || !utf8.ValidString(v) {
			return fmt.Errorf("%w: metadata has keys and values of at most %d bytes of UTF-8", ErrInvalid, MaxLabel)
		}
	}
	return nil
}

func isLabel(s string) bool {
	return s != "" && len(s) <= MaxLabel && utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

// envelope is an item as the store has it: a line of JSON, and the body.
type envelope struct {
	Owner    string            `json:"owner,omitempty"`
	Again    Again             `json:"again,omitempty"`
	Attempts int               `json:"attempts,omitempty"`
	Meta     map[string]string `json:"meta,omitempty"`
	Pushed   time.Time         `json:"pushed"`
	// Delay is how much of the time until it is begun it was to wait anyway.
	Delay time.Duration `json:"delay,omitempty"`
}

func (i *Item) job(now time.Time) (store.Job, error) {
	head, err := json.Marshal(envelope{i.Owner, i.Again, i.Attempts, i.Meta, now.UTC(), i.After})
	if err != nil {
		return store.Job{}, err
	}
	return store.Job{ID: i.ID, Priority: i.Priority, After: i.After, Body: append(append(head, '\n'), i.Body...)}, nil
}

// itemOf undoes job.
func itemOf(j store.Job) (Item, envelope, error) {
	var e envelope
	head, body, ok := bytes.Cut(j.Body, []byte("\n"))
	if !ok {
		return Item{}, e, fmt.Errorf("item %q: %w: it has no head", j.ID, store.ErrDamaged)
	}
	if err := json.Unmarshal(head, &e); err != nil {
		return Item{}, e, fmt.Errorf("item %q: %w: %w", j.ID, store.ErrDamaged, err)
	}
	i := Item{ID: j.ID, Owner: e.Owner, Priority: j.Priority, Again: e.Again, Attempts: e.Attempts, Meta: e.Meta, Body: body}
	return i, e, i.check()
}

// ownerOf is whom a job is done for; a job that cannot be read has no owner.
func ownerOf(j store.Job) string {
	_, e, err := itemOf(j)
	if err != nil {
		return ""
	}
	return e.Owner
}
