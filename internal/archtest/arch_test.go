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
	"host/base/guestapi":          {"policies/capability"},
	"manifests":                   {"manifests/semver", "policies/capability"},
	"manifests/semver":            nil,
	"manifests/testcase":          {"manifests", "policies/capability"},
	"manifests/agent":             {"manifests"},
	"manifests/schema":            nil,
	"manifests/lockfile":          {"manifests", "manifests/semver"},
	"manifests/bundle":            {"manifests"},
	"manifests/signature":         {"manifests"},
	"manifests/signature/keyless": {"manifests", "manifests/signature"},
	"host/base/fault":             nil,
	"host/base/task":              {"host/base/fault"},
	"host/fetch/resolve":          {"manifests", "manifests/lockfile", "manifests/semver"},
	"host/review/suggest":         {"policies/capability"},

	// Contracts and what implements them.
	"plugins/provider":              nil,
	"plugins/provider/providerpb":   nil,
	"plugins/wire":                  {"plugins/provider"},
	"plugins/provider/providergrpc": {"plugins/provider", "plugins/provider/providerpb", "plugins/wire"},
	"plugins/provider/providertest": {"plugins/provider"},
	"plugins/provider/local":        {"host/agents/memory/hashing", "plugins/agent", "plugins/provider"},
	"plugins/agent":                 {"plugins/provider"},
	"plugins/agent/agentpb":         {"plugins/provider/providerpb"},
	"plugins/agent/agentgrpc":       {"plugins/agent", "plugins/agent/agentpb", "plugins/provider", "plugins/provider/providergrpc", "plugins/provider/providerpb", "plugins/wire"},
	"plugins/agent/agenttest":       {"plugins/agent", "plugins/provider"},
	"plugins/agent/builtin":         {"manifests", "manifests/agent", "manifests/schema", "manifests/testcase", "plugins/agent", "plugins/provider"},
	"plugins":                       {"host/engine/confine", "host/base/redact", "plugins/agent", "plugins/agent/agentgrpc", "plugins/provider", "plugins/provider/providergrpc", "plugins/wire"},
	"host/engine/confine":           nil,

	"host/base/store":             {"host/base/store/atomicfile", "host/base/store/filelock"},
	"host/base/store/backup":      {"host/base/store"},
	"host/base/store/space":       {"host/base/store"},
	"host/base/store/backends":    {"host/base/store", "host/base/store/badgerstore", "host/base/store/filestore"},
	"host/base/store/filestore":   {"host/base/store", "host/base/store/atomicfile", "host/base/store/backup", "host/base/store/filelock", "host/base/store/space"},
	"host/base/store/atomicfile":  nil,
	"host/base/store/keyfile":     {"host/base/store/atomicfile", "host/base/store/filelock"},
	"host/base/store/filelock":    nil,
	"host/base/store/storetest":   {"host/base/store", "host/base/store/backup", "host/base/store/filelock"},
	"host/base/store/badgerstore": {"host/base/store", "host/base/store/atomicfile", "host/base/store/backup", "host/base/store/filelock", "host/base/store/space"},
	"host/record/checkpoint":      nil,
	"host/agents/llm/budget":      {"host/base/fault", "host/agents/event", "host/base/store"},
	"host/agents/llm":             {"host/base/fault", "host/agents/event", "host/agents/llm/budget", "host/base/store", "manifests", "plugins/provider"},
	"host/agents/llm/skillmodel":  {"host/run/hostfn", "host/agents/llm", "host/agents/llm/budget", "host/base/task", "plugins/provider"},
	"host/agents/event":           {"host/base/fault", "host/base/store", "host/base/task", "plugins/provider"},
	"host/agents/memory":          {"host/agents/event", "host/agents/memory/text", "host/agents/memory/vector", "host/base/store"},
	"host/agents/memory/hashing":  {"host/agents/memory/text"},
	"host/agents/memory/text":     nil,
	"host/agents/memory/vector":   nil,
	"host/agents/queue":           {"host/agents/event", "host/base/store"},
	"host/record/journal":         {"host/record/checkpoint", "host/base/store/atomicfile", "host/base/store/filelock"},

	// The sandbox: knows no skill, manifest or policy.
	"host/engine/jail":                     nil,
	"host/engine/sandbox/wasmbin":          nil,
	"host/engine/sandbox/wasmbin/wasmtest": nil,
	"host/engine/sandbox/wasmlink":         {"host/engine/sandbox/wasmbin"},
	"host/engine/sandbox/wasi":             {"host/engine/jail"},
	"host/engine/sandbox":                  {"host/engine/jail", "host/engine/sandbox/wasi", "host/engine/sandbox/wasmbin", "host/engine/sandbox/wasmlink"},
	"host/engine/sandbox/reference":        nil,
	"host/engine/sandbox/worker":           {"host/engine/confine", "host/engine/jail", "host/engine/sandbox", "host/engine/sandbox/wasi"},

	// State: each owns its types and its keys in the store.
	"host/base/secret":                  {"host/base/fault", "host/base/store/atomicfile"},
	"host/record/signer":                {"host/base/secret", "host/base/store/filelock", "manifests/signature"},
	"host/fetch/skillset":               {"manifests", "manifests/bundle", "policies/capability"},
	"host/record/trust":                 {"host/base/fault", "host/record/approval", "host/record/ledger", "host/base/store", "manifests", "manifests/signature", "manifests/signature/keyless"},
	"host/record/audit":                 {"host/record/checkpoint", "host/record/journal", "host/base/secret", "host/base/store/filelock"},
	"host/record/ledger":                {"host/record/journal", "host/base/store"},
	"host/record/registry":              {"host/base/fault", "host/record/ledger", "host/base/store", "manifests", "manifests/bundle"},
	"host/record/approval/approvaltest": {"host/record/approval", "host/record/ledger", "host/record/registry", "host/base/store", "manifests", "policies/capability"},
	"host/record/approval":              {"host/base/fault", "host/record/ledger", "host/record/registry", "host/base/store", "manifests", "policies", "policies/capability"},

	// Behaviour.
	"host/review/findings": {
		"host/review/findings/letters", "host/review/findings/script", "host/review/findings/secrets", "host/review/findings/words",
		"host/base/guestapi", "host/engine/sandbox/wasmbin", "manifests", "manifests/bundle", "policies/capability",
	},
	"host/review/findings/letters": nil,
	"host/review/findings/script":  nil,
	"host/review/findings/secrets": {"host/review/findings/words"},
	"host/review/findings/words":   nil,
	"host/base/git":                nil,
	"host/fetch/adopt":             {"host/base/fault", "host/engine/sandbox/wasmbin", "manifests", "manifests/bundle", "policies/capability"},
	"host/fetch/source": {
		"host/base/fault", "host/fetch/adopt", "host/base/git", "host/fetch/source/oci", "host/fetch/source/transfer", "host/base/store", "host/base/store/atomicfile", "host/author/toolchain",
		"manifests", "manifests/bundle", "manifests/semver", "manifests/signature",
	},
	"host/install/closure":       {"host/base/fault", "host/record/registry", "host/fetch/resolve", "host/fetch/source", "manifests", "manifests/bundle", "manifests/lockfile", "manifests/semver"},
	"host/fetch/source/oci":      {"host/fetch/source/transfer", "host/base/store/atomicfile", "host/base/store/filelock", "manifests", "manifests/bundle", "manifests/signature"},
	"host/fetch/source/transfer": {"host/base/fault", "host/base/store/filelock"},
	"host/record/history":        {"host/record/approval", "host/base/git", "host/record/ledger", "host/record/registry", "host/base/store", "host/base/store/atomicfile", "host/base/store/filelock", "manifests", "manifests/bundle"},
	"host/record/agents":         {"host/base/fault", "host/record/approval", "host/record/document", "host/review/findings", "host/record/ledger", "manifests/agent"},
	"host/record/document":       {"host/base/fault", "host/record/approval", "host/record/ledger", "host/base/store/atomicfile"},
	"host/run/session":           {"host/base/fault", "host/base/store", "host/base/store/atomicfile", "host/base/store/filelock", "manifests"},
	"host/record/settings":       {"host/base/fault", "host/record/approval", "host/base/config", "host/record/document", "host/record/ledger"},
	"host/install/evidence":      {"host/record/approval", "host/run/casetest", "host/review/findings", "host/record/registry", "host/run/replay", "host/review/review", "manifests", "manifests/bundle"},
	"host/author/watch":          nil,
	"host/review/inspect":        {"host/review/review", "host/engine/sandbox/wasmbin", "manifests"},
	"host/engine/narrow":         {"host/engine/sandbox/wasmbin", "host/engine/sandbox/wasmlink"},
	"host/author/toolchain":      {"host/base/fault", "host/review/review", "host/engine/sandbox/wasmbin", "manifests", "manifests/bundle"},
	"host/author/scaffold":       {"host/base/fault", "host/author/toolchain", "manifests", "sdk"},
	"host/review/review":         {"host/base/guestapi", "host/engine/sandbox/wasmbin", "manifests", "manifests/bundle", "manifests/testcase", "policies/capability"},
	"host/install":               {"host/base/fault", "host/record/approval", "host/run/casetest", "host/review/findings", "host/record/ledger", "host/record/registry", "host/review/review", "host/base/store", "host/record/trust", "manifests", "manifests/bundle", "policies", "policies/capability"},
	"host/run/hostfn":            {"host/base/fault", "host/engine/jail", "host/base/redact", "host/engine/sandbox", "host/base/store", "host/base/task", "policies", "policies/capability"},
	"host/run/prompt":            {"host/base/fault", "host/engine/jail", "manifests", "manifests/bundle"},
	"host/run/recording":         {"host/base/fault", "host/run/hostfn", "host/engine/jail", "host/base/redact", "host/engine/sandbox", "host/engine/sandbox/wasi", "host/base/store/atomicfile", "host/base/task", "manifests"},
	"host/run/replay":            {"host/base/fault", "host/run/recording", "host/review/review", "host/run/runner", "host/base/task", "manifests", "manifests/bundle"},
	"host/run/runner": {
		"host/base/fault", "host/fetch/adopt", "host/record/approval", "host/run/hostfn", "host/run/prompt", "host/record/journal", "host/run/recording", "host/record/registry", "host/engine/sandbox", "host/engine/sandbox/wasi", "host/engine/sandbox/worker", "host/run/session", "host/base/store", "host/base/task",
		"manifests", "manifests/bundle", "policies", "policies/capability",
	},

	// What every call from outside goes through.
	"host/app/invoke": {
		"host/base/fault", "host/fetch/adopt", "host/record/approval", "host/install/closure", "host/agents/llm/skillmodel", "host/run/prompt", "host/run/recording", "host/record/registry", "host/run/replay", "host/review/review", "host/run/runner", "host/base/secret", "host/run/session",
		"host/fetch/source", "host/base/task", "host/author/toolchain", "host/record/trust", "manifests", "manifests/bundle", "policies", "policies/capability",
	},

	// Changes to what is installed, and questions about it.
	"host/app/admit": {
		"host/base/fault", "host/record/approval", "host/install/closure", "host/install/evidence", "host/review/findings", "host/install", "host/app/invoke", "host/base/outfile", "host/run/recording", "host/record/registry", "host/run/replay", "host/fetch/resolve", "host/review/review", "host/run/runner", "host/fetch/skillset", "host/fetch/source", "host/base/store", "host/base/store/atomicfile", "host/author/toolchain", "host/record/trust",
		"manifests", "manifests/bundle", "manifests/lockfile", "manifests/signature", "policies/capability",
	},
	// Who decides what.
	"host/app/govern": {
		"host/base/fault", "host/fetch/adopt", "host/record/agents", "host/record/approval", "host/record/audit", "host/run/casetest", "host/record/checkpoint", "host/base/config", "host/record/document", "host/install/evidence", "host/review/findings",
		"host/install", "host/record/journal", "host/record/ledger", "host/base/outfile", "host/record/registry", "host/run/replay", "host/review/review", "host/run/runner", "host/base/secret", "host/record/settings", "host/record/signer", "host/fetch/source", "host/base/store", "host/review/suggest", "host/record/trust",
		"manifests", "manifests/bundle", "manifests/signature", "manifests/signature/keyless", "policies", "policies/capability",
	},
	"host/base/outfile": {"host/base/fault"},
	// What authors do.
	"host/app/author": {
		"host/record/approval", "host/run/casetest", "host/base/fault", "host/review/findings", "host/run/hostfn", "host/review/inspect", "host/install", "host/app/invoke", "host/engine/narrow", "host/author/npm", "host/record/registry", "host/review/review", "host/run/runner",
		"host/engine/sandbox", "host/engine/sandbox/wasmbin", "host/engine/sandbox/worker", "host/author/scaffold", "host/author/script", "host/fetch/source", "host/base/store/atomicfile", "host/base/task", "host/author/toolchain", "host/author/watch",
		"manifests", "manifests/bundle", "manifests/signature", "manifests/testcase", "policies/capability",
	},

	// Keeping a home in order.
	"host/app/upkeep": {
		"host/base/fault", "host/record/approval", "host/record/audit", "host/record/checkpoint", "host/base/config", "host/escape", "host/record/history", "host/run/hostfn", "host/install", "host/app/invoke", "host/record/journal", "host/record/ledger", "host/agents/memory", "host/base/outfile",
		"host/run/recording", "host/record/registry", "host/record/rules", "host/run/runner", "host/engine/sandbox", "host/engine/sandbox/worker", "host/base/secret", "host/run/session", "host/base/store", "host/base/store/atomicfile", "host/base/store/backends", "host/base/store/backup", "host/base/store/filelock",
		"host/record/trust", "manifests", "manifests/bundle", "policies", "policies/capability",
	},

	// What an edge does with goals, and what answers for them.
	"host/app/work": {
		"host/base/fault", "host/record/agents", "host/record/approval", "host/base/config", "host/engine/confine", "host/agents/event", "host/run/hostfn", "host/install", "host/app/invoke", "host/record/journal", "host/agents/llm", "host/agents/llm/budget",
		"host/agents/llm/skillmodel", "host/agents/memory", "host/agents/memory/hashing", "host/agents/orchestrator", "host/base/outfile", "host/agents/queue", "host/record/registry", "host/run/runner", "host/base/secret", "host/base/store", "host/base/store/atomicfile", "host/base/task",
		"manifests", "manifests/agent", "manifests/bundle", "plugins", "plugins/agent", "plugins/agent/builtin", "plugins/provider", "plugins/provider/local", "policies", "policies/capability",
	},

	"host/run/casetest": {
		"host/base/fault", "host/base/guestapi", "host/run/hostfn", "host/engine/jail", "host/run/recording", "host/record/registry", "host/review/review", "host/run/runner", "host/engine/sandbox", "host/engine/sandbox/wasi", "host/base/store", "host/base/task",
		"manifests", "manifests/bundle", "manifests/testcase", "policies", "policies/capability",
	},

	// What tries to get out of all that.
	"host/escape": {
		"host/run/hostfn", "host/engine/jail", "host/engine/sandbox", "host/engine/sandbox/wasmbin", "host/engine/sandbox/wasmbin/wasmtest", "host/engine/sandbox/worker",
		"host/base/store", "host/base/store/badgerstore", "policies", "policies/capability",
	},

	// The work on tasks.
	"host/agents/orchestrator": {
		"host/base/fault", "host/record/approval", "host/agents/event", "host/agents/llm", "host/agents/llm/budget", "host/agents/memory", "host/base/store", "host/base/task",
		"manifests", "manifests/agent", "plugins/agent", "plugins/provider",
	},

	// A provider in Python, with tests in Go.
	"plugins/provider/minilm": nil,

	// Edges and wiring.
	"host/base/config":    {"host/base/fault"},
	"host/record/rules":   {"host/base/fault", "policies"},
	"host/base/redact":    nil,
	"host/base/telemetry": {"host/base/redact"},
	"host/author/npm":     {"host/base/fault", "host/base/store/atomicfile"},
	"host/author/script":  {"host/base/fault", "host/author/npm", "host/engine/sandbox", "host/engine/sandbox/worker", "host/base/store/atomicfile", "sdk", "skills/cpython", "skills/qjs", "skills/python"},
	"host":                {"*"},
	"internal/archtest":   nil,
	"cmd/skillet": {
		"host/base/fault", "cmd/skillet/internal/startheap", "cmd/skillet/internal/startworker",
		"host", "host/app/work", "host/app/admit", "host/fetch/adopt", "host/app/author", "host/record/agents", "manifests/agent", "host/record/approval", "host/app/govern", "host/base/outfile", "manifests/lockfile", "manifests/semver", "host/review/suggest", "host/run/hostfn", "host/base/config", "host/install/evidence", "host/review/findings", "host/install", "host/app/invoke", "host/record/journal", "host/record/ledger", "host/run/prompt", "host/run/recording", "host/record/registry", "host/run/replay", "host/review/review", "host/run/runner",
		"host/engine/sandbox/wasmbin", "host/base/secret", "host/run/session", "host/record/settings", "host/base/store", "host/base/store/atomicfile", "host/fetch/source", "manifests/signature", "manifests/signature/keyless", "host/record/signer", "host/record/trust", "host/base/task", "host/app/upkeep", "manifests", "manifests/bundle", "policies", "policies/capability",
		"host/author/toolchain", "host/author/scaffold", "host/author/watch", "host/review/inspect", "host/run/casetest", "manifests/testcase", "host/engine/narrow", "host/author/script",
	},
	"cmd/skillet/internal/startheap":   nil,
	"cmd/skillet/internal/startworker": {"cmd/skillet/internal/startheap", "host/engine/sandbox/worker"},

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
	"skills/qjs":     {"host/base/guestapi", "host/engine/sandbox/wasmlink"},
	"skills/python":  {"host/base/guestapi", "host/engine/sandbox/wasmbin", "host/engine/sandbox/wasmlink"},
	"skills/cpython": {"host/base/guestapi", "host/engine/sandbox/wasmbin", "host/engine/sandbox/wasmlink"},
}

// foreign lists the only packages that may import each dependency. Tests may
// import anything. A dependency that is not listed is an error.
var foreign = map[string][]string{
	"filippo.io/age":                        {"host/base/secret"},
	"github.com/JohannesKaufmann":           {"skills/html"},
	"github.com/aymanbagabas/go-udiff":      {"host/review/review", "skills/text"},
	"github.com/bmatcuk/doublestar":         {"manifests"},
	"github.com/cenkalti/backoff":           {"host/agents/llm", "host/run/runner"},
	"github.com/cedar-policy/cedar-go":      {"policies"},
	"github.com/dgraph-io/badger":           {"host/base/store/badgerstore"},
	"github.com/dgraph-io/ristretto":        {"host/base/store/badgerstore"},
	"github.com/evanw/esbuild":              {"host/author/script"},
	"github.com/extism/go-sdk":              {"host/engine/sandbox/reference"},
	"github.com/fsnotify/fsnotify":          {"host/author/watch"},
	"github.com/go-git/go-billy":            {"host/base/git"},
	"github.com/go-git/go-git":              {"host/base/git"},
	"github.com/go-json-experiment/json":    {"host/record/trust"},
	"github.com/go-viper/mapstructure":      {"host/base/config"},
	"github.com/gowebpki/jcs":               {"host/record/approval"},
	"github.com/google/uuid":                {"host/base/task", "host/record/approval"},
	"github.com/hashicorp/go-hclog":         {"host", "host/*", "plugins", "plugins/agent/builtin"},
	"github.com/hashicorp/go-plugin":        {"plugins"},
	"github.com/in-toto/attestation":        {"manifests/signature"},
	"github.com/itchyny/gojq":               {"skills/json"},
	"github.com/knadh/koanf":                {"host/base/config"},
	"github.com/opencontainers":             {"host/fetch/source/oci"},
	"github.com/rivo/uniseg":                {"skills/text"},
	"github.com/schollz/progressbar":        {"cmd/skillet"},
	"github.com/santhosh-tekuri/jsonschema": {"manifests", "skills/json"},
	"github.com/secure-systems-lab":         {"manifests/signature", "host/record/signer"},
	"github.com/sigstore/protobuf-specs":    {"manifests/signature"},
	"github.com/sigstore/sigstore-go":       {"manifests/signature/keyless"},
	"github.com/tetratelabs/wazero":         {"host/engine/sandbox", "host/engine/sandbox/reference"},
	"github.com/urfave/cli":                 {"cmd/skillet"},
	"github.com/viterin/vek":                {"host/agents/memory/vector"},
	"github.com/yuin/goldmark":              {"skills/markdown"},
	"github.com/zalando/go-keyring":         {"host/base/secret"},
	"go.yaml.in/yaml":                       {"manifests"},
	"golang.org/x/mod":                      {"host/record/checkpoint"},
	"oras.land/oras-go":                     {"host/fetch/source/oci"},
	"golang.org/x/net":                      {"policies/capability", "skills/html", "host/run/hostfn", "host/escape", "host/engine/sandbox/worker"},
	"golang.org/x/sys":                      {"host/*"},
	"golang.org/x/term":                     {"cmd/skillet"},
	"golang.org/x/text":                     {"host/review/findings/letters", "host/agents/memory/text", "manifests", "manifests/bundle", "skills/*"},
	"golang.org/x/time":                     {"host/agents/llm", "host/run/runner"},
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
