package replay

import (
	"context"
	"fmt"
	"math"
	"path"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/run/recording"
	"github.com/skillet-run/skillet/host/run/runner"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// A Shadow is how a version did on recordings of calls, with nothing done for
// real.
type Shadow struct {
	Results []Tried `json:"results"`
	// Replayed is how many recordings ran; Equal and Different are how many of them
	// did as recorded, and did not. Skipped did not run, or cannot be compared.
	Replayed  int `json:"replayed"`
	Equal     int `json:"equal"`
	Different int `json:"different"`
	Skipped   int `json:"skipped"`
	// Own are how many of those that ran the version brought itself: whoever made it
	// may have made them up.
	Own int `json:"own"`
	// FuelRatio and MemoryRatio are the geometric means of what the replays used
	// over what the recorded calls did; 0 when none ran.
	FuelRatio   float64 `json:"fuel_ratio"`
	MemoryRatio float64 `json:"memory_ratio"`
	// Note says what was left out; empty for nothing.
	Note string `json:"note,omitempty"`
}

// Tried is one recording of a Shadow.
type Tried struct {
	// Name is where the recording is from: a file of the package, or when the call
	// was made.
	Name string `json:"name"`
	// Own is true for one that the version brings itself.
	Own bool `json:"own,omitempty"`
	Report
	// Skipped says why it does not count; empty when it does.
	Skipped string `json:"skipped,omitempty"`
}

// Bounds on a Shadow.
const (
	maxTried    = 64
	maxEach     = 5 * time.Second
	maxAll      = 20 * time.Second
	maxFile     = 8 << 20
	maxFilesAll = 64
)

// A Sample is a recording that a version is tried on.
type Sample struct {
	Name string
	// Own is true for one that the version brings itself.
	Own       bool
	Recording *recording.Recording
	// Load reads the recording when it is its turn; nil when it is there.
	Load func(context.Context) (*recording.Recording, error)
}

// Shadow tries a version on recordings, in processes of their own and bounded in
// time.
func (r *Replayer) Shadow(ctx context.Context, t runner.Target, samples []Sample) Shadow {
	s := Shadow{Results: []Tried{}}
	end := time.Now().Add(maxAll)
	var fuel, memory mean
	for i, sample := range samples {
		if i == maxTried || time.Now().After(end) || ctx.Err() != nil {
			s.Note = fmt.Sprintf("%d more recordings were not replayed", len(samples)-i)
			break
		}
		tried := r.try(ctx, t, sample)
		s.count(tried)
		if tried.Skipped == "" {
			fuel.add(tried.Fuel.Ratio)
			memory.add(tried.PeakMemoryBytes.Ratio)
		}
	}
	s.FuelRatio, s.MemoryRatio = fuel.value(), memory.value()
	return s
}

func (s *Shadow) count(t Tried) {
	s.Results = append(s.Results, t)
	switch {
	case t.Skipped != "":
		s.Skipped++
		return
	case t.Equal:
		s.Equal++
	default:
		s.Different++
	}
	if t.Own {
		s.Own++
	}
	s.Replayed++
}

// try tries one recording. One that cannot be compared is skipped: where the value
// of a secret was taken out, or the clock ended the call, a difference says
// nothing of the version.
func (r *Replayer) try(ctx context.Context, t runner.Target, sample Sample) Tried {
	rec := sample.Recording
	if sample.Load != nil {
		var err error
		if rec, err = sample.Load(ctx); err != nil {
			return Tried{Name: sample.Name, Own: sample.Own, Skipped: "it cannot be read: " + err.Error(), Report: Report{Differences: []Difference{}, Changes: []recording.Change{}}}
		}
	}
	tried := Tried{Name: sample.Name, Own: sample.Own, Report: r.Try(ctx, rec, t, maxEach)}
	if !tried.Equal && rec.Inexact != "" {
		tried.Skipped = rec.Inexact
	}
	return tried
}

// mean is a geometric mean.
type mean struct {
	n   int
	sum float64
}

func (m *mean) add(ratio float64) {
	if ratio > 0 {
		m.n, m.sum = m.n+1, m.sum+math.Log(ratio)
	}
}

func (m *mean) value() float64 {
	if m.n == 0 {
		return 0
	}
	return math.Exp(m.sum / float64(m.n))
}

// FromPackage are the recordings that a package brings: tests/*.recording.json.
func FromPackage(p *bundle.Package) (samples []Sample) {
	for _, f := range p.Files() {
		if path.Dir(f.Path) != "tests" || !strings.HasSuffix(f.Path, recording.Extension) || len(samples) == maxFilesAll {
			continue
		}
		samples = append(samples, Sample{Name: f.Path, Load: func(context.Context) (*recording.Recording, error) {
			if f.Size > maxFile {
				return nil, fmt.Errorf("it is longer than %d bytes", maxFile)
			}
			b, err := p.Read(f.Path)
			if err != nil {
				return nil, err
			}
			return recording.Parse(b)
		}})
	}
	return samples
}

// FromArchive are the recordings that are kept of a skill, the newest first.
func FromArchive(s *recording.Archive, skill string) ([]Sample, error) {
	all, err := s.List(skill)
	var samples []Sample
	for _, k := range all {
		samples = append(samples, Sample{Name: "call of " + k.At.Local().Format("2006-01-02 15:04:05"), Load: func(ctx context.Context) (*recording.Recording, error) {
			return recording.Read(ctx, k.Path)
		}})
	}
	return samples, err
}

// Summary says in one line how it went.
func (s Shadow) Summary() string {
	if s.Replayed+s.Skipped == 0 {
		return "no recordings of calls to replay"
	}
	calls := "calls"
	if s.Replayed == 1 {
		calls = "call"
	}
	text := fmt.Sprintf("%d recorded %s replayed: %d equal, %d different", s.Replayed, calls, s.Equal, s.Different)
	if s.Skipped > 0 {
		text += fmt.Sprintf(", %d not comparable", s.Skipped)
	}
	if s.Own > 0 {
		text += fmt.Sprintf("; %d of them the package brings itself", s.Own)
	}
	if s.Replayed > 0 {
		text += fmt.Sprintf("; %.2f times the fuel, %.2f times the memory", s.FuelRatio, s.MemoryRatio)
	}
	return text
}
