package agent

import "errors"

// ErrGone is wrapped by errors of Plan and Run when the agent's process ended
// before it answered. It can be asked again.
var ErrGone = errors.New("the agent ended before it answered")

// ErrOver is what a [Host] answers when the Plan or Run it was handed to has
// ended.
var ErrOver = errors.New("the work on the task is over")

// A Refusal is what an agent in another process is told when the host does not do
// what it asks, for another reason than an error of this contract.
type Refusal struct{ Message string }

// Error implements error.
func (r *Refusal) Error() string { return r.Message }
