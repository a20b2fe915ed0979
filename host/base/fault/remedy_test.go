package fault

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"
)

func said(r Remedy) string { return "<" + string(r.Action) + ">" }

func TestHint(t *testing.T) {
	t.Parallel()
	e := Errorf(KindDenied, "no: %w", errors.ErrUnsupported).WithHint("%s shows %d of it; or %s", ShowProposal("p1"), 2, Approve("p1").With(FieldDespite, "a", "b"))
	if got := Fill(e.Hint, e.Remedies, said); got != "<show_proposal> shows 2 of it; or <approve>" {
		t.Errorf("got %q", got)
	}
	whole := Hintf("first %s, then: %s", CheckHome(), e.Way())
	if got := Fill(whole.Text, whole.Remedies, said); got != "first <check_home>, then: <show_proposal> shows 2 of it; or <approve>" {
		t.Errorf("nested: %q", got)
	}
	joined := JoinHints("; ", Hint{}, Hintf("plain"), whole, Hint{})
	if got := Fill(joined.Text, joined.Remedies, said); !strings.HasPrefix(got, "plain; first <check_home>") || len(joined.Remedies) != 3 {
		t.Errorf("joined: %q", got)
	}
	if !JoinHints("; ").IsZero() || e.Hinted(Hint{}).Hint != "" || len(e.Hinted(Hint{}).Remedies) != 0 {
		t.Error("a hint that says nothing says something")
	}
}

// What is written is read again, and a fault that text was wrapped around keeps its remedies.
func TestRemediesAreKept(t *testing.T) {
	t.Parallel()
	e := Errorf(KindDenied, "no").WithHint("%s", Grant("text", "kv"))
	b, err := json.Marshal(e)
	if want := `{"kind":"denied","message":"no","hint":"{0}","remedies":[{"action":"grant","skill":"text","capability":"kv"}]}`; err != nil || string(b) != want {
		t.Errorf("%s, %v", b, err)
	}
	var again Error
	if err := json.Unmarshal(b, &again); err != nil || len(again.Remedies) != 1 || again.Remedies[0].Skill != "text" {
		t.Errorf("%+v, %v", again, err)
	}
	if got := AsError(errors.Join(e)); len(got.Remedies) != 1 {
		t.Errorf("%+v", got)
	}
}

// With leaves the remedy that it is called on as it is.
func TestWith(t *testing.T) {
	t.Parallel()
	r := Approve("p1").With(FieldDespite, "a")
	one, two := r.With(FieldDespite, "b"), r.With(FieldYes)
	if len(r.Fields) != 1 || one.Fields[1].Value != "b" || two.Fields[1] != (FieldValue{Field: FieldYes}) {
		t.Errorf("%v, %v, %v", r, one, two)
	}
}

// Each action is in the table once, with words, and each function that makes a remedy makes
// one of the table.
func TestActions(t *testing.T) {
	t.Parallel()
	seen := map[Action]bool{}
	for _, row := range Actions() {
		if seen[row.Action] || row.Words == "" || row.Action == "" {
			t.Errorf("%s: twice, or without words", row.Action)
		}
		seen[row.Action] = true
		s := row.Sample()
		for _, p := range row.Params {
			if s.Param(p) == "" || !strings.Contains(s.Words(), s.Param(p)) {
				t.Errorf("%s: no parameter %s in %q", row.Action, p, s.Words())
			}
		}
		for _, f := range row.Fields {
			if !slices.Contains(Fields(), f) {
				t.Errorf("%s: no field %s", row.Action, f)
			}
		}
	}
	for _, name := range constantsOf(t, "Action") {
		if !seen[Action(name)] {
			t.Errorf("no row for the action %s", name)
		}
	}
	for _, name := range constantsOf(t, "Things") {
		if !seen[Things(name).action()] {
			t.Errorf("no row for a list of %s", name)
		}
	}
	fields := constantsOf(t, "Field")
	for _, name := range fields {
		if !slices.Contains(Fields(), Field(name)) {
			t.Errorf("%s is not in Fields", name)
		}
	}
	if len(fields) != len(Fields()) || len(seen) < 60 {
		t.Errorf("%d fields of %d, %d actions", len(Fields()), len(fields), len(seen))
	}
}

// constantsOf are the values of the constants of a type in this package.
func constantsOf(t *testing.T, of string) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "remedies.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	ast.Inspect(f, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if id, ok := v.Type.(*ast.Ident); !ok || id.Name != of && !(of == "Field" && strings.HasPrefix(v.Names[0].Name, "Field")) {
			return true
		}
		all = append(all, strings.Trim(v.Values[0].(*ast.BasicLit).Value, `"`))
		return true
	})
	return all
}

// The page of errors has each action with its parameters and fields, as the table has it.
func TestPageOfErrors(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../../docs/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range Actions() {
		var names []string
		for _, p := range row.Params {
			names = append(names, "`"+string(p)+"`")
		}
		for _, f := range row.Fields {
			names = append(names, string(f))
		}
		if line := fmt.Sprintf("| `%s` | %s | %s |\n", row.Action, strings.Join(names, ", "), row.Words); !strings.Contains(string(b), line) {
			t.Errorf("docs/errors.md lacks: %s", line)
		}
	}
}
