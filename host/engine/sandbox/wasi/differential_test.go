package wasi_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasi"
	w "github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
)

// step is one call of a random sequence, with what is put into memory before.
type step struct {
	name   string
	params []uint64
	paths  [2]string
	data   []byte // at inAt
	empty  bool   // the length of the first path is 0
}

func (s step) String() string { return fmt.Sprintf("%s%v %q", s.name, s.params, s.paths) }

// Where things are in the memory of both sides. Only what lies from outAt on
// is written by the functions and compared.
const (
	pathAt, path2At = 1000, 1500
	inAt            = 2000
	outAt           = 4096
	bufAt           = 5000
	outEnd          = 8192
)

// prepare puts what a step needs into memory.
func (s step) prepare(mem []byte) {
	clear(mem[pathAt:outEnd])
	copy(mem[pathAt:], s.paths[0])
	copy(mem[path2At:], s.paths[1])
	copy(mem[inAt:], s.data)
}

// maker makes random steps.
type maker struct{ r *rand.Rand }

func (m maker) one(values ...uint64) uint64 { return values[m.r.IntN(len(values))] }

// fd is a descriptor that may be open.
func (m maker) fd() uint64 { return m.one(3, 3, 3, 4, 4, 5, 5, 6, 7, 0, 1, 2, 60) }

func (m maker) dir() uint64 { return m.one(3, 3, 3, 3, 3, 4, 5, 6, 1, 60) }

func (m maker) path() string {
	list := []string{
		"a.txt", "a.txt", "sub", "sub", "empty", "sub/b.txt", "new", "new", "sub/new", "other", ".", "./a.txt", "sub/../a.txt",
		"sub/", "a.txt/", "missing/x", "..", "../x", "/etc/passwd", "sub/../../x", "sub//b.txt", "b.txt", strings.Repeat("n", 300),
	}
	return list[m.r.IntN(len(list))]
}

func (m maker) offset() uint64 {
	return m.one(0, 1, 3, 5, 100, 4096, 1<<62, 1<<63, 1<<64-1)
}

// vectors is a list of up to three buffers at inAt.
func (m maker) vectors() (data []byte, count uint64) {
	count = uint64(m.r.IntN(4))
	for range count {
		at := m.one(bufAt, bufAt+100, bufAt+200)
		n := m.one(0, 1, 7, 64)
		if m.r.IntN(40) == 0 {
			at = 1 << 31
		}
		data = binary.LittleEndian.AppendUint32(data, uint32(at))
		data = binary.LittleEndian.AppendUint32(data, uint32(n))
	}
	return data, count
}

// result is where a result goes, now and then outside of memory.
func (m maker) result() uint64 {
	if m.r.IntN(60) == 0 {
		return 1<<32 - 2
	}
	return outAt
}

// subscriptions are up to three things to poll for: short sleeps and files.
func (m maker) subscriptions() (data []byte, count uint64) {
	count = 1 + uint64(m.r.IntN(3))
	timeout, clocks := m.one(0, 1000, 2000), m.r.IntN(2) == 0
	for i := range count {
		sub := make([]byte, 48)
		binary.LittleEndian.PutUint64(sub, 100+i)
		sub[8] = byte(m.one(0, 0, 1, 2, 2, 9))
		binary.LittleEndian.PutUint32(sub[16:], uint32(m.fd()))
		if sub[8] == 0 || clocks {
			sub[8] = 0
			binary.LittleEndian.PutUint32(sub[16:], uint32(m.one(0, 1)))
			binary.LittleEndian.PutUint64(sub[24:], timeout)
			sub[40] = byte(m.one(0, 0, 0, 0, 0, 7))
		}
		data = append(data, sub...)
	}
	return data, count
}

// step makes one. Functions that make files are drawn more often.
func (m maker) step() step {
	often := []string{
		"path_open", "path_open", "path_open", "path_open", "fd_read", "fd_read", "fd_write", "fd_write", "fd_pread",
		"fd_pwrite", "fd_seek", "fd_seek", "fd_tell", "fd_close", "fd_readdir", "path_create_directory",
		"path_filestat_get", "path_rename", "path_unlink_file", "path_remove_directory", "fd_filestat_get",
	}
	names := slices.Concat(often, often, often, []string{
		"fd_filestat_set_size", "fd_filestat_set_times", "path_filestat_set_times", "fd_fdstat_get",
		"fd_fdstat_set_flags", "fd_allocate", "fd_advise", "fd_sync", "fd_datasync", "fd_renumber", "fd_prestat_get",
		"fd_prestat_dir_name", "clock_time_get", "clock_res_get", "random_get", "args_get", "args_sizes_get",
		"environ_get", "environ_sizes_get", "sched_yield", "poll_oneoff", "proc_raise", "path_readlink",
		"path_symlink", "path_link", "fd_fdstat_set_rights", "sock_recv", "sock_send", "sock_shutdown", "sock_accept",
	})
	s := step{name: names[m.r.IntN(len(names))], paths: [2]string{m.path(), m.path()}}
	s.params = m.params(&s)
	return s
}

func (m maker) params(s *step) []uint64 {
	n1, n2 := uint64(len(s.paths[0])), uint64(len(s.paths[1]))
	if m.r.IntN(80) == 0 {
		n1, s.empty = 0, true
	}
	switch s.name {
	case "path_open":
		rights := m.one(0, rRead, rRead, rWrite, rRead|rWrite, rRead|rWrite)
		return []uint64{m.dir(), m.one(0, 1), pathAt, n1, m.one(0, 0, 1, 1, 2, 2, 3, 5, 8, 9), rights, 0, m.one(0, 0, 0, fAppend, fNonblock), m.result()}
	case "fd_read", "fd_write":
		data, count := m.vectors()
		s.data = data
		return []uint64{m.fd(), inAt, count, m.result()}
	case "fd_pread", "fd_pwrite":
		data, count := m.vectors()
		s.data = data
		return []uint64{m.fd(), inAt, count, m.offset(), m.result()}
	case "poll_oneoff":
		data, count := m.subscriptions()
		s.data = data
		return []uint64{inAt, bufAt, m.one(count, count, count, 0), m.result()}
	case "path_create_directory", "path_unlink_file", "path_remove_directory":
		return []uint64{m.dir(), pathAt, n1}
	case "path_filestat_get":
		return []uint64{m.dir(), m.one(0, 1), pathAt, n1, m.result()}
	case "path_filestat_set_times":
		return []uint64{m.dir(), 1, pathAt, n1, 5000, 6000, m.one(1, 2, 4, 8, 5, 10, 3, 0)}
	case "path_rename":
		return []uint64{m.dir(), pathAt, n1, m.dir(), path2At, n2}
	case "path_link":
		return []uint64{m.dir(), 0, pathAt, n1, m.dir(), path2At, n2}
	case "path_symlink":
		return []uint64{pathAt, n1, m.dir(), path2At, n2}
	case "path_readlink":
		return []uint64{m.dir(), pathAt, n1, bufAt, 100, m.result()}
	}
	return m.plainParams(s.name)
}

// plainParams are those of the functions without buffers and paths.
func (m maker) plainParams(name string) []uint64 {
	switch name {
	case "fd_seek":
		return []uint64{m.fd(), m.one(0, 1, 5, 1<<64-1, 1<<64-3), m.one(0, 1, 2, 2, 7), m.result()}
	case "fd_readdir":
		return []uint64{m.dir(), bufAt, m.one(0, 23, 30, 100, 2000, 2000), m.one(0, 0, 0, 1, 2, 3), m.result()}
	case "fd_filestat_set_size":
		return []uint64{m.fd(), m.one(0, 3, 10, 1<<63)}
	case "fd_filestat_set_times":
		return []uint64{m.fd(), 5000, 6000, m.one(1, 2, 4, 8, 5, 10, 3, 0)}
	case "fd_allocate":
		return []uint64{m.fd(), m.one(0, 10, 1<<63), m.one(0, 10, 1<<63)}
	case "fd_advise":
		return []uint64{m.fd(), 0, 0, m.one(0, 1, 5, 6, 9)}
	case "fd_fdstat_set_flags":
		return []uint64{m.fd(), m.one(0, fAppend, fNonblock, fSync, fAppend|fDsync)}
	case "fd_fdstat_set_rights":
		return []uint64{m.fd(), 1<<64 - 1, 0}
	case "fd_renumber":
		return []uint64{m.fd(), m.fd()}
	case "fd_prestat_dir_name":
		return []uint64{m.fd(), bufAt, m.one(0, 3, 40, 500)}
	case "clock_time_get":
		return []uint64{m.one(0, 1, 2, 9), 0, m.result()}
	case "clock_res_get":
		return []uint64{m.one(0, 1, 2, 9), m.result()}
	case "random_get":
		return []uint64{bufAt, m.one(0, 1, 8, 100, 1<<31)}
	case "args_get", "environ_get", "args_sizes_get", "environ_sizes_get":
		return []uint64{m.result(), m.one(bufAt, 1<<32-3)}
	case "fd_tell", "fd_filestat_get", "fd_fdstat_get", "fd_prestat_get":
		return []uint64{m.fd(), m.result()}
	case "sched_yield":
		return nil
	}
	params := make([]uint64, len(table[name].Params)) // sockets, sync, close, proc_raise
	if len(params) > 0 {
		params[0] = m.fd()
	}
	return params
}

// theirs is wazero's implementation behind a module that only passes calls on.
type theirs struct {
	mod            api.Module
	stdout, stderr bytes.Buffer
}

// passOn makes that module.
func passOn() []byte {
	m := w.New()
	type pair struct{ name, params, results string }
	names := map[wasi.ValueType]string{wasi.I32: "i32", wasi.I64: "i64"}
	var all []pair
	for _, f := range wasi.Functions() {
		var params []string
		for _, p := range f.Params {
			params = append(params, names[p])
		}
		results := strings.Repeat("i32", len(f.Results))
		all = append(all, pair{f.Name, strings.Join(params, " "), results})
		m.ImportFunc(wasi.ModuleName, f.Name, w.Sig(strings.Join(params, " "), results))
	}
	m.Memory(1, 1)
	m.ExportMemory("memory")
	for i, f := range all {
		var code []byte
		for p := range strings.Fields(f.params) {
			code = append(code, w.LocalGet(p)...)
		}
		m.ExportFunc(f.name, m.Func(w.Sig(f.params, f.results), "", code, w.Call(i)))
	}
	return m.Bytes()
}

// stock is a runtime with wazero's own WASI and the compiled module.
func stock(t testing.TB) (wazero.Runtime, wazero.CompiledModule) {
	t.Helper()
	ctx := context.Background()
	r := wazero.NewRuntime(ctx)
	t.Cleanup(func() { r.Close(ctx) })
	wasi_snapshot_preview1.MustInstantiate(ctx, r)
	code, err := r.CompileModule(ctx, passOn())
	if err != nil {
		t.Fatal(err)
	}
	return r, code
}

// newTheirs mounts dir under another name, with a clock and randomness like
// those a guest has here by default.
func newTheirs(t testing.TB, r wazero.Runtime, code wazero.CompiledModule, dir, name string) *theirs {
	t.Helper()
	out := &theirs{}
	elapsed := int64(0)
	pass := func() int64 { elapsed += int64(wasi.ReadingStep); return elapsed }
	config := wazero.NewModuleConfig().WithName("").WithArgs("skill", "two words").
		WithStdin(strings.NewReader("input")).WithStdout(&out.stdout).WithStderr(&out.stderr).
		WithFSConfig(wazero.NewFSConfig().WithDirMount(dir, name)).
		WithRandSource(rand.NewChaCha8([32]byte{})).
		WithWalltime(func() (int64, int32) { at := wasi.Epoch + pass(); return at / 1e9, int32(at % 1e9) }, sys.ClockResolution(wasi.ReadingStep)).
		WithNanotime(pass, 1).
		WithNanosleep(func(ns int64) { elapsed += ns })
	var err error
	if out.mod, err = r.InstantiateModule(context.Background(), code, config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.mod.Close(context.Background()) })
	return out
}

func (s *theirs) memory() []byte {
	b, _ := s.mod.Memory().Read(0, s.mod.Memory().Size())
	return b
}

// errPanic stands for a panic of the other implementation.
const errPanic wasi.Errno = 999

func (s *theirs) call(name string, params []uint64) wasi.Errno {
	out, err := s.mod.ExportedFunction(name).Call(context.Background(), params...)
	if err != nil {
		return errPanic
	}
	return wasi.Errno(out[0])
}

// sameOutput compares what a call has written, but for what depends on the
// directory: numbers of devices and files, times, the order of entries; and
// for rights, which wazero does not have.
func sameOutput(s step, ours, theirs []byte) bool {
	a, b := slices.Clone(ours[outAt:outEnd]), slices.Clone(theirs[outAt:outEnd])
	for _, m := range [][]byte{a, b} {
		switch s.name {
		case "fd_filestat_get", "path_filestat_get":
			clear(m[:16])
			if m[16] == byte(wasi.DirectoryFile) {
				clear(m[24:40]) // links and size
			}
			clear(m[40:64])
		case "fd_fdstat_get":
			clear(m[8:24])
			if m[0] == byte(wasi.BlockDevice) {
				clear(m[2:4]) // streams keep no flags in wazero
			}
		case "fd_readdir":
			if s.params[3] != 0 { // which entries these are is the directory's business
				clear(m)
				continue
			}
			sortEntries(m, s.params[2])
		}
	}
	return bytes.Equal(a, b)
}

// sortEntries replaces a listing that is complete by its sorted names.
func sortEntries(out []byte, size uint64) {
	used := binary.LittleEndian.Uint32(out)
	buf := out[bufAt-outAt:]
	var names []string
	for rest := buf[:used]; len(rest) >= 24 && uint64(used) < size; {
		n := 24 + binary.LittleEndian.Uint32(rest[16:])
		names = append(names, string(rest[24:n])+" "+strconv.Itoa(int(rest[20])))
		rest = rest[n:]
	}
	clear(buf)
	slices.Sort(names)
	copy(buf, strings.Join(names, "\n"))
}

// contents lists a tree with what is in it.
func contents(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		text := []byte(nil)
		if d.Type().IsRegular() {
			text, err = os.ReadFile(path)
		}
		fmt.Fprintf(&b, "%s %v %q\n", rel, d.Type(), text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
