package wasi_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/skillet-run/skillet/host/engine/jail"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasi"
)

// FuzzFunctions makes the calls that the input spells, on the memory that is
// the input itself: each is the number of a function and its parameters. None
// may panic, reach memory that is not the guest's, leave the tree, or leave
// something behind when the state is reset.
func FuzzFunctions(f *testing.F) {
	functions := wasi.Functions()
	for i, fn := range functions {
		script := []byte{byte(i)}
		for range fn.Params {
			script = binary.LittleEndian.AppendUint32(script, uint32(3+i))
		}
		f.Add(append(script, "sub/../a.txt\x00"...))
	}
	f.Add(opensAndReads(functions))
	f.Fuzz(func(t *testing.T, script []byte) {
		dir := tree(t)
		secret := filepath.Join(filepath.Dir(dir), "secret")
		if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
			t.Fatal(err)
		}
		quota := jail.Quota{FileBytes: 1 << 16, TotalBytes: 1 << 18, Files: 50}
		tree := jailOf(t, quota, jail.Root{Path: dir, Write: true})
		g := newGuest(t, settings(tree))
		const guard = 100 // behind the end of memory
		room := make([]byte, 4096+guard)
		copy(room, script)
		g.mem = room[:4096]
		g.follow(functions, script)
		for _, b := range room[4096:] {
			if b != 0 {
				t.Fatal("memory was written behind its end")
			}
		}
		if b, err := os.ReadFile(secret); err != nil || string(b) != "secret" {
			t.Fatalf("outside of the tree: %q, %v", b, err)
		}
		g.reset(settings(tree))
		if !g.state.Pristine() || tree.Usage().OpenFiles != 0 {
			t.Fatalf("pristine %v, %d files open", g.state.Pristine(), tree.Usage().OpenFiles)
		}
	})
}

// follow makes at most a hundred calls.
func (g *guest) follow(functions []wasi.Function, script []byte) {
	defer func() {
		if p := recover(); p != nil {
			if _, ok := p.(exited); !ok {
				panic(p)
			}
		}
	}()
	for range 100 {
		if len(script) == 0 {
			return
		}
		f := functions[int(script[0])%len(functions)]
		script = script[1:]
		stack := make([]uint64, len(f.Params)+1)
		for i := range f.Params {
			var word [4]byte
			script = script[copy(word[:], script):]
			stack[i] = uint64(binary.LittleEndian.Uint32(word[:]))
			if f.Params[i] == wasi.I64 {
				stack[i] = uint64(int64(int32(stack[i])))
			}
		}
		f.Call(&g.state, g.mem, stack)
	}
}

// opensAndReads is a script that opens a file, lists, reads and polls.
func opensAndReads(functions []wasi.Function) (script []byte) {
	number := map[string]byte{}
	for i, f := range functions {
		number[f.Name] = byte(i)
	}
	add := func(name string, params ...uint32) {
		script = append(script, number[name])
		for _, p := range params {
			script = binary.LittleEndian.AppendUint32(script, p)
		}
	}
	const text, list = 600, 620
	add("path_open", 3, 1, text, 5, 1, 66, 0, 0, 1000)
	add("fd_read", 4, list, 1, 1000)
	add("fd_write", 4, list, 1, 1000)
	add("fd_seek", 4, 0, 2, 1000)
	add("fd_readdir", 3, 2000, 500, 0, 1000)
	add("fd_renumber", 4, 1)
	add("path_rename", 3, text, 5, 3, text+1, 3)
	add("path_unlink_file", 3, text+1, 3)
	add("poll_oneoff", 700, 2000, 1, 1000)
	script = append(script, make([]byte, 700-len(script))...)
	copy(script[text:], "a.txt")
	binary.LittleEndian.PutUint32(script[list:], 3000)
	binary.LittleEndian.PutUint32(script[list+4:], 100)
	return script
}
