package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// approvalPath is the package in which people decide.
const approvalPath = "host/record/approval"

// A source is one file of the tree.
type source struct {
	name string // path in the tree
	fset *token.FileSet
	file *ast.File
}

// sources are all files of the tree that are no tests, for this machine and for
// guests. They are read once.
func sources(t *testing.T) []source {
	t.Helper()
	parsed.once.Do(func() { parsed.all = parse(t) })
	return parsed.all
}

// parsed is what [sources] has read.
var parsed struct {
	once sync.Once
	all  []source
}

func parse(t *testing.T) []source {
	t.Helper()
	seen := map[string]bool{}
	var all []source
	for _, p := range load(t) {
		for _, name := range p.GoFiles {
			at := path.Join(p.ImportPath, name)
			if seen[at] {
				continue
			}
			seen[at] = true
			s := source{name: at, fset: token.NewFileSet()}
			var err error
			if s.file, err = parser.ParseFile(s.fset, filepath.Join(p.Dir, name), nil, parser.ParseComments); err != nil {
				t.Fatal(err)
			}
			all = append(all, s)
		}
	}
	return all
}

// imported is the name by which a file calls a package of this module; "" when it
// does not import it.
func (s source) imported(pkg string) string {
	for _, im := range s.file.Imports {
		if strings.Trim(im.Path.Value, `"`) != module+pkg {
			continue
		}
		if im.Name != nil {
			return im.Name.Name
		}
		return path.Base(pkg)
	}
	return ""
}

// selected are the names that a file uses of a package.
func (s source) selected(pkg string) []string {
	name := s.imported(pkg)
	var found []string
	ast.Inspect(s.file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := sel.X.(*ast.Ident); ok && name != "" && id.Name == name {
				found = append(found, sel.Sel.Name)
			}
		}
		return true
	})
	return found
}

// A person is made where one is present, and nowhere else, under whatever name
// the package is imported, called or only mentioned.
func TestPeopleAreMadeWhereTheyAre(t *testing.T) {
	for pkg, allowed := range map[string][]string{
		approvalPath:         {"host/app/principal/principal.go"},
		"host/app/principal": {"cmd/skillet/app.go", "host/app/govern/tokens.go"},
	} {
		mentions := 0
		for _, s := range sources(t) {
			if s.imported(pkg) == "." {
				t.Errorf("%s imports %s without a name", s.name, pkg)
			}
			if slices.Contains(s.selected(pkg), "NewHuman") {
				if mentions++; !slices.Contains(allowed, s.name) {
					t.Errorf("%s mentions NewHuman of %s; only %v may", s.name, pkg, allowed)
				}
			}
		}
		if mentions != len(allowed) {
			t.Errorf("%d files mention NewHuman of %s, want %d: is this test looking for the wrong name?", mentions, pkg, len(allowed))
		}
	}
}

// Nothing can make a value of a type with a hidden field but its package, unless
// it goes around the language.
func TestNobodyGoesAroundTheLanguage(t *testing.T) {
	for _, s := range sources(t) {
		for _, c := range s.file.Comments {
			if strings.Contains(c.Text(), "go:linkname") || slices.ContainsFunc(c.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:linkname") }) {
				t.Errorf("%s has a go:linkname", s.name)
			}
		}
		if s.imported(approvalPath) == "" && !strings.HasPrefix(s.name, approvalPath+"/") {
			continue
		}
		for _, im := range s.file.Imports {
			if im.Path.Value == `"unsafe"` {
				t.Errorf("%s knows package approval and imports unsafe", s.name)
			}
		}
	}
}

// What runs guests, and what guests call, cannot even name a person: neither do
// they import the package, nor does anything they import.
func TestGuestsCannotReachADecision(t *testing.T) {
	args := []string{"list", "-f", `{{.ImportPath}} {{join .Deps " "}}`}
	for _, pkg := range []string{
		"host/run/hostfn", "host/engine/sandbox", "host/engine/sandbox/worker", "host/engine/sandbox/wasi", "host/engine/jail", "host/escape",
		"policies", "manifests/bundle", "host/review/findings", "host/review/review",
	} {
		args = append(args, module+pkg)
	}
	out, err := exec.Command("go", args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		reached := strings.Fields(line)
		if len(reached) < 10 {
			t.Errorf("%s reaches too little: is this test looking at the wrong list?", line)
		}
		if slices.Contains(reached, module+approvalPath) {
			t.Errorf("%s reaches %s", reached[0], approvalPath)
		}
	}
}

// The runner gets what a person allowed, and can neither allow nor decide.
func TestRunnerOnlyReceives(t *testing.T) {
	for _, s := range sources(t) {
		if !strings.HasPrefix(s.name, "host/run/runner/") {
			continue
		}
		for _, name := range s.selected(approvalPath) {
			if name != "EphemeralGrant" && name != "CallApproval" && name != "Granted" {
				t.Errorf("%s uses approval.%s", s.name, name)
			}
		}
	}
}

// Where a call has a stage, its grants are made up, which is for test cases alone;
// everywhere else they come from the store of what people granted.
func TestOnlyTestCasesMakeUpGrants(t *testing.T) {
	used := 0
	for _, s := range sources(t) {
		if slices.Contains(s.selected("host/run/runner"), "Stage") {
			used++
			if path.Dir(s.name) != "host/run/casetest" {
				t.Errorf("%s makes a runner.Stage; only test cases run on one", s.name)
			}
		}
		if s.imported(approvalPath+"/approvaltest") != "" {
			t.Errorf("%s imports a package that grants things for tests", s.name)
		}
	}
	if used == 0 {
		t.Error("nobody makes a runner.Stage: is this test looking for the wrong name?")
	}
}

// onlyPeople are the names in package approval that stand for what only a person
// may cause, and forgeable the kinds of change that no other package may write.
var (
	onlyPeople = []string{"kindGranted", "kindBounded", "kindLent", "kindLooped", "EventApprove", "EventReject", "EventRelease", "EventRevert", "PartyPerson"}
	forgeable  = []string{"grant.given", "grant.bounded", "lease.given", "loop.given", "proposal.decided"}
)

// In package approval, what lets something happen is in methods of Human; other
// functions only apply what was decided.
func TestOnlyPeopleMakeDecisions(t *testing.T) {
	found := map[string]bool{}
	for _, s := range sources(t) {
		if path.Dir(s.name) != approvalPath {
			s.forges(t)
			continue
		}
		for _, d := range s.file.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || slices.Contains([]string{"Events", "Parties", "Projection", "Given"}, fn.Name.Name) {
				continue
			}
			ast.Inspect(fn, func(n ast.Node) bool {
				id, ok := n.(*ast.Ident)
				if !ok || !slices.Contains(onlyPeople, id.Name) {
					return true
				}
				found[id.Name] = true
				if receiver(fn) != "Human" {
					t.Errorf("%s: %s, which is no method of Human, uses %s", s.name, fn.Name.Name, id.Name)
				}
				return true
			})
		}
	}
	for _, name := range onlyPeople {
		if !found[name] {
			t.Errorf("nobody uses %s: is this test looking for the wrong name?", name)
		}
	}
}

// forges looks for changes that only package approval may make.
func (s source) forges(t *testing.T) {
	t.Helper()
	ast.Inspect(s.file, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		if text, err := strconv.Unquote(lit.Value); err == nil && slices.Contains(forgeable, text) {
			t.Errorf("%s writes %q, which is package approval's", s.fset.Position(lit.Pos()), text)
		}
		return true
	})
}

// receiver is the type of which a function is a method.
func receiver(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) != 1 {
		return ""
	}
	expr := fn.Recv.List[0].Type
	if star, ok := expr.(*ast.StarExpr); ok {
		expr = star.X
	}
	id, _ := expr.(*ast.Ident)
	if id == nil {
		return ""
	}
	return id.Name
}

// Whatever carries out or takes back a decision asks for the person: an exported
// function of that name anywhere in the tree has a person as its receiver or
// among its parameters.
func TestWhoDecidesIsAsked(t *testing.T) {
	verbs := []string{"Approve", "ApproveCall", "Approved", "Enacted", "Reject", "Rejected", "Revert", "RevertCall", "Reverted", "Accept", "Grant", "Regrant", "Lend", "LendLoop", "ApproveLoop", "RepairAudit"}
	asked := 0
	for _, s := range sources(t) {
		for _, d := range s.file.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || !slices.Contains(verbs, fn.Name.Name) || !strings.HasPrefix(s.name, "host/") {
				continue
			}
			if strings.HasPrefix(s.name, "host/base/fault/") { // it says what a person may do, and does nothing
				continue
			}
			asked++
			if receiver(fn) != "Human" && !slices.ContainsFunc(fn.Type.Params.List, isHuman) {
				t.Errorf("%s: %s decides without an approval.Human", s.name, fn.Name.Name)
			}
		}
	}
	if asked < len(verbs) {
		t.Errorf("%d of %d functions found", asked, len(verbs))
	}
}

func isHuman(f *ast.Field) bool {
	switch x := f.Type.(type) {
	case *ast.Ident:
		return x.Name == "Human"
	case *ast.SelectorExpr:
		return x.Sel.Name == "Human"
	}
	return false
}
