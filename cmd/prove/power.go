package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// power shows what is left when the power fails under a service that works: its home is a file system on a loop device,
// the process is killed, and what had come to the device is a copy of it, without all that was only
// in the memory of the system. That copy is mounted, as after a restart.
func power(ctx context.Context, s *stage) error {
	if os.Geteuid() != 0 {
		s.say("power: skipped: only root can mount a file system")
		return nil
	}
	for _, tool := range []string{"mkfs.ext4", "mount", "umount"} {
		if _, err := exec.LookPath(tool); err != nil {
			s.say("power: skipped: %s is not here", tool)
			return nil
		}
	}
	d := disks{s: s, at: filepath.Join(s.dir, "home")}
	if err := d.make(ctx); err != nil {
		s.say("power: skipped: no file system can be made here: %v", err)
		return nil
	}
	err := s.install(ctx, "echo", "1.0.0", 1, "--yes")
	tokens, tokensErr := s.tokens(ctx, "caller", "approver")
	if err = errors.Join(err, tokensErr, overwrite(filepath.Join(d.at, unsynced), "before"), d.unmount(ctx)); err != nil {
		return err
	}
	rounds := 100
	if s.short {
		rounds = 3
	}
	for _, mode := range []string{"each", "group"} {
		if err := d.cuts(ctx, mode, rounds, tokens); err != nil {
			return fmt.Errorf("%s: %w", mode, err)
		}
	}
	return nil
}

// disks are files with file systems. One of them is mounted at a time.
type disks struct {
	s  *stage
	at string
}

func (d disks) file(name string) string { return filepath.Join(d.s.dir, name+".img") }

func (d disks) run(ctx context.Context, name string, args ...string) error {
	if out, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

// make makes the first file system, which is empty, and mounts it.
func (d disks) make(ctx context.Context) error {
	f, err := os.Create(d.file("first"))
	if err != nil {
		return err
	}
	if err := errors.Join(f.Truncate(384<<20), f.Close(), os.MkdirAll(d.at, 0o700)); err != nil {
		return err
	}
	return errors.Join(d.run(ctx, "mkfs.ext4", "-q", "-F", d.file("first")), d.mount(ctx, "first"), os.Chmod(d.at, 0o700))
}

// mount mounts a file. The system writes by itself only every five minutes, so that what is on
// the device is what was synced.
func (d disks) mount(ctx context.Context, name string) error {
	return d.run(ctx, "mount", "-o", "loop,commit=300,noatime", d.file(name), d.at)
}

func (d disks) unmount(ctx context.Context) error {
	return d.run(context.WithoutCancel(ctx), "umount", d.at)
}

// copy copies the file of a disk as it is now.
func (d disks) copy(ctx context.Context, from, to string) error {
	return d.run(ctx, "cp", "--sparse=always", d.file(from), d.file(to))
}

// An acknowledged call or decision is one that was answered, when.
type acknowledged struct {
	what      string
	sent, had time.Time
}

// cuts lets the power fail so many times.
func (d disks) cuts(ctx context.Context, mode string, rounds int, tokens map[string]string) error {
	var calls, decisions, lost, kept int
	var oldest time.Duration
	for round := range rounds {
		if err := errors.Join(d.copy(ctx, "first", "now"), d.mount(ctx, "now")); err != nil {
			return err
		}
		runs, grants, failed, err := d.s.untilKilled(ctx, mode, tokens)
		if err = errors.Join(err, d.copy(ctx, "now", "cut"), d.unmount(ctx)); err != nil {
			return err
		}
		if err := d.mount(ctx, "cut"); err != nil {
			return err
		}
		if b, err := os.ReadFile(filepath.Join(d.at, unsynced)); err != nil || string(b) != "before" {
			kept++
		}
		age, gone, err := d.s.afterCut(ctx, runs, grants, failed)
		if err = errors.Join(err, d.unmount(ctx)); err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
		if mode == "each" && gone > 0 {
			return fmt.Errorf("round %d: %d acknowledged calls are lost", round, gone)
		}
		calls, decisions, lost, oldest = calls+len(runs), decisions+len(grants), lost+gone, max(oldest, age)
	}
	d.s.say("power: audit_sync=%s: the power failed %d times: of %d acknowledged calls %d were lost, of %d acknowledged decisions none; the log verified each time", mode, rounds, calls, lost, decisions)
	if kept > rounds/2 {
		return fmt.Errorf("what nobody synced was kept %d times, so nothing was shown", kept)
	}
	if lost > 0 {
		d.s.say("power: what was lost had been answered in the last %s, and nothing after it was kept", oldest.Round(100*time.Microsecond))
	}
	return nil
}

// unsynced is a file that is written in its place just before the power fails, and that a
// device that lost what was not synced has as it was.
const unsynced = "unsynced"

func overwrite(file, text string) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// untilKilled asks a service for calls and decisions until it is killed, and returns those that it
// acknowledged, and when it was killed.
func (s *stage) untilKilled(ctx context.Context, mode string, tokens map[string]string) (runs, grants []acknowledged, killed time.Time, err error) {
	v, err := s.serve(ctx, "--no-tasks", "--set", "audit_sync="+mode)
	if err != nil {
		return nil, nil, killed, err
	}
	var mu sync.Mutex
	var working sync.WaitGroup
	work := func(to *[]acknowledged, call func(n int) (string, error)) {
		working.Go(func() {
			for n := 0; ; n++ {
				sent := time.Now()
				what, err := call(n)
				if err != nil {
					return
				}
				mu.Lock()
				*to = append(*to, acknowledged{what, sent, time.Now()})
				mu.Unlock()
			}
		})
	}
	for range 8 {
		work(&runs, func(n int) (string, error) {
			path, body := echoing(n)
			b, err := v.ask(ctx, http.DefaultClient, tokens["caller"], "POST", path, body)
			var got struct {
				Run string `json:"run_id"`
			}
			return got.Run, errors.Join(err, json.Unmarshal(append([]byte(nil), b...), &got))
		})
	}
	work(&grants, func(n int) (string, error) {
		what := fmt.Sprintf("fs.read:/data/%d", n)
		_, err := v.ask(ctx, http.DefaultClient, tokens["approver"], "POST", "/v1/skills/echo/grants", fmt.Sprintf(`{"capabilities":[%q],"scope":"always"}`, what))
		return what, err
	})
	time.Sleep(rand.N(1500 * time.Millisecond))
	err = overwrite(filepath.Join(s.dir, "home", unsynced), "behind")
	killed = time.Now()
	err = errors.Join(err, v.cmd.Process.Kill())
	_ = v.cmd.Wait()
	working.Wait()
	return runs, grants, killed, errors.Join(err, v.log.Close())
}

// afterCut looks at a home after the power failed: everything there is whole, every decision is
// there, and the calls that are lost are the last ones. It returns how many are, and how long
// before the end the first of them was acknowledged.
func (s *stage) afterCut(ctx context.Context, runs, grants []acknowledged, failed time.Time) (age time.Duration, lost int, err error) {
	for _, command := range [][]string{{"audit", "verify"}, {"doctor"}, {"verify", "--all"}, {"run", "echo:echo", "--input", `{"after":1}`}, {"audit", "verify"}} {
		if _, err := s.skillet(ctx, command...); err != nil {
			return 0, 0, err
		}
	}
	shown, err := s.skillet(ctx, "permission", "show", "echo", "--json")
	if err != nil {
		return 0, 0, err
	}
	for _, g := range grants {
		if !strings.Contains(shown, `"`+g.what+`"`) {
			return 0, 0, fmt.Errorf("the acknowledged grant of %s is lost: %s", g.what, shown)
		}
	}
	seen, err := s.recorded(ctx)
	if err != nil {
		return 0, 0, err
	}
	first := failed
	for _, r := range runs {
		if seen[r.what] > 1 {
			return 0, 0, fmt.Errorf("run %s is on record %d times", r.what, seen[r.what])
		}
		if seen[r.what] == 0 {
			lost++
			if r.had.Before(first) {
				first = r.had
			}
		}
	}
	if i := slices.IndexFunc(runs, func(r acknowledged) bool { return seen[r.what] == 1 && r.sent.After(first) && lost > 0 }); i >= 0 {
		return 0, lost, fmt.Errorf("run %s was kept, and one that was acknowledged before it began is lost", runs[i].what)
	}
	return failed.Sub(first), lost, nil
}
