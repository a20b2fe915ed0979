// Package storetest is the conformance suite of the state contract: what every
// [store.Store] must do, whatever it keeps its data in.
//
// It knows no implementation. Each implementation's test calls [Run], or
// [RunBubble] when it needs nothing but memory.
package storetest

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skillet-run/skillet/host/base/store"
)

// Delivery is what the stores under test are to be opened with: leases short
// enough to wait for, and long enough for a slow machine.
func Delivery() store.Delivery {
	return store.Delivery{Lease: lease, MaxAttempts: attempts, Remember: remember}
}

const (
	lease    = 400 * time.Millisecond
	attempts = 3
	remember = time.Second
	// moment is long enough for a call that has nothing to wait for to return.
	moment = 15 * time.Millisecond
)

// test is one test of the suite; the store is empty and its own.
type test struct {
	name string
	run  func(t *testing.T, s store.Store)
}

// Run tests the stores that open returns: empty ones, with the [Delivery] of
// this package. Each test opens and closes its own.
func Run(t *testing.T, open func(t *testing.T) store.Store) { runAll(t, suite(), open) }

// RunBlobs is the part of [Run] that is about [store.Blobs].
func RunBlobs(t *testing.T, open func(t *testing.T) store.Store) { runAll(t, blobTests, open) }

func runAll(t *testing.T, all []test, open func(t *testing.T) store.Store) {
	for _, tc := range all {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			use(t, open, tc)
		})
	}
}

// RunBubble is [Run] in the artificial time of testing/synctest, for stores
// that start no goroutine that outlives Close and wait for nothing outside.
func RunBubble(t *testing.T, open func(t *testing.T) store.Store) {
	for _, tc := range suite() {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { use(t, open, tc) })
		})
	}
}

func use(t *testing.T, open func(t *testing.T) store.Store, tc test) {
	s := open(t)
	defer func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}()
	tc.run(t, s)
}

func suite() []test {
	var all []test
	for _, part := range [][]test{kvTests, watchTests, queueTests, claimTests, logTests, blobTests, lockTests, storeTests} {
		all = append(all, part...)
	}
	return all
}

// must fails the test on an error and returns the value.
func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		ok(t, err)
		return v
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// next receives from a channel that has something to say.
func next[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case v, open := <-from:
		if !open {
			t.Fatal("the channel was closed")
		}
		return v
	case <-time.After(20 * time.Second):
		t.Fatal("nothing came")
	}
	panic("unreachable")
}

// quiet checks that nothing comes for a moment.
func quiet[T any](t *testing.T, from <-chan T) {
	t.Helper()
	select {
	case v, open := <-from:
		t.Fatalf("unexpected %v (open: %v)", v, open)
	case <-time.After(4 * moment):
	}
}

// drained checks that the channel ends, whatever is still in it.
func drained[T any](t *testing.T, from <-chan T) {
	t.Helper()
	end := time.After(20 * time.Second)
	for {
		select {
		case _, open := <-from:
			if !open {
				return
			}
		case <-end:
			t.Fatal("the channel was not closed")
		}
	}
}

// inTime makes a check that extends a lease, and holds as long as that has not run
// out: again, with another name, when the machine was slower than the lease. The
// check returns when it last extended it.
func inTime(t *testing.T, check func(name string) (extended time.Time, err error)) {
	t.Helper()
	for n := range 20 {
		extended, err := check(fmt.Sprint("try ", n))
		switch {
		case err == nil:
			return
		case time.Since(extended) < lease:
			t.Fatal(err)
		}
		t.Logf("the machine was slower than the lease: %v", err)
	}
	t.Fatal("the machine is always slower than the lease")
}

// eventually asks until yes; only for what a lease's end brings about.
func eventually(t *testing.T, yes func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(moment) {
		if yes() {
			return
		}
	}
	t.Fatal("it never came to be")
}

func cancelled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
