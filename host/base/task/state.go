package task

import "github.com/skillet-run/skillet/host/base/fault"

// A State is where a task is.
type State string

// The states. The last three are final.
const (
	Queued          State = "queued"           // waits to be run
	Running         State = "running"          // some process works on it, or did when it died
	WaitingApproval State = "waiting_approval" // a person has to agree to something
	Paused          State = "paused"           // stands still until it is resumed
	Completed       State = "completed"        // the goal is reached
	Failed          State = "failed"           // it ended without its goal, with a partial report
	Cancelled       State = "cancelled"        // somebody ended it
)

// States returns all states.
func States() []State {
	return []State{Queued, Running, WaitingApproval, Paused, Completed, Failed, Cancelled}
}

// Final reports whether a task in this state never goes on.
func (s State) Final() bool { return s == Completed || s == Failed || s == Cancelled }

// A Signal is what moves a task from state to state.
type Signal string

// The signals.
const (
	Start    Signal = "start"    // a process begins to work on it, perhaps in place of one that died
	Release  Signal = "release"  // the process stops in good order before the end
	Wait     Signal = "wait"     // a person has to agree
	Approve  Signal = "approve"  // a person agrees
	Refuse   Signal = "refuse"   // a person does not; the task goes on without what was refused
	Pause    Signal = "pause"    // somebody pauses it
	Resume   Signal = "resume"   // somebody resumes it
	Complete Signal = "complete" // the goal is reached
	Fail     Signal = "fail"     // it cannot be reached
	Cancel   Signal = "cancel"   // somebody ends it
)

// Signals returns all signals.
func Signals() []Signal {
	return []Signal{Start, Release, Wait, Approve, Refuse, Pause, Resume, Complete, Fail, Cancel}
}

type transition struct {
	from State
	by   Signal
}

// transitions is the whole machine. What is not in it is refused.
func transitions() map[transition]State {
	return map[transition]State{
		{Queued, Start}:  Running,
		{Queued, Pause}:  Paused,
		{Queued, Cancel}: Cancelled,

		{Running, Start}:    Running,
		{Running, Release}:  Queued,
		{Running, Wait}:     WaitingApproval,
		{Running, Pause}:    Paused,
		{Running, Complete}: Completed,
		{Running, Fail}:     Failed,
		{Running, Cancel}:   Cancelled,

		{WaitingApproval, Approve}: Queued,
		{WaitingApproval, Refuse}:  Queued,
		{WaitingApproval, Resume}:  Queued, // looks again whether it was approved elsewhere
		{WaitingApproval, Pause}:   Paused,
		{WaitingApproval, Cancel}:  Cancelled,

		{Paused, Resume}: Queued,
		{Paused, Cancel}: Cancelled,
	}
}

// Next is the state that a signal leads to: a [fault.KindConflict] error when the
// signal has no meaning in s.
func (s State) Next(by Signal) (State, error) {
	to, ok := transitions()[transition{s, by}]
	if !ok {
		return s, fault.Errorf(fault.KindConflict, "the task is %s, and there is nothing to %s", s, by)
	}
	return to, nil
}

// A StepState is where a step is.
type StepState string

// The states of a step. All but the first three are final.
const (
	StepPending StepState = "pending"
	StepWaiting StepState = "waiting_approval" // a person has to agree before
	StepRunning StepState = "running"
	StepDone    StepState = "done"
	StepFailed  StepState = "failed"
	StepDenied  StepState = "denied"  // a person or a policy refused it
	StepSkipped StepState = "skipped" // a step it waits for did not succeed, or nothing needs it any more
	// StepUncertain is a call that was begun when its process died and is not made
	// again: it may or may not have had its effect.
	StepUncertain StepState = "uncertain"
)

// StepStates returns all states of steps.
func StepStates() []StepState {
	return []StepState{StepPending, StepWaiting, StepRunning, StepDone, StepFailed, StepDenied, StepSkipped, StepUncertain}
}

// Final reports whether a step in this state never goes on.
func (s StepState) Final() bool {
	return s != StepPending && s != StepWaiting && s != StepRunning
}

type stepTransition struct {
	from, to StepState
}

// stepTransitions are the moves a step may make. A running step goes back to
// pending when its process stopped, and to waiting when what it does needs a
// person.
func stepTransitions() map[stepTransition]bool {
	return map[stepTransition]bool{
		{StepPending, StepWaiting}:   true,
		{StepPending, StepRunning}:   true,
		{StepPending, StepSkipped}:   true,
		{StepWaiting, StepPending}:   true,
		{StepWaiting, StepDenied}:    true,
		{StepWaiting, StepSkipped}:   true,
		{StepRunning, StepPending}:   true,
		{StepRunning, StepWaiting}:   true,
		{StepRunning, StepDone}:      true,
		{StepRunning, StepFailed}:    true,
		{StepRunning, StepDenied}:    true,
		{StepRunning, StepUncertain}: true,
	}
}

// To is the state after a move: a [fault.KindConflict] error when a step in s cannot
// come to be in to.
func (s StepState) To(to StepState) (StepState, error) {
	if !stepTransitions()[stepTransition{s, to}] {
		return s, fault.Errorf(fault.KindConflict, "a step that is %s cannot become %s", s, to)
	}
	return to, nil
}
