package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skillet-run/skillet/manifests"
)

// A servedHome is a service that runs.
type servedHome struct {
	t       *testing.T
	cmd     *exec.Cmd
	address string
	stderr  bytes.Buffer
}

// serve starts the service, and waits until it says where it is.
func (p *person) serve(args ...string) *servedHome {
	p.t.Helper()
	s := &servedHome{t: p.t, cmd: p.command(context.WithoutCancel(p.t.Context()), append([]string{"serve", "--listen", "127.0.0.1:0", "--json"}, args...)...)}
	s.cmd.Stderr = &s.stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	var at struct{ Address string }
	if err := json.NewDecoder(out).Decode(&at); err != nil || at.Address == "" {
		s.kill()
		p.t.Fatalf("the service does not say where it is: %v\n%s", err, &s.stderr)
	}
	s.address = at.Address
	return s
}

// kill kills the service, and waits for it. It may be called again.
func (s *servedHome) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// call calls the tool echo with an input, and returns the run, if the call was acknowledged.
func (s *servedHome) call(client *http.Client, token, input string) (run string, err error) {
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.address+"/v1/skills/kept/tools/echo/invoke", strings.NewReader(`{"input":`+input+`}`))
	if err != nil {
		return "", err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", err
	}
	var got struct {
		OK  bool   `json:"ok"`
		Run string `json:"run_id"`
	}
	if err := json.Unmarshal(b, &got); err != nil || resp.StatusCode != http.StatusOK || !got.OK {
		return "", fmt.Errorf("%d %s: %w", resp.StatusCode, b, err)
	}
	return got.Run, nil
}

// An acked is a call that was acknowledged: its run and the digest of its input.
type acked struct{ run, input string }

// load calls from many callers, at about 200 calls a second, until the service is killed, and
// returns what was acknowledged. Nothing but the death of the service may refuse a call.
func (s *servedHome) load(token string, round int, dead <-chan struct{}) []acked {
	const callers, pause = 8, 40 * time.Millisecond
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: callers}}
	defer client.CloseIdleConnections()
	var all []acked
	var mu sync.Mutex
	var calls sync.WaitGroup
	for c := range callers {
		calls.Go(func() {
			for n := 0; ; n++ {
				input := fmt.Sprintf(`"%d-%d-%d"`, round, c, n)
				run, err := s.call(client, token, input)
				if err != nil {
					if <-dead; strings.Contains(err.Error(), "urn:skillet:problem") {
						s.t.Errorf("a call was refused: %v", err)
					}
					return
				}
				mu.Lock()
				all = append(all, acked{run, string(manifests.DigestOf([]byte(input)))})
				mu.Unlock()
				select {
				case <-dead:
					return
				case <-time.After(pause):
				}
			}
		})
	}
	calls.Wait()
	return all
}

// However a service is killed, each call that it acknowledged is in the audit log once, as what
// it was, and the log verifies; the next service begins where it was.
func TestKilledServiceKeepsWhatItAcknowledged(t *testing.T) {
	p := newPerson(t)
	p.pack("kept", "kept", "1.0.0", "")
	p.must(0, "install", "./kept", "--yes")
	p.must(0, "run", "kept", "--input", "warm")
	token := strings.TrimSpace(p.must(0, "token", "create", "load", "--role", "caller"))

	runs, total := map[string]string{}, 0
	n := rounds(4, 300)
	for round := range n {
		s := p.serve("--no-tasks")
		dead := make(chan struct{})
		time.AfterFunc(rand.N(time.Second), func() { s.kill(); close(dead) })
		got := s.load(token, round, dead)
		for _, a := range got {
			runs[a.run] = a.input
		}
		if total += len(got); len(runs) != total {
			t.Fatalf("round %d: %d acknowledged calls have %d runs", round, total, len(runs))
		}
		p.must(0, "audit", "verify")
		p.must(0, "run", "kept", "--input", "next") // which signs what was written last
		if round%10 == 9 || round == n-1 {
			p.onRecord(runs)
			p.must(0, "doctor")
			t.Logf("%d services killed: %d calls acknowledged", round+1, total)
		}
	}
	t.Logf("proof: %d services killed under load: %d calls acknowledged, each on record once, the log verifies", n, total)
}

// onRecord checks that each of some runs is in the audit log once, as what it was.
func (p *person) onRecord(runs map[string]string) {
	p.t.Helper()
	var log []struct {
		Kind string
		Run  struct {
			ID    string `json:"run_id"`
			Input string `json:"input_digest"`
			OK    bool
		}
	}
	if err := json.Unmarshal([]byte(p.must(0, "audit", "--limit", "1000000", "--json")), &log); err != nil {
		p.t.Fatal(err)
	}
	seen := map[string]int{}
	for _, e := range log {
		if e.Kind != "run" {
			continue
		}
		seen[e.Run.ID]++
		if want, ok := runs[e.Run.ID]; ok && (want != e.Run.Input || !e.Run.OK) {
			p.t.Errorf("run %s is on record as another: %+v", e.Run.ID, e.Run)
		}
	}
	for run := range runs {
		if seen[run] != 1 {
			p.t.Fatalf("of %d acknowledged runs, %s is on record %d times; on record are %d", len(runs), run, seen[run], len(seen))
		}
	}
}
