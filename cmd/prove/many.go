package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/skillet-run/skillet/manifests/bundle"
)

// many serves a home with thousands of skills: how long until it is ready, how long lists take, and
// what memory a skill costs that is not called, one that was, and a session.
func many(ctx context.Context, s *stage) error {
	skills, called, sessions := 10_000, 1000, 1000
	if s.short {
		skills, called, sessions = 200, 50, 50
	}
	tokens, err := s.tokens(ctx, "caller", "viewer")
	if err != nil {
		return err
	}
	few, err := s.idle(ctx)
	if err != nil {
		return err
	}
	begin := time.Now()
	if err := s.installMany(ctx, skills); err != nil {
		return err
	}
	s.say("many: %d skills installed in %s", skills, time.Since(begin).Round(time.Second))
	v, err := s.serve(ctx, "--no-tasks", "--set", "service.token_rate=100000", "--set", "service.rate=100000")
	if err != nil {
		return err
	}
	idle := v.settled()
	s.say("many: ready in %s (goal 3s); %d MiB, %.1f KiB for each skill that is not called", v.ready.Round(time.Millisecond), idle, float64(idle-few)*1024/float64(skills))
	err = errors.Join(s.lists(ctx, v, tokens["viewer"]), s.callMany(ctx, v, tokens["caller"], called), s.sessions(ctx, v, tokens["caller"], sessions))
	return errors.Join(err, v.stop())
}

// idle is the memory of a service without skills, in MiB.
func (s *stage) idle(ctx context.Context) (int, error) {
	v, err := s.serve(ctx, "--no-tasks")
	if err != nil {
		return 0, err
	}
	m := v.settled()
	s.say("many: without skills: ready in %s, %d MiB", v.ready.Round(time.Millisecond), m)
	return m, v.stop()
}

// settled is the memory of the service when nothing was asked for a while.
func (v *service) settled() int {
	time.Sleep(3 * time.Second)
	return v.memory()
}

// A skill may need so many others. What one command installs is a skill that needs others that
// need others.
const (
	needed = 60
	group  = 20 * needed
)

// installMany installs skills, each with a module of its own, and a session skill.
func (s *stage) installMany(ctx context.Context, skills int) error {
	for from := 0; from < skills; from += group {
		found := fmt.Sprintf("found%d", from)
		if err := os.Mkdir(filepath.Join(s.dir, found), 0o755); err != nil {
			return err
		}
		var middle []string
		for n := from; n < min(from+group, skills); n += needed {
			var needs []string
			for i := n; i < min(n+needed, skills); i++ {
				name := fmt.Sprintf("skill-%05d", i)
				if err := s.archive(name, i, found); err != nil {
					return err
				}
				needs = append(needs, name)
			}
			name := fmt.Sprintf("middle-%05d", n)
			if err := s.archive(name, skills+n, found, needing(needs)); err != nil {
				return err
			}
			middle = append(middle, name)
		}
		root := fmt.Sprintf("root-%05d", from)
		if err := s.pack(root, root, "1.0.0", 2*skills+from, needing(middle)); err != nil {
			return err
		}
		if _, err := s.skillet(ctx, "install", "./"+root, "--find", "./"+found, "--allow-unsigned", "--yes"); err != nil {
			return err
		}
	}
	return s.install(ctx, "session", "1.0.0", 4*skills, "--yes")
}

// needing is the field of a manifest that needs other skills.
func needing(names []string) string {
	return `"dependencies":{"` + strings.Join(names, `":"^1","`) + `":"^1"}`
}

// archive packs a skill into a file.
func (s *stage) archive(name string, number int, dir string, fields ...string) (err error) {
	if err := s.pack(name, name, "1.0.0", number, fields...); err != nil {
		return err
	}
	p, err := bundle.ReadDir(filepath.Join(s.dir, name))
	if err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(s.dir, dir, name+"-1.0.0.skill"))
	if err != nil {
		return err
	}
	return errors.Join(p.WriteArchive(f), f.Close(), os.RemoveAll(filepath.Join(s.dir, name)))
}

// lists measures what looks at skills.
func (s *stage) lists(ctx context.Context, v *service, token string) error {
	for _, c := range []struct{ what, path string }{
		{"the first 100 skills", "/v1/skills"}, {"1000 skills from the middle", "/v1/skills?limit=1000&cursor=100"}, {"one skill", "/v1/skills/skill-00042"},
	} {
		var took []time.Duration
		for range 50 {
			begin := time.Now()
			if _, err := v.ask(ctx, http.DefaultClient, token, "GET", c.path, ""); err != nil {
				return err
			}
			took = append(took, time.Since(begin))
		}
		slices.Sort(took)
		s.say("many: GET %s, %s: p50 %s, p99 %s (goal 50ms)", c.path, c.what, quantile(took, 0.5), quantile(took, 0.99))
	}
	return nil
}

// callMany calls many skills once each, and says what they cost then.
func (s *stage) callMany(ctx context.Context, v *service, token string, n int) error {
	before := v.memory()
	took, err := v.each(ctx, n, func(i int) (string, string) {
		return token, fmt.Sprintf("/v1/skills/skill-%05d/tools/echo/invoke", i)
	}, `{"input":{}}`)
	if err != nil {
		return err
	}
	after := v.settled()
	s.say("many: %d skills called once each: p50 %s, p99 %s; %.1f KiB for each that was called", n, quantile(took, 0.5), quantile(took, 0.99), float64(after-before)*1024/float64(n))
	return nil
}

// sessions opens many sessions of a skill and calls in each again.
func (s *stage) sessions(ctx context.Context, v *service, token string, n int) error {
	before := v.memory()
	for round := range 2 {
		took, err := v.each(ctx, n, func(i int) (string, string) { return token, "/v1/skills/session/tools/echo/invoke" }, "")
		if err != nil {
			return err
		}
		s.say("many: the call %d in each of %d sessions: p50 %s, p99 %s", round+1, n, quantile(took, 0.5), quantile(took, 0.99))
	}
	after := v.settled()
	s.say("many: %.1f KiB for each session", float64(after-before)*1024/float64(n))
	return nil
}

// each makes n calls, four at a time, and returns how long they took, in order.
func (v *service) each(ctx context.Context, n int, what func(int) (token, path string), body string) ([]time.Duration, error) {
	took, errs := make([]time.Duration, n), make([]error, n)
	var running sync.WaitGroup
	for caller := range 4 {
		running.Go(func() {
			for i := caller; i < n; i += 4 {
				token, path := what(i)
				begin := time.Now()
				_, errs[i] = v.ask(ctx, http.DefaultClient, token, "POST", path, cmp.Or(body, fmt.Sprintf(`{"input":{},"session":"s%d"}`, i)))
				took[i] = time.Since(begin)
			}
		})
	}
	running.Wait()
	slices.Sort(took)
	return took, errors.Join(errs...)
}
