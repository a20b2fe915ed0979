package policies

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	cedar "github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/x/exp/ast"
	"github.com/cedar-policy/cedar-go/x/exp/schema"
	"github.com/cedar-policy/cedar-go/x/exp/schema/resolved"
	"github.com/cedar-policy/cedar-go/x/exp/schema/validate"
)

//go:embed skillet.cedarschema
var schemaText []byte

// Schema returns the Cedar schema that every policy is checked against. The
// slice is the caller's to keep.
func Schema() []byte { return slices.Clone(schemaText) }

// policy is a Policy with its compiled form.
type policy struct {
	Policy
	compiled *cedar.Policy
}

func (p *policy) ast() *ast.Policy { return (*ast.Policy)(p.compiled.AST()) }

// loader collects policies and what is wrong with them.
type loader struct {
	validator *validate.Validator
	schema    *resolved.Schema
	policies  []*policy
	byID      map[cedar.PolicyID]*policy
	problems  []error
	passed    []Warning
}

func newLoader() (*loader, error) {
	var s schema.Schema
	s.SetFilename("skillet.cedarschema")
	if err := s.UnmarshalCedar(schemaText); err != nil {
		return nil, fmt.Errorf("load policy schema: %w", err)
	}
	all, err := s.Resolve()
	if err != nil {
		return nil, fmt.Errorf("load policy schema: %w", err)
	}
	return &loader{validator: validate.New(all), schema: all, byID: map[cedar.PolicyID]*policy{}}, nil
}

func (l *loader) problem(e *LoadError) { l.problems = append(l.problems, e) }

// addText adds every policy of one file.
func (l *loader) addText(file string, text []byte) {
	list, err := cedar.NewPolicyListFromBytes(file, text)
	if err != nil {
		l.problem(parseProblem(file, err))
		return
	}
	for i, compiled := range list {
		end := len(text)
		if i+1 < len(list) {
			end = list[i+1].Position().Offset
		}
		position := compiled.Position()
		p := &policy{compiled: compiled, Policy: Policy{
			File: file, Line: position.Line, Text: withoutTrailer(string(text[position.Offset:end])),
		}}
		if message := l.add(p); message != "" {
			l.problem(&LoadError{File: file, Line: p.lineIn(message), Message: message})
			continue
		}
		for _, m := range p.mismatches() {
			l.problem(&LoadError{File: file, Line: p.lineOf(m.text), Message: m.message})
		}
	}
}

// lineOf is the line on which a policy names something.
func (p *policy) lineOf(text string) int {
	before, _, found := strings.Cut(p.Text, text)
	if !found { // written in another way
		return p.Line
	}
	return p.Line + strings.Count(before, "\n")
}

// namedBy is what a message is about.
var namedBy = regexp.MustCompile("`([^`]+)`")

// head is where a policy begins, behind its annotations.
var head = regexp.MustCompile(`(?:permit|forbid)\s*\(`)

// lineIn is the line of a policy with what a message names; its first line for a
// message that names nothing of it.
func (p *policy) lineIn(message string) int {
	start := 0
	if at := head.FindStringIndex(p.Text); at != nil {
		start = at[0]
	}
	for _, m := range namedBy.FindAllStringSubmatch(message, -1) {
		word := regexp.MustCompile(`(^|\W)` + regexp.QuoteMeta(m[1]) + `(\W|$)`)
		if at := word.FindStringIndex(p.Text[start:]); at != nil {
			return p.Line + strings.Count(p.Text[:start+at[1]-1], "\n")
		}
	}
	return p.Line
}

// add checks one policy and adds it, or says what is wrong with it.
func (l *loader) add(p *policy) string {
	if message := p.annotate(); message != "" {
		return message
	}
	id := cedar.PolicyID(p.ID)
	if other, taken := l.byID[id]; taken {
		return fmt.Sprintf("the id %s is taken by %s:%d; ids are unique", p.ID, other.File, other.Line)
	}
	if message := l.unknownKey(p); message != "" {
		return "it does not fit the schema: " + message
	}
	validator, message := l.validatorFor(p)
	if message != "" {
		return message
	}
	if err := validator.Policy(p.ID, p.ast()); err != nil {
		return "it does not fit the schema: " + withWay(schemaMismatch(p.ID, err))
	}
	if p.Effect == Ask && !looksAtApproved(p.ast()) {
		return fmt.Sprintf(`policy %s asks for approval but never looks at context.approved, so approving would not lift it; add "unless { context.approved }"`, p.ID)
	}
	l.byID[id] = p
	l.policies = append(l.policies, p)
	return ""
}

// annotate reads a policy's annotations. An annotation nobody reads is refused:
// it would look as if it did something.
func (p *policy) annotate() string {
	values := p.compiled.Annotations()
	p.ID, p.Reason = string(values["id"]), string(values["reason"])
	if !isID(p.ID) {
		return `the policy has no @id("...") of letters, digits, dots, hyphens and underscores`
	}
	for _, a := range p.ast().Annotations {
		if !slices.Contains([]string{"id", "reason", "approval"}, string(a.Key)) {
			return fmt.Sprintf("policy %s has an unknown annotation @%s; the annotations are @id, @reason and @approval", p.ID, a.Key)
		}
	}
	approval, asks := values["approval"]
	permits := p.compiled.Effect() == cedar.Permit
	switch {
	case asks && approval != "required":
		return fmt.Sprintf(`policy %s has @approval(%q); the only value is "required"`, p.ID, string(approval))
	case asks && permits:
		return fmt.Sprintf("policy %s is a permit with @approval; only a forbid can ask", p.ID)
	case asks:
		p.Effect = Ask
	case permits:
		p.Effect = Allow
	}
	return ""
}

func isID(id string) bool {
	if id == "" || len(id) > 128 {
		return false
	}
	for _, r := range id {
		if !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '.' || r == '-' || r == '_') {
			return false
		}
	}
	return true
}

// looksAtApproved reports whether a condition of the policy reads
// context.approved.
func looksAtApproved(p *ast.Policy) bool {
	found := false
	for _, condition := range p.Conditions {
		ast.Inspect(ast.NewNode(condition.Body), func(n ast.IsNode) bool {
			access, ok := n.(ast.NodeTypeAccess)
			found = found || ok && access.Value == "approved"
			return !found
		})
	}
	return found
}

// inputPosition is how Cedar's parser names a place in its text.
var inputPosition = regexp.MustCompile(`^<input>:(\d+):(\d+):? ?`)

// parseProblem finds the line in an error of Cedar's parser.
func parseProblem(file string, err error) *LoadError {
	message := strings.TrimPrefix(firstLine(err.Error()), "parser error: ")
	message = strings.TrimPrefix(message, "parse error at ")
	place := inputPosition.FindStringSubmatch(message)
	if place == nil {
		return &LoadError{File: file, Message: message, Err: err}
	}
	line, _ := strconv.Atoi(place[1])
	return &LoadError{File: file, Line: line, Message: "column " + place[2] + ": " + parserWords(message[len(place[0]):]), Err: err}
}

// atToken takes apart what the parser says of a token: which one, and what is wrong.
var atToken = regexp.MustCompile(`^("(?:[^"\\]|\\.)*"): (?:exact got .* want (.+)|expected (.+)|(.+))$`)

// parserWords says what the parser wanted, in words.
func parserWords(message string) string {
	m := atToken.FindStringSubmatch(message)
	if m == nil {
		return message
	}
	token, err := strconv.Unquote(m[1])
	if err != nil {
		return message
	}
	there := "there is " + token
	if token == "" {
		there = "the text ends"
	}
	word, effect := strings.CutPrefix(m[4], "unexpected effect: ")
	switch {
	case m[2] != "":
		return m[2] + " is expected, and " + there
	case m[3] != "":
		return strings.ReplaceAll(m[3], "ident", "a name") + " is expected, and " + there
	case m[4] == "invalid primary":
		return "a value is expected, and " + there
	case effect:
		return fmt.Sprintf("permit or forbid is expected, and there is %q", word)
	}
	return m[4] + ": " + there
}

// schemaMismatch picks one of the validator's lines, which come in no fixed
// order: the first by alphabet that says more than that nothing applies.
func schemaMismatch(id string, err error) string {
	lines := strings.Split(err.Error(), "\n")
	for i := range lines {
		lines[i] = strings.TrimPrefix(lines[i], "for policy `"+id+"`, ")
	}
	slices.Sort(lines)
	for _, line := range lines {
		if !strings.HasPrefix(line, "unable to find an applicable action") {
			return line
		}
	}
	return lines[0]
}

var (
	notForAction = regexp.MustCompile("^attribute `(\\w+)` in context for Action::\"([^\"]+)\" not found$")
	notGuarded   = regexp.MustCompile("access to optional attribute `(arguments[^`]*)`")
)

// withWay adds to what the validator says what to write, where that is plain.
func withWay(message string) string {
	if m := notForAction.FindStringSubmatch(message); m != nil && callKeyNames[m[1]] != 0 {
		return message + "; it is there for calls alone: name the actions that the policy is for"
	}
	if m := notGuarded.FindStringSubmatch(message); m != nil {
		at := strings.LastIndexByte(m[1], '.')
		return fmt.Sprintf("%s; a call may be without it: write `context.%s has %s && ...` before", message, m[1][:at], m[1][at+1:])
	}
	return message
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// withoutTrailer cuts blank lines and line comments from the end of a policy's
// text: they belong to the next one.
func withoutTrailer(text string) string {
	for {
		text = strings.TrimRight(text, " \t\r\n")
		last := text[strings.LastIndexByte(text, '\n')+1:]
		if !strings.HasPrefix(strings.TrimSpace(last), "//") {
			return text
		}
		text = text[:len(text)-len(last)]
	}
}
