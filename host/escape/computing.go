package escape

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/engine/sandbox"
	w "github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
)

// someFuel is about ten milliseconds of work.
const someFuel = 20_000_000

// briefTime is how long a guest may spin that only the clock ends.
const briefTime = 50 * time.Millisecond

// byFuel are limits where fuel comes first, byTime where the clock does.
func byFuel() sandbox.Limits {
	return sandbox.Limits{MemoryBytes: 16 << 20, Fuel: someFuel, Wall: 5 * time.Second}
}

func byTime() sandbox.Limits {
	return sandbox.Limits{MemoryBytes: 16 << 20, Fuel: 1 << 60, Wall: briefTime}
}

// spend is an attempt to compute without end, judged by fuel and by the clock.
func spend(wasm func() []byte) func(l *lab) {
	return func(l *lab) {
		l.wantLimit(l.limited(wasm(), nil, byFuel()), sandbox.ErrFuel)
		l.wantLimit(l.limited(wasm(), nil, byTime()), sandbox.ErrTime)
	}
}

// loopAttempts compute without end.
func loopAttempts() []attempt {
	return []attempt{
		// (loop br 0)
		{"endless-loop", "compute for ever", spend(func() []byte { return plain("", forever(), num(0)) })},
		// The same before the call has begun.
		{"start-loop", "compute for ever in the start section", spend(func() []byte {
			m := w.New()
			m.Start(m.Func(w.Sig("", ""), "", forever()))
			m.ExportFunc("run", m.Func(w.Sig("", "i32"), "", num(0)))
			return m.Bytes()
		})},
		{"initialise-loop", "compute for ever while its runtime is initialised", spend(func() []byte {
			m := w.New()
			m.ExportFunc("_initialize", m.Func(w.Sig("", ""), "", forever()))
			m.ExportFunc("run", m.Func(w.Sig("", "i32"), "", num(0)))
			return m.Bytes()
		})},
		// A tail call is a loop without one.
		{"tail-calls", "loop by tail calls", spend(func() []byte {
			m := w.New()
			m.ExportFunc("run", m.Func(w.Sig("", "i32"), "", w.ReturnCall(0)))
			return m.Bytes()
		})},
		// Nothing goes back to the head of a loop here: one function without a loop
		// calls another, again and again.
		{"straight-code", "compute for long without a single loop", spend(straight)},
		// A bulk instruction does much at once.
		{"bulk-memory", "hold the host with bulk instructions over much memory", spend(func() []byte {
			m := w.New()
			m.Memory(128, 128)
			fill := w.Code(num(0), num(7), num(128<<16), w.MemoryFill(), num(0), num(1<<20), num(100<<16), w.MemoryCopy())
			m.ExportFunc("run", m.Func(w.Sig("", "i32"), "", forever(fill), num(0)))
			return m.Bytes()
		})},
		// A guest that never calls out stops the whole process at the next
		// collection, unless something lets the collector in.
		{"collector", "freeze the host at the next garbage collection", collect},
		// Whoever started the call takes it back.
		{"cancelled", "go on after its call was cancelled", func(l *lab) {
			l.wantCancelled(l.spin(1, func(cancel func()) { cancel() }))
		}},
	}
}

// straight is a module that computes for seconds in code without loops.
func straight() []byte {
	leaf, calls := [][]byte{w.LocalGet(0)}, [][]byte{num(1)}
	for range 4_000 {
		leaf = append(leaf, num(3), w.Op(0x6c)) // i32.mul
	}
	for range 60_000 {
		calls = append(calls, w.Call(0))
	}
	m := w.New()
	m.Func(w.Sig("i32", "i32"), "", leaf...)
	m.ExportFunc("run", m.Func(w.Sig("", "i32"), "", append(calls, w.Drop(), num(0))...))
	return m.Bytes()
}

// spin has some guests spin at once. When all of them do, then is called with
// what cancels them. It returns what ended them.
func (l *lab) spin(guests int, then func(cancel func())) (ended []error) {
	m := w.New()
	ready := m.ImportFunc(own, "ready", w.Sig("", ""))
	m.ExportFunc("run", m.Func(w.Sig("", "i32"), "", w.Call(ready), forever(), num(0)))
	mod := l.load(m.Bytes())
	if mod == nil {
		return nil
	}
	ctx, cancel := context.WithCancel(l.ctx)
	defer cancel()
	limits := l.bench.slack.lifted(sandbox.Limits{Fuel: 1 << 60, Wall: attemptTime / 3})
	began, ends := make(chan struct{}, guests), make(chan error, guests)
	for range guests {
		go func() {
			_, err := mod.Call(ctx, sandbox.Call{Export: "run", Limits: limits, Env: func() { began <- struct{}{} }})
			ends <- err
		}()
	}
	for range guests {
		select {
		case <-began:
		case err := <-ends: // it did not get that far
			ended = append(ended, err)
		}
	}
	then(cancel)
	for len(ended) < guests {
		ended = append(ended, <-ends)
	}
	return ended
}

// lifted is limits as the slack changes them.
func (s slack) lifted(l sandbox.Limits) sandbox.Limits {
	c := sandbox.Call{Limits: l}
	s.loosen(&c)
	return c.Limits
}

// wantCancelled judges that calls were ended by being cancelled, and by nothing
// before.
func (l *lab) wantCancelled(ended []error) {
	for _, err := range ended {
		if !errors.Is(err, context.Canceled) {
			l.breach("a cancelled call was ended by %s", cause(err))
			return
		}
	}
	l.stopped("the cancelled context")
}

// collect collects garbage while guests spin on every processor. If they kept
// the collector out it would come back when their time is over, and they would
// have been ended by that.
func collect(l *lab) {
	l.wantCancelled(l.spin(runtime.GOMAXPROCS(0), func(cancel func()) {
		for range 3 {
			runtime.GC()
		}
		cancel()
	}))
	l.stopped("collections end while guests spin")
}

// recursionAttempts call without end.
func recursionAttempts() []attempt {
	return []attempt{
		// Two calls each, sixty levels deep: no loop, little stack, and no end.
		{"tree-recursion", "compute for ever by recursion without a loop", spend(func() []byte {
			m := w.New()
			down := w.Code(w.LocalGet(0), num(1), w.Op(0x6b), w.Call(0))
			f := m.Func(w.Sig("i32", "i32"), "", w.LocalGet(0), w.Op(0x45), w.IfElse(w.I32, num(1), w.Code(down, down, w.Op(0x6a))))
			m.ExportFunc("run", m.Func(w.Sig("", "i32"), "", num(60), w.Call(f), w.Drop(), num(0)))
			return m.Bytes()
		})},
		// The stack of a guest is memory of the host.
		{"deep-recursion", "use up the host's stack", func(l *lab) {
			m := w.New()
			f := m.Func(w.Sig("i32", "i32"), "", w.LocalGet(0), num(1), w.Op(0x6a), w.Call(0), num(1), w.Op(0x6a))
			m.ExportFunc("run", m.Func(w.Sig("", "i32"), "", num(0), w.Call(f), w.Drop(), num(0)))
			l.wantLimit(l.run(m.Bytes(), nil), sandbox.ErrStack)
		}},
		// The same through a table, where no one sees who calls whom.
		{"indirect-recursion", "use up the host's stack by functions that call each other through a table", func(l *lab) {
			m := w.New()
			m.Table(w.FuncRef, 2, 2)
			m.Elem(0, 0, 1)
			t := m.Type(w.Sig("i32", "i32"))
			for other := range int32(2) {
				m.Func(w.Sig("i32", "i32"), "i64 i64 i64 i64", w.LocalGet(0), num(1-other), w.CallIndirect(t, 0), num(1), w.Op(0x6a))
			}
			m.ExportFunc("run", m.Func(w.Sig("", "i32"), "", num(0), w.Call(0), w.Drop(), num(0)))
			l.wantLimit(l.run(m.Bytes(), nil), sandbox.ErrStack)
		}},
		// A frame with many values, so that few calls take much.
		{"wide-frames", "use up the host's memory with few very large stack frames", func(l *lab) {
			m := w.New()
			wide := strings.Repeat("i64 ", 1000)
			f := m.Func(w.Sig("i32", "i32"), wide, w.LocalGet(0), num(1), w.Op(0x6a), w.Call(0), w.LocalGet(900), w.Op(0xa7), w.Op(0x6a))
			m.ExportFunc("run", m.Func(w.Sig("", "i32"), "", num(0), w.Call(f), w.Drop(), num(0)))
			l.wantLimit(l.run(m.Bytes(), nil), sandbox.ErrStack)
		}},
		// A host function that calls the guest back, which calls it again.
		{"reentry", "use up the host's stack by re-entering it through a host function", func(l *lab) {
			m := w.New()
			f := m.ImportFunc(own, "again", w.Sig("", ""))
			m.ExportFunc("run", m.Func(w.Sig("", "i32"), "", w.Call(f), num(0)))
			mod, n := l.load(m.Bytes()), &again{}
			if mod == nil {
				return
			}
			l.wantLimit(l.call(mod, nil, sandbox.Call{Env: n, Limits: usual()}), sandbox.ErrDepth)
			if n.calls > sandbox.MaxDepth {
				l.breach("it was called back %d times", n.calls)
			}
		}},
	}
}

// memoryAttempts use up memory.
func memoryAttempts() []attempt {
	const most = 4 << 20
	limits := func() sandbox.Limits {
		return sandbox.Limits{MemoryBytes: most, Fuel: 2_000_000_000, Wall: 5 * time.Second}
	}
	// within judges a call that memory was to end, and how much it had.
	within := func(l *lab, wasm []byte) {
		t := l.limited(wasm, nil, limits())
		l.wantLimit(t, sandbox.ErrMemory)
		if t.PeakMemoryBytes > most {
			l.breach("it had %d bytes, at most %d may be", t.PeakMemoryBytes, most)
		}
	}
	grow := func(n int32) []byte { return w.Code(num(n), w.MemoryGrow()) }
	refusedTo := func(code []byte) []byte { return w.Code(code, num(-1), w.Op(0x46), w.If(w.Empty, w.Unreachable())) }
	return []attempt{
		// It grows page by page until it is refused.
		{"memory-growth", "use up the host's memory bit by bit", func(l *lab) {
			within(l, plain("i32", times(1000, refusedTo(grow(4))), num(0)))
		}},
		// It asks for everything at once.
		{"memory-leap", "use up the host's memory at once", func(l *lab) { within(l, plain("", refusedTo(grow(40_000)), num(0))) }},
		// It declares more than it may have.
		{"memory-declared", "start with more memory than it may have", func(l *lab) {
			m := w.New()
			m.Memory(10_000, w.NoMax)
			m.ExportFunc("run", m.Func(w.Sig("", "i32"), "", num(0)))
			within(l, m.Bytes())
		}},
		// Tables are not under the engine's memory limit.
		{"table-growth", "use up the host's memory with a table", tables},
		// The blocks of the Extism ABI are the host's memory.
		{"block-flood", "use up the host's memory with Extism blocks", func(l *lab) {
			p := newPlugin()
			p.then(times(1000, p.do("alloc", long(100_000)), w.LocalTee(2), w.Op(0x50), w.If(w.Empty, w.Unreachable())))
			within(l, p.tool())
		}},
		// One block of a size that overflows.
		{"block-leap", "ask for an Extism block of all the memory there is", func(l *lab) {
			p := newPlugin()
			p.then(p.do("alloc", long(-1)), w.LocalTee(2), w.Op(0x50), w.If(w.Empty, w.Unreachable()))
			within(l, p.tool())
		}},
		// Addresses at the end of memory and of arithmetic.
		{"out-of-bounds", "read and write outside of its memory", func(l *lab) {
			for _, code := range [][]byte{
				w.Code(num(-1), w.Load(0x28, 0)), w.Code(num(0), w.Load(0x28, 0xffffffff)), w.Code(num(1<<16-3), w.Load(0x28, 0)),
				w.Code(num(-4), num(1), w.Store(0x36, 4), num(0)), w.Code(num(-1), num(0), num(2), w.MemoryFill(), num(0)),
				w.Code(num(0), num(-16), num(64), w.MemoryCopy(), num(0)),
			} {
				l.wantTrap(l.run(plain("", code), nil), "out of bounds")
			}
		}},
	}
}

// tables grows a table a thousand entries at a time, for as long as it is let,
// and puts out how many it has.
func tables(l *lab) {
	c := newCommand()
	c.Table(w.FuncRef, 0, w.NoMax)
	c.then(times(1000, w.Op(0xd0, 0x70), num(1000), w.Op(0xfc, 15, 0), w.Drop())).record("table.size", w.Op(0xfc, 16, 0))
	wasm := c.bytes()
	t := l.run(wasm, nil)
	if t.err != nil || len(t.Output) != 4 {
		l.breach("the guest did not get to its end: %s", cause(t.err))
		return
	}
	if n := words(t.Output)[0]; n > sandbox.MaxTableElems {
		l.breach("the table has %d entries, at most %d may be", n, sandbox.MaxTableElems)
	} else {
		l.stopped("the table ends at %d entries", n)
	}
	limits := usual()
	limits.TableElems = 10
	l.wantLimit(l.limited(wasm, nil, limits), sandbox.ErrTable)
}

// hostCallAttempts misuse calls of the host.
func hostCallAttempts() []attempt {
	return []attempt{
		// A loop of the cheapest call there is.
		{"host-call-flood", "keep the host busy with calls", func(l *lab) {
			p := newReactor("log")
			p.then(times(20_000, p.request("log", `{"level":"info"}`, ""), w.Drop()))
			limits := usual()
			limits.HostCalls = 1000
			t := l.limited(p.tool(), l.env(), limits)
			l.wantLimit(t, sandbox.ErrHostCalls)
			if t.HostCalls > 1000 {
				l.breach("%d calls were made", t.HostCalls)
			}
		}},
		// Addresses that are none, for the host to read and write.
		{"wild-pointers", "make the host read and write outside of the guest's memory", wildPointers},
		// poll_oneoff with a clock that rings in an hour.
		{"sleep", "hold the host by sleeping for an hour", func(l *lab) {
			c := newCommand()
			sub := make([]byte, 48) // clock 0 at 16, timeout at 24
			for i := range 8 {
				sub[24+i] = byte(uint64(time.Hour) >> (8 * i))
			}
			c.step("poll_oneoff", num(c.keep(sub)), num(atSpare), num(1), num(atSpare+100))
			l.wantLimit(l.limited(c.bytes(), nil, byTime()), sandbox.ErrTime)
		}},
		// A gigabyte of randomness.
		{"random-flood", "hold the host by asking for endless randomness", func(l *lab) {
			c := newCommand()
			c.then(forever(c.do("random_get", num(atText), num(1<<20)), w.Drop()))
			wasm, little := c.bytes(), byFuel()
			little.Fuel = someFuel / 10
			l.wantLimit(l.limited(wasm, nil, little), sandbox.ErrFuel)
			l.wantLimit(l.limited(wasm, nil, byTime()), sandbox.ErrTime)
		}},
		// proc_exit ends a process. Here it is to end one call.
		{"proc-exit", "end the host's process", func(l *lab) {
			c := newCommand()
			c.then(c.do("proc_exit", num(7)))
			m := l.load(c.bytes())
			for range 2 {
				if m == nil {
					return
				}
				t := l.call(m, nil, sandbox.Call{Limits: usual()})
				var guest *sandbox.GuestError
				if !errors.As(t.err, &guest) || guest.Code != 7 {
					l.breach("exit code 7 was to end the call, and %s did", cause(t.err))
					return
				}
				l.stopped("only the call ended, with exit code %d", guest.Code)
			}
		}},
	}
}

// wildPointers gives the host addresses outside of memory, by all three
// interfaces.
func wildPointers(l *lab) {
	const outside = "out of bounds"
	e := l.env(l.files("open")...)
	for _, at := range [][2]int32{{-1, 16}, {pages<<16 - 1, 64}, {1 << 30, 1 << 30}, {0, -1}} {
		p := newReactor("log")
		l.wantTrap(l.run(p.then(p.do("log", p.str("{}"), num(at[0]), num(at[1])), w.Drop()).tool(), e), outside)
		p = newReactor()
		l.wantTrap(l.run(p.out(at[0], at[1]).tool(), e), outside)
		if at[0] == 0 { // the length alone is wild, and costs more fuel than there is
			continue
		}
		p = newReactor("log")
		p.then(p.request("log", "{}", ""), w.Drop(), p.do("response_read", num(at[0]), num(at[0])))
		l.wantTrap(l.run(p.tool(), e), outside)
		c := newCommand()
		c.step("random_get", num(at[0]), num(at[1])).step("path_unlink_file", num(mount), num(at[0]), num(at[1]))
		c.step("fd_write", num(1), num(at[0]), num(1), num(atSpare)).step("fd_write", num(1), num(0), num(1), num(at[0]))
		l.failedAll(l.run(c.bytes(), e), len(c.steps))
	}
	for _, code := range [][]byte{newPlugin().do("store_u64", long(-8), long(1)), w.Code(newPlugin().do("load_u64", long(1<<40)), w.Drop())} {
		l.wantTrap(l.run(newPlugin().then(code).tool(), e), "outside Extism memory")
	}
}

// failedAll judges that no step of a command succeeded, or that one trapped.
func (l *lab) failedAll(t callResult, steps int) {
	if errors.Is(t.err, sandbox.ErrTrap) {
		l.stopped("%s", cause(t.err))
		return
	}
	if t.err != nil || len(t.Output) != 4*steps {
		l.breach("the guest did not get to its end: %s", cause(t.err))
		return
	}
	for _, code := range words(t.Output) {
		if code == 0 {
			l.breach("what was to fail succeeded")
		} else {
			l.stopped("%s", errno(code))
		}
	}
}
