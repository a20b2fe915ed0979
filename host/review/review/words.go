package review

import (
	"strings"

	"github.com/skillet-run/skillet/host/base/guestapi"
)

// A purpose says in words what calling some functions of the host is good for.
type purpose struct {
	module, prefix string
	words          string
}

// purposes are those of the modules that are not described in package guestapi.
// They are looked through in order; the first whose prefix fits is meant.
var purposes = []purpose{
	{"extism:host/env", "http_", "send HTTP requests"},
	{"extism:host/env", "var_", "keep values during a call"},
	{"extism:host/env", "config_", "read settings it is given"},
	{"extism:host/env", "log_", "write to its log"},
	{"extism:host/env", "get_log_level", "write to its log"},
	{"extism:host/env", "", transferWords},

	{"wasi_snapshot_preview1", "path_", "open, look at and change files"},
	{"wasi_snapshot_preview1", "fd_", "use open files and the standard streams"},
	{"wasi_snapshot_preview1", "clock_", "tell the time"},
	{"wasi_snapshot_preview1", "random_", "draw random numbers"},
	{"wasi_snapshot_preview1", "args_", "read its arguments"},
	{"wasi_snapshot_preview1", "environ_", "read its environment, which is empty"},
	{"wasi_snapshot_preview1", "sock_", "use sockets, of which it has none"},
	{"wasi_snapshot_preview1", "poll_", "wait"},
	{"wasi_snapshot_preview1", "sched_", "wait"},
	{"wasi_snapshot_preview1", "proc_", "end itself"},
}

// transferWords are those of functions that reach nothing beyond the guest.
const transferWords = "take input and give an answer"

// Words says what calling a function of the host is good for. What a call does
// in the end is up to the grants.
func Words(module, name string) string {
	if module == guestapi.Module {
		for _, f := range guestapi.Functions() {
			if f.Name == name {
				return f.Words
			}
		}
		return transferWords
	}
	for _, p := range purposes {
		if p.module == module && strings.HasPrefix(name, p.prefix) {
			return p.words
		}
	}
	return "call something that this host does not know"
}
