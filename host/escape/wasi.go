package escape

import (
	"fmt"
	"strings"

	w "github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
)

// wasiFunctions are the functions of WASI preview 1 that guests use here.
func wasiFunctions() []function {
	i32s := func(n int) string { return strings.TrimSpace(strings.Repeat("i32 ", n)) }
	f := func(name, params string) function { return function{name, params, "i32"} }
	return []function{
		f("path_symlink", i32s(5)), f("path_link", i32s(7)), f("path_rename", i32s(6)),
		f("path_open", "i32 i32 i32 i32 i32 i64 i64 i32 i32"), f("path_readlink", i32s(6)),
		f("path_unlink_file", i32s(3)), f("path_remove_directory", i32s(3)), f("path_create_directory", i32s(3)),
		f("path_filestat_get", i32s(5)), f("path_filestat_set_times", "i32 i32 i32 i32 i64 i64 i32"),
		f("fd_read", i32s(4)), f("fd_write", i32s(4)), f("fd_readdir", "i32 i32 i32 i64 i32"), f("fd_renumber", i32s(2)),
		f("fd_filestat_set_size", "i32 i64"), f("fd_allocate", "i32 i64 i64"), f("fd_close", i32s(1)),
		f("fd_prestat_get", i32s(2)),
		f("environ_sizes_get", i32s(2)), f("environ_get", i32s(2)), f("args_sizes_get", i32s(2)), f("args_get", i32s(2)),
		f("clock_time_get", "i32 i64 i32"), f("random_get", i32s(2)), f("poll_oneoff", i32s(4)),
		{"proc_exit", "i32", ""},
	}
}

// mount is the descriptor of the first directory a guest is given.
const mount = 3

// oflags and rights of path_open.
const (
	create, directory, exclusive, truncate = 1, 2, 4, 8

	mayRead, mayWrite  = 1 << 1, 1 << 6
	mayList, mayResize = 1 << 14, 1<<8 | 1<<22 // fd_readdir; fd_allocate and fd_filestat_set_size
)

// A command is a WASI command under construction. What it reads goes to
// standard output at once, the result of each step at the end.
type command struct{ *program }

// newCommand is a command that does nothing yet.
func newCommand() *command {
	c := &command{newProgram(preview1, wasiFunctions())}
	c.Data(atSlots, []byte(strings.Repeat("\xff", 256))) // nothing is open yet
	c.Data(atVector, vector(atLoot, lootSize, 0, 0, atLoot, 0))
	return c
}

// bytes ends the command.
func (c *command) bytes() []byte {
	iov := c.keep(vector(atTrace, int32(4*len(c.steps))))
	c.then(c.do("fd_write", num(1), num(iov), num(1), num(atSpare)), w.Drop())
	c.ExportFunc("_start", c.Func(w.Sig("", ""), locals, c.code))
	return c.Bytes()
}

// slot is where the descriptor of the n-th opened file is kept.
func slot(n int) int32 { return int32(atSlots + 4*n) }

// fd pushes the descriptor in a slot; mount for slot -1.
func fd(n int) []byte {
	if n < 0 {
		return num(mount)
	}
	return load32(slot(n))
}

// symlink makes a link at a path.
func (c *command) symlink(target, path string) *command {
	c.step("path_symlink", c.str(target), num(mount), c.str(path))
	return c
}

// link makes a hard link.
func (c *command) link(from, to string) *command {
	c.step("path_link", num(mount), num(0), c.str(from), num(mount), c.str(to))
	return c
}

// rename moves a path.
func (c *command) rename(from, to string) *command {
	c.step("path_rename", num(mount), c.str(from), num(mount), c.str(to))
	return c
}

// open opens a path below the descriptor in slot in, following links, and keeps
// what it gets in slot n.
func (c *command) open(n, in int, path string, oflags int32, rights int64) *command {
	c.step("path_open", c.opening(n, fd(in), path, oflags, rights))
	return c
}

// opening pushes the arguments of path_open.
func (c *command) opening(n int, dir []byte, path string, oflags int32, rights int64) []byte {
	return w.Code(dir, num(1), c.str(path), num(oflags), long(rights), long(0), num(0), num(slot(n)))
}

// read reads once from the descriptor in a slot and puts out what came.
func (c *command) read(n int) *command {
	c.record("fd_read", c.reading(n))
	c.then(c.do("fd_write", num(1), num(atVector+16), num(1), num(atSpare)), w.Drop())
	return c
}

// reading leaves the result of fd_read; what came is what the second vector
// then says.
func (c *command) reading(n int) []byte {
	return w.Code(store32(atVector+20, num(0)), c.do("fd_read", fd(n), num(atVector), num(1), num(atVector+20)))
}

// write writes a text to the descriptor in a slot.
func (c *command) write(n int, text string) *command {
	at := c.keep([]byte(text))
	c.step("fd_write", fd(n), num(c.keep(vector(at, int32(len(text))))), num(1), num(atSpare))
	return c
}

// on is a step on one path below the mount.
func (c *command) on(name, path string) *command {
	c.step(name, num(mount), c.str(path))
	return c
}

// errno is what WASI calls an error number (wasi_snapshot_preview1, errno).
func errno(n uint32) string {
	names := map[uint32]string{
		0: "success", 2: "EACCES", 6: "EAGAIN", 8: "EBADF", 20: "EEXIST", 21: "EFAULT", 25: "EILSEQ", 28: "EINVAL", 29: "EIO", 31: "EISDIR",
		32: "ELOOP", 37: "ENAMETOOLONG", 44: "ENOENT", 51: "ENOSPC", 52: "ENOSYS", 54: "ENOTDIR", 55: "ENOTEMPTY", 58: "ENOTSUP",
		61: "EOVERFLOW", 63: "EPERM", 69: "EROFS", 70: "ESPIPE", 75: "EXDEV", 76: "ENOTCAPABLE",
	}
	if name, ok := names[n]; ok {
		return name
	}
	return fmt.Sprintf("errno %d", n)
}
