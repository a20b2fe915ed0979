package archtest

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/skillet-run/skillet/"

// imports lists, for each package, the packages of this module it may import.
// A package that is not listed is an error, so adding one means saying here
// where it belongs. An entry may end in "*".
var imports = map[string][]string{
	// What knows nothing of this project, and any package may import.
	"internal/lazyregexp": nil,
	"internal/absent":     nil,
	"internal/openfile":   nil,
	"internal/nearest":    nil,
	"internal/reexec":     nil,
	"internal/strictjson": nil,
	"internal/text":       nil,

	// Vocabulary: values and pure functions.
	"policies/capability":         nil,
	"policies":                    {"policies/capability"},
	"policies/goldentest":         nil,
	"host/guestapi":               {"policies/capability"},
	"manifests":                   {"manifests/semver", "policies/capability"},
	"manifests/semver":            nil,
	"manifests/testcase":          {"manifests", "policies/capability"},
	"manifests/agent":             {"manifests"},
	"manifests/schema":            nil,
	"manifests/lockfile":          {"manifests", "manifests/semver"},
	"manifests/bundle":            {"manifests"},
	"manifests/signature":         {"manifests"},
	"manifests/signature/keyless": {"manifests", "manifests/signature"},
	"host/fault":                  nil,
	"host/task":                   {"host/fault"},
	"host/resolve":                {"manifests", "manifests/lockfile", "manifests/semver"},
	"host/suggest":                {"policies/capability"},

	// Contracts and what implements them.
	"plugins/provider":              nil,
	"plugins/provider/providerpb":   nil,
	"plugins/wire":                  {"plugins/provider"},
	"plugins/provider/providergrpc": {"plugins/provider", "plugins/provider/providerpb", "plugins/wire"},
	"plugins/provider/providertest": {"plugins/provider"},
	"plugins/provider/local":        {"host/memory/hashing", "plugins/agent", "plugins/provider"},
	"plugins/agent":                 {"plugins/provider"},
	"plugins/agent/agentpb":         {"plugins/provider/providerpb"},
	"plugins/agent/agentgrpc":       {"plugins/agent", "plugins/agent/agentpb", "plugins/provider", "plugins/provider/providergrpc", "plugins/provider/providerpb", "plugins/wire"},
	"plugins/agent/agenttest":       {"plugins/agent", "plugins/provider"},
	"plugins/agent/builtin":         {"manifests", "manifests/agent", "manifests/schema", "manifests/testcase", "plugins/agent", "plugins/provider"},
	"plugins":                       {"host/confine", "host/redact", "plugins/agent", "plugins/agent/agentgrpc", "plugins/provider", "plugins/provider/providergrpc", "plugins/wire"},
	"host/confine":                  nil,

	"host/store":             {"host/store/atomicfile", "host/store/filelock"},
	"host/store/backup":      {"host/store"},
	"host/store/space":       {"host/store"},
	"host/store/backends":    {"host/store", "host/store/badgerstore", "host/store/filestore"},
	"host/store/filestore":   {"host/store", "host/store/atomicfile", "host/store/backup", "host/store/filelock", "host/store/space"},
	"host/store/atomicfile":  nil,
	"host/store/keyfile":     {"host/store/atomicfile", "host/store/filelock"},
	"host/store/filelock":    nil,
	"host/store/storetest":   {"host/store", "host/store/backup", "host/store/filelock"},
	"host/store/badgerstore": {"host/store", "host/store/atomicfile", "host/store/backup", "host/store/filelock", "host/store/space"},
	"host/checkpoint":        nil,
	"host/llm/budget":        {"host/fault", "host/event", "host/store"},
	"host/llm":               {"host/fault", "host/event", "host/llm/budget", "host/store", "manifests", "plugins/provider"},
	"host/llm/skillmodel":    {"host/hostfn", "host/llm", "host/llm/budget", "host/task", "plugins/provider"},
	"host/event":             {"host/fault", "host/store", "host/task", "plugins/provider"},
	"host/memory":            {"host/event", "host/memory/text", "host/memory/vector", "host/store"},
	"host/memory/hashing":    {"host/memory/text"},
	"host/memory/text":       nil,
	"host/memory/vector":     nil,
	"host/queue":             {"host/event", "host/store"},
	"host/journal":           {"host/checkpoint", "host/store/atomicfile", "host/store/filelock"},

	// The sandbox: knows no skill, manifest or policy.
	"host/jail":                     nil,
	"host/sandbox/wasmbin":          nil,
	"host/sandbox/wasmbin/wasmtest": nil,
	"host/sandbox/wasmlink":         {"host/sandbox/wasmbin"},
	"host/sandbox/wasi":             {"host/jail"},
	"host/sandbox":                  {"host/jail", "host/sandbox/wasi", "host/sandbox/wasmbin", "host/sandbox/wasmlink"},
	"host/sandbox/reference":        nil,
	"host/sandbox/worker":           {"host/confine", "host/jail", "host/sandbox", "host/sandbox/wasi"},

	// State: each owns its types and its keys in the store.
	"host/secret":                {"host/fault", "host/store/atomicfile"},
	"host/signer":                {"host/secret", "host/store/filelock", "manifests/signature"},
	"host/skillset":              {"manifests", "manifests/bundle", "policies/capability"},
	"host/trust":                 {"host/fault", "host/approval", "host/ledger", "host/store", "manifests", "manifests/signature", "manifests/signature/keyless"},
	"host/audit":                 {"host/checkpoint", "host/journal", "host/secret", "host/store/filelock"},
	"host/ledger":                {"host/journal", "host/store"},
	"host/registry":              {"host/fault", "host/ledger", "host/store", "manifests", "manifests/bundle"},
	"host/approval/approvaltest": {"host/approval", "host/ledger", "host/registry", "host/store", "manifests", "policies/capability"},
	"host/approval":              {"host/fault", "host/ledger", "host/registry", "host/store", "manifests", "policies", "policies/capability"},

	// Behaviour.
	"host/findings": {
		"host/findings/letters", "host/findings/script", "host/findings/secrets", "host/findings/words",
		"host/guestapi", "host/sandbox/wasmbin", "manifests", "manifests/bundle", "policies/capability",
	},
	"host/findings/letters": nil,
	"host/findings/script":  nil,
	"host/findings/secrets": {"host/findings/words"},
	"host/findings/words":   nil,
	"host/git":              nil,
	"host/adopt":            {"host/fault", "host/sandbox/wasmbin", "manifests", "manifests/bundle", "policies/capability"},
	"host/source": {
		"host/fault", "host/adopt", "host/git", "host/source/oci", "host/source/transfer", "host/store", "host/store/atomicfile", "host/toolchain",
		"manifests", "manifests/bundle", "manifests/semver", "manifests/signature",
	},
	"host/closure":         {"host/fault", "host/registry", "host/resolve", "host/source", "manifests", "manifests/bundle", "manifests/lockfile", "manifests/semver"},
	"host/source/oci":      {"host/source/transfer", "host/store/atomicfile", "host/store/filelock", "manifests", "manifests/bundle", "manifests/signature"},
	"host/source/transfer": {"host/fault", "host/store/filelock"},
	"host/history":         {"host/approval", "host/git", "host/ledger", "host/registry", "host/store", "host/store/atomicfile", "host/store/filelock", "manifests", "manifests/bundle"},
	"host/agents":          {"host/fault", "host/approval", "host/document", "host/findings", "host/ledger", "manifests/agent"},
	"host/document":        {"host/fault", "host/approval", "host/ledger", "host/store/atomicfile"},
	"host/session":         {"host/fault", "host/store", "host/store/atomicfile", "host/store/filelock", "manifests"},
	"host/settings":        {"host/fault", "host/approval", "host/config", "host/document", "host/ledger"},
	"host/evidence":        {"host/approval", "host/casetest", "host/findings", "host/registry", "host/replay", "host/review", "manifests", "manifests/bundle"},
	"host/watch":           nil,
	"host/inspect":         {"host/review", "host/sandbox/wasmbin", "manifests"},
	"host/narrow":          {"host/sandbox/wasmbin", "host/sandbox/wasmlink"},
	"host/toolchain":       {"host/fault", "host/review", "host/sandbox/wasmbin", "manifests", "manifests/bundle"},
	"host/scaffold":        {"host/fault", "host/toolchain", "manifests", "sdk"},
	"host/review":          {"host/guestapi", "host/sandbox/wasmbin", "manifests", "manifests/bundle", "manifests/testcase", "policies/capability"},
	"host/install":         {"host/fault", "host/approval", "host/casetest", "host/findings", "host/ledger", "host/registry", "host/review", "host/store", "host/trust", "manifests", "manifests/bundle", "policies", "policies/capability"},
	"host/hostfn":          {"host/fault", "host/jail", "host/redact", "host/sandbox", "host/store", "host/task", "policies", "policies/capability"},
	"host/prompt":          {"host/fault", "host/jail", "manifests", "manifests/bundle"},
	"host/recording":       {"host/fault", "host/hostfn", "host/jail", "host/redact", "host/sandbox", "host/sandbox/wasi", "host/store/atomicfile", "host/task", "manifests"},
	"host/replay":          {"host/fault", "host/recording", "host/review", "host/runner", "host/task", "manifests", "manifests/bundle"},
	"host/runner": {
		"host/fault", "host/adopt", "host/approval", "host/hostfn", "host/prompt", "host/journal", "host/recording", "host/registry", "host/sandbox", "host/sandbox/wasi", "host/sandbox/worker", "host/session", "host/store", "host/task",
		"manifests", "manifests/bundle", "policies", "policies/capability",
	},

	// What every call from outside goes through.
	"host/invoke": {
		"host/fault", "host/adopt", "host/approval", "host/closure", "host/llm/skillmodel", "host/prompt", "host/recording", "host/registry", "host/replay", "host/review", "host/runner", "host/secret", "host/session",
		"host/source", "host/task", "host/toolchain", "host/trust", "manifests", "manifests/bundle", "policies", "policies/capability",
	},

	// Changes to what is installed, and questions about it.
	"host/admit": {
		"host/fault", "host/approval", "host/closure", "host/evidence", "host/findings", "host/install", "host/invoke", "host/outfile", "host/recording", "host/registry", "host/replay", "host/resolve", "host/review", "host/runner", "host/skillset", "host/source", "host/store", "host/store/atomicfile", "host/toolchain", "host/trust",
		"manifests", "manifests/bundle", "manifests/lockfile", "manifests/signature", "policies/capability",
	},
	// Who decides what.
	"host/govern": {
		"host/fault", "host/adopt", "host/agents", "host/approval", "host/audit", "host/casetest", "host/checkpoint", "host/config", "host/document", "host/evidence", "host/findings",
		"host/install", "host/journal", "host/ledger", "host/outfile", "host/registry", "host/replay", "host/review", "host/runner", "host/secret", "host/settings", "host/signer", "host/source", "host/store", "host/suggest", "host/trust",
		"manifests", "manifests/bundle", "manifests/signature", "manifests/signature/keyless", "policies", "policies/capability",
	},
	"host/outfile": {"host/fault"},
	// What authors do.
	"host/author": {
		"host/approval", "host/casetest", "host/fault", "host/findings", "host/hostfn", "host/inspect", "host/install", "host/invoke", "host/narrow", "host/npm", "host/registry", "host/review", "host/runner",
		"host/sandbox", "host/sandbox/wasmbin", "host/sandbox/worker", "host/scaffold", "host/script", "host/source", "host/store/atomicfile", "host/task", "host/toolchain", "host/watch",
		"manifests", "manifests/bundle", "manifests/signature", "manifests/testcase", "policies/capability",
	},

	// Keeping a home in order.
	"host/upkeep": {
		"host/fault", "host/approval", "host/audit", "host/checkpoint", "host/config", "host/escape", "host/history", "host/hostfn", "host/install", "host/invoke", "host/journal", "host/ledger", "host/memory", "host/outfile",
		"host/recording", "host/registry", "host/rules", "host/runner", "host/sandbox", "host/sandbox/worker", "host/secret", "host/session", "host/store", "host/store/atomicfile", "host/store/backends", "host/store/backup", "host/store/filelock",
		"host/trust", "manifests", "manifests/bundle", "policies", "policies/capability",
	},

	// What an edge does with goals, and what answers for them.
	"host/work": {
		"host/fault", "host/agents", "host/approval", "host/config", "host/confine", "host/event", "host/hostfn", "host/install", "host/invoke", "host/journal", "host/llm", "host/llm/budget",
		"host/llm/skillmodel", "host/memory", "host/memory/hashing", "host/orchestrator", "host/outfile", "host/queue", "host/registry", "host/runner", "host/secret", "host/store", "host/store/atomicfile", "host/task",
		"manifests", "manifests/agent", "manifests/bundle", "plugins", "plugins/agent", "plugins/agent/builtin", "plugins/provider", "plugins/provider/local", "policies", "policies/capability",
	},

	"host/casetest": {
		"host/fault", "host/guestapi", "host/hostfn", "host/jail", "host/recording", "host/registry", "host/review", "host/runner", "host/sandbox", "host/sandbox/wasi", "host/store", "host/task",
		"manifests", "manifests/bundle", "manifests/testcase", "policies", "policies/capability",
	},

	// What tries to get out of all that.
	"host/escape": {
		"host/hostfn", "host/jail", "host/sandbox", "host/sandbox/wasmbin", "host/sandbox/wasmbin/wasmtest", "host/sandbox/worker",
		"host/store", "host/store/badgerstore", "policies", "policies/capability",
	},

	// The work on tasks.
	"host/orchestrator": {
		"host/fault", "host/approval", "host/event", "host/llm", "host/llm/budget", "host/memory", "host/store", "host/task",
		"manifests", "manifests/agent", "plugins/agent", "plugins/provider",
	},

	// A provider in Python, with tests in Go.
	"plugins/provider/minilm": nil,

	// Edges and wiring.
	"host/config":            {"host/fault"},
	"host/rules":             {"host/fault", "policies"},
	"host/redact":            nil,
	"host/telemetry":         {"host/redact"},
	"host/npm":               {"host/fault", "host/store/atomicfile"},
	"host/script":            {"host/fault", "host/npm", "host/sandbox", "host/sandbox/worker", "host/store/atomicfile", "sdk", "skills/cpython", "skills/qjs", "skills/python"},
	"host":                   {"*"},
	"host/internal/archtest": nil,
	"cmd/skillet": {
		"host/fault", "cmd/skillet/internal/startheap", "cmd/skillet/internal/startworker",
		"host", "host/work", "host/admit", "host/adopt", "host/author", "host/agents", "manifests/agent", "host/approval", "host/govern", "host/outfile", "manifests/lockfile", "manifests/semver", "host/suggest", "host/hostfn", "host/config", "host/evidence", "host/findings", "host/install", "host/invoke", "host/journal", "host/ledger", "host/prompt", "host/recording", "host/registry", "host/replay", "host/review", "host/runner",
		"host/sandbox/wasmbin", "host/secret", "host/session", "host/settings", "host/store", "host/store/atomicfile", "host/source", "manifests/signature", "manifests/signature/keyless", "host/signer", "host/trust", "host/task", "host/upkeep", "manifests", "manifests/bundle", "policies", "policies/capability",
		"host/toolchain", "host/scaffold", "host/watch", "host/inspect", "host/casetest", "manifests/testcase", "host/narrow", "host/script",
	},
	"cmd/skillet/internal/startheap":   nil,
	"cmd/skillet/internal/startworker": {"cmd/skillet/internal/startheap", "host/sandbox/worker"},

	"cmd/demo": nil,

	// Guests: they know the SDK and nothing of the host.
	"sdk/go": nil,
	// The conformance skill in Go is a guest, too.
	"sdk/conformance/go": {"sdk/go"},
	"skills":             nil,

	// What is made for guests, on this side.
	"sdk":                  nil,
	"sdk/conformance":      nil,
	"sdk/hostapi":          nil,
	"sdk/hostapi/generate": {"sdk/hostapi"},

	"skills/*": {"sdk/go"},

	// Recipes of interpreters: not guests, but what makes them.
	"skills/qjs":     {"host/guestapi", "host/sandbox/wasmlink"},
	"skills/python":  {"host/guestapi", "host/sandbox/wasmbin", "host/sandbox/wasmlink"},
	"skills/cpython": {"host/guestapi", "host/sandbox/wasmbin", "host/sandbox/wasmlink"},
}

// foreign lists the only packages that may import each dependency. Tests may
// import anything. A dependency that is not listed is an error.
var foreign = map[string][]string{
	"filippo.io/age":                        {"host/secret"},
	"github.com/JohannesKaufmann":           {"skills/html"},
	"github.com/aymanbagabas/go-udiff":      {"host/review", "skills/text"},
	"github.com/bmatcuk/doublestar":         {"manifests"},
	"github.com/cenkalti/backoff":           {"host/llm", "host/runner"},
	"github.com/cedar-policy/cedar-go":      {"policies"},
	"github.com/dgraph-io/badger":           {"host/store/badgerstore"},
	"github.com/dgraph-io/ristretto":        {"host/store/badgerstore"},
	"github.com/evanw/esbuild":              {"host/script"},
	"github.com/extism/go-sdk":              {"host/sandbox/reference"},
	"github.com/fsnotify/fsnotify":          {"host/watch"},
	"github.com/go-git/go-billy":            {"host/git"},
	"github.com/go-git/go-git":              {"host/git"},
	"github.com/go-json-experiment/json":    {"host/trust"},
	"github.com/go-viper/mapstructure":      {"host/config"},
	"github.com/gowebpki/jcs":               {"host/approval"},
	"github.com/google/uuid":                {"host/task", "host/approval"},
	"github.com/hashicorp/go-hclog":         {"host", "host/*", "plugins", "plugins/agent/builtin"},
	"github.com/hashicorp/go-plugin":        {"plugins"},
	"github.com/in-toto/attestation":        {"manifests/signature"},
	"github.com/itchyny/gojq":               {"skills/json"},
	"github.com/knadh/koanf":                {"host/config"},
	"github.com/opencontainers":             {"host/source/oci"},
	"github.com/rivo/uniseg":                {"skills/text"},
	"github.com/schollz/progressbar":        {"cmd/skillet"},
	"github.com/santhosh-tekuri/jsonschema": {"manifests", "skills/json"},
	"github.com/secure-systems-lab":         {"manifests/signature", "host/signer"},
	"github.com/sigstore/protobuf-specs":    {"manifests/signature"},
	"github.com/sigstore/sigstore-go":       {"manifests/signature/keyless"},
	"github.com/tetratelabs/wazero":         {"host/sandbox", "host/sandbox/reference"},
	"github.com/urfave/cli":                 {"cmd/skillet"},
	"github.com/viterin/vek":                {"host/memory/vector"},
	"github.com/yuin/goldmark":              {"skills/markdown"},
	"github.com/zalando/go-keyring":         {"host/secret"},
	"go.yaml.in/yaml":                       {"manifests"},
	"golang.org/x/mod":                      {"host/checkpoint"},
	"oras.land/oras-go":                     {"host/source/oci"},
	"golang.org/x/net":                      {"policies/capability", "skills/html", "host/hostfn", "host/escape", "host/sandbox/worker"},
	"golang.org/x/sys":                      {"host/*"},
	"golang.org/x/term":                     {"cmd/skillet"},
	"golang.org/x/text":                     {"host/findings/letters", "host/memory/text", "manifests", "manifests/bundle", "skills/*"},
	"golang.org/x/time":                     {"host/llm", "host/runner"},
	"google.golang.org/grpc":                {"plugins", "plugins/provider/providerpb", "plugins/provider/providergrpc", "plugins/agent/agentpb", "plugins/agent/agentgrpc", "plugins/wire"},
	"google.golang.org/protobuf":            {"manifests/signature", "plugins/provider/providerpb", "plugins/provider/providergrpc", "plugins/agent/agentpb", "plugins/agent/agentgrpc", "plugins/wire"},
}

type pkg struct {
	ImportPath, Dir string
	Imports         []string
	GoFiles         []string
}

// load lists the module's packages, once for this machine and once as the
// guests are built.
func load(t *testing.T) []pkg {
	t.Helper()
	var all []pkg
	for _, env := range [][]string{nil, {"GOOS=wasip1", "GOARCH=wasm"}} {
		cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Dir,Imports,GoFiles", module+"...")
		cmd.Env = append(cmd.Environ(), env...)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		for d := json.NewDecoder(strings.NewReader(string(out))); ; {
			var p pkg
			if err := d.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			p.ImportPath = strings.TrimPrefix(p.ImportPath, module)
			all = append(all, p)
		}
	}
	if len(all) < 20 {
		t.Fatalf("only %d packages found", len(all))
	}
	return all
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		prefix, wild := strings.CutSuffix(p, "*")
		return p == name || wild && strings.HasPrefix(name, prefix)
	})
}

func TestImports(t *testing.T) {
	for _, p := range load(t) {
		allow, ok := imports[p.ImportPath]
		if !ok && strings.HasPrefix(p.ImportPath, "skills/") {
			allow, ok = imports["skills/*"]
		}
		if !ok {
			t.Errorf("%s is not in the table: say what it may import", p.ImportPath)
			continue
		}
		for _, im := range p.Imports {
			if ours, ok := strings.CutPrefix(im, module); ok && !strings.HasPrefix(ours, "internal/") && !matches(allow, ours) {
				t.Errorf("%s imports %s", p.ImportPath, ours)
			}
		}
	}
}

func TestForeignImports(t *testing.T) {
	for _, p := range load(t) {
		for _, im := range p.Imports {
			if strings.HasPrefix(im, module) || !strings.Contains(strings.Split(im, "/")[0], ".") {
				continue
			}
			users, ok := owners(im)
			if !ok {
				t.Errorf("%s imports %s, which is not in the table: say which package owns it", p.ImportPath, im)
			} else if !matches(users, p.ImportPath) {
				t.Errorf("%s imports %s; only %v may", p.ImportPath, im, users)
			}
		}
	}
}

func owners(im string) ([]string, bool) {
	for dep, users := range foreign {
		if im == dep || strings.HasPrefix(im, dep+"/") {
			return users, true
		}
	}
	return nil, false
}

// Only where a person is present may something be decided in a person's name.
func TestWhoSpeaksForAPerson(t *testing.T) {
	allowed := []string{"cmd/skillet/app.go"}
	calls := 0
	for _, p := range load(t) {
		for _, name := range p.GoFiles {
			for _, pos := range callsOf(t, filepath.Join(p.Dir, name), "approval", "NewHuman") {
				calls++
				if file := path.Join(p.ImportPath, name); !slices.Contains(allowed, file) {
					t.Errorf("%s makes an approval.Human at %s; only %v may", file, pos, allowed)
				}
			}
		}
	}
	if calls == 0 {
		t.Error("nobody makes an approval.Human: this test looks for the wrong name")
	}
}

// callsOf finds the calls of a function of a package in a file.
func callsOf(t *testing.T, file, pkgName, fn string) []token.Position {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var found []token.Position
	ast.Inspect(f, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok || sel.Sel.Name != fn {
			return true
		}
		if id, ok := sel.X.(*ast.Ident); ok && id.Name == pkgName {
			found = append(found, fset.Position(n.Pos()))
		}
		return true
	})
	return found
}

// Every package says what it is for, once.
func TestPackageComments(t *testing.T) {
	seen := map[string]int{}
	for _, p := range load(t) {
		if seen[p.ImportPath] > 0 {
			continue
		}
		fset := token.NewFileSet()
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.PackageClauseOnly|parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			if f.Doc != nil {
				seen[p.ImportPath]++
			}
		}
		if n := seen[p.ImportPath]; n != 1 && len(p.GoFiles) > 0 {
			t.Errorf("%s has %d package comments, want 1", p.ImportPath, n)
		}
	}
}
