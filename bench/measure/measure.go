// Package measure times things against each other on a machine that is not
// quiet: all take turns, round after round, so that noise hits all alike, and
// each is judged by the median of its rounds. It knows nothing of what it
// times.
package measure

import (
	"fmt"
	"slices"
	"time"
)

// A Job is one thing to time.
type Job struct {
	Name string
	// Run does it n times.
	Run func(n int) error
	// Check does it once, untimed and with the answer looked at, before each
	// round. Nil checks nothing.
	Check func() error
}

// Plan says how long to measure. The zero value measures each job once.
type Plan struct {
	// Rounds is how many samples each job gets. Jobs that take long get as
	// many as fit in Longest, two seconds when it is 0, and at least one.
	Rounds  int
	Longest time.Duration
	// Slot is about how long a job runs in each round; at least once.
	Slot time.Duration
	// Clock is what time is read from; nil is the clock on the wall.
	Clock func() time.Duration
}

// now reads the clock.
func (p Plan) now() time.Duration {
	if p.Clock == nil {
		return time.Since(start)
	}
	return p.Clock()
}

// start is some time before everything that is measured.
var start = time.Now()

// defaultLongest is what Plan.Longest says of 0.
const defaultLongest = 2 * time.Second

// Jobs runs all jobs in turn and returns the median time of each, in
// nanoseconds for one run, in their order.
func (p Plan) Jobs(jobs []Job) ([]float64, error) {
	if p.Longest == 0 {
		p.Longest = defaultLongest
	}
	samples := make([][]float64, len(jobs))
	batch := make([]int, len(jobs))
	rounds := make([]int, len(jobs))
	for i, j := range jobs {
		once, err := p.calibrate(j)
		if err != nil {
			return nil, err
		}
		batch[i] = int(max(1, min(int64(p.Slot/once), 1_000_000)))
		fit := int(p.Longest / (once * time.Duration(batch[i])))
		rounds[i] = max(1, min(p.Rounds, fit))
	}
	for round := range max(p.Rounds, 1) {
		for i, j := range jobs {
			if round >= rounds[i] {
				continue
			}
			ns, err := p.sample(j, batch[i])
			if err != nil {
				return nil, err
			}
			samples[i] = append(samples[i], ns)
		}
	}
	medians := make([]float64, len(jobs))
	for i := range jobs {
		medians[i] = Median(samples[i])
	}
	return medians, nil
}

// calibrate warms the job up and returns about how long one run takes. Nothing
// has to be warm or known for a single run.
func (p Plan) calibrate(j Job) (time.Duration, error) {
	if p.Slot == 0 {
		return 1, nil
	}
	for n := 1; ; n *= 4 {
		begin := p.now()
		if err := j.Run(n); err != nil {
			return 0, fmt.Errorf("%s: %w", j.Name, err)
		}
		if took := p.now() - begin; took >= p.Slot/4 || n > 1_000_000 {
			return max(took/time.Duration(n), 1), nil
		}
	}
}

func (p Plan) sample(j Job, n int) (float64, error) {
	if j.Check != nil {
		if err := j.Check(); err != nil {
			return 0, fmt.Errorf("%s: %w", j.Name, err)
		}
	}
	begin := p.now()
	if err := j.Run(n); err != nil {
		return 0, fmt.Errorf("%s: %w", j.Name, err)
	}
	return float64((p.now() - begin).Nanoseconds()) / float64(n), nil
}

// Median returns the middle of the samples, or the mean of the middle two; 0
// for none.
func Median(samples []float64) float64 {
	if len(samples) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(samples))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}
