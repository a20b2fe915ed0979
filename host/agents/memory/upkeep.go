package memory

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/skillet-run/skillet/host/base/store"
)

// Len is how many records there are.
func (m *Memory) Len() int { return m.catalog.len() }

// Tend consolidates when that is due, and reports whether it did. It is for whoever
// has just written, and does nothing when another process is at it. Errors are those
// of the store.
func (m *Memory) Tend(ctx context.Context) (Outcome, bool, error) {
	reason, err := m.Due(ctx)
	if err != nil || reason == "" {
		return Outcome{}, false, err
	}
	outcome, err := m.Consolidate(ctx)
	if errors.Is(err, store.ErrHeld) {
		return Outcome{}, false, nil
	}
	return outcome, err == nil, err
}

// MinPrefix is how many digits of an ID have to be given where it may be cut short.
const MinPrefix = 4

// Find returns the ID that begins with prefix. The error wraps [ErrNotFound] when
// there is none, and [ErrInvalid] when there are several or prefix is too short.
func (m *Memory) Find(prefix string) (string, error) {
	if isID(prefix) {
		return prefix, nil
	}
	if len(prefix) < MinPrefix {
		return "", fmt.Errorf("find memory %q: %w: at least %d digits of its ID are needed", clip(prefix), ErrInvalid, MinPrefix)
	}
	found := m.catalog.pick(func(id string, _ *head) bool { return strings.HasPrefix(id, prefix) }, newestFirst)
	switch len(found) {
	case 0:
		return "", fmt.Errorf("find memory %q: %w", clip(prefix), ErrNotFound)
	case 1:
		return found[0].id, nil
	}
	return "", fmt.Errorf("find memory %q: %w: it begins the IDs of %d; give more of it", clip(prefix), ErrInvalid, len(found))
}
