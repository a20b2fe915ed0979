package agent

import "errors"

// ErrExited is wrapped by errors of Plan and Run when the agent's process ended
// before it answered. The call can be made again.
var ErrExited = errors.New("the agent ended before it answered")

// ErrEnded is returned by the methods of a [Host] after the Plan or Run that it was
// given to has returned.
var ErrEnded = errors.New("the call that was given this host has ended")

// A HostError is any other error of the host, as an agent in another process gets it.
type HostError struct {
	// Message is the text of that error.
	Message string
}

// Error implements error.
func (e *HostError) Error() string { return e.Message }
