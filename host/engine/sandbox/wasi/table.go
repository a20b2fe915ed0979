package wasi

import "slices"

// ValueType is the type of a number, by its code in the binary format
// (WebAssembly core specification 5.3.1).
type ValueType = byte

// The types that the functions use.
const (
	I32 ValueType = 0x7f
	I64 ValueType = 0x7e
)

// Function is one function of WASI preview 1.
type Function struct {
	Name            string
	Params, Results []ValueType
	// Path says that the function takes a path: it looks around in the file
	// tree, which costs more than what works on an open descriptor.
	Path bool
	// Lengths are the parameters that are a number of things to go through:
	// bytes of a path, buffers, subscriptions. Bytes that are read, written or
	// made random are charged by the functions themselves.
	Lengths []int

	run func(s *State, mem []byte, params []uint64) Errno
}

// Call runs the function on the state and memory of a guest: nil when it has
// none. stack holds the parameters and, afterwards, the error number.
func (f *Function) Call(s *State, mem []byte, stack []uint64) {
	stack[0] = uint64(f.run(s, mem, stack))
}

// Functions returns all functions of WASI preview 1.
func Functions() []Function { return slices.Clone(functions[:]) }

// entry writes a function as the signatures of the specification are read: one
// letter a parameter, i for i32 and I for i64.
func entry(name, params string, run func(*State, []byte, []uint64) Errno, lengths ...int) Function {
	f := Function{Name: name, Results: []ValueType{I32}, Lengths: lengths, run: run}
	for _, p := range params {
		f.Params = append(f.Params, map[rune]ValueType{'i': I32, 'I': I64}[p])
	}
	return f
}

// pathEntry is an entry that takes a path.
func pathEntry(name, params string, run func(*State, []byte, []uint64) Errno, lengths ...int) Function {
	f := entry(name, params, run, lengths...)
	f.Path = true
	return f
}

// exit is the entry of proc_exit, which alone has no result.
func exit() Function {
	f := entry("proc_exit", "i", procExit)
	f.Results = nil
	return f
}

var functions = [...]Function{
	entry("args_get", "ii", argsGet),
	entry("args_sizes_get", "ii", argsSizesGet),
	entry("environ_get", "ii", environGet),
	entry("environ_sizes_get", "ii", environSizesGet),
	entry("clock_res_get", "ii", clockResGet),
	entry("clock_time_get", "iIi", clockTimeGet),
	entry("fd_advise", "iIIi", fdAdvise),
	entry("fd_allocate", "iII", fdAllocate),
	entry("fd_close", "i", fdClose),
	entry("fd_datasync", "i", fdDatasync),
	entry("fd_fdstat_get", "ii", fdFdstatGet),
	entry("fd_fdstat_set_flags", "ii", fdFdstatSetFlags),
	entry("fd_fdstat_set_rights", "iII", fdFdstatSetRights),
	entry("fd_filestat_get", "ii", fdFilestatGet),
	entry("fd_filestat_set_size", "iI", fdFilestatSetSize),
	entry("fd_filestat_set_times", "iIIi", fdFilestatSetTimes),
	entry("fd_pread", "iiiIi", fdPread, 2),
	entry("fd_prestat_get", "ii", fdPrestatGet),
	entry("fd_prestat_dir_name", "iii", fdPrestatDirName),
	entry("fd_pwrite", "iiiIi", fdPwrite, 2),
	entry("fd_read", "iiii", fdRead, 2),
	entry("fd_readdir", "iiiIi", fdReaddir),
	entry("fd_renumber", "ii", fdRenumber),
	entry("fd_seek", "iIii", fdSeek),
	entry("fd_sync", "i", fdSync),
	entry("fd_tell", "ii", fdTell),
	entry("fd_write", "iiii", fdWrite, 2),
	pathEntry("path_create_directory", "iii", pathCreateDirectory, 2),
	pathEntry("path_filestat_get", "iiiii", pathFilestatGet, 3),
	pathEntry("path_filestat_set_times", "iiiiIIi", pathFilestatSetTimes, 3),
	pathEntry("path_link", "iiiiiii", pathLink, 3, 6),
	pathEntry("path_open", "iiiiiIIii", pathOpen, 3),
	pathEntry("path_readlink", "iiiiii", pathReadlink, 2),
	pathEntry("path_remove_directory", "iii", pathRemoveDirectory, 2),
	pathEntry("path_rename", "iiiiii", pathRename, 2, 5),
	pathEntry("path_symlink", "iiiii", pathSymlink, 1, 4),
	pathEntry("path_unlink_file", "iii", pathUnlinkFile, 2),
	entry("poll_oneoff", "iiii", pollOneoff, 2),
	exit(),
	entry("proc_raise", "i", procRaise),
	entry("random_get", "ii", randomGet),
	entry("sched_yield", "", schedYield),
	entry("sock_accept", "iii", socket),
	entry("sock_recv", "iiiiii", socket),
	entry("sock_send", "iiiii", socket),
	entry("sock_shutdown", "ii", socket),
}
