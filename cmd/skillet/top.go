package main

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/cmd/skillet/internal/service"
	"github.com/skillet-run/skillet/host/app/upkeep"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/edge/api"
)

func (t *terminal) topCommand() *cli.Command {
	return &cli.Command{
		Name: "top", Flags: []cli.Flag{&cli.BoolFlag{Name: "once", Usage: "print one sample, and end"}},
		Action: t.withoutHome(t.top),
	}
}

// topEvery is the time between two samples.
const topEvery = time.Second

// A topSample is what a service did in a second, and how it is.
type topSample struct {
	PID   int       `json:"pid"`
	At    time.Time `json:"at"`
	Since time.Time `json:"since"`
	// Seconds is how long the sample took. P50MS and P99MS are milliseconds that so many of its
	// calls did not exceed; 0 without calls, and -1 when they are longer than is counted.
	Seconds        float64 `json:"seconds"`
	CallsPerSecond float64 `json:"calls_per_second"`
	P50MS          float64 `json:"p50_ms"`
	P99MS          float64 `json:"p99_ms"`
	// Calls, Failed, Denials and TurnedAway are of the whole time since the service began.
	Calls       uint64 `json:"calls"`
	Failed      uint64 `json:"failed"`
	Denials     uint64 `json:"denials"`
	TurnedAway  uint64 `json:"turned_away"`
	InFlight    int    `json:"in_flight"`
	Streams     int    `json:"streams"`
	Waiting     int    `json:"queue_waiting"`
	Running     int    `json:"queue_running"`
	QueueLimit  int    `json:"queue_limit"`
	MemoryBytes uint64 `json:"memory_bytes"`
}

func between(pid int, a, b api.Sample) topSample {
	took := b.At.Sub(a.At).Seconds()
	ran := b.Seconds.Minus(a.Seconds)
	s := topSample{
		PID: pid, At: b.At, Since: b.Since, Seconds: took, P50MS: milliseconds(ran.Quantile(0.5)), P99MS: milliseconds(ran.Quantile(0.99)),
		Calls: b.Calls, Failed: b.Failed, Denials: b.Denials, TurnedAway: b.TurnedAway, InFlight: b.InFlight - 1, Streams: b.Streams,
		Waiting: b.Queue.Waiting + b.Queue.Delayed, Running: b.Queue.Running, QueueLimit: b.Queue.Limit, MemoryBytes: b.MemoryBytes,
	}
	if took > 0 {
		s.CallsPerSecond = float64(b.Calls-a.Calls) / took
	}
	return s
}

func milliseconds(seconds float64) float64 {
	if math.IsInf(seconds, 0) {
		return -1
	}
	return math.Round(seconds*1e6) / 1e3
}

// top shows how the service of the home does, until somebody ends it.
func (t *terminal) top(ctx context.Context, c *cli.Context) error {
	_, at, err := t.servedAt(ctx, c)
	if err != nil {
		return err
	}
	if at.Socket == "" {
		return fault.Errorf(fault.KindConflict, "process %d has no local socket to ask", at.PID).WithHint("with a token, GET /metrics at %s has the figures", at.Address)
	}
	conn, err := service.Reach(ctx, at.Socket, at.Address)
	if err != nil {
		return fault.Errorf(fault.KindConflict, "process %d does not answer", at.PID).WithHint("ask again in a moment")
	}
	defer conn.Close()
	once := c.Bool("once") || t.json || !t.outTTY
	return endedCleanly(ctx, t.watchTop(ctx, conn, at, once))
}

func (t *terminal) watchTop(ctx context.Context, conn *service.Conn, at upkeep.Serving, once bool) error {
	last, err := conn.Sample(ctx)
	for drawn := 0; err == nil; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(topEvery):
		}
		var now api.Sample
		if now, err = conn.Sample(ctx); err != nil {
			break
		}
		s := between(at.PID, last, now)
		last = now
		lines := s.lines()
		if once {
			return t.answer(s, func() { t.say("%s", strings.Join(lines, "\n")) })
		}
		if drawn > 0 {
			fmt.Fprintf(t.out, "\x1b[%dA\x1b[J", drawn) // over what was shown before
		}
		t.say("%s", strings.Join(lines, "\n"))
		drawn = len(lines)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fault.Errorf(fault.KindConflict, "process %d does not answer any more: %w", at.PID, err).WithHint("`skillet service status` says how it is")
}

func (s topSample) lines() []string {
	speed := "no calls"
	if s.P50MS != 0 || s.P99MS != 0 {
		speed = fmt.Sprintf("p50 %s, p99 %s", latency(s.P50MS), latency(s.P99MS))
	}
	return []string{
		fmt.Sprintf("service   process %d, for %s, %d MiB of memory", s.PID, s.At.Sub(s.Since).Truncate(time.Second), s.MemoryBytes>>20),
		fmt.Sprintf("calls     %.1f a second, %s; %d in all, %d failed", s.CallsPerSecond, speed, s.Calls, s.Failed),
		fmt.Sprintf("refused   %d denials of skills, %d requests turned away", s.Denials, s.TurnedAway),
		fmt.Sprintf("requests  %d run, %d streams are open", s.InFlight, s.Streams),
		fmt.Sprintf("tasks     %d run, %d of at most %d wait", s.Running, s.Waiting, s.QueueLimit),
	}
}

func latency(ms float64) string {
	if ms < 0 {
		return "very long"
	}
	return fmt.Sprintf("%g ms", ms)
}
