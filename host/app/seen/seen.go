// Package seen lets whoever changes something say what they were shown of it, so that the
// change is not made when somebody else changed it first.
package seen

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/install"
	"github.com/skillet-run/skillet/host/record/ledger"
)

// ErrMoved means that something is not as it was shown any more. Errors that wrap it are
// [fault.Error]s of [fault.KindConflict].
var ErrMoved = install.ErrMoved

// A Version names how something stands, as far as it is decided: the same state has the same
// version.
type Version string

// Of is the version of a state, by its JSON.
func Of(state any) Version {
	b, err := json.Marshal(state)
	if err != nil {
		return "" // which is the version of nothing
	}
	sum := sha256.Sum256(b)
	return Version(hex.EncodeToString(sum[:16]))
}

// Versions are those of which something has to have one. Nil is for whatever it is; if it is
// empty and not nil, nothing has one.
type Versions []Version

// Check fails with [ErrMoved] when the state of what is named has none of the versions.
func (vs Versions) Check(what string, now Version) error {
	if vs == nil || now != "" && slices.Contains(vs, now) {
		return nil
	}
	return fault.Errorf(fault.KindConflict, "%s %w", what, ErrMoved).WithHint("look at it again")
}

// Hold checks the state of something now. The next decision that is made with the context
// it returns checks it again, while nothing else can be decided.
func (vs Versions) Hold(ctx context.Context, what string, now func(context.Context) (Version, error)) (context.Context, error) {
	if vs == nil {
		return ctx, nil
	}
	check := func(ctx context.Context) error {
		v, err := now(ctx)
		if err != nil {
			return err
		}
		return vs.Check(what, v)
	}
	return ledger.Given(ctx, check), check(ctx)
}
