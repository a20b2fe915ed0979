package providertest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/skillet-run/skillet/plugins/provider"
)

const nobody = "no-such-model-anywhere"

func (s *suite) unknownModel(t *testing.T, c *caller) {
	unknown := []provider.Class{provider.ClassInvalid, provider.ClassUnavailable}
	_, err := c.p.Generate(c.ctx, ask(provider.Model{Name: nobody}, s.Prompt), nil)
	refused(t, "Generate", err, unknown...)
	_, err = c.p.Embed(c.ctx, provider.EmbedRequest{Model: nobody, Texts: []string{"a"}})
	refused(t, "Embed", err, unknown...)
	refused(t, "Load", c.p.Load(c.ctx, nobody), unknown...)
}

func (s *suite) invalidRequest(t *testing.T, c *caller) {
	m := c.text(t)
	for name, messages := range map[string][]provider.Message{
		"no messages":  nil,
		"unknown role": {{Role: "nobody", Text: s.Prompt}},
	} {
		_, err := c.p.Generate(c.ctx, provider.Request{Model: m.Name, Messages: messages}, nil)
		refused(t, name, err, provider.ClassInvalid)
	}
}

// slow is the prompt that is ended before it is answered, and whether it has to be.
func (s *suite) slow() (prompt string, surely bool) {
	if s.Slow != "" {
		return s.Slow, true
	}
	return s.Prompt, false
}

// soon fails the test when a call does not return, and returns its error.
func (c *caller) soon(t *testing.T, call func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- call() }()
	select {
	case err := <-done:
		return err
	case <-time.After(c.Patience):
		t.Fatal("the call does not return")
		return nil
	}
}

// cancelled ends an answer from within, at its first piece, or soon.
func (s *suite) cancelled(t *testing.T, c *caller) {
	m := c.text(t)
	prompt, surely := s.slow()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if surely {
		time.AfterFunc(100*time.Millisecond, cancel)
	}
	err := c.soon(t, func() error {
		_, err := c.p.Generate(ctx, ask(m, prompt), func(provider.Delta) error {
			cancel()
			return nil
		})
		return err
	})
	if err == nil && !surely {
		return
	}
	ended(t, "Generate", err)
}

func (s *suite) cancelledBefore(t *testing.T, c *caller) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	m := c.text(t)
	ended(t, "Generate", c.soon(t, func() error {
		_, err := c.p.Generate(ctx, ask(m, s.Prompt), nil)
		return err
	}))
}

func (s *suite) deadline(t *testing.T, c *caller) {
	m := c.text(t)
	prompt, surely := s.slow()
	if !surely {
		t.Skip("Options.Slow is empty")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	ended(t, "Generate", c.soon(t, func() error {
		_, err := c.p.Generate(ctx, ask(m, prompt), nil)
		return err
	}))
}

func (s *suite) emitError(t *testing.T, c *caller) {
	m := c.model(t, "streaming", func(m provider.Model) bool { return m.Streaming })
	stop := errors.New("enough")
	calls := 0
	err := c.soon(t, func() error {
		_, err := c.p.Generate(c.ctx, ask(m, s.Prompt), func(provider.Delta) error {
			calls++
			return stop
		})
		return err
	})
	if !errors.Is(err, stop) {
		t.Errorf("%v, want what emit returned", err)
	}
	if calls != 1 {
		t.Errorf("emit was called %d times", calls)
	}
}

func (s *suite) concurrent(t *testing.T, c *caller) {
	m := c.text(t)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			r, err := c.p.Generate(c.ctx, ask(m, s.Prompt), func(provider.Delta) error { return nil })
			if err != nil || r.Text == "" {
				t.Errorf("%q, %v", r.Text, err)
			}
		})
		wait.Go(func() {
			if models, err := c.p.Models(c.ctx); err != nil || len(models) != len(c.models) {
				t.Errorf("%d models, %v", len(models), err)
			}
		})
	}
	wait.Wait()
}

// loadUnload has a model loaded, given up, and asked again.
func (s *suite) loadUnload(t *testing.T, c *caller) {
	for _, m := range c.models {
		if err := c.p.Load(c.ctx, m.Name); err != nil {
			t.Errorf("load %s: %v", m.Name, err)
		}
	}
	for _, m := range c.models {
		if err := c.p.Unload(c.ctx, m.Name); err != nil {
			t.Errorf("unload %s: %v", m.Name, err)
		}
	}
	if _, err := c.p.Generate(c.ctx, ask(c.text(t), s.Prompt), nil); err != nil {
		t.Errorf("after Unload: %v", err)
	}
}
