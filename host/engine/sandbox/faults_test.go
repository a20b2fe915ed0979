package sandbox_test

import (
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/skillet-run/skillet/host/engine/sandbox"
)

// scribbler takes as its input how many pages of 64 KiB to grow by, whether to
// look, and the numbers of the pages of 4 KiB to write to. Looking, it returns
// how many of all pages were written before.
const scribbler = `(module
  (import "skillet:host/v1" "input_length" (func $length (result i64)))
  (import "skillet:host/v1" "input_read" (func $read (param i32 i64 i32) (result i32)))
  (memory (export "memory") 2 8)
  (func $look (result i32) (local $at i32) (local $found i32)
    (local.set $at (i32.mul (memory.size) (i32.const 65536)))
    (loop $next
      (local.set $at (i32.sub (local.get $at) (i32.const 4096)))
      (local.set $found (i32.add (local.get $found) (i32.ne (i32.load offset=2048 (local.get $at)) (i32.const 0))))
      (br_if $next (local.get $at)))
    (local.get $found))
  (func (export "run") (result i32) (local $i i32) (local $n i32) (local $found i32)
    (local.set $n (call $read (i32.const 0) (i64.const 0) (i32.const 1024)))
    (drop (memory.grow (i32.load8_u (i32.const 0))))
    (if (i32.load8_u (i32.const 1)) (then (local.set $found (call $look))))
    (local.set $i (i32.const 2))
    (block $done (loop $next
      (br_if $done (i32.ge_u (local.get $i) (local.get $n)))
      (i32.store offset=2048 (i32.mul (i32.load8_u (local.get $i)) (i32.const 4096)) (i32.const -1))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br $next)))
    (local.get $found)))`

// scribbles makes an input: often the same pages, now and then others, with and
// without a memory that grows, and with and without reading all of it first.
func scribbles(random *rand.Rand) []byte {
	grown := 0
	if random.IntN(4) == 0 {
		grown = random.IntN(7)
	}
	pages := []byte{1, 9, 9}
	if random.IntN(8) == 0 {
		for range random.IntN(40) {
			pages = append(pages, byte(random.IntN((2+grown)*16)))
		}
	}
	return slices.Concat([]byte{byte(grown), byte(random.IntN(2))}, pages)
}

// TestWrittenPagesAreFound makes calls that write now the same pages and now
// others: no call finds what an earlier one has written. It happens both that
// the kernel is asked for them and that it need not be.
func TestWrittenPagesAreFound(t *testing.T) {
	t.Parallel()
	wasm := assemble(t, scribbler)
	for _, s := range sandbox.Strategies() {
		t.Run(string(s), func(t *testing.T) {
			t.Parallel()
			r := newRuntime(t, sandbox.Options{Reset: s})
			random := rand.New(rand.NewPCG(1, 2))
			done := map[sandbox.Strategy]int{}
			for range 30 {
				m := loadIn(t, r, wasm)
				for range 20 {
					input := scribbles(random)
					got, err := call(t, m, sandbox.Call{Input: input})
					if err != nil {
						t.Fatalf("call with % x found what others wrote: %v", input, err)
					}
					done[got.Strategy]++
				}
				m.Close(t.Context())
			}
			if s == sandbox.StrategyFaults && (done[s] < 100 || done[sandbox.StrategyScan] < 100) {
				t.Errorf("went back by %v: too few of one kind", done)
			}
		})
	}
}

// TestGrownPagesAreFound writes to a page behind the snapshot's memory after
// the kernel was asked about a memory that had not grown so far.
func TestGrownPagesAreFound(t *testing.T) {
	t.Parallel()
	m := loadIn(t, newRuntime(t, sandbox.Options{}), assemble(t, scribbler))
	for i, input := range []string{
		"\x00\x01", "\x00\x01\x01", "\x06\x01\x64", "\x06\x01\x64", // grow by 6, look, write page 100
		"\x00\x00\x14",             // a page that nobody wrote before
		"\x06\x00\x64", "\x06\x01", // page 100 again, and look
	} {
		if _, err := call(t, m, sandbox.Call{Input: []byte(input)}); err != nil {
			t.Fatalf("call %d with % x: %v", i, input, err)
		}
	}
}

// TestWaitingHoldsNoThread has many calls wait in a host function: they are not
// bound to threads while they do.
func TestWaitingHoldsNoThread(t *testing.T) {
	const calls = 64
	inside, wait := make(chan bool, calls), make(chan bool)
	hold := sandbox.HostFunc{Module: "test", Name: "hold", Call: func(context.Context, *sandbox.Guest, []uint64) error {
		inside <- true
		<-wait
		return nil
	}}
	r := newRuntime(t, sandbox.Options{Functions: []sandbox.HostFunc{hold}, MaxConcurrent: calls})
	m := loadIn(t, r, assemble(t, `(module
  (import "test" "hold" (func $hold))
  (memory (export "memory") 1)
  (func (export "run") (result i32) (i32.store (i32.const 0) (i32.const 1)) (call $hold) (i32.const 0)))`))
	threads := func() int {
		all, err := os.ReadDir("/proc/self/task")
		if err != nil {
			t.Skip("threads cannot be counted here")
		}
		return len(all)
	}
	var before int
	for range 4 { // until each instance knows what it has written
		before = threads()
		var done sync.WaitGroup
		for range calls {
			done.Go(func() { mustCall(t, m, sandbox.Call{}) })
		}
		for range calls {
			<-inside
		}
		if n := threads() - before; n > calls/2 {
			t.Errorf("%d calls wait, and there are %d threads more", calls, n)
		}
		for range calls {
			wait <- true
		}
		done.Wait()
	}
}
