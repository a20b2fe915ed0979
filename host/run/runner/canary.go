package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/internal/duration"

	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/record/registry"
)

// Trials decides about versions on trial as their figures say.
type Trials interface {
	// Conclude ends the trial of a skill. It does nothing when that trial is over.
	Conclude(ctx context.Context, skill string, c registry.Canary, v registry.Verdict, reason string, report json.RawMessage) error
}

// The rule by which a version on trial is judged. It is documented in
// docs/lifecycle.md.
const (
	// minErrors and minCost are how many calls of each version have to be known
	// before their failures, and their time and fuel, are compared.
	minErrors = 5
	minCost   = 20
	// maxChance is how probable it may be at most that as many failures are by
	// chance: the one-sided test of Fisher.
	maxChance = 0.01
	// maxRatio is how many times the time or fuel of the stable version is a
	// regression, in the geometric mean, when it is also minScore standard errors
	// away; and, of time, minSlower at least.
	maxRatio  = 1.5
	minScore  = 3.0
	minSlower = 5 * time.Millisecond
)

// An Arm is what is known of the calls of one of the two versions.
type Arm struct {
	// Calls are those that count: not those whose request was wrong, or that were
	// interrupted. Failed are those among them that failed.
	Calls  int `json:"calls"`
	Failed int `json:"failed"`
	// Time and Fuel are of the calls that succeeded: milliseconds in the guest, and
	// units of fuel.
	Time Spread `json:"time_ms"`
	Fuel Spread `json:"fuel"`
}

// A Spread sums up positive values by their logarithms, as costs of calls are
// spread by factors.
type Spread struct {
	N       int     `json:"n"`
	Sum     float64 `json:"log_sum"`
	Squares float64 `json:"log_squares"`
}

// add adds a value; one below 1 counts as 1.
func (s *Spread) add(v float64) {
	l := math.Log(max(v, 1))
	s.N, s.Sum, s.Squares = s.N+1, s.Sum+l, s.Squares+l*l
}

// Mean is the geometric mean; 0 of no values.
func (s Spread) Mean() float64 {
	if s.N == 0 {
		return 0
	}
	return math.Exp(s.Sum / float64(s.N))
}

// variance is that of the mean of the logarithms.
func (s Spread) variance() float64 {
	n := float64(s.N)
	if s.N < 2 {
		return math.Inf(1)
	}
	return max(s.Squares-s.Sum*s.Sum/n, 0) / (n - 1) / n
}

// worse reports whether s is a regression against before, and by what factor.
func (s Spread) worse(before Spread) (factor float64, yes bool) {
	if s.N < minCost || before.N < minCost {
		return 1, false
	}
	apart := s.Sum/float64(s.N) - before.Sum/float64(before.N)
	score := apart / math.Sqrt(s.variance()+before.variance())
	return math.Exp(apart), math.Exp(apart) > maxRatio && (score > minScore || math.IsNaN(score))
}

// Figures are those of a trial. The zero value is that of one that just began.
type Figures struct {
	// Routed is how many calls were given to either version.
	Routed    int `json:"routed"`
	Stable    Arm `json:"stable"`
	Candidate Arm `json:"candidate"`
}

// judge says how a trial of n calls ends; the empty verdict when it goes on.
func (f Figures) judge(n int) (v registry.Verdict, reason string) {
	if reason := f.regression(); reason != "" {
		return registry.VerdictRolledBack, reason
	}
	if f.Candidate.Calls < n {
		return "", ""
	}
	return registry.VerdictPromoted, fmt.Sprintf("%d of its %d calls failed (before: %d of %d), and it costs no more", f.Candidate.Failed, f.Candidate.Calls, f.Stable.Failed, f.Stable.Calls)
}

// regression says what is worse; empty when nothing is.
func (f Figures) regression() string {
	c, s := f.Candidate, f.Stable
	if c.Calls >= minErrors && s.Calls >= minErrors && chance(c.Failed, c.Calls, s.Failed, s.Calls) < maxChance {
		return fmt.Sprintf("%d of its %d calls failed (before: %d of %d)", c.Failed, c.Calls, s.Failed, s.Calls)
	}
	if factor, worse := c.Fuel.worse(s.Fuel); worse {
		return fmt.Sprintf("its calls take %.1f times the fuel: %.0f (before: %.0f)", factor, c.Fuel.Mean(), s.Fuel.Mean())
	}
	factor, worse := c.Time.worse(s.Time)
	if worse && c.Time.Mean()-s.Time.Mean() > duration.Milliseconds(minSlower) {
		return fmt.Sprintf("its calls take %.1f times the time: %.1f ms (before: %.1f ms)", factor, c.Time.Mean(), s.Time.Mean())
	}
	return ""
}

// chance is the probability that at least a of n calls fail, and no more than b
// of m others, when a+b of all fail and it does not matter which: the one-sided
// exact test of R. A. Fisher (1934).
func chance(a, n, b, m int) float64 {
	failed, p := a+b, 0.0
	for k := a; k <= min(n, failed); k++ {
		if failed-k > m {
			continue
		}
		p += math.Exp(choose(n, k) + choose(m, failed-k) - choose(n+m, failed))
	}
	return min(p, 1)
}

// choose is the logarithm of the binomial coefficient.
func choose(n, k int) float64 {
	return lnFactorial(n) - lnFactorial(k) - lnFactorial(n-k)
}

func lnFactorial(n int) float64 {
	l, _ := math.Lgamma(float64(n) + 1)
	return l
}

// A Report is how a trial stands.
type Report struct {
	registry.Canary
	Figures Figures `json:"figures"`
	// Errors are the shares of calls that failed, and the others the geometric
	// means of the calls that succeeded.
	StableErrors    float64 `json:"stable_errors"`
	CandidateErrors float64 `json:"candidate_errors"`
	StableMS        float64 `json:"stable_ms"`
	CandidateMS     float64 `json:"candidate_ms"`
	StableFuel      float64 `json:"stable_fuel"`
	CandidateFuel   float64 `json:"candidate_fuel"`
}

func newReport(c registry.Canary, f Figures) Report {
	return Report{
		Canary: c, Figures: f,
		StableErrors: f.Stable.errors(), CandidateErrors: f.Candidate.errors(),
		StableMS: f.Stable.Time.Mean(), CandidateMS: f.Candidate.Time.Mean(),
		StableFuel: f.Stable.Fuel.Mean(), CandidateFuel: f.Candidate.Fuel.Mean(),
	}
}

func (a Arm) errors() float64 {
	if a.Calls == 0 {
		return 0
	}
	return float64(a.Failed) / float64(a.Calls)
}

// trial is where the figures of a trial are kept, under the decision that began
// it.
func (r *Runner) trial(skill string, c registry.Canary) cell[Figures] {
	return cell[Figures]{r.kv, fmt.Sprintf("%sskill/%s/canary/%d", aboutKeys, skill, c.Seq)}
}

// Canary reports how the trial of a skill stands.
func (r *Runner) Canary(ctx context.Context, skill string, c registry.Canary) (Report, error) {
	f, _, err := r.trial(skill, c).read(ctx)
	return newReport(c, f), err
}

// Route reports whether the next call of a skill without a version is for the
// version on trial. It counts calls, and spreads the share evenly over them: of
// each hundred in a row, Percent.
func (r *Runner) Route(ctx context.Context, skill string, c registry.Canary) (candidate bool, err error) {
	err = r.trial(skill, c).update(ctx, func(f Figures) Figures {
		f.Routed++
		candidate = f.Routed*c.Percent/100 > (f.Routed-1)*c.Percent/100
		return f
	})
	return candidate, err
}

// weigh counts a call for the trial that it was part of, and ends that when
// enough is known. Whatever goes wrong with that is not the caller's.
func (r *Runner) weigh(ctx context.Context, a *run) {
	c := a.call.Target.Canary
	if c == nil || a.part != asAsked || a.result.Cached || !counts(a.result) || !a.result.OK && a.endedByCaller(ctx, a.result.Error) {
		return
	}
	ctx, skill := context.WithoutCancel(ctx), a.manifest.Name
	var now Figures
	err := r.trial(skill, *c).update(ctx, func(f Figures) Figures {
		arm := &f.Stable
		if a.call.Target.Package.Digest() == c.Digest {
			arm = &f.Candidate
		}
		arm.count(a.result)
		now = f
		return f
	})
	if err == nil {
		err = r.conclude(ctx, skill, *c, now)
	}
	if err != nil {
		r.log.Warn("canary", "skill", skill, "err", err)
	}
}

func (r *Runner) conclude(ctx context.Context, skill string, c registry.Canary, f Figures) error {
	v, reason := f.judge(c.Calls)
	if v == "" || r.settings.Trials == nil {
		return nil
	}
	report, err := json.Marshal(newReport(c, f))
	if err != nil {
		return err
	}
	if err := r.settings.Trials.Conclude(ctx, skill, c, v, reason, report); err != nil {
		return err
	}
	r.log.Info("canary", "skill", skill, "version", c.Version, "verdict", string(v), "reason", reason)
	return r.deleteKey(ctx, r.trial(skill, c).key)
}

// counts reports whether a call says something about the version that ran.
func counts(res task.Result) bool {
	e := res.Error
	if e == nil {
		return true
	}
	return e.Kind != fault.KindUsage && e.Kind != fault.KindFull && e.Kind != fault.KindInternal && e.Kind != fault.KindUnreachable && !errors.Is(e, context.Canceled) &&
		!errors.Is(e, ErrRate) && !errors.Is(e, ErrOverloaded)
}

// count adds a call to an arm.
func (arm *Arm) count(res task.Result) {
	arm.Calls++
	if !res.OK {
		arm.Failed++
		return
	}
	f := res.Figures
	// Loading is paid by the first call after a start, whichever version that is.
	waited := time.Duration(f.QueuedNS + f.CompileNS + f.SnapshotNS + f.InstantiateNS)
	arm.Time.add(res.DurationMS - duration.Milliseconds(waited))
	arm.Fuel.add(float64(f.Fuel))
}
