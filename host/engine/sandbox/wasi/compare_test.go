package wasi_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/engine/jail"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasi"
)

// difference is an answer that is meant to be another than wazero's.
type difference struct {
	functions string // space-separated; a word may end in "*"
	ours      wasi.Errno
	theirs    []wasi.Errno // nil for any error
	why       string
	when      func(s step) bool // nil for always
}

var differences = []difference{
	{"fd_renumber", wasi.Success, []wasi.Errno{wasi.ENOTSUP}, "streams and preopens can be renumbered, as the test suite wants", nil},
	{"fd_renumber", wasi.EBADF, []wasi.Errno{wasi.Success, wasi.ENOTSUP}, "the place must be an open descriptor, as the test suite wants: so the table stays small", nil},
	{"fd_prestat_get fd_prestat_dir_name", wasi.EBADF, []wasi.Errno{wasi.Success, wasi.ENAMETOOLONG, wasi.EFAULT}, "streams are no preopens", nil},
	{"fd_prestat_dir_name", wasi.Success, []wasi.Errno{wasi.ENAMETOOLONG}, "more room than needed is no error", nil},
	{"fd_prestat_dir_name", wasi.ENAMETOOLONG, []wasi.Errno{wasi.Success}, "less room is one, and not a name that is cut", nil},
	{"fd_seek fd_tell fd_allocate", wasi.ESPIPE, []wasi.Errno{wasi.ENOSYS, wasi.EINVAL, wasi.Success}, "streams have no position, as POSIX says it", nil},
	{"fd_pread fd_pwrite", wasi.ESPIPE, []wasi.Errno{wasi.EBADF, wasi.EFAULT, wasi.Success}, "the same", nil},
	{"fd_filestat_set_size", wasi.EINVAL, []wasi.Errno{wasi.ENOSYS}, "streams have no size", nil},
	{"fd_filestat_set_size", wasi.EISDIR, []wasi.Errno{wasi.EINVAL}, "the descriptor is looked at first", nil},
	{"fd_allocate", wasi.EISDIR, []wasi.Errno{wasi.EINVAL, wasi.Success}, "directories cannot be allocated", nil},
	{"fd_allocate", wasi.EINVAL, []wasi.Errno{wasi.Success}, "a sum that is too large is not small", nil},
	{"fd_allocate", wasi.EBADF, []wasi.Errno{wasi.EINVAL, wasi.Success}, "a file that cannot be written cannot be allocated", nil},
	{"fd_read fd_write fd_pread fd_pwrite", wasi.EISDIR, []wasi.Errno{wasi.Success, wasi.EFAULT, wasi.EBADF}, "what cannot be read cannot be read with no buffers either", nil},
	{"fd_read fd_write fd_pread fd_pwrite", wasi.EBADF, []wasi.Errno{wasi.Success, wasi.EFAULT}, "the same", nil},
	{"fd_pwrite", wasi.Success, []wasi.Errno{wasi.EIO}, "writes at an offset go to the end of a file that is appended to, as on Linux", nil},
	{"fd_pread fd_pwrite", wasi.EBADF, []wasi.Errno{wasi.EIO}, "whether a file can be read or written comes before where", nil},
	{"fd_pread fd_pwrite", wasi.EINVAL, []wasi.Errno{wasi.Success, wasi.EFBIG, wasi.EIO}, "an offset is looked at before there is something to move", nil},
	{"fd_write fd_pwrite", wasi.EFBIG, []wasi.Errno{wasi.EIO}, "the quota of the tree has its own number", nil},
	{"fd_write fd_pwrite fd_read fd_pread", wasi.EFAULT, []wasi.Errno{wasi.Success, wasi.EINVAL}, "buffers are looked at before anything is moved", nil},
	{"fd_write fd_pwrite", wasi.Success, []wasi.Errno{wasi.EFAULT}, "what was moved counts", nil},
	{"sock_*", wasi.ENOTSOCK, []wasi.Errno{wasi.EBADF}, "open descriptors that are no sockets, as the test suite wants", nil},
	{"fd_fdstat_set_rights", wasi.EBADF, []wasi.Errno{wasi.ENOSYS}, "rights can be given up", nil},
	{"fd_fdstat_set_rights", wasi.ENOTCAPABLE, []wasi.Errno{wasi.ENOSYS}, "and not be had back", nil},
	{"fd_fdstat_set_flags", wasi.Success, []wasi.Errno{wasi.EINVAL, wasi.EISDIR, wasi.ENOSYS, wasi.ENOENT}, "SYNC is done, NONBLOCK means nothing and is no error", nil},
	{"fd_fdstat_set_flags", wasi.EISDIR, []wasi.Errno{wasi.Success, wasi.EINVAL}, "directories cannot be appended to", nil},
	{"fd_fdstat_set_flags", wasi.EBADF, []wasi.Errno{wasi.EINVAL}, "the descriptor is looked at first", nil},
	{"fd_filestat_set_times", wasi.ENOTSUP, []wasi.Errno{errPanic, wasi.EINVAL}, "wazero panics on streams", nil},
	{"fd_readdir", wasi.EBADF, []wasi.Errno{wasi.EINVAL}, "the descriptor is looked at first", nil},
	{"fd_readdir", wasi.ENOTDIR, []wasi.Errno{wasi.EBADF, wasi.EINVAL}, "files are open, but no directories", nil},
	{"fd_readdir", wasi.Success, []wasi.Errno{wasi.ENOENT}, "any cookie can be gone on from, also one behind the end", nil},
	{"poll_oneoff", wasi.Success, []wasi.Errno{wasi.ENOTSUP, wasi.EBADF}, "a descriptor that is not open is an event, not an error", nil},
	{"environ_get", wasi.Success, []wasi.Errno{wasi.EFAULT}, "nothing is written, so it does not matter where", nil},
	{"path_link path_symlink", wasi.EPERM, []wasi.Errno{wasi.Success, wasi.EEXIST, wasi.ENOENT, wasi.ENOTDIR, wasi.EBADF, wasi.ENAMETOOLONG, wasi.EISDIR, wasi.EINVAL}, "links are never made", nil},
	{"path_*", wasi.ENOENT, nil, "an empty path is no path, whatever it starts from", emptyPath},
	{"path_*", wasi.ENOENT, []wasi.Errno{wasi.Success}, "the same", emptyPath},
	{"path_*", wasi.ENAMETOOLONG, nil, "the text of a path is looked at first", nil},
	{"path_remove_directory path_rename", wasi.EACCES, nil, "the directory of a preopen is not the guest's to remove or move", nil},
	{"path_open", wasi.EEXIST, []wasi.Errno{wasi.EISDIR}, "a directory is something that exists", nil},
	{"path_open", wasi.ENOTDIR, []wasi.Errno{wasi.EISDIR}, "a file with a slash behind its name is there and no directory", nil},
	{"path_rename", wasi.EACCES, []wasi.Errno{wasi.Success}, "not even to where it is", nil},
	{"path_rename", wasi.ENOENT, []wasi.Errno{wasi.Success}, "renaming what is not there to its own name is an error", nil},
	{"path_filestat_set_times", wasi.ENOENT, []wasi.Errno{wasi.Success}, "so is leaving its times alone", nil},
	{"path_filestat_set_times", wasi.ENOTDIR, []wasi.Errno{wasi.Success}, "the same", nil},
	{"path_filestat_set_times", wasi.ENAMETOOLONG, []wasi.Errno{wasi.Success}, "the same", nil},
	{"path_rename", wasi.ENOTDIR, []wasi.Errno{wasi.ENOENT}, "the old path is looked at before the new one", nil},
	{"*", wasi.EFAULT, nil, "memory is looked at first", nil},
}

// meant reports whether two answers are in the table.
func meant(s step, ours, theirs wasi.Errno) bool {
	return slices.ContainsFunc(differences, func(d difference) bool {
		named := slices.ContainsFunc(strings.Fields(d.functions), func(f string) bool {
			prefix, wild := strings.CutSuffix(f, "*")
			return f == s.name || wild && strings.HasPrefix(s.name, prefix)
		})
		other := slices.Contains(d.theirs, theirs) || d.theirs == nil && theirs != wasi.Success
		return named && d.ours == ours && other && (d.when == nil || d.when(s))
	})
}

// emptyPath reports whether a step has an empty path.
func emptyPath(s step) bool { return s.empty }

// incomparable reports whether a step waits for something else than clocks,
// which wazero answers as if it was standard input, or not at all; or renumbers
// a descriptor to itself, which closes it there.
func incomparable(s step) bool {
	switch s.name {
	default:
		return false
	case "fd_renumber":
		return s.params[0] == s.params[1]
	case "poll_oneoff":
	}
	for i := 8; i < len(s.data); i += 48 {
		if s.data[i] != 0 {
			return true
		}
	}
	return false
}

// sequences is how many random sequences are compared; SKILLET_WASI_SEQUENCES
// asks for more.
func sequences(t *testing.T) int {
	n, err := strconv.Atoi(os.Getenv("SKILLET_WASI_SEQUENCES"))
	if err != nil {
		return 100
	}
	return n
}

// TestAgainstWazero makes the same random calls here and in wazero, on two
// trees with the same contents, and wants the same answers, the same memory and
// in the end the same trees and output, but for the differences above. Where
// only one of the two succeeded the sequence ends.
func TestAgainstWazero(t *testing.T) {
	t.Parallel()
	r, code := stock(t)
	compared, whole := 0, 0
	for seed := range sequences(t) {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			m := maker{rand.New(rand.NewPCG(uint64(seed), 1))}
			a, b := tree(t), tree(t)
			set := settings(jailOf(t, jail.Quota{}, jail.Root{Path: a, Write: true}))
			set.Args = []string{"skill", "two words"}
			g := newGuest(t, set)
			o := newTheirs(t, r, code, b, a)
			n, all := compare(t, m, g, o)
			compared += n
			if !all {
				return
			}
			whole++
			if x, y := contents(t, a), contents(t, b); x != y {
				t.Errorf("trees differ:\n%s\nand\n%s", x, y)
			}
			if !bytes.Equal(g.host.stdout.Bytes(), o.stdout.Bytes()) || !bytes.Equal(g.host.stderr.Bytes(), o.stderr.Bytes()) {
				t.Error("output differs")
			}
		})
	}
	t.Logf("%d calls had the same results; %d sequences were compared to their end", compared, whole)
}

// compare makes one sequence. whole is false when it ended early.
func compare(t *testing.T, m maker, g *guest, o *theirs) (same int, whole bool) {
	for i := range 60 {
		s := m.step()
		s.prepare(g.mem)
		s.prepare(o.memory())
		x, y := g.call(s.name, s.params...), o.call(s.name, s.params)
		switch {
		case incomparable(s):
			return same, false
		case x != y && !meant(s, x, y):
			t.Errorf("step %d, %v: %v, wazero %v", i, s, x, y)
			return same, false
		case x != y && (x == wasi.Success || y == wasi.Success || y == errPanic):
			return same, false
		case y == wasi.EFAULT && strings.Contains("fd_read fd_write fd_pread fd_pwrite clock_time_get", s.name):
			return same, false // wazero has moved what comes before the bad buffer, or its clock
		case x == wasi.Success && !sameOutput(s, g.mem, o.memory()):
			t.Errorf("step %d, %v: other results\n%x\n%x", i, s, g.mem[outAt:outAt+64], o.memory()[outAt:outAt+64])
			return same, false
		}
		same++
	}
	return same, true
}
