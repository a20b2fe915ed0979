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
	"sync"
	"testing"
)

const module = "github.com/skillet-run/skillet/"

// foreign lists the only packages that may import each dependency. Tests may
// import anything. A dependency that is not listed is an error.
var foreign = map[string][]string{
	"filippo.io/age":                        {"host/base/secret"},
	"github.com/JohannesKaufmann":           {"skills/html"},
	"github.com/aymanbagabas/go-udiff":      {"host/review/review", "skills/text"},
	"github.com/bmatcuk/doublestar":         {"manifests"},
	"github.com/cenkalti/backoff":           {"host/agents/llm", "host/run/runner"},
	"github.com/cedar-policy/cedar-go":      {"policies"},
	"github.com/coder/acp-go-sdk":           {"host/edge/acp"},
	"github.com/danielgtaylor/huma":         {"host/edge/api"},
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
	"github.com/itchyny/gojq":               {"cmd/skillet/internal/query", "skills/json"},
	"github.com/knadh/koanf":                {"host/base/config"},
	"github.com/modelcontextprotocol":       {"host/edge/mcp", "host/fetch/source/mcpskill", "host/run/mcpserver", "host/run/mcplogin", "host/run/mcpserver/mcptest"}, // the server, what fetches skills, the client, its logins, and its tests
	"github.com/opencontainers":             {"host/fetch/source/oci"},
	"github.com/pierrec/lz4":                {"host/engine/sandbox/codecache"},
	"github.com/prometheus":                 {"host/edge/api", "host/base/otlp", "cmd/skillet"},
	"github.com/rivo/uniseg":                {"host/edge/lines", "skills/text"},
	"github.com/coreos/go-systemd":          {"cmd/skillet/internal/daemon"},
	"github.com/schollz/progressbar":        {"cmd/skillet/internal/screen"},
	"github.com/santhosh-tekuri/jsonschema": {"cmd/skillet", "manifests", "skills/json"},
	"github.com/secure-systems-lab":         {"manifests/signature", "host/record/signer"},
	"github.com/sigstore/protobuf-specs":    {"manifests/signature"},
	"github.com/sigstore/sigstore-go":       {"manifests/signature/keyless"},
	"github.com/tailscale/hujson":           {"cmd/skillet/internal/mcpclient"},
	"github.com/tetratelabs/wazero":         {"host/engine/sandbox", "host/engine/sandbox/codecache", "host/engine/sandbox/reference"},
	"github.com/urfave/cli":                 {"cmd/skillet", "cmd/skillet/internal/cmdline"},
	"github.com/viterin/vek":                {"host/agents/memory/vector"},
	"github.com/yuin/goldmark":              {"skills/markdown"},
	"github.com/zalando/go-keyring":         {"host/base/secret"},
	"go.opentelemetry.io":                   {"host/base/trace", "host/base/otlp", "plugins/provider/providergrpc"},
	"go.yaml.in/yaml":                       {"manifests"},
	"golang.org/x/mod":                      {"host/record/checkpoint"},
	"oras.land/oras-go":                     {"host/fetch/source/oci"},
	"golang.org/x/net":                      {"policies/capability", "skills/html", "host/run/hostfn", "host/escape", "host/engine/sandbox/worker", "host/edge/api"},
	"golang.org/x/oauth2":                   {"host/run/mcplogin"},
	"golang.org/x/sys":                      {"host/*"},
	"golang.org/x/term":                     {"cmd/skillet"},
	"golang.org/x/text":                     {"host/review/findings/letters", "host/agents/memory/text", "manifests", "manifests/bundle", "skills/*"},
	"golang.org/x/time":                     {"host/agents/llm", "host/app/govern", "host/edge/api", "host/run/runner"},
	"google.golang.org/grpc":                {"plugins", "plugins/provider/providerpb", "plugins/provider/providergrpc", "plugins/agent/agentpb", "plugins/agent/agentgrpc", "plugins/wire"},
	"google.golang.org/protobuf":            {"manifests/signature", "plugins/provider/providerpb", "plugins/provider/providergrpc", "plugins/agent/agentpb", "plugins/agent/agentgrpc", "plugins/wire"},
}

type pkg struct {
	ImportPath, Dir string
	Imports         []string
	GoFiles         []string
}

// load lists the module's packages, for this machine and as the guests are built.
func load(t *testing.T) []pkg {
	t.Helper()
	loaded.once.Do(func() { loaded.all = list(t) })
	return loaded.all
}

// loaded is what [load] has listed.
var loaded struct {
	once sync.Once
	all  []pkg
}

func list(t *testing.T) []pkg {
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
	allowed := []string{"cmd/skillet/app.go", "host/app/govern/tokens.go"}
	calls := 0
	for _, p := range load(t) {
		for _, name := range p.GoFiles {
			for _, pos := range callsOf(t, filepath.Join(p.Dir, name), "principal", "NewHuman") {
				calls++
				if file := path.Join(p.ImportPath, name); !slices.Contains(allowed, file) {
					t.Errorf("%s makes a principal.Human at %s; only %v may", file, pos, allowed)
				}
			}
		}
	}
	if calls == 0 {
		t.Error("nobody makes a principal.Human: this test looks for the wrong name")
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
