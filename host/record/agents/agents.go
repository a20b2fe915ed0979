// Package agents keeps the definitions of agents: files in the directory agents
// of the home, which change by decisions. A person defines one and approves what
// a model proposes; package document replaces the files.
//
// It knows what a definition says, from package agent, and runs none.
package agents

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/internal/nearest"

	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/document"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/host/review/findings"
	"github.com/skillet-run/skillet/internal/absent"
	"github.com/skillet-run/skillet/manifests/agent"
)

// Dir is the directory of the definitions in the home.
const Dir = "agents"

const extension = ".yaml"

// Agents are the agents of one home. It is safe for concurrent use, also by
// several processes.
type Agents struct {
	*document.Files
	dir     string
	builtin Builtin
}

// Builtin is the text of a definition that comes with the program; ok is false when
// there is none of that name.
type Builtin func(name string) (text []byte, ok bool)

// New makes an Agents for the home directory.
func New(l *ledger.Ledger, d *approval.Store, home string, b Builtin) *Agents {
	return &Agents{
		document.NewFiles(l, d, home, "host:agents", screen, approval.TypeNewAgent, approval.TypeModifyAgent),
		filepath.Join(home, Dir), b,
	}
}

// screen are the rules that a definition breaks and no honest one does.
func screen(ctx context.Context, f approval.FileChange) ([]string, error) {
	r, err := Scan(ctx, f.Name, f.After)
	return r.Blocking(), err
}

// Scan looks through a definition as a package is looked through. A text that is not
// a definition, such as the empty one when an agent is removed, has no findings.
func Scan(ctx context.Context, name string, text []byte) (findings.Report, error) {
	d, err := agent.Parse(text, name)
	if err != nil {
		return findings.Report{}, ctx.Err()
	}
	values, err := json.Marshal(d)
	if err != nil {
		return findings.Report{}, fmt.Errorf("scan %s: %w", name, err)
	}
	return findings.ScanDefinition(ctx, name, text, values)
}

// Tools are those that an agent is to have after a change; none when it is removed.
func Tools(c approval.AgentChange) []string {
	d, err := agent.Parse(c.After, c.Name)
	if err != nil {
		return nil // no definition is proposed
	}
	return d.Tools
}

// file is the name of the file that defines an agent.
func file(name string) string { return Dir + "/" + name + extension }

// A Request is a definition that somebody wants.
type Request struct {
	// Text is the definition, YAML or JSON, and File the name of the file it is
	// from, for errors.
	Text []byte
	File string
	// ProposedBy is who wants it: "human:ada", "model:NAME"; Rationale is why.
	ProposedBy string
	Rationale  string
}

// Propose records that somebody wants a new agent, or another definition of one.
// A text that is not a definition is a [fault.KindUsage] error. The same definition
// waits once.
func (a *Agents) Propose(ctx context.Context, r Request) (approval.Proposal, error) {
	d, err := agent.Parse(r.Text, r.File)
	if err == nil { // as it will be read
		d, err = agent.Parse(r.Text, file(d.Name))
	}
	if err != nil {
		return approval.Proposal{}, fault.Wrap(fault.KindUsage, err).WithHint("%s shows a definition", fault.ReadHelp("agent"))
	}
	return a.Files.Propose(ctx, func() (approval.Proposal, error) { return a.proposal(d.Name, r) })
}

func (a *Agents) proposal(name string, r Request) (approval.Proposal, error) {
	before, err := a.Read(file(name))
	builtin, replaces := a.builtin(name)
	p := approval.Proposal{
		Type: approval.TypeModifyAgent, Title: "change the agent " + name, ProposedBy: r.ProposedBy, Rationale: r.Rationale,
		Agent: &approval.AgentChange{Agent: name, Builtin: builtin, FileChange: approval.FileChange{Name: file(name), Before: before, After: r.Text}},
	}
	switch {
	case before == nil && replaces:
		p.Title = "replace the built-in agent " + name
	case before == nil:
		p.Type, p.Title = approval.TypeNewAgent, "add the agent "+name
	case r.Text == nil && replaces:
		p.Title = "go back to the built-in agent " + name
	case r.Text == nil:
		p.Title = "remove the agent " + name
	}
	return p, err
}

// ProposeRemoval records that somebody wants an agent to go. One that is not
// there is a [fault.KindNotFound] error.
func (a *Agents) ProposeRemoval(ctx context.Context, name, by, rationale string) (approval.Proposal, error) {
	if _, err := a.Get(name); err != nil && fault.AsError(err).Kind == fault.KindNotFound {
		return approval.Proposal{}, err
	}
	return a.Files.Propose(ctx, func() (approval.Proposal, error) {
		return a.proposal(name, Request{ProposedBy: by, Rationale: rationale})
	})
}

// missing is the error for an unknown agent, with a name that may be meant.
func (a *Agents) missing(name string) error {
	e := fault.Errorf(fault.KindNotFound, "agent %s not found", name)
	var names []string
	if found, err := a.names(); err == nil {
		names = found
	}
	if best, ok := nearest.Name(name, names); ok {
		return e.WithHint("did you mean %s?", fault.Choose(best))
	}
	return e.WithHint("%s shows those there are", fault.List(fault.Agents))
}

// Get returns the definition of one agent. It fails with a [fault.KindNotFound] error
// if the agent is unknown, and with a [fault.KindVerification] error if its file is not
// a definition of it.
func (a *Agents) Get(name string) (*agent.Definition, error) {
	if strings.ContainsAny(name, `/\`) || strings.HasPrefix(name, ".") {
		return nil, a.missing(name)
	}
	text, err := a.Read(file(name))
	if err == nil && text == nil {
		err = a.missing(name)
	}
	if err != nil {
		return nil, err
	}
	return read(name, text)
}

// read is a definition that is in the file of an agent.
func read(name string, text []byte) (*agent.Definition, error) {
	d, err := agent.Parse(text, file(name))
	if err == nil && d.Name != name {
		err = fmt.Errorf("%s defines %s", file(name), d.Name)
	}
	if err != nil {
		return nil, fault.Wrap(fault.KindVerification, err).WithHint("correct the file, or delete it; %s replaces it", fault.AddAgent(""))
	}
	return d, nil
}

// An Entry is one file of the directory: a definition, or why it is none.
type Entry struct {
	Name       string            `json:"name"`
	Definition *agent.Definition `json:"definition,omitempty"`
	Problem    string            `json:"problem,omitempty"`
}

// List is what there is, by name.
func (a *Agents) List() ([]Entry, error) {
	names, err := a.names()
	all := make([]Entry, 0, len(names))
	for _, name := range names {
		d, err := a.Get(name)
		e := Entry{Name: name, Definition: d}
		if err != nil {
			e.Problem = fault.AsError(err).Message
		}
		all = append(all, e)
	}
	return all, err
}

// names are the names of the files, sorted.
func (a *Agents) names() ([]string, error) {
	files, err := os.ReadDir(a.dir)
	if absent.Is(err, a.dir) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the agents: %w", err)
	}
	var names []string
	for _, f := range files {
		if name, ok := strings.CutSuffix(f.Name(), extension); ok && f.Type().IsRegular() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}
