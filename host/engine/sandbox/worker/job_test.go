package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// jobMode has the test binary do jobs.
const jobMode = "do a job of a worker"

// work is what tests have a job do: the first line of the input says what, and the
// second what with.
func work(input []byte, ask func([]byte) []byte) []byte {
	what, text, _ := strings.Cut(string(input), "\n")
	switch what {
	case "ask": // 20 questions at once
		var all sync.WaitGroup
		wrong := make([]string, 20)
		for i := range wrong {
			all.Go(func() {
				want := fmt.Sprint(text, i)
				if got := string(ask([]byte(want))); got != want+"!" {
					wrong[i] = got
				}
			})
		}
		all.Wait()
		return []byte(strings.Join(wrong, ""))
	case "too much":
		return make([]byte, 1<<20)
	case "echo":
		return []byte(text)
	}
	return []byte(tries[what](text))
}

// smallJob is a job with bounds that tests reach soon.
func smallJob() Job {
	return Job{Argument: jobMode, MemoryBytes: 256 << 20, Time: 30 * time.Second, OutputBytes: 100 << 10}
}

// needsItsMemory skips a test of jobs where the race detector takes more memory than
// they may have.
func needsItsMemory(t *testing.T) {
	t.Helper()
	if underRace {
		t.Skip("the race detector takes more memory than a job may have")
	}
}

func noAnswer(q []byte) ([]byte, error) { return nil, fmt.Errorf("asked for %q", q) }

func TestDo(t *testing.T) {
	needsItsMemory(t)
	t.Parallel()
	p := newPool(t, Settings{})
	if got, err := p.Do(t.Context(), smallJob(), []byte("echo\nhello"), noAnswer); string(got) != "hello" || err != nil {
		t.Errorf("%q %v", got, err)
	}
	echo := func(q []byte) ([]byte, error) { return append(q, '!'), nil }
	if got, err := p.Do(t.Context(), smallJob(), []byte("ask\nwhat"), echo); string(got) != "" || err != nil {
		t.Errorf("%q %v", got, err)
	}
	if _, err := p.Do(t.Context(), smallJob(), []byte("ask\nwhat"), noAnswer); err == nil || !strings.Contains(err.Error(), `asked for "what`) {
		t.Errorf("an answer that failed: %v", err)
	}
	if _, err := p.Do(t.Context(), smallJob(), []byte("too much"), noAnswer); !errors.Is(err, ErrProtocol) {
		t.Errorf("too much output: %v", err)
	}
	if _, err := p.Do(t.Context(), smallJob(), []byte("panic\noh"), noAnswer); !errors.Is(err, ErrDied) {
		t.Errorf("a panic: %v", err)
	}
}

// A job is behind the walls of every worker, and its own time and memory bound it.
func TestDoIsConfined(t *testing.T) {
	needsItsMemory(t)
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("secret"), 0o666); err != nil {
		t.Fatal(err)
	}
	p := newPool(t, Settings{})
	for _, c := range []struct {
		what, with string
		dies       bool
	}{{"read", file, false}, {"list", "/", false}, {"write", file, false}, {"exec", "/bin/true", false}, {"memory", "", true}, {"spin", "", true}} {
		if runtime.GOOS != "linux" && !c.dies {
			continue // the system has no means
		}
		j := smallJob()
		if c.what == "spin" {
			j.Time = time.Second
		}
		got, err := p.Do(t.Context(), j, []byte(c.what+"\n"+c.with), noAnswer)
		if string(got) != "" || errors.Is(err, ErrDied) != c.dies || !c.dies && err != nil {
			t.Errorf("%s %s: %q, %v", c.what, c.with, got, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Do(ctx, smallJob(), []byte("spin"), noAnswer); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
