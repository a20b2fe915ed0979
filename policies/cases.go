package policies

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/internal/strictjson"
	"github.com/skillet-run/skillet/policies/capability"
)

// A Case is one expectation about a set of policies: who asks for what, and
// what the answer should be.
type Case struct {
	// Name says what the case is about; may be empty.
	Name string `json:"name,omitempty"`
	// Skill asks; Version, Signer and Origin are as in [Principal]. An empty
	// Origin means [OriginUser].
	Skill   string `json:"skill"`
	Version string `json:"version,omitempty"`
	Signer  string `json:"signer,omitempty"`
	Origin  string `json:"origin,omitempty"`
	// Request is what the running skill tries, such as "fs.read:/data/a.csv" or
	// "http:GET https://example.com/", or [ShareProcess]. Exactly one of Request and
	// Install is set.
	Request string `json:"request,omitempty"`
	// Install is the capability that the package asks for when it is installed;
	// "nothing" for a package that asks for nothing.
	Install string `json:"install,omitempty"`
	// Grants are what a person granted. Approved tells that a person approved
	// this very request, and Bytes how much would be written or sent.
	Grants   []string `json:"grants,omitempty"`
	Approved bool     `json:"approved,omitempty"`
	Bytes    int64    `json:"bytes,omitempty"`
	// Address is where the host of a request over HTTP is found to be; empty when
	// that does not matter.
	Address string `json:"address,omitempty"`
	// Tool, Arguments and the others up to Session are those of the call in which it is
	// asked, as a [Call] has them: Caller is KIND:NAME, such as "agent:general" or
	// "person:ada", From one of [Sources], and At when the call began, as
	// 2026-11-28T18:30. What is left out is that of a person's call at noon of a Monday, so
	// that a case is answered the same at any time.
	Tool      string          `json:"tool,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Caller    string          `json:"caller,omitempty"`
	From      string          `json:"arguments_from,omitempty"`
	At        string          `json:"at,omitempty"`
	Task      string          `json:"task,omitempty"`
	Session   string          `json:"session,omitempty"`
	// Want is the answer that is right: "allow", "ask" or "deny". It may be empty where
	// NotBy says what is wanted.
	Want string `json:"want,omitempty"`
	// By are the ids of policies that must be among those that decide; may be
	// empty.
	By []string `json:"by,omitempty"`
	// NotBy are ids of policies that must not refuse it, whatever others say.
	NotBy []string `json:"not_by,omitempty"`
}

// installNothing is the value of [Case.Install] for a package that asks for
// nothing.
const installNothing = "nothing"

// An Outcome is what became of a case.
type Outcome struct {
	Case
	File string `json:"file"`
	// OK is true when the answer was the right one; Problem says what is wrong.
	OK      bool   `json:"ok"`
	Problem string `json:"problem,omitempty"`
	// Effect, Policies and Reason are the answer.
	Effect   string   `json:"effect"`
	Policies []string `json:"policies"`
	Reason   string   `json:"reason,omitempty"`
}

// ReadCases reads the cases of a file, or of every file of a directory whose
// name ends in ".json": {"cases": [...]}. Errors are [*LoadError]s.
func ReadCases(path string) (map[string][]Case, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	files := []string{path}
	if st.IsDir() {
		names, err := fs.Glob(os.DirFS(path), "*.json") // not filepath.Glob: path is not a pattern
		if err != nil {
			return nil, &LoadError{File: path, Message: err.Error(), Err: err}
		}
		files = files[:0]
		for _, name := range names {
			files = append(files, filepath.Join(path, name))
		}
	}
	all := map[string][]Case{}
	for _, file := range files {
		text, err := readFile(os.DirFS(filepath.Dir(file)), filepath.Base(file))
		if err != nil {
			return nil, unreadable(file, err)
		}
		if all[file], err = parseCases(text); err != nil {
			return nil, &LoadError{File: file, Message: err.Error(), Err: err}
		}
	}
	return all, nil
}

func parseCases(text []byte) ([]Case, error) {
	var file struct {
		Cases []Case `json:"cases"`
	}
	if err := strictjson.Unmarshal(text, &file); err != nil {
		return nil, err
	}
	if len(file.Cases) == 0 {
		return nil, errors.New("it has no cases: a test that tests nothing")
	}
	for i, c := range file.Cases {
		if _, err := c.Query(""); err != nil {
			return nil, fmt.Errorf("case %d%s: %w", i+1, named(c.Name), err)
		}
	}
	return file.Cases, nil
}

func named(name string) string {
	if name == "" {
		return ""
	}
	return fmt.Sprintf(" (%s)", name)
}

// Query is the question that a case asks. home is as in [Query].
func (c Case) Query(home string) (Query, error) {
	q := Query{
		Principal: Principal{Skill: c.Skill, Version: c.Version, Signer: c.Signer, Origin: cmp.Or(c.Origin, OriginUser)},
		Approved:  c.Approved, Bytes: c.Bytes, Home: home,
	}
	switch {
	case c.Skill == "":
		return q, errors.New("it names no skill")
	case (c.Want != "" || len(c.NotBy) == 0) && !slices.Contains([]string{Allow.String(), Ask.String(), Deny.String()}, c.Want):
		return q, fmt.Errorf("want is %q; it must be allow, ask or deny", c.Want)
	case (c.Request == "") == (c.Install == ""):
		return q, errors.New(`it needs "request" or "install", and not both`)
	case c.Install == installNothing:
		q.Phase = PhaseInstall
		return q, nil
	case c.Install != "":
		var err error
		q.Phase = PhaseInstall
		q.Capability, err = capability.Parse(c.Install)
		return q, err
	case c.Request == ShareProcess:
		q.Phase = PhaseProcess
		return q, nil
	}
	var err error
	if q.Call, err = c.inCall(); err != nil {
		return q, err
	}
	if tool, is := ToolCalled(c.Request); is {
		q.Phase, q.Call.Tool = PhaseTool, cmp.Or(tool, c.Tool)
		return q, nil
	}
	return q, c.call(&q)
}

// ToolCalled is the tool of a request for a call, such as "call:write_file"; is tells whether
// it is one.
func ToolCalled(request string) (tool string, is bool) {
	action, tool, _ := strings.Cut(request, ":")
	return tool, action == ActionCall
}

// inCall is the call in which it is asked.
func (c Case) inCall() (*Call, error) {
	call := &Call{Tool: c.Tool, Arguments: c.Arguments, Task: c.Task, Session: c.Session, Caller: Caller{CallerPerson, "somebody"}, Began: time.Date(2026, 11, 30, 12, 0, 0, 0, time.Local)}
	var err error
	if c.Caller != "" {
		if call.Caller, err = ReadCaller(c.Caller); err != nil {
			return nil, err
		}
	}
	if call.From = cmp.Or(c.From, call.Caller.From()); !slices.Contains(Sources(), call.From) {
		return nil, fmt.Errorf("arguments_from is %q; it must be one of %s", c.From, strings.Join(Sources(), ", "))
	}
	if c.At != "" {
		call.Began, err = ReadTime(c.At)
	}
	return call, err
}

// ReadCaller reads a caller as people write it: KIND:NAME, such as "agent:general".
func ReadCaller(text string) (Caller, error) {
	kind, name, _ := strings.Cut(text, ":")
	if !slices.Contains(CallerKinds(), kind) {
		return Caller{}, fmt.Errorf("a caller is written as KIND:NAME, with a kind of %s", strings.Join(CallerKinds(), ", "))
	}
	return Caller{kind, name}, nil
}

// ReadTime reads a time as people write it: 2026-11-28T18:30, in the zone of this machine, or
// with seconds and a zone as in RFC 3339, in which it then stays.
func ReadTime(text string) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	t, err := time.ParseInLocation("2006-01-02T15:04", text, time.Local)
	if err != nil {
		return t, fmt.Errorf("%q is not a time; write it as 2026-11-28T18:30", text)
	}
	return t, nil
}

// call fills in what a running skill tries, and which grant covers it.
func (c Case) call(q *Query) error {
	granted, err := capability.ParseSet(c.Grants...)
	if err != nil {
		return err
	}
	q.Request = ParseRequest(c.Request)
	if by, ok := granted.Allows(q.Request); ok {
		q.Granted, q.GrantedBy = true, by.String()
	}
	return c.locate(q)
}

// locate fills in where the host of a request is.
func (c Case) locate(q *Query) error {
	if c.Address == "" {
		return nil
	}
	if q.Request.Action != capability.HTTP {
		return errors.New("an address is that of a host, and the request is not for one")
	}
	a, err := netip.ParseAddr(c.Address)
	if err != nil || a.Zone() != "" {
		return fmt.Errorf("address is %q; it must be one such as 127.0.0.1 or ::1", c.Address)
	}
	q.Address = a.Unmap()
	return nil
}

// ParseRequest reads a request as it is written in refusals, such as
// "fs.read:/data/a.csv" or "http:GET https://example.com/". Whether it is one
// that can be allowed is for [Set.Decide] to say.
func ParseRequest(text string) capability.Request {
	action, resource, _ := strings.Cut(text, ":")
	r := capability.Request{Action: capability.Action(action), Resource: resource}
	if r.Action != capability.HTTP {
		return r
	}
	if method, address, ok := strings.Cut(resource, " "); ok {
		r.Method, r.Resource = method, address
	}
	return r
}

// Try puts a case to the policies.
func (s *Set) Try(file string, c Case, home string) Outcome {
	o := Outcome{Case: c, File: file, Policies: []string{}}
	q, err := c.Query(home)
	if err != nil {
		o.Problem = err.Error()
		return o
	}
	d := s.Decide(q)
	o.Effect, o.Reason, o.Policies = d.Effect.String(), d.Reason, append(o.Policies, d.Policies...)
	missing := slices.DeleteFunc(slices.Clone(c.By), func(id string) bool { return slices.Contains(d.Policies, id) })
	refusedBy := slices.DeleteFunc(slices.Clone(c.NotBy), func(id string) bool {
		return d.Effect == Allow || !slices.Contains(d.Policies, id)
	})
	switch {
	case len(refusedBy) > 0:
		o.Problem = fmt.Sprintf("policy %s refuses it: %s", strings.Join(refusedBy, ", "), Explain(d))
	case c.Want != "" && o.Effect != c.Want:
		o.Problem = fmt.Sprintf("want %s, and the policies say %s", c.Want, Explain(d))
	case len(missing) > 0:
		o.Problem = fmt.Sprintf("policy %s did not decide: %s", strings.Join(missing, ", "), Explain(d))
	}
	o.OK = o.Problem == ""
	return o
}
