package archtest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A reader is where bytes of strangers meet a library, and a row of SECURITY.md.
type reader struct {
	what, library, process, bound string
	deps                          []string // of the table foreign; none for the standard library and code of our own
	tests                         []string // DIRECTORY.NAME: that it opens nothing, ends, and stays small
}

// The processes that read.
const (
	confined = "worker"
	guest    = "guest"
	inHost   = "host"
)

var readers = []reader{
	{"scripts, JavaScript and TypeScript", "esbuild", confined, "no files; 1 GB, 30 s, 256 MB of stack",
		[]string{"github.com/evanw/esbuild"},
		[]string{"host/author/script.TestBundlingOpensNothingOutside", "host/author/script.TestSourceMapsAreNotRead", "host/author/script.TestBundlingIsBounded", "host/author/script.FuzzProgram", "host/engine/sandbox/worker.TestDoIsConfined"}},
	{"modules, when they become machine code", "wazero", confined, "no files; 2 GB, 600 s; after the gate of the next row",
		[]string{"github.com/tetratelabs/wazero"},
		[]string{"host/engine/sandbox/worker.TestConfinement", "host/engine/sandbox/worker.TestCompileFails"}},
	{"modules: sizes, names, imports", "our own", inHost, "every count and size is checked before memory is taken",
		nil, []string{"host/engine/sandbox/wasmbin.FuzzInspect", "host/engine/sandbox/wasmbin.FuzzInstrument", "host/review/inspect.FuzzModule"}},
	{"`.skill` files, and sets of them", "archive/tar, compress/gzip", inHost, "64 MB, 10,000 files, at most 100 times what was packed; files of checked names only",
		nil, []string{"manifests/bundle.TestHostileArchives", "manifests/bundle.FuzzReadArchive", "manifests/bundle.TestReadDirRefusesSpecialFiles", "host/fetch/skillset.FuzzRead"}},
	{"packages of npm, for the engines", "archive/tar, compress/gzip", inHost, "32 MB, 256 MB unpacked, and only bytes whose digest the program names",
		nil, []string{"host/author/npm.TestFileRefuses", "host/author/npm.FuzzExtract"}},
	{"wheels of the Python package index, for the engines", "archive/zip, compress/flate", inHost, "128 MB, and only bytes whose digest the program names",
		nil, []string{"host/author/pypi.TestFilesRefuses", "host/author/pypi.FuzzFiles"}},
	{"manifests, `SKILL.md`, test cases", "yaml, x/text, doublestar", inHost, "1 MB, 64 deep; no anchors, aliases or tags; patterns have few wildcards",
		[]string{"go.yaml.in/yaml", "golang.org/x/text", "github.com/bmatcuk/doublestar"},
		[]string{"manifests.FuzzParse", "manifests.FuzzSkillMD", "manifests.FuzzContextFiles", "manifests.TestHugeDocuments", "manifests.TestDepth", "manifests/testcase.FuzzParse"}},
	{"JSON Schemas, and what they are asked about", "jsonschema", inHost, "256 KB, 10,000 parts, 1,000,000 steps; nothing that a schema names is opened",
		[]string{"github.com/santhosh-tekuri/jsonschema"},
		[]string{"manifests.TestSchemasOpenNothing", "manifests.FuzzCoerceArgs"}},
	{"regular expressions", "regexp", inHost, "time grows with the text and no faster; at most 10,000 states",
		nil, []string{"manifests.TestPatternStates", "manifests.TestSchemaPatternsAreBounded", "manifests/testcase.TestComparingIsBounded"}},
	{"git repositories", "go-git", inHost, "bytes, files, depth and chains of differences are counted while they come; nothing of the repository is run",
		[]string{"github.com/go-git/go-git", "github.com/go-git/go-billy"},
		[]string{"host/base/git.TestFetchIsBounded", "host/base/git.TestPacksThatGrow", "host/base/git.TestFetchRunsNothing", "host/base/git.FuzzPack"}},
	{"registries", "oras, image-spec", inHost, "4 MB a manifest, 10,000 tags, 5 redirects; every blob has the digest and size that were announced",
		[]string{"oras.land/oras-go", "github.com/opencontainers"},
		[]string{"host/fetch/source/oci.FuzzParseManifest", "host/fetch/source/oci.FuzzParseDocument", "host/fetch/source/transfer.TestRedirects"}},
	{"signatures, keys, trusted roots", "protobuf, in-toto, dsse, sigstore-go", inHost, "256 KB a signature, 64 subjects, 1 MB a root; no network",
		[]string{"google.golang.org/protobuf", "github.com/in-toto/attestation", "github.com/secure-systems-lab", "github.com/sigstore/protobuf-specs", "github.com/sigstore/sigstore-go"},
		[]string{"manifests/signature.FuzzVerify", "manifests/signature.FuzzParseKey", "manifests/signature/keyless.FuzzVerify", "manifests/signature/keyless.FuzzParseRoot"}},
	{"revocation lists", "json", inHost, "256 KB; unknown fields and doubled keys are refused",
		[]string{"github.com/go-json-experiment/json"}, []string{"host/record/trust.FuzzParseList", "host/record/trust.TestParseListRefuses"}},
	{"manifests of Extism, policies of Wassette", "our own", inHost, "the bounds of manifests",
		nil, []string{"host/fetch/adopt.FuzzExtism", "host/fetch/adopt.FuzzWassette"}},
	{"texts of a package, for differences and findings", "udiff, x/text", inHost, "1 MB a file for differences, 160 lines in all; findings end after a number of them",
		[]string{"github.com/aymanbagabas/go-udiff"},
		[]string{"host/review/review.TestLimits", "host/review/review.FuzzCompare", "host/review/findings.FuzzScan", "host/review/findings.TestScanEnds", "host/review/findings/script.FuzzTokens"}},
	{"answers of servers, for a skill", "net/http", inHost, "the size and time that the settings say; host and address are checked at every hop",
		[]string{"golang.org/x/net"}, []string{"host/run/hostfn.TestResponseLimits", "host/run/hostfn.TestTimeLimits", "host/run/hostfn.FuzzRequestMeta", "host/run/hostfn.FuzzURL"}},
	{"answers of models and plugins", "grpc, protobuf, go-plugin", inHost, "bounds on messages, questions and time",
		[]string{"google.golang.org/grpc", "github.com/hashicorp/go-plugin"},
		[]string{"plugins.FuzzHandshake", "plugins/provider/providergrpc.FuzzResponse", "plugins/provider/providergrpc.TestMessageSize", "plugins/agent/agentgrpc.FuzzMessage", "plugins/agent/agentgrpc.TestMessagesAreBounded"}},
	{"requests to the service", "net/http, huma", inHost, "64 KB of headers, 1 MB of body and 8 MB for a call; rates by token and in all, requests in flight; from this machine, by name and address; no parser of bodies before a token",
		[]string{"github.com/danielgtaylor/huma"},
		[]string{"host/edge/api.FuzzRequest", "host/edge/api.TestRequestsThatDoNotFit", "host/edge/api.TestWhoMayUseWhat"}},
	{"messages of clients of the Model Context Protocol", "go-sdk", inHost, "8 MB a message; over HTTP the bounds of the row above, 100 sessions of a token, and no parser before a token",
		[]string{"github.com/modelcontextprotocol"},
		[]string{"host/edge/mcp.FuzzMessage", "host/edge/mcp.TestRefusesOverHTTP"}},
	{"messages of servers of the Model Context Protocol", "go-sdk", inHost, "8 MB a message, 5,000 messages and 64 MB after each request, 1,000 tools; what is not a message ends the server",
		[]string{"github.com/modelcontextprotocol"},
		[]string{"host/run/mcpserver.FuzzGuard", "host/run/mcpserver.TestMisbehaviour", "host/run/mcpserver.TestNeverBegins"}},
	{"answers of servers of the Model Context Protocol, and of those who give tokens for them, when one logs in", "go-sdk, x/oauth2", inHost, "1 MB an answer, 30 s, no redirects; at 127.0.0.1, for the time of the login, 64 KB of a request",
		[]string{"golang.org/x/oauth2"},
		[]string{"host/run/mcplogin.FuzzAnswer", "host/run/mcplogin.FuzzChallenge", "host/run/mcplogin.TestRefused", "host/run/mcplogin.TestStrangers"}},
	{"recordings, saved sessions, lock files, exports, backups", "badger, x/mod, our own", inHost, "sizes are checked before memory is taken; sessions are sealed with a key of the home, and to their name and number",
		[]string{"github.com/dgraph-io/badger", "golang.org/x/mod"},
		[]string{"host/run/recording.FuzzParse", "host/run/session.FuzzFile", "manifests/lockfile.FuzzParse", "host/record/audit.FuzzVerify", "host/base/store/badgerstore.FuzzRestore", "host/base/store/filestore.FuzzRead", "host/record/checkpoint.FuzzParse", "host/agents/memory.FuzzImport"}},
	{"policies of the home", "cedar", inHost, "64 KB a file, bounded nesting; a person writes them, and none is taken from a package",
		[]string{"github.com/cedar-policy/cedar-go"}, []string{"policies.FuzzLoad", "policies.TestDeepNesting"}},
	{"PDF, HTML, Markdown, CSV, jq, and any other format", "the skill's", guest, "memory, fuel and time of the call; no files but those granted",
		[]string{"github.com/yuin/goldmark", "github.com/JohannesKaufmann", "github.com/itchyny/gojq", "github.com/rivo/uniseg"},
		[]string{"skills/pdf.FuzzText", "skills/html.FuzzHTML", "skills/markdown.FuzzMarkdown", "skills/csv.FuzzCSV", "skills/json.FuzzQuery", "skills/text.FuzzDiff"}},
}

// unread are dependencies that no bytes of strangers reach, and why.
var unread = map[string]string{
	"filippo.io/age":                   "secrets and keys of the home, which it wrote",
	"github.com/cenkalti/backoff":      "times to wait",
	"github.com/dgraph-io/ristretto":   "a cache of the store",
	"github.com/extism/go-sdk":         "tests and proofs alone",
	"github.com/fsnotify/fsnotify":     "names of files that the system reports",
	"github.com/go-viper/mapstructure": "settings of the home",
	"github.com/google/uuid":           "numbers that it makes",
	"github.com/gowebpki/jcs":          "JSON that this program wrote",
	"github.com/hashicorp/go-hclog":    "lines of the log, out",
	"github.com/coder/acp-go-sdk":      "what the person's own editor says, lines of at most 10 MB",
	"github.com/tailscale/hujson":      "the configuration that a person's own editor wrote",
	"github.com/knadh/koanf":           "settings of the home",
	"github.com/coreos/go-systemd":     "words to systemd, out",
	"github.com/pierrec/lz4":           "machine code that this program made, sealed and verified",
	"github.com/prometheus":            "what this program counted, out",
	"github.com/schollz/progressbar":   "a bar, out",
	"github.com/urfave/cli":            "what the person types",
	"github.com/viterin/vek":           "numbers of the memory",
	"github.com/zalando/go-keyring":    "the system's keyring",
	"go.opentelemetry.io":              "what this program traced and counted, out; a traceparent of 55 characters",
	"golang.org/x/sys":                 "calls of the system",
	"golang.org/x/term":                "the person's terminal",
	"golang.org/x/time":                "times to wait",
}

// TestReaders keeps the list of who reads what strangers write: every dependency is in
// it or reads none of that, every test that it names is there, and SECURITY.md has it.
func TestReaders(t *testing.T) {
	root := filepath.Join("..", "..")
	page, err := os.ReadFile(filepath.Join(root, "SECURITY.md"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, r := range readers {
		row := fmt.Sprintf("| %s | %s | %s | %s |\n", r.what, r.library, r.process, r.bound)
		if !strings.Contains(string(page), row) {
			t.Errorf("SECURITY.md lacks: %s", row)
		}
		for _, d := range r.deps {
			seen[d] = true
		}
		if len(r.tests) == 0 {
			t.Errorf("%s: no test", r.what)
		}
		for _, name := range r.tests {
			if dir, f, _ := strings.Cut(name, "."); !hasTest(t, filepath.Join(root, dir), f) {
				t.Errorf("%s: there is no %s", r.what, name)
			}
		}
	}
	for d := range foreign {
		if _, harmless := unread[d]; !harmless && !seen[d] {
			t.Errorf("%s: who reads what strangers write does not say whether it does", d)
		}
	}
	for _, all := range []map[string]bool{seen, keys(unread)} {
		for d := range all {
			if _, ok := foreign[d]; !ok {
				t.Errorf("%s is no dependency", d)
			}
		}
	}
	if n := strings.Count(string(page), "| "+inHost+" |") + strings.Count(string(page), "| "+confined+" |") + strings.Count(string(page), "| "+guest+" |"); n != len(readers) {
		t.Errorf("SECURITY.md has %d rows, the table %d", n, len(readers))
	}
}

func keys(m map[string]string) map[string]bool {
	all := map[string]bool{}
	for k := range m {
		all[k] = true
	}
	return all
}

// hasTest reports whether a directory has a test or fuzz target of a name.
func hasTest(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	find := regexp.MustCompile(`(?m)^func ` + regexp.QuoteMeta(name) + `\(`)
	return slices.ContainsFunc(files, func(f string) bool {
		b, err := os.ReadFile(f)
		return err == nil && find.Match(b)
	})
}
