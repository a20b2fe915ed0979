package code

import (
	"context"
	"strings"
	"time"
)

// SetLease sets after how long a run is taken over whose process has died.
func SetLease(d time.Duration) { usualLease = d }

// Change changes what is kept of a call: another script would have made it.
func Change(ctx context.Context, s *Service, id string, number int) error {
	r, err := s.load(ctx, id)
	if r, err = s.held(ctx, r, err); err != nil {
		return err
	}
	defer r.close(ctx)
	r.steps[number-1].Input = "another"
	return r.put(ctx, r.steps[number-1])
}

// Kept is how many entries are kept of all runs, apart from what skills are made of.
func Kept(ctx context.Context, s *Service) (n int, err error) {
	entries, err := s.parts.Store.KV().List(ctx, "code/")
	for _, e := range entries {
		if !strings.HasPrefix(e.Key, keptKey) && !strings.HasPrefix(e.Key, tapeKey) {
			n++
		}
	}
	return n, err
}

// TypesOf are the types of a tool with schemas.
func TypesOf(language string, input, output []byte) string {
	t := Tool{Call: "tools.a.b"}
	t.of.InputSchema, t.of.OutputSchema = input, output
	return typesOf(language, t)
}

// ReadAnswer reads what a guest wrote.
func ReadAnswer(raw []byte) error {
	_, _, err := readAnswer(raw)
	return err
}
