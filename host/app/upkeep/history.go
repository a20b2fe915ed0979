package upkeep

import (
	"context"
	"errors"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/record/history"
)

// checkHistory looks whether the git history has what decisions led to. What is
// wrong with it is mended at once.
func (s *Service) checkHistory(ctx context.Context) (string, error) {
	detail, err := s.History.Check(ctx)
	if err == nil {
		return detail, nil
	}
	var stale *history.StaleError
	switch {
	case errors.Is(err, history.ErrBehind): // what any command does at its end
		if err = s.History.Sync(ctx); err == nil {
			detail, err = s.History.Check(ctx)
		}
	case errors.As(err, &stale) && stale.Edited():
		if err = s.History.Repair(ctx); err == nil {
			detail, err = s.History.Check(ctx)
		}
	}
	if err == nil {
		return detail, nil
	}
	e := fault.Errorf(fault.KindVerification, "%w", err).WithHint("it is mended; run %s once more to see that", fault.CheckHome())
	if err := s.History.Repair(ctx); err != nil {
		e = e.WithHint("it could not be mended: %v; decisions hold all the same", err)
	}
	return "", e
}
