// Package reexec is the table of what this program starts itself again as. A process that
// is started so is told its role by its first argument. It depends on nothing, so that a
// role can begin before the rest of the program is initialized.
package reexec

import "slices"

// A Role is what a process of this program is, beside the command line.
type Role struct {
	// Word is its first argument. No command has such a name.
	Word string
	// Args is how many arguments follow; less than 0 for any number.
	Args int
	// About says what it does.
	About string
}

// The roles.
var (
	Worker   = Role{"skillet-worker-process", 0, "compiles modules, and runs those that nobody approved"}
	Bundler  = Role{"skillet-bundler-process", 0, "bundles one program of a script"}
	Plugin   = Role{"skillet-plugin-process", 1, "is a plugin that comes with the program: NAME"}
	Attempts = Role{"skillet-attempts-process", -1, "makes attempts to get out of the sandbox: DIR WALL ID..."}
)

// Roles returns all roles.
func Roles() []Role { return []Role{Worker, Bundler, Plugin, Attempts} }

// Is reports whether the arguments of a process, the name of the program first, give it
// the role.
func (r Role) Is(args []string) bool {
	return len(args) >= 2 && args[1] == r.Word && (r.Args < 0 || len(args) == 2+r.Args)
}

// Arguments are those with which the program is started in the role, without its name.
func (r Role) Arguments(args ...string) []string { return append([]string{r.Word}, args...) }

// A Table says what each role does: its whole life, which ends with its exit code. It is
// given the arguments after the word.
type Table map[string]func(args []string) int

// Run does what the role of a process is to do, and returns its exit code. It is false for
// a process without a role, which is the command line.
func (t Table) Run(args []string) (code int, ok bool) {
	i := slices.IndexFunc(Roles(), func(r Role) bool { return r.Is(args) })
	if i < 0 || t[args[1]] == nil {
		return 0, false
	}
	return t[args[1]](args[2:]), true
}
