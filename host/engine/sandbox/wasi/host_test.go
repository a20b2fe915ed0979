package wasi_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/engine/jail"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasi"
)

// exited is how the host of the tests ends a guest.
type exited uint32

// host is a Host that keeps everything in memory.
type host struct {
	stdin          *bytes.Reader
	stdout, stderr bytes.Buffer
	fuel           uint64
	moved          int
	looked         int // at the time
	slept          time.Duration
	onCheck        func()
	deaf           bool // to standard error
}

func (h *host) Charge(fuel uint64)    { h.fuel += fuel }
func (h *host) ChargeBytes(n int)     { h.moved += n }
func (h *host) Sleep(d time.Duration) { h.slept += d }
func (h *host) Exit(code uint32)      { panic(exited(code)) }
func (h *host) StdinLen() int         { return h.stdin.Len() }
func (h *host) WriteStdout(b []byte)  { h.stdout.Write(b) }

func (h *host) WriteStderr(b []byte) {
	if !h.deaf {
		h.stderr.Write(b)
	}
}

func (h *host) CheckTime() {
	h.looked++
	if h.onCheck != nil {
		h.onCheck()
	}
}

func (h *host) ReadStdin(b []byte) int {
	n, _ := h.stdin.Read(b)
	return n
}

// table has the functions by name.
var table = func() map[string]wasi.Function {
	all := map[string]wasi.Function{}
	for _, f := range wasi.Functions() {
		all[f.Name] = f
	}
	return all
}()

// guest is a state with a host and memory, but without a program: the tests
// make its calls.
type guest struct {
	t     testing.TB
	state wasi.State
	host  *host
	mem   []byte
}

func newHost(stdin string) *host { return &host{stdin: bytes.NewReader([]byte(stdin))} }

// newGuest returns one with a page of memory. It is closed after the test.
func newGuest(t testing.TB, set wasi.Settings) *guest {
	t.Helper()
	g := &guest{t: t, host: newHost("input"), mem: make([]byte, 1<<16)}
	g.reset(set)
	t.Cleanup(g.state.Close)
	return g
}

func (g *guest) reset(set wasi.Settings) {
	g.t.Helper()
	if set.Args == nil {
		set.Args = []string{"skill"}
	}
	if err := g.state.Reset(g.host, set); err != nil {
		g.t.Fatal(err)
	}
}

// call makes one call.
func (g *guest) call(name string, params ...uint64) wasi.Errno {
	f, ok := table[name]
	if !ok || len(params) != len(f.Params) {
		g.t.Fatalf("%s with %d parameters", name, len(params))
	}
	stack := append(params, 0)
	f.Call(&g.state, g.mem, stack)
	return wasi.Errno(stack[0])
}

// must makes a call that has to succeed.
func (g *guest) must(name string, params ...uint64) {
	g.t.Helper()
	g.want(wasi.Success, name, params...)
}

func (g *guest) want(errno wasi.Errno, name string, params ...uint64) {
	g.t.Helper()
	if got := g.call(name, params...); got != errno {
		g.t.Errorf("%s%v: %v, want %v", name, params, got, errno)
	}
}

// text puts a string into memory and returns it as two parameters.
func (g *guest) text(at uint64, s string) (ptr, n uint64) {
	copy(g.mem[at:], s)
	return at, uint64(len(s))
}

func (g *guest) u32(at int) uint32 { return binary.LittleEndian.Uint32(g.mem[at:]) }
func (g *guest) u64(at int) uint64 { return binary.LittleEndian.Uint64(g.mem[at:]) }

// vector puts a list of one buffer at 1000.
func (g *guest) vector(at, n uint32) (ptr, count uint64) {
	binary.LittleEndian.PutUint32(g.mem[1000:], at)
	binary.LittleEndian.PutUint32(g.mem[1004:], n)
	return 1000, 1
}

const (
	oCreate, oDirectory, oExclusive, oTruncate = 1, 2, 4, 8

	fAppend, fDsync, fNonblock, fRsync, fSync = 1, 2, 4, 8, 16

	rRead, rWrite = uint64(wasi.FDRead), uint64(wasi.FDWrite)
)

// open opens a path below a directory, following links.
func (g *guest) open(dir uint64, path string, oflags, rights, fdflags uint64) (uint64, wasi.Errno) {
	ptr, n := g.text(100, path)
	errno := g.call("path_open", dir, 1, ptr, n, oflags, rights, 0, fdflags, 2000)
	return uint64(g.u32(2000)), errno
}

func (g *guest) mustOpen(dir uint64, path string, oflags, rights, fdflags uint64) uint64 {
	g.t.Helper()
	fd, errno := g.open(dir, path, oflags, rights, fdflags)
	if errno != wasi.Success {
		g.t.Fatalf("open %s: %v", path, errno)
	}
	return fd
}

// write writes at the position of a descriptor.
func (g *guest) write(fd uint64, s string) wasi.Errno {
	at, n := g.text(3000, s)
	ptr, count := g.vector(uint32(at), uint32(n))
	return g.call("fd_write", fd, ptr, count, 2000)
}

// read reads from the position of a descriptor.
func (g *guest) read(fd uint64, n uint32) string {
	g.t.Helper()
	ptr, count := g.vector(3000, n)
	g.must("fd_read", fd, ptr, count, 2000)
	return string(g.mem[3000:][:g.u32(2000)])
}

// tree makes a directory with a.txt (5 bytes), sub/b.txt, and empty/.
func tree(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"sub", "empty"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"a.txt": "hello", "sub/b.txt": "below"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// jailOf opens a jail on a directory that may be written.
func jailOf(t testing.TB, q jail.Quota, roots ...jail.Root) *jail.FS {
	t.Helper()
	f, err := jail.Open(roots, jail.GuardFunc(func(jail.Op, string) error { return nil }), q)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// settings gives a guest a jail.
func settings(f *jail.FS) wasi.Settings {
	return wasi.Settings{Files: wasi.NewJail(f, jail.Quota{}, func(*jail.QuotaError) {})}
}
