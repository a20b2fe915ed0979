// Package plugins runs providers and agents as processes of their own: it copies
// and checks what is run, starts it within bounds, watches it, starts it again
// when it dies, and leaves nothing behind when it stops.
//
// The host has a [Supervisor]. A plugin's own main has [ServeProvider] or
// [ServeAgent]. Between them is hashicorp/go-plugin with gRPC and mutual TLS, and
// a runner of ours in the place of its own, because by itself it hands a plugin
// the host's environment and input, executes what it has checked by name, takes
// replies of two gigabytes, and leaves processes behind.
//
// A plugin is a native program that a person approved: it has this user's rights
// to files and the network. The bounds here are against accidents and for an
// orderly end; skills, which nobody has to trust, are WebAssembly.
//
// The package refuses to know which plugins there are, who approved them and what
// they are asked.
package plugins

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/engine/confine"
	"github.com/skillet-run/skillet/plugins/provider/providergrpc"
)

// Kind is what a plugin is.
type Kind string

// The kinds of plugins.
const (
	KindProvider Kind = "provider"
	KindAgent    Kind = "agent"
)

// Spec says what process a plugin is.
type Spec struct {
	// Name is the plugin's name among those of its kind.
	Name string
	Kind Kind
	// Program is the absolute path of the program; empty for the program that runs
	// here.
	Program string
	// Digest is the digest of Program, "sha256:" and 64 hexadecimal digits. Only a
	// program with that digest is started. It may be empty when Program is, or when
	// there is a Script: then Program is an interpreter of this machine, which
	// changes when the machine is kept up to date.
	Digest string
	// Args are the arguments of the program. With a Script they stand behind it.
	Args []string
	// Script is what an interpreter runs; nil for programs that need none.
	Script *Script
	// Env is what the plugin finds in its environment beside what every plugin
	// does, see [Supervisor]: "NAME=value".
	Env []string
	// Secrets are the values of secrets among Env and Args. They are taken out of
	// what the plugin says when it fails and of what it writes to the log. Values
	// shorter than four bytes are not.
	Secrets []string
	// Dir is where the plugin may keep files, its working directory and its HOME.
	// Empty is an empty directory that is removed when the plugin has ended.
	Dir    string
	Limits confine.Limits
}

// Script is a program for an interpreter: files, of which one is run. A private
// copy is made of them for each start.
type Script struct {
	// Dir is the directory that the files are in.
	Dir string
	// Main is the name of the file that is run, one of Files.
	Main string
	// Flags are arguments of the interpreter that stand before Main.
	Flags []string
	// Files are the slash-separated names of the files with their digests.
	Files map[string]string
}

// reserved begin the names of variables that a Spec cannot set.
func reserved() []string {
	return []string{"PLUGIN_", "SKILLET_PLUGIN", "LD_", "DYLD_", "TMPDIR=", "HOME="}
}

// check refuses a spec that cannot be meant.
func (s *Spec) check() error {
	switch {
	case s.Name == "" || strings.ContainsAny(s.Name, "/\\\x00"):
		return fmt.Errorf("%q is not a name of a plugin", s.Name)
	case s.Program == "" && (s.Digest != "" || s.Script != nil):
		return errors.New("no program")
	case s.Program != "" && !filepath.IsAbs(s.Program):
		return fmt.Errorf("the program %s has no absolute path", s.Program)
	case s.Program != "" && s.Script == nil && s.Digest == "":
		return fmt.Errorf("no digest of %s", s.Program)
	case s.Digest != "" && !isDigest(s.Digest):
		return fmt.Errorf("%q is not a digest: sha256: and 64 hexadecimal digits in lower case", s.Digest)
	}
	for _, entry := range s.Env {
		if !strings.Contains(entry, "=") || slices.ContainsFunc(reserved(), func(p string) bool { return strings.HasPrefix(entry, p) }) {
			name, _, _ := strings.Cut(entry, "=")
			return fmt.Errorf("the variable %q cannot be set for a plugin", name)
		}
	}
	return s.Script.check()
}

func (s *Script) check() error {
	if s == nil {
		return nil
	}
	for name, digest := range s.Files {
		if !filepath.IsLocal(filepath.FromSlash(name)) || !isDigest(digest) {
			return fmt.Errorf("the script's file %q has no local name or no digest", name)
		}
	}
	if _, ok := s.Files[s.Main]; !ok {
		return fmt.Errorf("the script's main file %q is not among its files", s.Main)
	}
	return nil
}

// same reports whether two specs are of the same process.
func (s *Spec) same(o *Spec) bool {
	return s.Name == o.Name && s.Kind == o.Kind && s.Program == o.Program && s.Digest == o.Digest && s.Dir == o.Dir &&
		s.Limits == o.Limits && slices.Equal(s.Args, o.Args) && sameEnv(s.Env, o.Env) && sameEnv(s.Secrets, o.Secrets) && s.Script.same(o.Script)
}

// sameEnv compares variables, or secrets, in any order: they often come from a map.
func sameEnv(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

func (s *Script) same(o *Script) bool {
	if s == nil || o == nil {
		return s == o
	}
	return s.Dir == o.Dir && s.Main == o.Main && slices.Equal(s.Flags, o.Flags) && maps.Equal(s.Files, o.Files)
}

// clone is a copy that whoever made the spec cannot change.
func (s Spec) clone() Spec {
	s.Args, s.Env, s.Secrets = slices.Clone(s.Args), slices.Clone(s.Env), slices.Clone(s.Secrets)
	if s.Script != nil {
		script := *s.Script
		script.Flags, script.Files = slices.Clone(script.Flags), maps.Clone(script.Files)
		s.Script = &script
	}
	return s
}

// Settings are those of a [Supervisor]. Zero values are the defaults.
type Settings struct {
	// Dir is where private copies of programs are kept. It is made, for this user
	// alone. It is needed for plugins with a program of their own.
	Dir string
	// StartTimeout is how long a plugin may take until it can be asked: 30 s.
	StartTimeout time.Duration
	// StopTimeout is how long it may take to stop before it is killed: 5 s.
	StopTimeout time.Duration
	// Timeouts bound calls of providers.
	Timeouts providergrpc.Timeouts
	Restart  Restart
	// Watch is how often an idle plugin is asked whether it is there: every 30 s.
	Watch time.Duration
	// Limits are those of plugins whose spec has none of them: 4 GiB of memory and
	// 1,024 open files.
	Limits confine.Limits
}

// Restart says how a plugin that died is started again, which is when it is next
// asked something.
type Restart struct {
	// First is how long to wait after the first death, twice as long after each
	// further one, and never longer than Longest: 100 ms and 30 s.
	First, Longest time.Duration
	// Attempts is how many deaths in a row are a crash loop: 5. Then what is asked
	// fails at once, but for one attempt after each wait.
	Attempts int
	// Steady is how long a plugin has to live for its death to be the first again:
	// one minute.
	Steady time.Duration
}

func (s Settings) orDefaults() Settings {
	s.StartTimeout = or(s.StartTimeout, 30*time.Second)
	s.StopTimeout = or(s.StopTimeout, 5*time.Second)
	s.Watch = or(s.Watch, 30*time.Second)
	s.Restart.First = or(s.Restart.First, 100*time.Millisecond)
	s.Restart.Longest = or(s.Restart.Longest, 30*time.Second)
	s.Restart.Attempts = or(s.Restart.Attempts, 5)
	s.Restart.Steady = or(s.Restart.Steady, time.Minute)
	s.Limits.MemoryBytes = or(s.Limits.MemoryBytes, 4<<30)
	s.Limits.OpenFiles = or(s.Limits.OpenFiles, 1024)
	return s
}

// or is a value, or the default for zero.
func or[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// limits are those of a spec, or the settings'.
func (s Settings) limits(own confine.Limits) confine.Limits {
	return confine.Limits{
		MemoryBytes: or(own.MemoryBytes, s.Limits.MemoryBytes),
		OpenFiles:   or(own.OpenFiles, s.Limits.OpenFiles),
		CPUSeconds:  or(own.CPUSeconds, s.Limits.CPUSeconds),
	}
}

// delay is how long to wait after a number of deaths in a row.
func (r Restart) delay(deaths int) time.Duration {
	d := r.First
	for range deaths - 1 {
		if d *= 2; d >= r.Longest {
			return r.Longest
		}
	}
	return d
}

var (
	// ErrClosed means that the supervisor was stopped, or the plugin removed or
	// replaced.
	ErrClosed = errors.New("it is stopped")
	// ErrDigest means that a program or a script is not the one that was meant.
	ErrDigest = errors.New("the file has another digest")
	// ErrHandshake means that a program did not answer as a plugin does.
	ErrHandshake = errors.New("it does not answer as a plugin does")
	// ErrVersion means that a plugin speaks another version of the protocol.
	ErrVersion = errors.New("it speaks another version of the protocol")
	// ErrCrashLoop means that a plugin died so often that it is not started for
	// everyone who asks any more.
	ErrCrashLoop = errors.New("it keeps dying")
)

// A StartError is a plugin that could not be started. errors.Is finds its reason.
type StartError struct {
	Kind   Kind
	Name   string
	Reason error
	// Output are the last lines that the plugin wrote. They are untrusted text.
	Output []string
}

// Error says which plugin and why, and the plugin's last line.
func (e *StartError) Error() string {
	text := fmt.Sprintf("start %s %s: %v", e.Kind, e.Name, e.Reason)
	if n := len(e.Output); n > 0 {
		text += fmt.Sprintf("; it said last: %q", e.Output[n-1])
	}
	return text
}

// Unwrap returns the reason.
func (e *StartError) Unwrap() error { return e.Reason }
