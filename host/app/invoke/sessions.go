package invoke

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/run/session"
)

// A Session is what is known of a session.
type Session = session.Info

// Sessions are the sessions of the home, those of one skill alone when it is not empty. A
// principal who is not a person sees its own.
func (s *Service) Sessions(ctx context.Context, by approval.Principal, skill string) ([]Session, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return nil, err
	}
	all, err := s.parts.Sessions.List(ctx)
	if err != nil {
		return nil, err
	}
	_, person := by.(approval.Human)
	all = slices.DeleteFunc(all, func(i Session) bool { return skill != "" && i.Skill != skill || !person && i.Owner != by.Actor() })
	return append([]Session{}, all...), nil
}

// A SessionRequest names sessions.
type SessionRequest struct {
	// Names are those of sessions, NAME or SKILL/NAME.
	Names []string
	// Owner is whose they are, as [approval.Principal.Actor] has it; empty for who asks.
	// Only a person may name another.
	Owner string
}

// FindSessions finds the sessions that are named, one for each name. Errors are
// [fault.Error]s: of [fault.KindNotFound], and of [fault.KindUsage] for a name that
// several have.
func (s *Service) FindSessions(ctx context.Context, by approval.Principal, r SessionRequest) ([]Session, error) {
	all, err := s.Sessions(ctx, by, "")
	if err != nil {
		return nil, err
	}
	found := []Session{}
	for _, name := range r.Names {
		i, err := findSession(all, name, cmp.Or(r.Owner, by.Actor()))
		if err != nil {
			return nil, err
		}
		found = append(found, i)
	}
	return found, nil
}

// CloseSessions ends sessions, and deletes what is in them, once all are found.
func (s *Service) CloseSessions(ctx context.Context, by approval.Principal, r SessionRequest) ([]Session, error) {
	return s.eachSession(ctx, by, r, s.parts.Sessions.Close)
}

// ResumeSessions lets sessions that have ended go on, once all are found.
func (s *Service) ResumeSessions(ctx context.Context, by approval.Principal, r SessionRequest) ([]Session, error) {
	return s.eachSession(ctx, by, r, s.parts.Sessions.Resume)
}

func (s *Service) eachSession(ctx context.Context, by approval.Principal, r SessionRequest, do func(context.Context, Session) error) ([]Session, error) {
	all, err := s.FindSessions(ctx, by, r)
	if err != nil {
		return nil, err
	}
	for _, i := range all {
		if err := do(ctx, i); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// findSession finds the one session that a name means.
func findSession(all []Session, name, owner string) (Session, error) {
	var found []Session
	var others []string
	for _, i := range all {
		switch {
		case name != i.Name && name != i.Key().String():
		case i.Damaged || i.Owner == owner:
			found = append(found, i)
		default:
			others = append(others, i.Owner)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return Session{}, fault.Errorf(fault.KindUsage, "several skills have a session %s", name).WithHint("name the skill, too: %s", keysOf(found))
	case len(others) > 0:
		return Session{}, fault.Errorf(fault.KindNotFound, "session %s: %w of yours", name, session.ErrNotFound).
			WithHint("it is of %s: add %s", strings.Join(others, ", "), fault.SetField(fault.FieldOwner))
	}
	return Session{}, session.NotFound(name)
}

func keysOf(all []Session) string {
	var names []string
	for _, i := range all {
		names = append(names, i.Key().String())
	}
	return strings.Join(names, ", ")
}
