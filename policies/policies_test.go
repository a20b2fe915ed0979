package policies

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	cedar "github.com/cedar-policy/cedar-go"

	"github.com/skillet-run/skillet/policies/capability"
	"github.com/skillet-run/skillet/policies/goldentest"
)

// corpus returns every query of the golden tables.
func corpus(tb testing.TB) map[string]Query {
	tb.Helper()
	queries := map[string]Query{}
	for _, name := range []string{"defaults.txt", "person.txt"} {
		for _, input := range goldentest.Inputs(tb, name) {
			queries[input] = queryOf(tb, input)
		}
	}
	return queries
}

// without returns the embedded policies but one.
func without(tb testing.TB, id string) *Set {
	tb.Helper()
	l, err := newLoader()
	if err != nil {
		tb.Fatal(err)
	}
	if err := l.addDefaults(); err != nil {
		tb.Fatal(err)
	}
	delete(l.byID, cedar.PolicyID(id))
	l.policies = slices.DeleteFunc(l.policies, func(p *policy) bool { return p.ID == id })
	s, err := l.set()
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// TestEveryDefaultBites takes each embedded policy out and looks for a query of
// the corpus that it alone decided and that is then answered differently: for a
// forbid, one that was granted and approved, and is then allowed.
func TestEveryDefaultBites(t *testing.T) {
	t.Parallel()
	full, queries := mustLoad(t, ""), corpus(t)
	for _, p := range full.List() {
		t.Run(p.ID, func(t *testing.T) {
			t.Parallel()
			less := without(t, p.ID)
			for _, q := range queries {
				q.Granted = q.Granted || p.Effect == Deny
				q.Approved = q.Approved || p.Effect == Deny
				with, gone := full.Decide(q), less.Decide(q)
				if !slices.Equal(with.Policies, []string{p.ID}) || with.Effect != p.Effect {
					continue
				}
				if gone.Effect != with.Effect && (p.Effect != Deny || gone.Effect == Allow) {
					return
				}
			}
			t.Error("no query of the corpus shows what it does")
		})
	}
}

func TestForbidsHoldWhateverIsGranted(t *testing.T) {
	t.Parallel()
	s := mustLoad(t, "")
	firm := map[string]bool{}
	for _, p := range s.List() {
		firm[p.ID] = p.Effect == Deny
	}
	count := 0
	for input, q := range corpus(t) {
		d := s.Decide(q)
		if d.Effect != Deny || len(d.Policies) == 0 || !firm[d.Policies[0]] {
			continue
		}
		count++
		q.Granted, q.GrantedBy, q.Approved = true, "fs.read:/**", true
		if again := s.Decide(q); again.Effect != Deny {
			t.Errorf("%s: %s", input, Explain(again))
		}
	}
	if count < 60 {
		t.Errorf("only %d refusals in the corpus", count)
	}
}

// TestFailsClosed checks that a policy which cannot be evaluated denies, with
// Cedar itself as the witness that it would have allowed.
func TestFailsClosed(t *testing.T) {
	t.Parallel()
	s := mustLoad(t, filepath.Join("testdata", "person"))
	q := queryOf(t, "call granted bytes=2 | notify")
	a, err := newQuestion(q)
	if err != nil {
		t.Fatal(err)
	}
	a.context["approved"] = cedar.False
	decision, diagnostic := cedar.Authorize(s.index.candidates(a), a, cedar.Request{
		Principal: a.principal, Action: a.action, Resource: a.resource, Context: cedar.NewRecord(a.context),
	})
	if decision != cedar.Allow || len(diagnostic.Errors) != 1 {
		t.Fatalf("Cedar says %v, %v: it no longer skips what it cannot evaluate", decision, diagnostic.Errors)
	}
	if d := s.Decide(q); d.Effect != Deny || !slices.Equal(d.Policies, []string{"overflow"}) {
		t.Errorf("got %s", Explain(d))
	}
}

func TestZeroValuesDeny(t *testing.T) {
	t.Parallel()
	var empty Set
	for input, q := range corpus(t) {
		if d := empty.Decide(q); d.Effect != Deny {
			t.Errorf("the empty set allows %s", input)
		}
	}
	if d := mustLoad(t, "").Decide(Query{}); d.Effect != Deny {
		t.Errorf("the zero query: %s", Explain(d))
	}
	if got := Explain(Decision{}); got != "deny" {
		t.Errorf("the zero decision: %s", got)
	}
	if len(empty.List()) != 0 {
		t.Error("the empty set has policies")
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]Decision{
		"deny: no policy permits this":  {Reason: NoPermit},
		"allow (policy a)":              {Effect: Allow, Policies: []string{"a"}},
		"ask: x; y (policies a, b)":     {Effect: Ask, Policies: []string{"a", "b"}, Reason: "x; y"},
		"deny: secret (policy no-such)": {Policies: []string{"no-such"}, Reason: "secret"},
	} {
		if got := Explain(d); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	s := mustLoad(t, filepath.Join("testdata", "person"))
	list := s.List()
	if !slices.IsSortedFunc(list, func(a, b Policy) int { return strings.Compare(a.ID, b.ID) }) {
		t.Error("not sorted by id")
	}
	for _, p := range list {
		if p.Effect != Allow && p.Reason == "" && p.ID != "no-private-network" {
			t.Errorf("%s gives no reason", p.ID)
		}
		if !strings.HasPrefix(p.Text, `@id("`+p.ID+`")`) || !strings.HasSuffix(p.Text, ";") || strings.Contains(p.Text, "@id") && strings.Count(p.Text, "@id") != 1 {
			t.Errorf("%s has the text\n%s", p.ID, p.Text)
		}
	}
	at := slices.IndexFunc(list, func(p Policy) bool { return p.ID == "ask-large" })
	want := Policy{
		ID: "ask-large", Effect: Ask, Reason: "it writes more than a megabyte", File: "testdata/person/rules.cedar", Line: 13,
		Text: "@id(\"ask-large\")\n@approval(\"required\")\n@reason(\"it writes more than a megabyte\")\nforbid (principal, action == Action::\"fs.write\", resource)\nwhen { context.bytes > 1048576 }\nunless { context.approved };",
	}
	if at < 0 || list[at] != want {
		t.Errorf("got %+v", list[at])
	}
	list[at].Effect = Allow
	if s.List()[at].Effect != Ask {
		t.Error("the list is not a copy")
	}
}

func TestDecideIsPureAndConcurrent(t *testing.T) {
	t.Parallel()
	s, queries := mustLoad(t, filepath.Join("testdata", "person")), corpus(t)
	want := map[string]Decision{}
	for input, q := range queries {
		want[input] = s.Decide(q)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for input, q := range queries {
				for _, got := range []Decision{s.Decide(q), s.decide(q)} { // kept, and decided again
					if !reflect.DeepEqual(got, want[input]) {
						t.Errorf("%s: %+v, before %+v", input, got, want[input])
					}
				}
			}
		})
	}
	group.Wait()
}

// TestIndexChangesNothing compares the index with Cedar's own set of all
// policies, for random scopes and conditions.
func TestIndexChangesNothing(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	queries := corpus(t)
	for range 20 {
		s := loadText(t, randomPolicies(r, 40))
		all := cedar.NewPolicySet()
		for _, p := range s.policies {
			all.Add(cedar.PolicyID(p.ID), p.compiled)
		}
		for input, q := range queries {
			q.Principal.Skill = pick(r, "test", "csv", "other")
			a, err := newQuestion(q)
			if err != nil {
				continue
			}
			a.context["approved"] = cedar.False
			request := cedar.Request{Principal: a.principal, Action: a.action, Resource: a.resource, Context: cedar.NewRecord(a.context)}
			fast, slow := outcome(s.index.candidates(a), a, request), outcome(all, a, request)
			if fast != slow {
				t.Fatalf("%s: with the index %s, without %s", input, fast, slow)
			}
		}
	}
}

func outcome(policies cedar.PolicyIterator, a *question, request cedar.Request) string {
	decision, diagnostic := cedar.Authorize(policies, a, request)
	var seen []string
	for _, r := range diagnostic.Reasons {
		seen = append(seen, string(r.PolicyID))
	}
	for _, e := range diagnostic.Errors {
		seen = append(seen, "error in "+string(e.PolicyID))
	}
	slices.Sort(seen)
	return fmt.Sprint(decision, seen)
}

func pick(r *rand.Rand, words ...string) string { return words[r.IntN(len(words))] }

func randomPolicies(r *rand.Rand, n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "@id(\"p%d\")\n%s (%s, %s, %s)%s;\n", i,
			pick(r, "permit", "permit", "forbid"),
			pick(r, "principal", `principal == Skill::"csv"`, `principal == Skill::"test"`, `principal is Skill`, `principal in Skill::"csv"`),
			pick(r, "action", `action == Action::"fs.read"`, `action == Action::"http"`, `action in [Action::"fs.read", Action::"fs.write", Action::"fs.read"]`,
				`action in Action::"notify"`, `action == Action::"install"`),
			pick(r, "resource", "resource"),
			pick(r, "", " when { context.granted }", " when { context.bytes * 4611686018427387904 < 0 }", ` when { context has path && context.path like "*m*" }`))
	}
	return text.String()
}

func loadText(tb testing.TB, text string) *Set {
	tb.Helper()
	dir := tb.TempDir()
	write(tb, filepath.Join(dir, "a.cedar"), text)
	return mustLoad(tb, dir)
}

func write(tb testing.TB, path, text string) {
	tb.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
}

func TestLoadDirectory(t *testing.T) {
	t.Parallel()
	count := len(mustLoad(t, "").List())
	dir := t.TempDir()
	if got := len(mustLoad(t, filepath.Join(dir, "missing")).List()); got != count {
		t.Errorf("missing directory: %d policies, want %d", got, count)
	}
	write(t, filepath.Join(dir, "empty.cedar"), "")
	write(t, filepath.Join(dir, "comment.cedar"), "// nothing\n")
	write(t, filepath.Join(dir, "notes.txt"), "not a policy")
	write(t, filepath.Join(dir, "b.cedar.bak"), "not a policy")
	if got := len(mustLoad(t, dir).List()); got != count {
		t.Errorf("%d policies, want %d", got, count)
	}
	write(t, filepath.Join(dir, "b.cedar"), "@id(\"b\")\r\npermit (principal, action == Action::\"kv\", resource);\r\n")
	s := mustLoad(t, dir)
	if d := s.Decide(queryOf(t, "call | kv")); d.Effect != Allow || !slices.Equal(d.Policies, []string{"b"}) {
		t.Errorf("got %s", Explain(d))
	}
}

func TestUnreadableFiles(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(path string) error{
		"directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"dangling":  func(path string) error { return os.Symlink(path+".gone", path) },
		"loop":      func(path string) error { return os.Symlink(path, path) },
		"fifo":      makeFIFO,
		"forbidden": func(path string) error { return os.WriteFile(path, nil, 0) },
		"too large": func(path string) error {
			return os.WriteFile(path, []byte(strings.Repeat("/", MaxFileBytes+1)), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "forbidden" && os.Geteuid() == 0 {
				t.Skip("root reads everything")
			}
			path := filepath.Join(t.TempDir(), "x.cedar")
			if err := prepare(path); err != nil {
				t.Skip(err)
			}
			s, err := Load(filepath.Dir(path))
			var le *LoadError
			if s != nil || !errors.As(err, &le) || le.File != filepath.ToSlash(path) || le.Line != 0 || le.Err == nil {
				t.Errorf("got %v, %#v", s, err)
			}
			if strings.Count(err.Error(), le.File) != 1 {
				t.Errorf("the path is said more than once: %v", err)
			}
		})
	}
}

// A directory of policies that cannot be reached is not the same as none.
func TestUnreachableDirectories(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(dir, "gone"), filepath.Join(dir, "policies")); err != nil {
		t.Skip(err)
	}
	for _, name := range []string{"policies", "policies/below"} {
		var le *LoadError
		if s, err := Load(filepath.Join(dir, name)); s != nil || !errors.As(err, &le) {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
}

// A path that is a link, or behind one, is named, and so is what == says of addresses.
func TestWarnings(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "real", "below"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "real"), filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	file := filepath.Join(dir, "x.cedar")
	write(t, file, `@id("x") forbid (principal, action == Action::"fs.read", resource)
when { resource in Path::"`+dir+`/link/below" || resource in Path::"`+dir+`/real" || resource in Path::"`+dir+`/gone" };
`)
	write(t, filepath.Join(dir, "X.CEDAR"), "")
	s, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range s.Warnings() {
		got = append(got, w.String())
	}
	if len(got) != 2 || !strings.Contains(got[0], "X.CEDAR: it is not read") ||
		!strings.Contains(got[1], "x.cedar:2: policy x: ") || !strings.Contains(got[1], "is a link to "+dir+"/real/below") {
		t.Errorf("got %q", got)
	}
}

func TestLoadFromAFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	write(t, path, "")
	var le *LoadError
	if s, err := Load(path); s != nil || !errors.As(err, &le) || le.File != path || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, %v", s, err)
	}
}

func TestLoadErrorHasPlace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "mine.cedar")
	write(t, path, "\n\npermit (principal, action, resource)\nwhen {")
	_, err := Load(dir)
	var le *LoadError
	if !errors.As(err, &le) || le.File != filepath.ToSlash(path) || le.Line != 4 {
		t.Errorf("got %#v", err)
	}
}

// TestDeepNesting loads the deepest nesting that fits a file. Cedar's parser
// would end the process on a file eight times as large.
func TestDeepNesting(t *testing.T) {
	t.Parallel()
	const n = MaxFileBytes - 100
	for name, body := range map[string]string{
		"parentheses": strings.Repeat("(", n),
		"brackets":    strings.Repeat("[", n),
		"not":         strings.Repeat("!", n-4) + "true",
		"if":          strings.Repeat("if true then ", n/13),
		"record":      strings.Repeat("{a:", n/3),
		"and":         "true" + strings.Repeat("&&true", n/6-1),
		"attribute":   "context" + strings.Repeat(".a", n/2-4),
	} {
		l, err := newLoader()
		if err != nil {
			t.Fatal(err)
		}
		l.addText(name, []byte(`@id("x") permit (principal, action, resource) when { `+body+" };"))
		if len(l.problems)+len(l.policies) != 1 {
			t.Errorf("%s: %d policies, problems %v", name, len(l.policies), l.problems)
		}
	}
}

func TestEffectNames(t *testing.T) {
	t.Parallel()
	if got := fmt.Sprint(Deny, Ask, Allow, Effect(9)); got != "deny ask allow deny" {
		t.Error(got)
	}
}

func TestSchemaIsACopy(t *testing.T) {
	t.Parallel()
	Schema()[0] = 'x'
	if Schema()[0] == 'x' {
		t.Error("the schema can be changed")
	}
}

// TestEveryActionIsInTheSchema makes sure that a new action cannot be forgotten
// here: granted, it has to be allowed, and not granted, denied.
func TestEveryActionIsInTheSchema(t *testing.T) {
	t.Parallel()
	s := mustLoad(t, "")
	resources := map[capability.Shape]string{
		capability.ShapePath: "/data/x", capability.ShapeURL: "https://x.example/", capability.ShapeName: "x",
	}
	for _, a := range capability.Actions() {
		q := queryOf(t, "call | kv")
		q.Request = capability.Request{Action: a, Resource: resources[a.Shape()]}
		if d := s.Decide(q); d.Effect != Deny {
			t.Errorf("%s not granted: %s", a, Explain(d))
		}
		q.Granted = true
		if d := s.Decide(q); d.Effect != Allow {
			t.Errorf("%s granted: %s", a, Explain(d))
		}
	}
}
