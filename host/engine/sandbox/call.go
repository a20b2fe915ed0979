package sandbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/skillet-run/skillet/host/engine/jail"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasi"
)

// A Call is what one run of an export is given. The zero value of each field
// gives nothing.
type Call struct {
	// Export is the function to run; "_start" for a WASI command.
	Export string
	// Input is what the guest reads as its input, or as standard input.
	Input []byte
	// Output is room for Result.Output, which begins where it does as long as it
	// fits into its capacity. What it held is lost, also when the call fails.
	// Nil makes a new one for each call, which for large outputs takes longer
	// than copying them.
	Output []byte
	// Args are the arguments of a WASI command after argv[0], which is always
	// "skill". They count as input.
	Args   []string
	Limits Limits
	// FS is what the guest sees through the WASI file functions: each root at
	// its own absolute path. Nil means no file at all.
	FS *jail.FS
	// Files makes the file tree of the call in place of FS, for files that are
	// in another process. It is given what is to be told of every quota that
	// stands in the way.
	Files func(refused func(*jail.QuotaError)) wasi.FS
	// Scratch gives a guest that can open files through WASI a directory of its own
	// at [wasi.ScratchPath], in memory: empty when the call begins, gone when it ends,
	// with at most so many bytes. It does not pass the Tape. 0 means none; where the
	// call has files at that place it has those.
	Scratch int64
	// Folder are files that such a guest finds besides, as they are when the call begins.
	// They do not pass the Tape either.
	Folder wasi.Folder
	// Clock gives the real time. Without it time begins at 2022-01-01 00:00
	// UTC with each call and moves by a millisecond each time it is asked, and
	// by the length of every sleep.
	Clock bool
	// Random gives the operating system's randomness. Without it the sequence
	// is a function of Seed alone.
	Random bool
	Seed   uint64
	// Later is how long after the usual moment time without a clock begins.
	Later time.Duration
	// Restart runs the module's initialisation again, with the clock and the
	// randomness of this call, where other calls begin at a snapshot that was
	// taken after it.
	Restart bool
	// Tape is what the guest's looks at the real clock, the system's randomness
	// and files pass through; nil for nothing. Host functions have their own.
	Tape wasi.Tape
	// Config is what the Extism function config_get reads.
	Config map[string]string
	// Env is handed to host functions as it is: see [Guest.Env].
	Env any
	// Log receives each log line of the guest, on the goroutine of the call.
	// Nil drops them.
	Log func(level Level, msg string)

	// Waits is told before the call waits for others to end, because as many run
	// as may, and again when it does not wait any more. Calls that need not wait
	// do not tell. Nil tells nobody.
	Waits func(waiting bool)

	session *Session // what the call goes on from, and leaves behind
}

// A Result is what a call left behind. It is filled as far as the call got,
// also when the call failed.
type Result struct {
	Output []byte
	// Stderr is standard error, and standard output of guests whose output it
	// is not. It is untrusted text: escape it before showing it.
	Stderr          []byte
	ExitCode        uint32 // result of the export, or exit code
	Fuel            uint64 // units spent
	PeakMemoryBytes uint64 // linear memory and Extism blocks at their largest
	HostCalls       int    // as counted against Limits.HostCalls
	Duration        time.Duration
	GuestError      string // what the guest gave to error_set or error_write
	Clock           bool   // whether it looked at the real time, or waited for it
	Random          bool   // whether it drew the system's randomness

	Figures
}

const (
	startExport      = "_start"
	initializeExport = "_initialize"
)

// initialisesItself reports whether the export is itself the initialisation, so
// that none comes before it.
func (c *Call) initialisesItself() bool {
	return c.Export == startExport || c.Export == initializeExport
}

// Call runs an export in a fresh instance and returns its output. It is safe
// for concurrent use.
//
// Errors: a [LimitError], [TrapError] or [GuestError]; [ErrNoExport],
// [ErrSignature], [ErrClosed], [ErrPanic]; the error of a host function; the
// error of ctx.
func (m *Module) Call(ctx context.Context, c Call) (r Result, err error) {
	began := sinceEpoch()
	c.Limits = c.Limits.filled()
	if err := m.admit(ctx, &c, began, &r); err != nil {
		r.Duration = sinceEpoch() - began
		return r, fmt.Errorf("call %s: %w", c.Export, err)
	}
	return r, nil
}

// admit refuses calls that cannot work, waits for a slot, and runs the call.
func (m *Module) admit(ctx context.Context, c *Call, began time.Duration, r *Result) error {
	if err := m.check(c); err != nil {
		return err
	}
	depth := Nesting(ctx)
	if depth >= MaxDepth {
		return &LimitError{What: "call depth", Limit: fmt.Sprintf("%d calls", MaxDepth), kind: ErrDepth}
	}
	l := m.runtime.shards.enter()
	defer func() { m.runtime.shards.leave(l) }()
	count := l.index
	if err := m.users.enter(count); err != nil {
		return err
	}
	defer m.users.leave(count)
	if depth > 0 {
		return m.execute(ctx, c, l, began, r)
	}
	slots := m.runtime.slots
	if slots.take(l) {
		defer slots.giveBack(l)
		return m.execute(ctx, c, l, began, r)
	}
	m.runtime.shards.leave(l)
	err := slots.wait(ctx, c.Waits)
	l = m.runtime.shards.enter()
	if err != nil {
		return err
	}
	defer slots.giveBack(l)
	now := sinceEpoch()
	err = m.execute(ctx, c, l, now, r)
	r.Duration += now - began
	return err
}

// execute runs the call in an instance that nobody has used, as far as any
// guest can tell. Its time began at began, after epoch.
func (m *Module) execute(ctx context.Context, c *Call, l *shard, began time.Duration, r *Result) error {
	bound := newCallContext(ctx, l, began, c.Limits.Wall)
	defer bound.release()
	in, how, err := m.obtain(bound, c)
	ready := bound.elapsed()
	if err == nil {
		err = contain(func() (err error) {
			if err = in.prepare(how); err == nil && c.session != nil {
				err = c.session.enter(in)
			}
			ready = bound.elapsed()
			return in.work(err, ready)
		})
	}
	if errors.Is(err, ErrPanic) {
		bound.shared = true // whoever was interrupted may have kept it
	}
	in.result(r)
	r.InstantiateTime = ready
	r.Duration = m.giveBack(in, err, bound, &r.Figures)
	return err
}

// work makes the call with an instance that is ready after so long, or failed to
// become so.
func (in *instance) work(err error, ready time.Duration) error {
	if err == nil {
		err = in.timeOver(ready)
	}
	switch {
	case err != nil:
		err = in.blame(err)
	case in.exited:
		err = in.blame(in.verdict())
	default:
		in.observe()
		err = in.run()
	}
	if s := in.call.session; s != nil {
		err = s.leave(in, err)
	}
	return err
}

// check refuses what can be told to fail before anything runs.
func (m *Module) check(c *Call) error {
	if err := c.Limits.check(); err != nil {
		return err
	}
	f, ok := m.export(c.Export)
	switch {
	case !ok:
		return fmt.Errorf("%w: the module exports %s", ErrNoExport, m.exportNames())
	case len(f.Params) > 0 || len(f.Results) > 1 || len(f.Results) == 1 && f.Results[0] != I32:
		return fmt.Errorf("%w: %s, want no parameters and at most one i32 result", ErrSignature, f)
	}
	if err := c.checkInput(); err != nil {
		return err
	}
	return m.checkSizes(c.Limits)
}

func (c *Call) checkInput() error {
	size := int64(len(c.Input))
	for _, a := range c.Args {
		size += int64(len(a))
	}
	if size > c.Limits.InputBytes {
		return &LimitError{What: "input", Limit: byteCount(c.Limits.InputBytes), kind: ErrInput,
			cause: fmt.Errorf("input is %s", byteCount(size))}
	}
	return nil
}

// checkSizes refuses modules that start above a limit, or could pass one that
// is not watched while they run: tables can only be bounded when a module is
// loaded.
func (m *Module) checkSizes(l Limits) error {
	if need := uint64(m.info.MemoryMinPages) * pageBytes; need > l.MemoryBytes {
		return &LimitError{What: "memory", Limit: byteCount(l.MemoryBytes), kind: ErrMemory,
			Setting: "security.resource_limits.max_memory_mb",
			cause:   fmt.Errorf("the module starts with %s", byteCount(need))}
	}
	for _, t := range m.declared.Tables {
		most := t.Min
		if m.declared.WritesTables {
			most = MaxTableElems
			if t.HasMax {
				most = min(t.Max, most)
			}
		}
		if most > l.TableElems {
			return &LimitError{What: "table", Limit: fmt.Sprintf("%d elements", l.TableElems), kind: ErrTable,
				cause: fmt.Errorf("a table of the module can have %d", most)}
		}
	}
	return nil
}

// exportNames lists the functions that could be called.
func (m *Module) exportNames() string {
	const most = 20
	text := ""
	for i, f := range m.info.Exports {
		switch {
		case i == most:
			return text + ", ..."
		case i > 0:
			text += ", "
		}
		text += f.Name
	}
	if text == "" {
		return "no function"
	}
	return text
}
