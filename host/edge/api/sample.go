package api

import (
	"context"
	"net/http"
	"time"

	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/work"
)

// A Sample is what this process counted since it began, and how things stand, at one moment. Two
// of them tell what happened between.
type Sample struct {
	At    time.Time `json:"at"`
	Since time.Time `json:"since" doc:"When the process began."`
	// Calls are those of tools that ended, Failed those of them that did not answer, and Seconds
	// how long they took. Denials are requests of skills that were refused.
	Calls   uint64         `json:"calls"`
	Failed  uint64         `json:"failed"`
	Denials uint64         `json:"denials"`
	Seconds work.Histogram `json:"seconds" doc:"How long calls took, of those that ran."`
	// TurnedAway are requests that were refused because of a limit.
	TurnedAway uint64          `json:"turned_away"`
	InFlight   int             `json:"in_flight" doc:"Requests that run, this one too."`
	Streams    int             `json:"streams"`
	Queue      work.QueueStats `json:"queue"`
	// MemoryBytes is the memory that the process has; 0 where the system does not say.
	MemoryBytes uint64 `json:"memory_bytes"`
}

func samples(a *API) {
	add(a, route{method: http.MethodGet, path: "/v1/stats/now", id: "sample", tag: "stats", summary: "Shows what this process counted since it began, and how things stand", rights: needs(govern.RightRead)},
		func(ctx context.Context, p govern.Pass, _ *struct{}) (Sample, error) {
			m, err := a.s.Work.Usage().Metrics(ctx, p.By())
			if err != nil {
				return Sample{}, err
			}
			return a.sample(m)
		})
}

func (a *API) sample(m work.Metrics) (Sample, error) {
	s := Sample{At: time.Now().UTC(), Since: a.began, Queue: m.Queue}
	s.InFlight, s.Streams = a.limits.taken()
	for _, k := range m.Skills {
		for outcome, n := range k.Outcomes {
			if s.Calls += n; outcome != "ok" {
				s.Failed += n
			}
		}
		s.Denials += k.Denials
		s.Seconds = s.Seconds.Plus(k.Seconds)
	}
	families, err := a.meter.own.Gather()
	for _, f := range families {
		for _, v := range f.GetMetric() {
			switch f.GetName() {
			case "skillet_http_refused_total":
				s.TurnedAway += uint64(v.GetCounter().GetValue())
			case "process_resident_memory_bytes":
				s.MemoryBytes = uint64(v.GetGauge().GetValue())
			}
		}
	}
	return s, err
}
