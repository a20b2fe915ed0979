// Package providergrpc carries the contract of a provider over gRPC, both ways:
// [Register] serves a provider, and [Client] is one that is served elsewhere.
//
// What comes from the other side is checked before it is believed: sizes, JSON,
// numbers that money is counted with. The package refuses to know what starts the
// other side and how they found each other.
package providergrpc

import (
	"errors"
	"time"

	"github.com/skillet-run/skillet/plugins/provider"
	"github.com/skillet-run/skillet/plugins/wire"
)

// MaxMessage is the largest message either side takes, in bytes, and the largest
// sum of the pieces of one answer.
const MaxMessage = wire.MaxMessage

// Timeouts bound calls whose context has no earlier deadline. The zero value is
// ten seconds and ten minutes.
type Timeouts struct {
	// Question bounds Info, Models and Health.
	Question time.Duration
	// Work bounds Generate, Embed, Load and Unload.
	Work time.Duration
}

func (t Timeouts) orDefaults() Timeouts {
	if t.Question <= 0 {
		t.Question = 10 * time.Second
	}
	if t.Work <= 0 {
		t.Work = 10 * time.Minute
	}
	return t
}

// invalid is a request that is wrong.
func invalid(err error) error {
	return &provider.Error{Class: provider.ClassInvalid, Message: err.Error()}
}

// broken is an answer that cannot be right.
func broken(err error) error {
	var known *provider.Error
	if errors.As(err, &known) {
		return err
	}
	return &provider.Error{Class: provider.ClassInternal, Message: "the provider's answer: " + err.Error()}
}
