package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// governed measures a call of a small skill as a caller has it, with target, decision, sandbox and
// record: through a service, and by the command. (BenchmarkGoverned of package host measures it in
// one process.) A goal that is missed ends nothing.
func governed(ctx context.Context, s *stage) error {
	span, runs := 10*time.Second, 31
	if s.short {
		span, runs = 300*time.Millisecond, 3
	}
	if err := s.install(ctx, "echo", "1.0.0", 1, "--yes"); err != nil {
		return err
	}
	return errors.Join(s.grouped(ctx, span), s.throughService(ctx, span), s.commands(ctx, runs))
}

// goal says whether a figure is what was aimed at.
func (s *stage) goal(what string, reached bool) {
	word := "MISSED"
	if reached {
		word = "reached"
	}
	s.say("governed:   goal: %s: %s", what, word)
}

// unpaced are the flags of a service of which much is asked.
func unpaced(more ...string) []string {
	return append([]string{"--no-tasks", "--set", "service.token_rate=1000000", "--set", "service.rate=1000000"}, more...)
}

// grouped calls a service that writes each record to the disk before its answer.
func (s *stage) grouped(ctx context.Context, span time.Duration) (err error) {
	token, err := s.token(ctx, "each", "operator")
	if err != nil {
		return err
	}
	v, err := s.serve(ctx, unpaced("--set", "audit_sync=each")...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.stop()) }()
	c := closedLoop(ctx, v, s.socket(), token, 64, span, echoing)
	if c.failed > 0 {
		return c.why
	}
	metrics, err := v.ask(ctx, http.DefaultClient, token, "GET", "/metrics", "")
	if err != nil {
		return err
	}
	perGroup := metric(metrics, "skillet_audit_group_entries_sum") / max(1, metric(metrics, "skillet_audit_group_entries_count"))
	s.say("governed: audit_sync=each, 64 at a time: %s; %.1f calls for each write to the disk", c, perGroup)
	s.goal("20 calls for each write to the disk", perGroup >= 20)
	return nil
}

// metric is the value of a metric without labels; 0 when there is none of that name.
func metric(all []byte, name string) float64 {
	for line := range strings.Lines(string(all)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			v, _ := strconv.ParseFloat(strings.TrimSpace(value), 64)
			return v
		}
	}
	return 0
}

// socket goes to the local socket of the service of the stage.
func (s *stage) socket() http.RoundTripper {
	return &http.Transport{MaxIdleConnsPerHost: 64, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", filepath.Join(s.dir, "home", "serve.sock"))
	}}
}

// throughService calls through the local socket and over HTTP.
func (s *stage) throughService(ctx context.Context, span time.Duration) (err error) {
	token, err := s.token(ctx, "calls", "caller")
	if err != nil {
		return err
	}
	v, err := s.serve(ctx, unpaced()...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.stop()) }()
	for _, way := range []struct {
		name    string
		through http.RoundTripper
	}{{"local socket", s.socket()}, {"HTTP", &http.Transport{MaxIdleConnsPerHost: 64}}} {
		for _, callers := range []int{1, 16} {
			c := closedLoop(ctx, v, way.through, token, callers, span, echoing)
			s.say("governed: %s, %d at a time: %s", way.name, callers, c)
			if c.failed > 0 {
				return c.why
			}
			if callers > 1 {
				s.goal("8000 a second, 99 of 100 within 5ms", c.perSecond() >= 8000 && c.at(0.99) <= 5*time.Millisecond)
			}
		}
	}
	return nil
}

// commands runs the command with and without a service, in turns.
func (s *stage) commands(ctx context.Context, runs int) error {
	var with, without []time.Duration
	took := func() (time.Duration, error) {
		begin := time.Now()
		_, err := s.skillet(ctx, "run", "echo:echo", "--input", `{"say":"hello"}`)
		return time.Since(begin), err
	}
	for range runs {
		alone, err := took()
		if err != nil {
			return err
		}
		v, err := s.serve(ctx, "--no-tasks")
		if err != nil {
			return err
		}
		_, err = took() // to warm up
		beside, again := took()
		if err := errors.Join(err, again, v.stop()); err != nil {
			return err
		}
		with, without = append(with, beside), append(without, alone)
	}
	slices.Sort(with)
	slices.Sort(without)
	ratio := float64(quantile(with, 0.5)) / float64(quantile(without, 0.5))
	s.say("governed: skillet run, the median of %d: %s with a service, %s without: %.2f of it", runs, quantile(with, 0.5), quantile(without, 0.5), ratio)
	s.goal("less than half with a service", ratio < 0.5)
	return nil
}
