package wasi_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/skillet-run/skillet/host/engine/jail"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasi"
)

// TestTable wants the functions that wazero has, with the same types.
func TestTable(t *testing.T) {
	t.Parallel()
	r, _ := stock(t)
	b := r.NewHostModuleBuilder("x")
	wasi_snapshot_preview1.NewFunctionExporter().ExportFunctions(b)
	theirs, err := b.Compile(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(table) != len(theirs.ExportedFunctions()) || len(table) != 46 {
		t.Errorf("%d functions, wazero has %d", len(table), len(theirs.ExportedFunctions()))
	}
	for name, d := range theirs.ExportedFunctions() {
		f := table[name]
		if !slices.Equal(f.Params, d.ParamTypes()) || !slices.Equal(f.Results, d.ResultTypes()) {
			t.Errorf("%s: %v -> %v, wazero %v -> %v", name, f.Params, f.Results, d.ParamTypes(), d.ResultTypes())
		}
		for _, i := range f.Lengths {
			if i >= len(f.Params) || f.Params[i] != wasi.I32 {
				t.Errorf("%s: parameter %d is no length", name, i)
			}
		}
		if f.Path != strings.HasPrefix(name, "path_") {
			t.Errorf("%s: takes a path: %v", name, f.Path)
		}
	}
}

// leftover changes something of a state. The state is no longer pristine, but
// for what a Mark is about.
type leftover struct {
	what string
	do   func(g *guest)
	same bool // the descriptors are as before
}

// leftovers is the inventory of what a guest can change.
func leftovers() []leftover {
	return []leftover{
		{what: "a closed stream", do: func(g *guest) { g.must("fd_close", 1) }},
		{what: "a closed preopen", do: func(g *guest) { g.must("fd_close", 3) }},
		{what: "an open file", do: func(g *guest) { g.mustOpen(3, "a.txt", 0, rRead, 0) }},
		{what: "a file in place of a stream", do: func(g *guest) { g.must("fd_renumber", g.mustOpen(3, "a.txt", 0, rRead, 0), 0) }},
		{what: "a stream in place of a preopen", do: func(g *guest) { g.must("fd_renumber", 2, 3) }},
		{what: "streams that changed places", do: func(g *guest) {
			fd := g.mustOpen(3, "a.txt", 0, rRead, 0)
			g.must("fd_renumber", 1, fd)
		}},
		{what: "flags of a stream", do: func(g *guest) { g.must("fd_fdstat_set_flags", 0, fNonblock) }},
		{what: "flags of a preopen", do: func(g *guest) { g.must("fd_fdstat_set_flags", 3, fNonblock) }},
		{what: "rights of a preopen", do: func(g *guest) { g.must("fd_fdstat_set_rights", 3, 0, 0) }},
		{what: "a preopen that was listed", do: func(g *guest) { g.must("fd_readdir", 3, 4000, 100, 0, 2000) }},
		{what: "a file that was open", same: true, do: func(g *guest) { g.must("fd_close", g.mustOpen(3, "a.txt", 0, rRead, 0)) }},
		{what: "the time", same: true, do: func(g *guest) { g.must("clock_time_get", 1, 0, 2000) }},
		{what: "randomness", same: true, do: func(g *guest) { g.must("random_get", 3000, 8) }},
		{what: "input that was read", same: true, do: func(g *guest) { g.read(0, 2) }},
	}
}

// look is everything a guest sees of its state by asking.
func (g *guest) look() string {
	var b strings.Builder
	for fd := range uint64(8) {
		clear(g.mem[4000:4200])
		fmt.Fprint(&b, fd, g.call("fd_fdstat_get", fd, 4000), g.call("fd_tell", fd, 4100), g.call("fd_prestat_get", fd, 4150), g.mem[4000:4200], "\n")
	}
	clear(g.mem[4000:4200])
	fmt.Fprint(&b, g.call("clock_time_get", 0, 0, 4000), g.call("clock_time_get", 1, 0, 4010), g.call("random_get", 4100, 50),
		g.call("args_sizes_get", 4160, 4170), g.call("args_get", 4180, 4190), g.mem[4000:4200])
	return b.String()
}

// TestReset changes each thing of the inventory, resets, and wants to find
// everything as at first, without any file left open.
func TestReset(t *testing.T) {
	t.Parallel()
	tree := jailOf(t, jail.Quota{}, jail.Root{Path: tree(t), Write: true})
	set := func() wasi.Settings {
		return wasi.Settings{Args: []string{"skill", "x"}, Files: wasi.NewJail(tree, jail.Quota{}, nil), Seed: 4}
	}
	g := newGuest(t, set())
	first := g.look()
	for _, c := range leftovers() {
		g.reset(set())
		if !g.state.Pristine() || g.state.Used() != 0 || g.state.Mark() != (wasi.Mark{}) {
			t.Fatalf("before %s: not pristine", c.what)
		}
		c.do(g)
		if g.state.Pristine() != c.same {
			t.Errorf("%s: pristine is %v", c.what, !c.same)
		}
		g.reset(set())
		if open := tree.Usage().OpenFiles; open != 0 {
			t.Errorf("%s: %d files are still open", c.what, open)
		}
		if now := g.look(); now != first {
			t.Errorf("after %s:\n%s\nat first:\n%s", c.what, now, first)
		}
	}
}

// TestUsed wants each function to leave its trace, also in vain.
func TestUsed(t *testing.T) {
	t.Parallel()
	g := newGuest(t, wasi.Settings{})
	for _, c := range []struct {
		want wasi.Use
		do   func()
	}{
		{wasi.UsedArgs, func() { g.must("args_sizes_get", 2000, 2010) }},
		{wasi.UsedPreopens, func() { g.want(wasi.EBADF, "fd_prestat_get", 3, 2000) }},
		{wasi.UsedPreopens, func() { g.open(3, "x", 0, 0, 0) }},
		{wasi.UsedClock, func() { g.must("clock_time_get", 0, 0, 2000) }},
		{wasi.UsedRandom, func() { g.must("random_get", 2000, 1) }},
		{wasi.UsedStdin, func() { g.read(0, 1) }},
		{wasi.UsedOutput, func() { g.write(1, "x") }},
		{0, func() { g.must("fd_fdstat_get", 1, 2000); g.must("environ_sizes_get", 2000, 2010) }},
	} {
		g.reset(wasi.Settings{})
		c.do()
		if got := g.state.Used(); got != c.want {
			t.Errorf("used %b, want %b", got, c.want)
		}
	}
}

// observe draws and reads on.
func (g *guest) observe(n uint64) string {
	g.must("clock_time_get", 0, 0, 2000)
	g.must("clock_time_get", 1, 0, 2010)
	g.must("random_get", 3000, n)
	return fmt.Sprint(g.u64(2000), g.u64(2010), g.mem[3000:3000+n])
}

// TestMark continues from a mark as a guest that went there itself.
func TestMark(t *testing.T) {
	t.Parallel()
	g := newGuest(t, wasi.Settings{Seed: 7})
	g.observe(1000)
	m := g.state.Mark()
	want := g.observe(50)
	g.reset(wasi.Settings{Seed: 7})
	g.state.Resume(m)
	if got := g.observe(50); got != want || m.Random != 1000 || m.Elapsed != 2*wasi.ReadingStep {
		t.Errorf("continued from %+v: %s, want %s", m, got, want)
	}

	// An initialisation that knew neither clock nor seed.
	g.reset(wasi.Settings{})
	g.observe(1000)
	g.state.Begin(false, false, 7)
	if got := g.observe(50); got != want {
		t.Errorf("begun: %s, want %s", got, want)
	}
	g.state.Begin(true, true, 0)
	before := time.Now().UnixNano()
	g.must("clock_time_get", 0, 0, 2000)
	g.must("clock_time_get", 1, 0, 2010)
	if int64(g.u64(2000)) < before || time.Duration(g.u64(2010)) < 4*wasi.ReadingStep {
		t.Errorf("real time %d, since the beginning %d", g.u64(2000), g.u64(2010))
	}
}

// TestMarkFar looks at the time while it passes over what was drawn.
func TestMarkFar(t *testing.T) {
	t.Parallel()
	g := newGuest(t, wasi.Settings{})
	g.state.Resume(wasi.Mark{Random: 3 << 20})
	g.must("random_get", 3000, 8)
	source := rand.NewChaCha8([32]byte{})
	source.Read(make([]byte, 3<<20))
	if want := binary.LittleEndian.Uint64(binary.LittleEndian.AppendUint64(nil, source.Uint64())); g.u64(3000) != want || g.host.looked < 3 {
		t.Errorf("drew %x, want %x; looked at the time %d times", g.u64(3000), want, g.host.looked)
	}
}

func TestArgs(t *testing.T) {
	t.Parallel()
	g := newGuest(t, wasi.Settings{Args: []string{"skill", "", "a b"}})
	g.must("args_sizes_get", 2000, 2004)
	g.must("args_get", 3000, 3100)
	if g.u32(2000) != 3 || g.u32(2004) != 11 || string(g.mem[3100:3111]) != "skill\x00\x00a b\x00" || g.u32(3008) != 3107 {
		t.Errorf("%d arguments of %d bytes, %q", g.u32(2000), g.u32(2004), g.mem[3100:3111])
	}
	if err := g.state.Reset(g.host, wasi.Settings{Args: []string{"a\x00b"}}); err == nil {
		t.Error("an argument with a NUL was accepted")
	}
}

// TestNoMemory calls everything for a module without memory.
func TestNoMemory(t *testing.T) {
	t.Parallel()
	for name, f := range table {
		g := newGuest(t, settings(jailOf(t, jail.Quota{}, jail.Root{Path: tree(t), Write: true})))
		g.mem = nil
		params := make([]uint64, len(f.Params))
		if name == "poll_oneoff" {
			params[2] = 1
		}
		if name == "proc_exit" {
			continue
		}
		switch errno := g.call(name, params...); {
		case slices.Contains([]string{"environ_get", "fd_advise", "fd_close", "fd_datasync", "fd_sync", "fd_renumber", "fd_fdstat_set_flags", "sched_yield", "fd_fdstat_set_rights", "random_get"}, name):
			if errno != wasi.Success {
				t.Errorf("%s: %v", name, errno)
			}
		case errno == wasi.Success && name != "fd_read" && name != "fd_write":
			t.Errorf("%s succeeded without memory", name)
		}
	}
}

func TestExit(t *testing.T) {
	t.Parallel()
	g := newGuest(t, wasi.Settings{})
	defer func() {
		if p := recover(); p != exited(7) {
			t.Errorf("ended with %v", p)
		}
	}()
	g.call("proc_exit", 7)
	t.Error("proc_exit returned")
}

// TestDescriptors fills the table.
func TestDescriptors(t *testing.T) {
	t.Parallel()
	f := jailOf(t, jail.Quota{OpenFiles: 5000}, jail.Root{Path: tree(t)})
	g := newGuest(t, settings(f))
	for want := uint64(4); want < 1024; want++ {
		if fd := g.mustOpen(3, "a.txt", 0, rRead, 0); fd != want {
			t.Fatalf("descriptor %d, want %d", fd, want)
		}
	}
	if _, errno := g.open(3, "a.txt", 0, rRead, 0); errno != wasi.EMFILE || f.Usage().OpenFiles != 1020 {
		t.Errorf("one too many: %v with %d files open", errno, f.Usage().OpenFiles)
	}
	g.must("fd_close", 500)
	if fd := g.mustOpen(3, ".", 0, 0, 0); fd != 500 {
		t.Errorf("descriptor %d, want the free one", fd)
	}
	for _, to := range []uint64{1024, 5000, 1<<31 - 1, 1<<32 - 1} {
		g.want(wasi.EBADF, "fd_renumber", 3, to)
	}
	g.must("fd_renumber", 3, 3)
}

func TestReadWrite(t *testing.T) {
	t.Parallel()
	dir := tree(t)
	g := newGuest(t, settings(jailOf(t, jail.Quota{}, jail.Root{Path: dir, Write: true})))
	fd := g.mustOpen(3, "new", oCreate, rRead|rWrite, 0)
	g.write(fd, "0123456789")
	g.must("fd_seek", fd, 2, 0, 2000)
	if got := g.read(fd, 3); got != "234" {
		t.Errorf("read %q", got)
	}
	g.must("fd_tell", fd, 2000)
	if g.u64(2000) != 5 {
		t.Errorf("at %d", g.u64(2000))
	}
	g.must("fd_fdstat_set_flags", fd, fAppend|fSync)
	g.write(fd, "AB")
	if got := g.read(fd, 3); got != "" {
		t.Errorf("behind the end: %q", got)
	}
	g.must("fd_fdstat_set_flags", fd, 0)
	g.must("fd_seek", fd, 0, 0, 2000)
	g.write(fd, "x")
	if b, _ := os.ReadFile(filepath.Join(dir, "new")); string(b) != "x123456789AB" {
		t.Errorf("file %q", b)
	}
	// Flags are kept where the file has gone, or another has come.
	if err := os.Rename(filepath.Join(dir, "a.txt"), filepath.Join(dir, "new")); err != nil {
		t.Fatal(err)
	}
	g.want(wasi.ENOENT, "fd_fdstat_set_flags", fd, fAppend)
	g.write(fd, "y")
	if b, _ := os.ReadFile(filepath.Join(dir, "new")); string(b) != "hello" {
		t.Errorf("wrote to another file: %q", b)
	}
}

// TestVectors reads over the list of buffers itself.
func TestVectors(t *testing.T) {
	t.Parallel()
	dir := tree(t)
	wild := strings.Repeat("\xff", 64)
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte(wild), 0o600); err != nil {
		t.Fatal(err)
	}
	g := newGuest(t, settings(jailOf(t, jail.Quota{}, jail.Root{Path: dir, Write: true})))
	fd := g.mustOpen(3, "a.txt", 0, rRead, 0)
	for i := range uint32(3) { // each buffer is the rest of the list
		binary.LittleEndian.PutUint32(g.mem[1000+8*i:], 1008+8*i)
		binary.LittleEndian.PutUint32(g.mem[1004+8*i:], 8)
	}
	g.must("fd_read", fd, 1000, 3, 2000)
	if g.u32(2000) != 8 {
		t.Errorf("read %d bytes", g.u32(2000))
	}
	g.want(wasi.EFAULT, "fd_read", fd, 1000, 1<<29+1, 2000)
	g.want(wasi.EFAULT, "fd_write", 1, 65530, 1, 2000)
	for i := range uint32(80_000 / 8) {
		binary.LittleEndian.PutUint32(g.mem[8*i%60000:], 0)
		binary.LittleEndian.PutUint32(g.mem[8*i%60000+4:], 60000)
	}
	looked := g.host.looked
	g.want(wasi.Success, "fd_write", 1, 0, 5000, 65000)
	if g.host.looked == looked {
		t.Error("five thousand buffers without a look at the time")
	}
	g.mem = make([]byte, 1<<20)
	for i := range uint32(5000) {
		binary.LittleEndian.PutUint32(g.mem[8*i+4:], 1<<20)
	}
	g.want(wasi.EINVAL, "fd_write", 1, 0, 5000, 65000)
}

// TestTransfersAreInterrupted looks at the time within one large read.
func TestTransfersAreInterrupted(t *testing.T) {
	t.Parallel()
	dir := tree(t)
	if err := os.Truncate(filepath.Join(dir, "a.txt"), 4<<20); err != nil {
		t.Fatal(err)
	}
	g := newGuest(t, settings(jailOf(t, jail.Quota{}, jail.Root{Path: dir, Write: true})))
	g.mem = make([]byte, 5<<20)
	fd := g.mustOpen(3, "a.txt", 0, rRead, 0)
	looked := g.host.looked
	ptr, n := g.vector(1<<20, 4<<20)
	g.must("fd_read", fd, ptr, n, 2000)
	if g.u32(2000) != 4<<20 || g.host.looked-looked < 4 || g.host.moved < 4<<20 {
		t.Errorf("read %d bytes, looked at the time %d times, charged %d", g.u32(2000), g.host.looked-looked, g.host.moved)
	}
	looked = g.host.looked
	g.must("random_get", 0, 4<<20)
	if g.host.looked-looked < 4 {
		t.Error("four million random bytes without a look at the time")
	}
}

func TestClock(t *testing.T) {
	t.Parallel()
	g := newGuest(t, wasi.Settings{})
	g.must("clock_time_get", 0, 0, 2000)
	if g.u64(2000) != uint64(wasi.Epoch+int64(time.Millisecond)) || time.Unix(0, wasi.Epoch).UTC().String() != "2022-01-01 00:00:00 +0000 UTC" {
		t.Errorf("time begins at %d", g.u64(2000))
	}
	g.want(wasi.EINVAL, "clock_time_get", 2, 0, 2000)
	g.want(wasi.EINVAL, "clock_res_get", 2, 2000)
}

// subscription puts one into memory.
func (g *guest) subscription(i int, typ byte, what uint32, timeout time.Duration, flags byte) {
	b := g.mem[10000+48*i:][:48]
	clear(b)
	b[0], b[8] = byte(i), typ
	binary.LittleEndian.PutUint32(b[16:], what)
	binary.LittleEndian.PutUint64(b[24:], uint64(timeout))
	b[40] = flags
}

// poll waits for n subscriptions and returns the events.
func (g *guest) poll(n int) (events [][]byte) {
	g.t.Helper()
	g.must("poll_oneoff", 10000, 20000, uint64(n), 2000)
	for i := range int(g.u32(2000)) {
		events = append(events, g.mem[20000+32*i:][:32])
	}
	return events
}

func TestPoll(t *testing.T) {
	t.Parallel()
	g := newGuest(t, settings(jailOf(t, jail.Quota{}, jail.Root{Path: tree(t), Write: true})))
	g.subscription(0, 0, 1, 3*time.Second, 0)
	g.subscription(1, 0, 0, time.Second, 0)
	if e := g.poll(2); len(e) != 1 || e[0][0] != 1 || g.host.slept != time.Second {
		t.Errorf("events %v after %v", e, g.host.slept)
	}
	g.must("clock_time_get", 1, 0, 2000)
	if g.u64(2000) != uint64(time.Second+time.Millisecond) {
		t.Errorf("time is %d", g.u64(2000))
	}
	g.subscription(0, 0, 1, 3*time.Second, 1) // not for, but until
	if e := g.poll(1); len(e) != 1 || g.host.slept != 3*time.Second-time.Millisecond {
		t.Errorf("events %v after %v", e, g.host.slept)
	}
	fd := g.mustOpen(3, "a.txt", 0, rRead, 0)
	g.subscription(0, 0, 1, time.Hour, 0)
	g.subscription(1, 1, uint32(fd), 0, 0)
	g.subscription(2, 1, 0, 0, 0)
	g.subscription(3, 2, 1, 0, 0)
	g.subscription(4, 2, 99, 0, 0)
	slept := g.host.slept
	e := g.poll(5)
	if len(e) != 4 || g.host.slept != slept || e[0][16] != 5 || e[1][16] != 5 || e[2][10] != 2 || e[3][8] != byte(wasi.EBADF) {
		t.Errorf("events %v", e)
	}
	g.subscription(0, 3, 0, 0, 0)
	g.want(wasi.EINVAL, "poll_oneoff", 10000, 20000, 1, 2000)
	g.want(wasi.EINVAL, "poll_oneoff", 10000, 20000, 0, 2000)
	g.want(wasi.EFAULT, "poll_oneoff", 10000, 20000, 1<<31, 2000)
	g.subscription(0, 0, 1, 1<<63-1, 0) // for ever
	g.poll(1)
	g.must("clock_time_get", 1, 0, 2000)
	g.must("clock_time_get", 0, 0, 2010)
	if g.u64(2000) > 1<<63 || g.u64(2010) > 1<<63 {
		t.Errorf("time passed over: %d, %d", g.u64(2000), g.u64(2010))
	}
}

// names lists a directory in pieces of some size, from a cookie on.
func (g *guest) names(fd, size, cookie uint64) (names []string) {
	g.t.Helper()
	for {
		g.must("fd_readdir", fd, 4000, size, cookie, 2000)
		used := uint64(g.u32(2000))
		rest := g.mem[4000:][:used]
		for len(rest) >= 24 {
			n := 24 + binary.LittleEndian.Uint32(rest[16:])
			if int(n) > len(rest) {
				break
			}
			names = append(names, string(rest[24:n]))
			cookie = binary.LittleEndian.Uint64(rest)
			rest = rest[n:]
		}
		if used < size {
			return names
		}
	}
}

func TestReaddir(t *testing.T) {
	t.Parallel()
	dir := tree(t)
	for i := range 600 {
		if err := os.WriteFile(filepath.Join(dir, "sub", fmt.Sprint(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	g := newGuest(t, settings(jailOf(t, jail.Quota{}, jail.Root{Path: dir, Write: true})))
	fd := g.mustOpen(3, "sub", oDirectory, 0, 0)
	all := g.names(fd, 20000, 0)
	if len(all) != 603 || all[0] != "." || all[1] != ".." {
		t.Errorf("%d names: %q", len(all), all[:3])
	}
	for _, size := range []uint64{30, 64, 1000} {
		if got := g.names(fd, size, 0); !slices.Equal(got, all) {
			t.Errorf("in pieces of %d: %d names", size, len(got))
		}
	}
	for _, cookie := range []uint64{1, 2, 3, 300, 602, 603, 9999, 1 << 63} {
		want := all[min(cookie, uint64(len(all))):]
		if got := g.names(fd, 500, cookie); !slices.Equal(got, want) {
			t.Errorf("from %d: %d names, want %d", cookie, len(got), len(want))
		}
	}
	os.Remove(filepath.Join(dir, "sub/0"))
	if got := g.names(fd, 500, 0); len(got) != 602 {
		t.Errorf("again from the start: %d names", len(got))
	}
	if got := g.names(3, 500, 0); len(got) != 5 {
		t.Errorf("the preopen: %q", got)
	}
	g.want(wasi.ENOTDIR, "fd_readdir", g.mustOpen(3, "a.txt", 0, rRead, 0), 4000, 100, 0, 2000)
	g.want(wasi.ENOTDIR, "fd_readdir", 1, 4000, 100, 0, 2000)
	if g.host.fuel < 600*wasi.EntryCost {
		t.Errorf("%d units of fuel", g.host.fuel)
	}
}

// TestFileRoot has one file of a directory as its tree.
func TestFileRoot(t *testing.T) {
	t.Parallel()
	dir := tree(t)
	f := jailOf(t, jail.Quota{}, jail.Root{Path: filepath.Join(dir, "a.txt")}, jail.Root{Path: filepath.Join(dir, "missing")})
	g := newGuest(t, settings(f))
	g.must("fd_prestat_get", 3, 2000)
	n := g.u32(2004)
	g.must("fd_prestat_dir_name", 3, 3000, uint64(n))
	if got := string(g.mem[3000:][:n]); got != dir {
		t.Errorf("preopen %q", got)
	}
	if got := g.names(3, 500, 0); !slices.Equal(got, []string{".", "..", "a.txt"}) {
		t.Errorf("lists %q", got)
	}
	if got := g.read(g.mustOpen(3, "a.txt", 0, rRead, 0), 10); got != "hello" {
		t.Errorf("read %q", got)
	}
	for _, path := range []string{"sub", "sub/b.txt", "../x"} {
		if _, errno := g.open(3, path, 0, rRead, 0); errno != wasi.EPERM {
			t.Errorf("%s: %v", path, errno)
		}
	}
	ptr, l := g.text(100, ".")
	g.must("path_filestat_get", 3, 0, ptr, l, 2000)
	if wasi.Filetype(g.mem[2016]) != wasi.DirectoryFile || g.u64(2000) != 0 {
		t.Errorf("the directory around: %v", g.mem[2000:2064])
	}
}

// TestRights gives rights up.
func TestRights(t *testing.T) {
	t.Parallel()
	g := newGuest(t, settings(jailOf(t, jail.Quota{}, jail.Root{Path: tree(t), Write: true})))
	rights := func(fd uint64) (base, inheriting uint64) {
		g.must("fd_fdstat_get", fd, 2000)
		return g.u64(2008), g.u64(2016)
	}
	fd := g.mustOpen(3, "a.txt", 0, rRead|rWrite, 0)
	base, _ := rights(fd)
	g.must("fd_fdstat_set_rights", fd, base&^rWrite, 0)
	if now, _ := rights(fd); now != base&^rWrite {
		t.Errorf("rights %b, want %b", now, base&^rWrite)
	}
	if errno := g.write(fd, "x"); errno != wasi.EBADF {
		t.Errorf("wrote without the right: %v", errno)
	}
	g.want(wasi.ENOTCAPABLE, "fd_fdstat_set_rights", fd, base, 0)
	base, inheriting := rights(3)
	g.must("fd_fdstat_set_rights", 3, base, inheriting&^rWrite&^uint64(wasi.FDSeek))
	if _, errno := g.open(3, "a.txt", 0, rWrite, 0); errno != wasi.ENOTCAPABLE {
		t.Errorf("opened for writing without the right: %v", errno)
	}
	g.want(wasi.ENOTCAPABLE, "fd_seek", g.mustOpen(3, "a.txt", 0, rRead, 0), 0, 0, 2000)
	ptr, n := g.text(100, "d")
	g.must("fd_fdstat_set_rights", 3, base&^uint64(wasi.PathCreateDirectory), 0)
	g.want(wasi.ENOTCAPABLE, "path_create_directory", 3, ptr, n)
}

// TestQuota sees each quota, of the call and of the tree, as an error number
// and as a call of refused.
func TestQuota(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		quota jail.Quota
		what  string
		errno wasi.Errno
		do    func(g *guest) wasi.Errno
	}{
		{jail.Quota{OpenFiles: 1}, "open files", wasi.EMFILE, func(g *guest) wasi.Errno {
			g.mustOpen(3, "a.txt", 0, rRead, 0)
			_, errno := g.open(3, "a.txt", 0, rRead, 0)
			return errno
		}},
		{jail.Quota{FileBytes: 3}, "file size", wasi.EFBIG, func(g *guest) wasi.Errno {
			return g.write(g.mustOpen(3, "new", oCreate, rWrite, 0), "1234")
		}},
		{jail.Quota{FileBytes: 3}, "file size", wasi.EFBIG, func(g *guest) wasi.Errno {
			return g.write(g.mustOpen(3, "new", oCreate, rWrite, fAppend), "1234")
		}},
		{jail.Quota{FileBytes: 3}, "file size", wasi.EFBIG, func(g *guest) wasi.Errno {
			return g.call("fd_allocate", g.mustOpen(3, "new", oCreate, rWrite, 0), 0, 1<<40)
		}},
		{jail.Quota{TotalBytes: 3}, "bytes written", wasi.EDQUOT, func(g *guest) wasi.Errno {
			fd := g.mustOpen(3, "new", oCreate, rWrite, 0)
			g.write(fd, "123")
			return g.write(fd, "4")
		}},
		{jail.Quota{Files: 1}, "files created", wasi.EDQUOT, func(g *guest) wasi.Errno {
			g.mustOpen(3, "new", oCreate, rWrite, 0)
			ptr, n := g.text(100, "d")
			return g.call("path_create_directory", 3, ptr, n)
		}},
		{jail.Quota{Entries: 1}, "directory entries", wasi.EDQUOT, func(g *guest) wasi.Errno {
			if errno := g.call("fd_readdir", 3, 4000, 300, 2, 2000); errno != wasi.Success {
				return errno
			}
			return g.call("fd_readdir", 3, 4000, 300, 4, 2000)
		}},
	} {
		for _, ofCall := range []bool{true, false} {
			var refused []string
			root := jail.Root{Path: tree(t), Write: true}
			ofTree, mine := c.quota, jail.Quota{}
			if ofCall {
				ofTree, mine = mine, ofTree
			}
			f := jailOf(t, ofTree, root)
			set := settings(f)
			set.Files = wasi.NewJail(f, mine, func(q *jail.QuotaError) { refused = append(refused, q.What) })
			g := newGuest(t, set)
			if errno := c.do(g); errno != c.errno || len(refused) == 0 || refused[0] != c.what {
				t.Errorf("%s, of the call %v: %v, refused %q", c.what, ofCall, errno, refused)
			}
		}
	}
}

// TestLinks makes none, and follows those that are there only inside the tree.
func TestLinks(t *testing.T) {
	t.Parallel()
	dir := tree(t)
	for link, to := range map[string]string{"in": "a.txt", "out": "../secret", "up": "..", "loop": "loop"} {
		if err := os.Symlink(to, filepath.Join(dir, "sub", link)); err != nil {
			t.Fatal(err)
		}
	}
	os.Symlink("sub", filepath.Join(dir, "to"))
	f := jailOf(t, jail.Quota{}, jail.Root{Path: filepath.Join(dir, "sub"), Write: true})
	os.WriteFile(filepath.Join(dir, "sub/a.txt"), []byte("inside"), 0o600)
	os.WriteFile(filepath.Join(dir, "secret"), []byte("secret"), 0o600)
	g := newGuest(t, settings(f))
	if got := g.read(g.mustOpen(3, "in", 0, rRead, 0), 10); got != "inside" {
		t.Errorf("read %q", got)
	}
	for path, want := range map[string]wasi.Errno{"out": wasi.EPERM, "up/secret": wasi.EPERM, "loop": wasi.ELOOP} {
		if _, errno := g.open(3, path, 0, rRead, 0); errno != want {
			t.Errorf("%s: %v, want %v", path, errno, want)
		}
	}
	ptr, n := g.text(100, "in")
	g.want(wasi.ELOOP, "path_open", 3, 0, ptr, n, 0, rRead, 0, 0, 2000)
	g.must("path_readlink", 3, ptr, n, 3000, 5, 2000)
	g.want(wasi.ERANGE, "path_readlink", 3, ptr, n, 3000, 4, 2000)
	g.want(wasi.ENOTSUP, "path_filestat_set_times", 3, 0, ptr, n, 0, 0, 4)
	g.want(wasi.EPERM, "path_symlink", ptr, n, 3, ptr+1, 1)
	g.want(wasi.EPERM, "path_link", 3, 0, ptr, n, 3, ptr+1, 1)
}

// TestGuard tells the guest that it was refused and no more.
func TestGuard(t *testing.T) {
	t.Parallel()
	dir := tree(t)
	f, err := jail.Open([]jail.Root{{Path: dir}}, jail.GuardFunc(func(_ jail.Op, path string) error {
		if strings.HasSuffix(path, "a.txt") {
			return errors.New("policy p17")
		}
		return nil
	}), jail.Quota{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	g := newGuest(t, settings(f))
	if _, errno := g.open(3, "a.txt", 0, rRead, 0); errno != wasi.EACCES {
		t.Errorf("refused: %v", errno)
	}
	if _, errno := g.open(3, "new", oCreate, rWrite, 0); errno != wasi.EROFS {
		t.Errorf("read-only: %v", errno)
	}
}

// TestTimes sets times, exactly and to those of the guest's own clock.
func TestTimes(t *testing.T) {
	t.Parallel()
	dir := tree(t)
	g := newGuest(t, settings(jailOf(t, jail.Quota{}, jail.Root{Path: dir, Write: true})))
	modified := func(name string) int64 {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return info.ModTime().UnixNano()
	}
	ptr, n := g.text(100, "a.txt")
	g.must("path_filestat_set_times", 3, 1, ptr, n, 0, 1e9+5, 4)
	if got := modified("a.txt"); got != 1e9+5 {
		t.Errorf("set to %d", got)
	}
	g.must("fd_filestat_set_times", g.mustOpen(3, "a.txt", 0, rRead, 0), 0, 0, 8)
	if got := modified("a.txt"); got != wasi.Epoch+int64(wasi.ReadingStep) {
		t.Errorf("now is %d", got)
	}
	g.must("fd_filestat_set_times", 3, 7, 7, 5)
	if got := modified("."); got != 7 {
		t.Errorf("the directory: %d", got)
	}
}

// TestRoots moves nothing from one root to another.
func TestRoots(t *testing.T) {
	t.Parallel()
	a, b := tree(t), tree(t)
	f := jailOf(t, jail.Quota{}, jail.Root{Path: a, Write: true}, jail.Root{Path: b, Write: true})
	g := newGuest(t, settings(f))
	sub := g.mustOpen(3, "sub", oDirectory, 0, 0)
	ptr, n := g.text(100, "a.txt")
	g.want(wasi.EXDEV, "path_rename", 3, ptr, n, 4, ptr, n)
	g.must("path_rename", 3, ptr, n, sub, ptr, n)
	if _, err := os.Stat(filepath.Join(a, "sub/a.txt")); errors.Is(err, fs.ErrNotExist) {
		t.Error("not moved")
	}
}

// TestEnd ends a call in the middle of its work. Everything is closed.
func TestEnd(t *testing.T) {
	t.Parallel()
	f := jailOf(t, jail.Quota{}, jail.Root{Path: tree(t)})
	set := settings(f)
	for stop := 1; stop < 12; stop++ {
		g := newGuest(t, set)
		left := stop
		g.host.onCheck = func() {
			if left--; left == 0 {
				panic("over")
			}
		}
		func() {
			defer func() { recover() }()
			fd := g.mustOpen(3, "a.txt", 0, rRead, 0)
			g.names(3, 500, 0)
			g.read(fd, 3)
			g.call("fd_filestat_get", fd, 2000)
			g.call("fd_seek", fd, 0, 2, 2000)
		}()
		g.host.onCheck = nil
		g.state.Close()
		if open := f.Usage().OpenFiles; open != 0 {
			t.Errorf("ended at %d: %d files are still open", stop, open)
		}
		g.want(wasi.EBADF, "fd_close", 3)
	}
}
