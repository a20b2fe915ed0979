package policies

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	cedar "github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/ast"
)

// A Call is what policies can look at of the call of a tool. It is not changed once a
// query has it.
type Call struct {
	// Tool is the tool that was called, and Arguments are what it was called with: a JSON
	// object. Anything else has no attributes.
	Tool      string
	Arguments []byte
	// From says who made the arguments: one of the From constants.
	From string
	// Caller is who called.
	Caller Caller
	// Task and Session are those the call belongs to; empty for none.
	Task, Session string
	// Began is when the call began, in the zone in which policies are meant.
	Began time.Time

	once     sync.Once
	record   cedar.Record
	problems error // why the arguments cannot be looked at
}

// A Caller is who called a tool.
type Caller struct {
	Kind string `json:"kind"` // one of the Caller constants
	Name string `json:"name"`
}

// The kinds of caller: the values of context.caller.kind.
const (
	CallerPerson  = "person"
	CallerAgent   = "agent"
	CallerToken   = "token"   // a program that a token lets in
	CallerService = "service" // the host itself, such as for a health check
)

// CallerKinds returns the kinds of caller.
func CallerKinds() []string { return []string{CallerPerson, CallerAgent, CallerToken, CallerService} }

// Who made the arguments of a call: the values of context.arguments_from. The host does
// not follow texts on their way: what a person copied from a web page is of the person, and
// what a model made of a file is of the model.
const (
	FromPerson  = "person"  // a person typed them
	FromModel   = "model"   // an agent, which asks models
	FromProgram = "program" // a program with a token
	FromSkill   = "skill"   // the code of another skill, which called this one
	FromHost    = "host"    // the host, from the skill's manifest
)

// Sources returns who can have made the arguments of a call.
func Sources() []string { return []string{FromPerson, FromModel, FromProgram, FromSkill, FromHost} }

// ParseCaller reads an actor as it is in the audit log, such as "human:ada".
func ParseCaller(actor string) Caller {
	kind, name, _ := strings.Cut(actor, ":")
	switch kind {
	case "human":
		return Caller{CallerPerson, name}
	case "agent":
		return Caller{CallerAgent, name}
	case "program":
		return Caller{CallerToken, name}
	}
	return Caller{CallerService, name}
}

// From says who made the arguments of a call that nothing else called.
func (c Caller) From() string {
	switch c.Kind {
	case CallerPerson:
		return FromPerson
	case CallerAgent:
		return FromModel
	case CallerToken:
		return FromProgram
	}
	return FromHost
}

// callKeys are attributes of context that a [Call] has.
type callKeys uint8

const (
	wantsTool callKeys = 1 << iota
	wantsArguments
	wantsFrom
	wantsCaller
	wantsTask
	wantsSession
	wantsNow
)

var callKeyNames = map[string]callKeys{
	"tool": wantsTool, "arguments": wantsArguments, "arguments_from": wantsFrom, "caller": wantsCaller,
	"task": wantsTask, "session": wantsSession, "now": wantsNow,
}

// callKeysOf are what a policy looks at of a call. One that uses context as a whole looks at
// everything.
func callKeysOf(p *ast.Policy) callKeys {
	var keys callKeys
	whole := 0
	note := func(arg ast.IsNode, name types.String) {
		if isContext(arg) {
			keys |= callKeyNames[string(name)]
			whole--
		}
	}
	inspect(p, func(n ast.IsNode) {
		switch n := n.(type) {
		case ast.NodeTypeAccess:
			note(n.Arg, n.Value)
		case ast.NodeTypeHas:
			note(n.Arg, n.Value)
		case ast.NodeTypeVariable:
			if isContext(n) {
				whole++
			}
		}
	})
	if whole > 0 {
		for _, k := range callKeyNames {
			keys |= k
		}
	}
	return keys
}

func isContext(n ast.IsNode) bool {
	v, ok := n.(ast.NodeTypeVariable)
	return ok && v.Name == "context"
}

// wants is what policies look at of the call in which a query is made.
func (ix *index) wants(q Query) callKeys {
	var uid cedar.EntityUID
	switch q.Phase {
	case PhaseCall:
		uid = action(q.Request.Action)
	case PhaseTool:
		uid = action(ActionCall)
	default:
		return 0
	}
	if s, ok := ix.byAction[uid]; ok {
		return s.wants
	}
	return ix.rest.wants
}

// AsksOfCalls reports whether a policy decides about calls of tools, beside the built-in one
// that permits them all. If not, a query of [PhaseTool] is allowed.
func (s *Set) AsksOfCalls() bool {
	b, ok := s.index.byAction[action(ActionCall)]
	return !ok || len(b.every) != 1 || b.every[0].id != "calls" || len(b.bySkill) > 0
}

// LooksAtCalls reports whether any policy looks at what a [Call] has, and LooksAtArguments
// whether at its arguments.
func (s *Set) LooksAtCalls() bool     { return s.looks != 0 }
func (s *Set) LooksAtArguments() bool { return s.looks&wantsArguments != 0 }

// looks is what any policy looks at of a call.
func (ix *index) looks() callKeys {
	keys := ix.rest.wants
	for _, b := range ix.byAction {
		keys |= b.wants
	}
	return keys
}

// describe fills in what policies look at of a call. What is not known is left out, and a
// policy that looks at it denies.
func (a *question) describe(c *Call, keys callKeys) error {
	if c == nil || keys == 0 {
		return nil
	}
	a.context["tool"] = cedar.String(c.Tool)
	a.context["arguments_from"] = cedar.String(c.From)
	a.context["task"] = cedar.String(c.Task)
	a.context["session"] = cedar.String(c.Session)
	a.context["caller"] = cedar.NewRecord(cedar.RecordMap{"kind": cedar.String(c.Caller.Kind), "name": cedar.String(c.Caller.Name)})
	if keys&wantsNow != 0 && !c.Began.IsZero() {
		a.context["now"] = moment(c.Began)
	}
	if keys&wantsArguments == 0 {
		return nil
	}
	c.once.Do(func() { c.record, c.problems = argumentsRecord(c.Arguments) })
	a.context["arguments"] = c.record
	return c.problems
}

func weekdays() []string {
	return []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}
}

func moment(t time.Time) cedar.Record {
	return cedar.NewRecord(cedar.RecordMap{
		"epoch": cedar.Long(t.Unix()), "date": cedar.String(t.Format(time.DateOnly)),
		"year": cedar.Long(t.Year()), "month": cedar.Long(t.Month()), "day": cedar.Long(t.Day()),
		"hour": cedar.Long(t.Hour()), "minute": cedar.Long(t.Minute()),
		"weekday": cedar.String(strings.ToLower(t.Weekday().String())),
	})
}

// maxArgumentDepth is how deep arguments may be nested that policies look at.
const maxArgumentDepth = 64

// argumentsRecord is the record that arguments are to policies. It refuses what two readers
// of JSON could read in two ways: a member that is there twice, and bytes that are not UTF-8.
func argumentsRecord(text []byte) (cedar.Record, error) {
	none := cedar.NewRecord(nil)
	if !bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{")) {
		return none, nil
	}
	if !utf8.Valid(text) {
		return none, errors.New("the arguments are not valid UTF-8, and a policy looks at them")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	v, err := argument(d, 0)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something follows the object")
		}
	}
	r, ok := v.(cedar.Record)
	if err != nil || !ok {
		return none, fmt.Errorf("the arguments cannot be read, and a policy looks at them: %w", err)
	}
	return r, nil
}

// argument reads one value; nil for null.
func argument(d *json.Decoder, depth int) (cedar.Value, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	if depth > maxArgumentDepth {
		return nil, fmt.Errorf("they are nested deeper than %d levels", maxArgumentDepth)
	}
	switch token := token.(type) {
	case json.Delim:
		if token == '{' {
			return argumentObject(d, depth)
		}
		return argumentList(d, depth)
	case string:
		return cedar.String(token), nil
	case bool:
		return cedar.Boolean(token), nil
	case json.Number:
		return argumentNumber(token.String()), nil
	}
	return nil, nil
}

func argumentObject(d *json.Decoder, depth int) (cedar.Value, error) {
	members, seen := cedar.RecordMap{}, map[string]bool{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, _ := token.(string)
		if seen[name] {
			return nil, fmt.Errorf("%q is there twice", name)
		}
		seen[name] = true
		v, err := argument(d, depth+1)
		if err != nil {
			return nil, err
		}
		if v != nil {
			members[cedar.String(name)] = v
		}
	}
	_, err := d.Token()
	return cedar.NewRecord(members), err
}

func argumentList(d *json.Decoder, depth int) (cedar.Value, error) {
	var all []cedar.Value
	for d.More() {
		v, err := argument(d, depth+1)
		if err != nil {
			return nil, err
		}
		if v != nil {
			all = append(all, v)
		}
	}
	_, err := d.Token()
	return cedar.NewSet(all...), err
}

// argumentNumber is a Long where that holds the number, a decimal where four digits behind
// the point are enough, and otherwise the text of the number.
func argumentNumber(text string) cedar.Value {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return cedar.Long(n)
	}
	if !strings.ContainsAny(text, "eE") {
		if n, err := types.ParseDecimal(text); err == nil {
			return n
		}
	}
	return cedar.String(text)
}
