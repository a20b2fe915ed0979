package runner

import (
	"context"
	"time"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasi"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/capability"
)

// A Stage stands in for the machine in a call that tries a package out, see
// [hostfn.Stage]. Such a call is made once, whatever the manifest says of trying
// again, fallbacks, rates and kept answers; stored data of an older schema version
// is brought to the new one, as always. It is not in the audit log, because nothing
// was done that could be looked up there, and counts for no figures.
type Stage struct {
	hostfn.Stage
	// Granted is what the package may do on the stage, where nothing is real.
	Granted capability.Set
	// KV is where the skill's state is. If nil, the kv functions fail.
	KV store.KV
	// Secrets and Notifier stand in for those of the host; nil for none.
	Secrets  hostfn.SecretSource
	Notifier hostfn.Notifier
	// Policies stand in for those of the host, and must not be nil.
	Policies *policies.Set
	// Home is the directory that those protect.
	Home string
	// Seed decides the randomness of a guest that was not granted any.
	Seed uint64
}

// try makes a call on a stage. Of a prompt, its text is the answer: no model is asked.
func (r *Runner) try(ctx context.Context, c Call) task.Result {
	a := r.begin(c, asTest, nil)
	if a.manifest.Type.IsPrompt() {
		_, err := r.rendered(ctx, a)
		a.finish(err)
	} else {
		a.finish(r.settle(ctx, a))
	}
	return a.result
}

// onStage puts the stage in the place of the machine.
func (a *run) onStage(s hostfn.Settings) hostfn.Settings {
	stage := a.call.Stage
	if stage == nil {
		return s
	}
	s.Stage, s.Policies, s.Home, s.Own = &stage.Stage, stage.Policies, stage.Home, nil
	s.Secrets, s.Notifier, s.Skills, s.Models = stage.Secrets, stage.Notifier, nil, nil
	return s
}

// staged gives the call the same seed each time.
func (a *run) staged(c sandbox.Call) sandbox.Call {
	c.Seed = a.call.Seed
	if began := a.call.Began; !began.IsZero() {
		c.Later = max(0, began.Sub(time.Unix(0, wasi.Epoch)))
	}
	if a.call.Stage != nil {
		c.Seed = a.call.Stage.Seed
	}
	return c
}
