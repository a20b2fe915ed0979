package archtest

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// spelledYet are the strings of libraries that spell a command or a flag of the command
// line. Nothing is added here: what helps against a failure is a remedy of package fault,
// which each edge says in its own way.
var spelledYet = []string{
	// The beginnings of files, and what they are sealed for.
	"skillet session 1\n",
	"skillet store backup",
	"skillet store key",
	// A source of settings, and what a verdict says accepts a finding: both are in JSON.
	"--set",
	"--trust-signer",
	"--accept-source",
	"--allow-unsigned",
	// The option of a linker.
	"Nothing has to be done: the limit holds. Linkers have an option for a maximum, such as --max-memory.",
	// Texts that have no remedies beside them yet.
	"Build the module for this host; `skillet info PATH --diff --full` lists what it imports.",
	"koanf:\"store_backend\" doc:\"what keeps the store: badger, a database for homes of any size, or file, one file that is read into memory; skillet store rebuild moves a home from one to the other\"",
	"allowed_hosts %q: not honoured; hosts are granted by name, or as *.example.com: `skillet permission grant %s 'http:GET https://HOST/*'`",
	"grant what is wanted with `skillet permission grant`",
	"grant less with `skillet permission grant`, or forbid it to all skills with a policy: `skillet help policy`",
	"keep a secret with `skillet secret set`, which the host adds to requests, or give a value with --config",
	"bound a skill in its manifest, with security.resource_limits, or one run with --max-memory-mb",
}

// foreignFlags has the flags of compilers.
const foreignFlags = "host/author/toolchain/"

var (
	spelledCommand = regexp.MustCompile("(?:^|[^a-z./-])skillet ([a-z]+)")
	spelledFlag    = regexp.MustCompile("(?:^|[ (`])--[a-z]")
)

// Strings of libraries spell no command and no flag of the command line: over HTTP and MCP
// they would be wrong.
func TestLibrariesSpellNoCommands(t *testing.T) {
	all := sources(t)
	verbs := map[string]bool{}
	for _, s := range all {
		if strings.HasPrefix(s.name, "cmd/skillet/") {
			ast.Inspect(s.file, func(n ast.Node) bool { return commandNamed(n, verbs) })
		}
	}
	if len(verbs) < 50 {
		t.Fatalf("only %d commands were found", len(verbs))
	}
	found := map[string]bool{}
	for _, s := range all {
		if !strings.HasPrefix(s.name, "host/") && !strings.HasPrefix(s.name, "manifests/") && !strings.HasPrefix(s.name, "policies/") && !strings.HasPrefix(s.name, "plugins/") {
			continue
		}
		for text, at := range stringsOf(s) {
			if !spells(text, verbs, !strings.HasPrefix(s.name, foreignFlags)) {
				continue
			}
			if found[text] = true; !slices.Contains(spelledYet, text) {
				t.Errorf("%s: %q spells a command or a flag: make it a fault.Remedy", at, text)
			}
		}
	}
	for _, text := range spelledYet {
		if !found[text] {
			t.Errorf("no string is %q any more: take it from the list", text)
		}
	}
}

// spells reports whether a text spells one of some commands, or a flag.
func spells(text string, verbs map[string]bool, flags bool) bool {
	m := spelledCommand.FindStringSubmatch(text)
	return m != nil && verbs[m[1]] || flags && spelledFlag.MatchString(text)
}

// Each way to spell a command or a flag is found, and what only looks like one is not.
func TestSpelledIsFound(t *testing.T) {
	t.Parallel()
	verbs := map[string]bool{"permission": true, "run": true}
	for text, want := range map[string]bool{
		"grant it with `skillet permission grant`": true,
		"skillet run csv":                          true,
		"see: skillet run csv":                     true,
		"with --allow it may":                      true,
		"(--yes)":                                  true,
		"give `--signer`":                          true,
		"--signer is missing":                      true,
		"the skillet of a person":                  false,
		"my-skillet run":                           false,
		"docs/skillet run":                         false,
		"one -- and two":                           false,
		"a--b":                                     false,
		"nothing":                                  false,
	} {
		if got := spells(text, verbs, true); got != want {
			t.Errorf("%q spells a command or a flag: %v, want %v", text, got, want)
		}
	}
	if spells("--max-memory is a flag of a linker", verbs, false) {
		t.Error("a flag of a compiler is taken for one of ours")
	}
}

// commandNamed keeps the name of a command that n defines.
func commandNamed(n ast.Node, verbs map[string]bool) bool {
	if call, ok := n.(*ast.CallExpr); ok && len(call.Args) > 0 {
		by, _ := call.Fun.(*ast.Ident)
		names, ok := call.Args[0].(*ast.BasicLit)
		if ok && by != nil && (by.Name == "command" || by.Name == "group") {
			verbs[strings.Fields(strings.Trim(names.Value, `"`))[0]] = true
		}
		return true
	}
	lit, ok := n.(*ast.CompositeLit)
	if !ok {
		return true
	}
	if of, ok := lit.Type.(*ast.SelectorExpr); !ok || of.Sel.Name != "Command" {
		return true
	}
	for _, e := range lit.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		key, _ := kv.Key.(*ast.Ident)
		if value, ok := kv.Value.(*ast.BasicLit); ok && key != nil && key.Name == "Name" {
			verbs[strings.Trim(value.Value, `"`)] = true
		}
	}
	return true
}

// stringsOf are the strings of a file, each with a place where it is.
func stringsOf(s source) map[string]token.Position {
	all := map[string]token.Position{}
	ast.Inspect(s.file, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		if text, err := strconv.Unquote(lit.Value); err == nil {
			all[text] = s.fset.Position(lit.Pos())
		}
		return true
	})
	return all
}
