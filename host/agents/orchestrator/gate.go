package orchestrator

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/plugins/agent"
)

// askFrom is the risk from which on a person has to agree to a call, whoever makes it
// and whatever plan there is.
func (w *work) askFrom() task.Risk {
	if w.task.ApproveRisk != "" {
		return w.task.ApproveRisk
	}
	return w.o.settings.ApproveFrom
}

// mustAsk is why a person has to agree to a call; empty when none has to.
func (s *scope) mustAsk(t Tool) string {
	switch from := s.w.askFrom(); {
	case from.Asks(t.risk()):
		return fmt.Sprintf("%s risk: %s", t.risk(), t.risk().Reason())
	case s.single && s.approval:
		return "the plan asks for it"
	}
	return ""
}

// askFirst stops the scope when calls that are to be made together need a person: then
// all that do are asked about at once.
func (s *scope) askFirst(ctx context.Context, calls []numbered) error {
	var wait []numbered
	why := ""
	for _, c := range calls {
		t := s.tool(c.Tool)
		if c.found && (c.k.Done || c.k.Effect && !c.k.Waits) || s.refuse(t, c.Call) != nil {
			continue
		}
		c.k.Input, c.k.Effect = inputDigest(c.Input), c.k.Effect || !t.repeatable()
		reason := s.mustAsk(*t)
		if reason == "" || s.w.decided(c.k) != nil || s.w.refusedBefore(c.k) || c.k.Effect && s.before(c.Tool, c.k.Input) != nil {
			continue
		}
		wait, why = append(wait, c), reason
	}
	if len(wait) == 0 {
		return nil
	}
	if err := s.ready(ctx); err != nil {
		return err
	}
	return s.giveUp(s.wait(wait, why))
}

// wait stops the scope until a person has decided about calls, none of which was made.
func (s *scope) wait(calls []numbered, why string) error {
	var waits []task.WaitingCall
	var names []string
	for _, c := range calls {
		t := s.tool(c.Tool)
		waits = append(waits, s.waiting(c.k, c.Tool, string(c.Input), t.risk(), s.mustAsk(*t)))
		names = append(names, c.Tool)
		c.k.Waits, c.k.Done = true, false
		if err := s.w.keep(c.k); err != nil {
			return err
		}
	}
	slices.Sort(names)
	err := fault.Errorf(fault.KindApproval, "a person has to agree to a call of %s: %s", strings.Join(slices.Compact(names), ", "), why)
	return s.stand(waits, err, "")
}

// waitWithin stops the scope because a skill wanted to call others, which a person has
// to agree to. Once one has, the call is made again, and counts as one with an effect.
func (s *scope) waitWithin(k exchange, c agent.Call, asked []task.AskedCall) (exchange, error) {
	if s.planning {
		return s.refused(k, fault.Errorf(fault.KindDenied, "%s calls %s:%s, which a person has to agree to, and none is asked while a plan is made", c.Tool, asked[0].Skill, asked[0].Tool))
	}
	k.Waits, k.Done, k.Effect = true, false, true
	if err := s.w.keep(k); err != nil {
		return k, err
	}
	var waits []task.WaitingCall
	for _, a := range asked {
		why := fmt.Sprintf("%s calls it: %s", c.Tool, a.Risk.Reason())
		waits = append(waits, s.waiting(k, a.Skill+":"+a.Tool, string(a.Input), a.Risk, why))
	}
	err := fault.Errorf(fault.KindApproval, "a person has to agree to %s, because it calls %s", c.Tool, waits[0].Tool)
	return k, s.stand(waits, err, "")
}

// waitElsewhere stops the scope because a call waits as a proposal. While a plan is made
// there is no step that could wait, and the call is refused.
func (s *scope) waitElsewhere(k exchange, c agent.Call, why *fault.Error) (exchange, error) {
	if s.planning {
		return s.refused(k, fault.Errorf(fault.KindDenied, "%s, and nobody is waited for while a plan is made", why.Message))
	}
	k.Waits, k.Done = true, false
	if err := s.w.keep(k); err != nil {
		return k, err
	}
	t := s.tool(c.Tool)
	return k, s.stand([]task.WaitingCall{s.waiting(k, c.Tool, string(c.Input), t.risk(), "a policy asks for it")}, why, proposalOf(why))
}

// stand has the scope stand still for calls.
func (s *scope) stand(calls []task.WaitingCall, why *fault.Error, proposal string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waits, s.why, s.proposal = calls, why, proposal
	return errWaiting
}

// maxAsked is how many bytes of the input of a call that waits a person is shown.
const maxAsked = 4 << 10

// waiting is a call as a person is shown it.
func (s *scope) waiting(k exchange, tool, input string, risk task.Risk, why string) task.WaitingCall {
	if s.w.o.settings.Redact != nil {
		input = s.w.o.settings.Redact(input)
	}
	return task.WaitingCall{Place: k.position(), Tool: tool, Input: cut(strings.ToValidUTF8(input, "\uFFFD"), maxAsked), InputBytes: len(input), Risk: risk, Reason: why}
}

// decided is what a person said to a call; nil when nobody did.
func (w *work) decided(k exchange) *task.Decision {
	r := w.now()
	return decisionOn(&r, k)
}

func decisionOn(r *task.Run, k exchange) *task.Decision {
	for i, d := range slices.Backward(r.Approvals) {
		if slices.Contains(d.Calls, k.position()) {
			return &r.Approvals[i]
		}
	}
	return nil
}

// unasked reports whether the call of a step needs a person who was not asked yet. It may
// begin before its turn, so that a person is asked about all such calls at once: it is
// not made before that person has decided.
func unasked(r *task.Run, s *task.Step) bool {
	return s.Tool != "" && s.Approval && decisionOn(r, exchange{Scope: s.ID, Number: 1}) == nil
}

// deniedBefore is the same call of another step that was denied since this process works
// on the task: what it may do has not changed since.
func (w *work) deniedBefore(k exchange) *exchange {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, scope := range w.log {
		for _, had := range scope {
			denied := had.Done && had.Result != nil && had.Result.Kind == string(fault.KindDenied)
			if denied && had.Kind == askCall && had.Scope != k.Scope && had.Subject == k.Subject && had.Input == k.Input && had.At.After(w.opened) {
				return &had
			}
		}
	}
	return nil
}

// refusedBefore reports whether a person refused the same call in another place.
func (w *work) refusedBefore(k exchange) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, scope := range w.log {
		for _, had := range scope {
			if had.Refused && had.Subject == k.Subject && had.Input == k.Input {
				return true
			}
		}
	}
	return false
}
