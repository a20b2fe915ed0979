package archtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A room is a folder with the packages in and below it, as far as they are in no room of
// their own. Packages of one room may import each other.
type room struct {
	name string
	// imports are the rooms it may import, and packages (with those below them) where the
	// whole room is more than it needs. All of them come later in the list.
	imports []string
}

// vocabulary is values and pure functions, which know nothing of this machine.
var vocabulary = []string{"policies", "manifests"}

// edge is what the edges import: they parse, call and print.
var edge = []string{"host", "host/app", "host/base/fault", "host/base/trace", "host/base/otlp", "host/base/cert", "policies/capability", "policies/limit", "manifests"}

// rooms is the house from the top down. Any package may import what is in internal.
var rooms = []room{
	{"cmd/skillet", append([]string{"cmd/skillet/internal", "cmd/skillet/internal/service", "host/edge"}, edge...)},
	// A process that is started again becomes a worker before anything else is set up.
	{"cmd/skillet/internal", []string{"host/engine/sandbox/worker", "host/base/fault"}},
	// It says to a service what a command would do, in the words of the edge that it talks to.
	{"cmd/skillet/internal/service", []string{"host/edge/api"}},
	{"cmd/catalog", []string{"host/fetch/catalog"}},
	{"cmd/prove", []string{"manifests/bundle"}},
	{"host/edge", edge},
	{"host", []string{
		"host/app", "host/install", "host/agents", "host/run", "host/author", "host/record", "host/fetch", "host/engine", "host/base",
		"plugins/agent/builtin", "policies", "manifests",
	}},
	{"host/app", []string{
		"host/escape", "host/install", "host/agents", "host/run", "host/author", "host/record", "host/review", "host/fetch", "plugins", "plugins/provider/local", "host/engine", "host/base",
		"policies", "manifests",
	}},
	// What tries to get out of a call needs what a call is made of, so it lies above it.
	{"host/escape", []string{"host/run/hostfn", "host/engine", "host/base/store", "policies"}},
	{"host/install", append([]string{"host/run/casetest", "host/run/replay", "host/record", "host/review", "host/fetch", "host/base/fault", "host/base/store"}, vocabulary...)},
	// It embeds texts as the memory does, and checks values against the schemas of tools.
	{"plugins/provider/local", []string{"host/agents/memory/hashing", "plugins", "manifests"}},
	// Agents reach skills and approvals by functions that the application layer hands them.
	{"host/agents", []string{"host/run/hostfn", "host/record/approval", "plugins/agent", "plugins/provider", "host/base/fault", "host/base/store", "host/base/task", "host/base/trace", "manifests"}},
	{"host/run", append([]string{"host/record/approval", "host/record/journal", "host/record/registry", "host/review/review", "host/fetch/adopt", "host/engine", "host/base"}, vocabulary...)},
	{"host/record", append([]string{"host/review/findings", "host/base"}, vocabulary...)},
	// A package that is built here is refused when its sources are newer: package source
	// asks toolchain, so fetch lies above author.
	{"host/fetch", append([]string{"host/author/toolchain", "host/engine/sandbox/wasmbin", "host/base/fault", "host/base/git", "host/base/store", "policies/capability", "policies/limit"}, "manifests")},
	{"host/author", []string{"host/review/review", "skills/qjs", "skills/python", "skills/cpython", "sdk", "host/engine", "host/base/fault", "host/base/store/atomicfile", "manifests"}},
	// Bytes in, facts out: nothing of this machine.
	{"host/review", []string{"host/engine/sandbox/wasmbin", "host/base/guestapi", "policies/capability", "policies/limit", "manifests"}},
	{"plugins", []string{"host/engine/confine", "host/base/redact", "manifests"}},

	// Interpreters are built on this side; what they become are guests.
	{"skills/qjs", []string{"host/engine/sandbox/wasmlink", "host/base/guestapi"}},
	{"skills/python", []string{"host/engine/sandbox/wasmlink", "host/engine/sandbox/wasmbin", "host/base/guestapi"}},
	{"skills/cpython", []string{"host/engine/sandbox/wasmlink", "host/engine/sandbox/wasmbin", "host/base/guestapi"}},
	// Guests know the SDK and nothing of the host.
	{"skills", []string{"sdk/go"}},
	{"sdk/conformance/go", []string{"sdk/go"}},

	// Runs WebAssembly: knows no skill, manifest or policy.
	{"host/engine", nil},
	{"host/base", []string{"policies/capability", "policies/limit"}},
	{"sdk", nil},
	{"manifests", []string{"policies/capability", "policies/limit"}},
	{"policies", nil},
	{"internal", nil},
}

// importers are the only ones that may import a package, where its room is too many: the
// engines of the store, who writes and who asks the record of decisions, and what only
// tests need. An entry is a room or a package.
var importers = map[string][]string{
	"host/base/store/badgerstore": {"host/base/store/backends"},
	"host/base/store/filestore":   {"host/base/store/backends"},
	"host/base/store/backends":    {"host/app/upkeep", "host/escape"},
	"host/record/ledger":          {"host", "host/record", "host/install", "host/app/govern", "host/app/upkeep", "host/app/meaning", "host/app/seen"},
	"host/record/approval":        {"host", "host/app", "host/record", "host/install", "host/run/runner", "host/agents/orchestrator"},
	"host/record/signer":          {"host", "host/app/govern", "host/app/admit", "host/app/author"},
	"host/fetch/source/oci":       {"host/fetch/source"},
	"host/fetch/source/mcpskill":  {"host/fetch/source"},
	"host/escape":                 {"host/app/upkeep"},
	"host/run/runner":             {"host", "host/app", "host/run/casetest", "host/run/replay"},
	"plugins":                     {"host/app/work"},
	// The services use each other in one way: a call is a call.
	"host/app/invoke": {"host", "host/edge", "cmd/skillet", "host/app"},
	"host/app/admit":  {"host", "host/edge", "cmd/skillet"},
	"host/app/code":   {"host", "host/edge", "cmd/skillet"},
	"host/app/author": {"host", "host/edge", "cmd/skillet"},
	"host/app/govern": {"host", "host/edge", "cmd/skillet"},
	"host/app/upkeep": {"host", "host/edge", "cmd/skillet", "host/app/meaning"},
	"host/app/work":   {"host", "host/edge", "cmd/skillet"},

	"host/base/store/storetest":            nil,
	"host/engine/sandbox/reference":        nil,
	"host/engine/sandbox/wasmbin/wasmtest": {"host/escape"},
	"host/record/approval/approvaltest":    nil,
	"plugins/agent/agenttest":              nil,
	"plugins/provider/providertest":        nil,
	"policies/goldentest":                  nil,
}

// isRoom reports whether a room has this name.
func isRoom(name string) bool {
	return slices.ContainsFunc(rooms, func(r room) bool { return r.name == name })
}

// roomOf is the room of a package: the one with the longest name that it is in. The room
// host is one package: a folder below it is a room that is in the table.
func roomOf(pkg string) (in room, ok bool) {
	for _, r := range rooms {
		if len(r.name) > len(in.name) && (pkg == r.name || r.name != "host" && strings.HasPrefix(pkg, r.name+"/")) {
			in, ok = r, true
		}
	}
	return in, ok
}

// covers reports whether an entry of a table is for a package: the room that it is in, the
// package itself, or one above it.
func covers(entry, pkg string) bool {
	if isRoom(entry) {
		in, _ := roomOf(pkg)
		return in.name == entry
	}
	return pkg == entry || strings.HasPrefix(pkg, entry+"/")
}

// wrong says what is wrong with a package that imports another; "" for nothing.
func wrong(from, to string) string {
	if strings.HasPrefix(to, "internal/") {
		return ""
	}
	of, ok := roomOf(from)
	if !ok {
		return from + " is in no room: say in the table what it may import"
	}
	allowed := func(entry string) bool { return covers(entry, to) }
	if in, _ := roomOf(to); in.name != of.name && !slices.ContainsFunc(of.imports, allowed) {
		return fmt.Sprintf("%s imports %s: the room %s may import %v", from, to, of.name, of.imports)
	}
	by, few := importers[to]
	if few && !slices.ContainsFunc(by, func(entry string) bool { return covers(entry, from) }) {
		return fmt.Sprintf("%s imports %s: only %v may", from, to, by)
	}
	return ""
}

func TestImports(t *testing.T) {
	used := map[string]bool{}
	for _, p := range load(t) {
		of, ok := roomOf(p.ImportPath)
		if !ok {
			t.Errorf("%s is in no room: say in the table what it may import", p.ImportPath)
		}
		for _, im := range p.Imports {
			to, ours := strings.CutPrefix(im, module)
			if !ours {
				continue
			}
			for _, entry := range of.imports {
				used[of.name+" > "+entry] = used[of.name+" > "+entry] || covers(entry, to)
			}
			for _, by := range importers[to] {
				used[by+" may import "+to] = used[by+" may import "+to] || covers(by, p.ImportPath)
			}
			if why := wrong(p.ImportPath, to); why != "" {
				t.Error(why)
			}
		}
	}
	checkRooms(t, used)
	for pkg, by := range importers {
		for _, entry := range by {
			if isEdge := entry == "host/edge" || entry == "cmd/skillet"; !isEdge && !used[entry+" may import "+pkg] {
				t.Errorf("%s does not import %s: take it out of the table", entry, pkg)
			}
		}
	}
}

// checkRooms looks at the table itself: arrows point down, and there are no more of them
// than are used. An edge may use less than it may.
func checkRooms(t *testing.T, used map[string]bool) {
	for i, r := range rooms {
		for _, entry := range r.imports {
			in, ok := roomOf(entry)
			below := slices.IndexFunc(rooms, func(r room) bool { return r.name == in.name })
			if !ok || below <= i {
				t.Errorf("%s may import %s, which is not below it", r.name, entry)
			}
			if r.name != "cmd/skillet" && r.name != "host/edge" && !used[r.name+" > "+entry] {
				t.Errorf("%s does not import %s: take it out of the table", r.name, entry)
			}
		}
	}
}

// The rules, each with an import that breaks it.
func TestWrongImports(t *testing.T) {
	for _, c := range []struct {
		from, to string
		want     string // part of what is said; empty for an import that is right
	}{
		{"host/app/admit", "host/install/closure", ""},
		{"host/app/admit", "host/app/invoke", ""},
		{"host/install", "host/record/ledger", ""},
		{"host/base/store/backends", "host/base/store/badgerstore", ""},
		{"host/fetch/source", "host/author/toolchain", ""},
		{"host/edge/api", "host/app/govern", ""},
		{"host/edge/api", "host", ""},
		{"host/edge/api", "manifests/bundle", ""},
		{"host/engine/jail", "internal/text", ""},

		// Between rooms: upwards, and past what a room needs of another.
		{"host/record/ledger", "host/install", "the room host/record may"},
		{"host/base/store", "host/record/journal", "the room host/base may"},
		{"host/engine/sandbox", "manifests", "the room host/engine may"},
		{"host/review/review", "host/base/store", "the room host/review may"},
		{"host/author/script", "host/fetch/source", "the room host/author may"},
		{"host/fetch/source", "host/author/script", "the room host/fetch may"},
		{"host/agents/orchestrator", "host/run/runner", "the room host/agents may"},
		{"host/run/runner", "host/app/invoke", "the room host/run may"},
		{"host/app/work", "host", "the room host/app may"},
		{"skills/json", "host/base/guestapi", "the room skills may"},
		{"skills/json", "manifests", "the room skills may"},
		{"policies", "manifests", "the room policies may"},
		{"internal/text", "manifests", "the room internal may"},

		// Edges: nothing below the application layer.
		{"host/edge/api", "host/record/registry", "the room host/edge may"},
		{"host/edge/api", "host/base/store", "the room host/edge may"},
		{"host/edge/mcp", "host/edge/api", ""},
		{"cmd/skillet", "host/run/runner", "the room cmd/skillet may"},
		{"cmd/skillet", "policies", "the room cmd/skillet may"},
		{"host/edge/mcp", "cmd/skillet", "the room host/edge may"},

		// Inside a room, or a room that may: only who is named.
		{"host/base/store", "host/base/store/badgerstore", "only [host/base/store/backends] may"},
		{"host/app/work", "host/record/ledger", "only "},
		{"host/run/session", "host/record/approval", "only "},
		{"host/app/govern", "host/app/admit", "only "},
		{"host/run/hostfn", "host/run/runner", "only "},
		{"host/app/invoke", "host/engine/sandbox/reference", "only [] may"},

		// Every package has a room.
		{"host/cellar", "host/base/fault", "is in no room"},
		{"attic", "manifests", "is in no room"},
		{"host/app/admit", "host/cellar", "the room host/app may"},
	} {
		if got := wrong(c.from, c.to); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s imports %s: got %q, want %q", c.from, c.to, got, c.want)
		}
	}
}
