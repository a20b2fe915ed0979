package escape

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/engine/sandbox"
	w "github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
	"github.com/skillet-run/skillet/host/run/hostfn"
)

// vault is a source of secrets.
type vault map[string]string

// Get returns one.
func (v vault) Get(_ context.Context, name string) ([]byte, error) {
	if s, ok := v[name]; ok {
		return []byte(s), nil
	}
	return nil, errors.New("no such secret")
}

// Has reports whether there is one.
func (v vault) Has(_ context.Context, name string) (bool, error) {
	_, ok := v[name]
	return ok, nil
}

// probe runs a command that calls one WASI function after the other and puts
// out memory from atLoot on.
func (l *lab) probe(e *hostfn.Env, n int32, code func(c *command) []byte) (callResult, []byte) {
	c := newCommand()
	iov := c.keep(vector(atLoot, n))
	c.then(code(c), c.do("fd_write", num(1), num(iov), num(1), num(atSpare)), w.Drop())
	t := l.run(c.bytes(), e)
	if t.err != nil || len(t.Output) < int(n) {
		l.breach("the guest did not get to its end: %s", cause(t.err))
		return t, make([]byte, n)
	}
	return t, t.Output
}

// ambientAttempts look at what programs usually see of the machine.
func ambientAttempts() []attempt {
	return []attempt{
		// Keys are often handed to programs in the environment.
		{"environment", "read the host's environment variables", func(l *lab) {
			_, b := l.probe(l.env(), 256, func(c *command) []byte {
				return w.Code(c.do("environ_sizes_get", num(atLoot), num(atLoot+4)), w.Drop(), c.do("environ_get", num(atLoot+8), num(atLoot+128)), w.Drop())
			})
			l.count(b, 0, "environment variables")
		}},
		// What the host was started with may have keys in it too.
		{"arguments", "read the host's command line", func(l *lab) {
			_, b := l.probe(l.env(), 256, func(c *command) []byte {
				return w.Code(c.do("args_sizes_get", num(atLoot), num(atLoot+4)), w.Drop(), c.do("args_get", num(atLoot+8), num(atLoot+16)), w.Drop())
			})
			l.count(b, 1, "arguments")
			if name := string(b[16:22]); name != "skill\x00" {
				l.breach("it is called %q", name)
			}
		}},
		// The time of day tells one run from another.
		{"clock", "tell the time", func(l *lab) {
			_, b := l.probe(l.env(), 8, func(c *command) []byte {
				return w.Code(c.do("clock_time_get", num(0), long(1), num(atLoot)), w.Drop())
			})
			at := time.Unix(0, int64(pair(b))).UTC()
			if time.Since(at).Abs() < 24*time.Hour {
				l.breach("it was told %v", at)
				return
			}
			l.stopped("it is always %s", at.Format(time.DateOnly))
		}},
		// A clock that runs measures caches, and so other guests.
		{"stopwatch", "measure how long things take", stopwatch},
		// Randomness is a way to be different each time, and to hide.
		{"randomness", "draw randomness that the host does not know", func(l *lab) {
			draw := func() string {
				_, b := l.probe(l.env(), 32, func(c *command) []byte { return w.Code(c.do("random_get", num(atLoot), num(32)), w.Drop()) })
				return string(b)
			}
			if a, b := draw(), draw(); a != b {
				l.breach("two calls drew different numbers")
				return
			}
			l.stopped("the same numbers in each call")
		}},
		// Without a grant there are no files, not even a root directory.
		{"no-files", "find a file without any grant", func(l *lab) {
			c := newCommand()
			for n := range int32(8) {
				c.step("fd_prestat_get", num(mount+n), num(atSpare)).step("path_open", c.opening(0, num(mount+n), "etc/hostname", 0, mayRead))
			}
			l.failedAll(l.run(c.bytes(), l.env()), len(c.steps))
		}},
		// Standard input of the host would have what a person types.
		{"standard-input", "read the host's standard input", func(l *lab) {
			c := newCommand()
			c.then(store32(slot(0), num(0)))
			c.read(0)
			t := l.run(c.bytes(), l.env())
			if t.err != nil || len(t.Output) != 4 {
				l.breach("%d bytes were read, ended by %s", len(t.Output)-4, cause(t.err))
				return
			}
			l.stopped("it is empty")
		}},
	}
}

// count judges how many of something a guest saw.
func (l *lab) count(b []byte, want uint32, what string) {
	if n := words(b)[0]; n != want {
		l.breach("it saw %d %s", n, what)
		return
	}
	l.stopped("it sees %d %s, this process has %d", want, what, map[string]int{"arguments": len(os.Args), "environment variables": len(os.Environ())}[what])
}

// pair is a 64-bit number.
func pair(b []byte) uint64 {
	n := words(b)
	return uint64(n[0]) | uint64(n[1])<<32
}

// stopwatch reads the monotonic clock around much and around little work. The
// differences must be the same.
func stopwatch(l *lab) {
	measure := func(turns int32) uint64 {
		_, b := l.probe(l.env(), 16, func(c *command) []byte {
			look := func(at int32) []byte { return w.Code(c.do("clock_time_get", num(1), long(1), num(at)), w.Drop()) }
			return w.Code(look(atLoot), times(turns), look(atLoot+8))
		})
		return pair(b[8:]) - pair(b)
	}
	little, much := measure(1), measure(1_000_000)
	if little != much {
		l.breach("little work took %d ns, much took %d ns", little, much)
		return
	}
	l.stopped("a clock that moves by %v when it is read", time.Duration(little))
}

// secretAttempts look for what the host keeps for the guest and not from it.
func secretAttempts() []attempt {
	return []attempt{
		{"secret-ungranted", "learn which secrets there are", func(l *lab) {
			s := l.settings("secret:token")
			s.Secrets = vault{"token": l.bench.secret, "another": l.bench.secret}
			e := l.envOf(s)
			all := []ask{{"secret_exists", object("name", "another"), ""}, {"secret_exists", object("name", "*"), ""}, {"secret_exists", object("name", ""), ""}, {"secret_exists", object("name", "../token"), ""}}
			l.refusedAll(l.asks(e, all...), all)
			l.denied(e)
		}},
		// With a grant the guest learns that there is one, and no more.
		{"secret-value", "read the value of a secret it was granted", func(l *lab) {
			s := l.settings("secret:token", "kv")
			s.Secrets, s.KV = vault{"token": l.bench.secret}, l.store()
			e := l.envOf(s)
			got := l.asks(e, ask{"secret_exists", object("name", "token"), ""}, ask{"kv_get", object("key", "token"), ""}, ask{"kv_list", `{"prefix":""}`, ""}, ask{"fs_read", object("path", l.path("home/secrets/token")), ""})
			if len(got) != 4 || got[0].meta != `{"exists":true}` || got[0].body != "" {
				l.breach("it was told something else than that the secret exists")
			}
			p := newPlugin()
			t := l.run(p.emit(p.do("config_get", p.block("token"))).tool(), e)
			l.unseen(t, "config_get")
			p = newPlugin()
			t = l.run(p.emit(p.do("var_get", p.block("token"))).tool(), e)
			l.unseen(t, "var_get")
			l.stopped("it is told that the secret exists")
		}},
		// Refusals must not tell what is there.
		{"refusal-oracle", "learn from refusals what exists", func(l *lab) {
			all := []ask{{"fs_stat", object("path", l.path("closed/secret")), ""}, {"fs_stat", object("path", l.path("closed/nothing")), ""}, {"fs_read", object("path", l.path("closed")), ""}, {"fs_read", object("path", l.path("nowhere/x")), ""}}
			got := l.asks(l.env(l.files("open")...), all...)
			l.refusedAll(got, all)
			for _, r := range got {
				if r.meta != got[0].meta || strings.Contains(r.meta, l.dir) {
					l.breach("it was told %s and %s", got[0].meta, r.meta)
				}
			}
		}},
	}
}

// unseen judges that a call put nothing out.
func (l *lab) unseen(t callResult, what string) {
	if t.err != nil || len(t.Output) > 0 {
		l.breach("%s told %q, ended by %s", what, t.Output, cause(t.err))
	}
}

// leftoverAttempts look for what an earlier call left behind. Each guest has
// three exports: leave, find, and both, which is one after the other.
func leftoverAttempts() []attempt {
	return []attempt{
		{"left-memory", "find in memory what an earlier call left there", func(l *lab) {
			l.leftover(newProgram("", nil), store32(atSpare, num(marker)), load32(atSpare))
		}},
		// Memory that was grown, and what was written there.
		{"left-size", "find memory that an earlier call grew", func(l *lab) {
			p := newProgram("", nil)
			l.leftover(p, w.Code(num(3), w.MemoryGrow(), w.Drop(), store32(pages<<16, num(marker))), w.Code(w.MemorySize(), num(pages), w.Op(0x6b), num(marker), w.Op(0x6c)))
		}},
		{"left-global", "find in a global what an earlier call left there", func(l *lab) {
			p := newProgram("", nil)
			g := p.Global(w.I32, true, num(0))
			l.leftover(p, w.Code(num(marker), w.GlobalSet(g)), w.GlobalGet(g))
		}},
		{"left-table", "find in a table what an earlier call put there", func(l *lab) {
			p := newProgram("", nil)
			p.Table(w.FuncRef, 4, 8)
			f := p.Func(w.Sig("", ""), "")
			p.RawElem(w.Code([]byte{3, 0}, w.U32(1), w.U32(uint32(f)))) // declares that ref.func may name it
			isSet := w.Code(num(2), w.Op(0x25, 0), w.Op(0xd1), w.Op(0x45))
			l.leftover(p, w.Code(num(2), w.RefFunc(f), w.Op(0x26, 0)), w.Code(isSet, num(marker), w.Op(0x6c)))
		}},
		{"left-after-trap", "find in memory what a call left that trapped", trapped},
		// What an earlier call put into the blocks it shared with the host.
		{"left-block", "find in Extism memory what an earlier call left there", func(l *lab) {
			p := newPlugin()
			fill := w.Code(p.do("alloc", long(64)), w.LocalSet(2), p.do("store_u64", w.LocalGet(2), long(marker)))
			// The first block of a call; in the call that left something it is the second.
			l.leftover(p.program, w.Code(fill, p.do("free", w.LocalGet(2))), w.Code(p.do("load_u64", p.do("alloc", long(64))), w.Op(0xa7)))
		}},
		{"left-variable", "find an Extism variable that an earlier call set", func(l *lab) {
			p := newPlugin()
			l.leftover(p.program, p.do("var_set", p.block("v"), p.block("x")), w.Code(p.do("var_get", p.block("v")), w.Op(0x50), w.Op(0x45), num(marker), w.Op(0x6c)))
		}},
		// The number of a file that an earlier call opened and did not close.
		{"left-file", "read from a file that an earlier call left open", leftFile},
		// An answer of the host that nobody took.
		{"left-response", "take an answer that the host gave to an earlier call", func(l *lab) {
			p := newReactor("log")
			p.then(p.request("log", "{}", ""), w.Drop()).export("leave")
			p.then(p.do("response_read", num(atAnswer), num(atBody))).export("find")
			p.then(p.request("log", "{}", ""), w.Drop(), p.do("response_read", num(atAnswer), num(atBody))).export("both")
			l.wantTrap(l.twice(p.Bytes(), l.env(), l.env()), "no response")
		}},
		// A start function runs once for each call, not once for all.
		{"left-start", "notice that it was started before", func(l *lab) {
			p := newProgram("", nil)
			count := store32(atSpare, w.Code(load32(atSpare), num(1), w.Op(0x6a)))
			p.Start(p.Func(w.Sig("", ""), "", count))
			l.leftover(p, count, w.Code(load32(atSpare), num(1), w.Op(0x6b), num(marker), w.Op(0x6c)))
		}},
	}
}

// marker is what guests leave behind.
const marker = 0x5eed

// leftover calls code that leaves something and then, in another call, code
// that pushes what it finds, which is to be 0.
func (l *lab) leftover(p *program, leave, find []byte) {
	out := func(code []byte) []byte { return w.Code(store32(atSpare+8, code)) }
	found := func() []byte { return out(find) }
	p.then(leave).export("leave")
	p.finish(found()).export("find")
	p.then(leave).finish(found()).export("both")
	t := l.twice(p.Bytes(), l.env(), l.env())
	l.fresh(t)
}

// fresh judges that a guest found nothing.
func (l *lab) fresh(t callResult) {
	var guest *sandbox.GuestError
	switch {
	case errors.As(t.err, &guest):
		l.breach("it found %#x", guest.Code)
	case t.err != nil:
		l.breach("the guest did not get to its end: %s", cause(t.err))
	default:
		l.stopped("each call starts from the same state")
	}
}

// finish adds code that keeps a number at a place, and returns that number from
// the export when it is not 0.
func (p *program) finish(code []byte) *program {
	return p.then(code, load32(atSpare+8), w.If(w.Empty, load32(atSpare+8), w.Return()))
}

// twice calls leave and then find, each with its own environment, or both at
// once when the slack says so.
func (l *lab) twice(wasm []byte, first, second *hostfn.Env) callResult {
	m := l.load(wasm)
	if m == nil {
		return callResult{err: errors.New("not loaded")}
	}
	if l.bench.slack.together {
		return l.call(m, second, sandbox.Call{Export: "both", Limits: usual()})
	}
	for range 3 {
		if t := l.call(m, first, sandbox.Call{Export: "leave", Limits: usual()}); t.err != nil {
			l.breach("nothing was left behind: %s", cause(t.err))
		}
	}
	return l.call(m, second, sandbox.Call{Export: "find", Limits: usual()})
}

// trapped leaves something and traps. The call after that finds nothing.
func trapped(l *lab) {
	p := newProgram("", nil)
	leave := store32(atSpare, num(marker))
	p.then(leave, w.Unreachable()).export("leave")
	p.finish(store32(atSpare+8, load32(atSpare))).export("find")
	p.then(leave).finish(store32(atSpare+8, load32(atSpare))).export("both")
	m := l.load(p.Bytes())
	if m == nil {
		return
	}
	export := "find"
	if l.bench.slack.together {
		export = "both"
	}
	for range 3 {
		l.wantTrap(l.call(m, nil, sandbox.Call{Export: "leave", Limits: usual()}), "unreachable")
		l.fresh(l.call(m, nil, sandbox.Call{Export: export, Limits: usual()}))
	}
}

// leftFile opens a file and leaves it open. The next call reads from the
// descriptor that it would have.
func leftFile(l *lab) {
	first, second := l.env(l.files("open")...), l.env(l.files("open")...)
	p := newProgram(preview1, wasiFunctions())
	p.Data(atVector, vector(atLoot, lootSize))
	open := w.Code(p.do("path_open", (&command{p}).opening(0, num(mount), l.below(first, "open/readme"), 0, mayRead)), w.Drop())
	// What is read begins with granted; nothing was read when it is still 0.
	read := w.Code(p.do("fd_read", num(mount+1), num(atVector), num(1), num(atSpare)), w.Drop(), store32(atSpare+8, load32(atLoot)))
	p.then(open).export("leave")
	p.finish(read).export("find")
	p.then(open).finish(read).export("both")
	l.fresh(l.twice(p.Bytes(), first, second))
	for _, e := range []*hostfn.Env{first, second} {
		if tree, err := e.FS(); l.must(err) && tree.Usage().OpenFiles != 0 {
			l.breach("%d files are still open", tree.Usage().OpenFiles)
		}
	}
}
