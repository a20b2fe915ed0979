package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/approval"
	"github.com/skillet-run/skillet/host/config"
	"github.com/skillet-run/skillet/host/memory"
	"github.com/skillet-run/skillet/host/orchestrator"
	"github.com/skillet-run/skillet/host/registry"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies/capability"
)

// A candidate is one word that may come next, and what it is.
type candidate struct{ word, about string }

// completeTime bounds how long a person at the Tab key waits.
const completeTime = 2 * time.Second

// completeCommand prints what may come next to a shell's completion script. It
// never fails, and never makes a home: a person only pressed Tab.
func (t *terminal) completeCommand() *cli.Command {
	return &cli.Command{
		Name: "__complete", Hidden: true,
		Usage:     "print what may come next in a command line",
		ArgsUsage: "-- WORD...",
		Action: func(c *cli.Context) error {
			ctx, cancel := context.WithTimeout(c.Context, completeTime)
			defer cancel()
			for _, found := range t.complete(ctx, c.App, c.Args().Slice()) {
				t.say("%s\t%s", plain(found.word), plain(found.about))
			}
			return nil
		},
	}
}

// complete finds what may stand for the last word of a line.
func (t *terminal) complete(ctx context.Context, app *cli.App, words []string) []candidate {
	if len(words) == 0 {
		return nil
	}
	last, before := words[len(words)-1], words[:len(words)-1]
	l := takeApart(app, append([]string{"skillet"}, before...))
	q := question{ctx: ctx, t: t, line: l, last: last}
	return slices.DeleteFunc(q.candidates(app), func(c candidate) bool {
		return !strings.HasPrefix(c.word, last)
	})
}

// A question is a line that lacks its last word.
type question struct {
	ctx  context.Context
	t    *terminal
	line line
	last string // as far as it was typed
}

func (q question) candidates(app *cli.App) []candidate {
	commands, flags := app.Commands, app.Flags
	if n := len(q.line.chain); n > 0 {
		commands, flags = q.line.chain[n-1].Subcommands, q.line.chain[n-1].Flags
	}
	switch {
	case q.line.missing != "":
		return q.source(flagSources[flagName(q.line.missing)])
	case strings.HasPrefix(q.last, "-"):
		return flagNames(flags)
	case q.line.command() == "help":
		return commandNames(below(app.Commands, q.line.words))
	case len(commands) > 0 && len(q.line.words) == 0:
		return commandNames(commands)
	}
	return q.source(argumentSources[q.line.command()])
}

func commandNames(cs []*cli.Command) []candidate {
	var found []candidate
	for _, c := range cs {
		if !c.Hidden {
			found = append(found, candidate{c.Name, c.Usage})
		}
	}
	return found
}

// below are the commands below the command that names name.
func below(cs []*cli.Command, names []string) []*cli.Command {
	for _, name := range names {
		c := find(cs, name)
		if c == nil {
			return nil
		}
		cs = c.Subcommands
	}
	return cs
}

func flagNames(flags []cli.Flag) []candidate {
	found := []candidate{{"--help", "show help"}}
	for _, f := range flags {
		if !shown(f) {
			continue
		}
		usage := ""
		if d, ok := f.(cli.DocGenerationFlag); ok {
			usage = strings.ReplaceAll(d.GetUsage(), "`", "")
		}
		found = append(found, candidate{"--" + f.Names()[0], usage})
	}
	return found
}

// A source knows words of one sort.
type source func(question) ([]candidate, error)

// flagSources are the sources of the values of flags; flags without one take a
// file, or something only a person knows.
var flagSources = map[string]source{
	"allow":   inHome(capabilityStarts),
	"input":   inputFiles,
	"with":    inHome(skillNames),
	"lang":    languageNames,
	"skill":   inHome(skillNames),
	"session": inHome(sessionsOf),
	"set":     settingStarts,
}

// argumentSources are the sources of the arguments of commands.
var argumentSources = map[string]source{
	"run":               inHome(runnables),
	"info":              inHome(skillNames),
	"remove":            inHome(skillNames),
	"update":            inHome(skillNames),
	"why":               inHome(skillNames),
	"tree":              inHome(skillNames),
	"rollback":          inHome(skillNames),
	"pin":               inHome(skillNames),
	"unpin":             inHome(skillNames),
	"enable":            inHome(skillNames),
	"disable":           inHome(skillNames),
	"verify":            inHome(skillNames),
	"export":            inHome(exportable),
	"scan":              inHome(skillNames),
	"inspect":           inHome(skillNames),
	"bench":             inHome(runnables),
	"test":              inHome(skillNames),
	"explain":           ruleNames,
	"push":              inHome(skillNames),
	"login":             registryNames,
	"logout":            registryNames,
	"engine add":        engineNames,
	"engine build":      engineNames,
	"permission show":   inHome(skillNames),
	"permission reset":  inHome(skillNames),
	"permission grant":  inHome(grantable),
	"permission revoke": inHome(revocable),
	"approvals show":    inHome(proposals(false)),
	"approvals approve": inHome(proposals(true)),
	"approvals reject":  inHome(proposals(true)),
	"approvals revert":  inHome(proposals(false)),
	"session open":      inHome(skillNames),
	"session list":      inHome(sessionsOf),
	"session show":      inHome(sessionsOf),
	"session close":     inHome(sessionsOf),
	"session resume":    inHome(sessionsOf),
	"task show":         inHome(taskIDs),
	"task logs":         inHome(taskIDs),
	"task pause":        inHome(taskIDs),
	"task resume":       inHome(taskIDs),
	"task cancel":       inHome(taskIDs),
	"task approve":      inHome(taskIDs),
	"task refuse":       inHome(taskIDs),
	"task remove":       inHome(taskIDs),
	"agent run":         inHome(agentNames),
	"agent show":        inHome(agentNames),
	"provider test":     inHome(providerNames),
	"memory show":       inHome(memoryIDs),
	"memory remove":     inHome(memoryIDs),
	"secret set":        inHome(secretNames),
	"secret delete":     inHome(secretNames),
	"policy explain":    inHome(explainable),
	"policy list":       inHome(policyIDs),
	"config get":        settingNames,
	"config set":        settingsInTurn,
	"config unset":      settingNames,
	"stats":             statSections,
	"completion":        shells,
}

// source asks a source; nothing is known when it is nil, or fails.
func (q question) source(s source) []candidate {
	if s == nil {
		return nil
	}
	found, err := s(q)
	if err != nil {
		return nil
	}
	return found
}

// home is the home the line speaks of.
func (q question) home() (string, error) {
	home, name := "", "--home"
	for i, f := range q.line.flags {
		if value, ok := strings.CutPrefix(f, name+"="); ok {
			home = value
		} else if f == name && i+1 < len(q.line.flags) {
			home = q.line.flags[i+1]
		}
	}
	if home != "" {
		return absolute(home)
	}
	return host.DefaultHome(q.t.getenv)
}

// inHome makes a source of what looks into a home. There must be one: looking
// must not make it.
func inHome(look func(question, *host.Host) ([]candidate, error)) source {
	return func(q question) ([]candidate, error) {
		home, err := q.home()
		if err != nil {
			return nil, err
		}
		if _, err := os.Stat(filepath.Join(home, "journal")); err != nil {
			return nil, fmt.Errorf("look for a home: %w", err)
		}
		h, err := host.Open(q.ctx, host.Options{Home: home, Environ: q.t.environ, LogOutput: io.Discard, System: q.t.system, Keyring: q.t.keyring})
		if err != nil {
			return nil, err
		}
		defer h.Close(q.ctx)
		if err := h.CatchUp(q.ctx); err != nil {
			return nil, err
		}
		return look(q, h)
	}
}

func skillNames(q question, h *host.Host) ([]candidate, error) {
	skills, err := h.Registry.List(q.ctx)
	var found []candidate
	for _, s := range skills {
		if s.Active {
			found = append(found, candidate{s.Name, s.Description})
		}
		if several(skills, s.Name) {
			found = append(found, candidate{s.Ref(), s.Description})
		}
	}
	return found, err
}

// runnables are the tools of the active skills, and behind one of them the
// names of its inputs.
func runnables(q question, h *host.Host) ([]candidate, error) {
	if len(q.line.words) > 0 {
		return inputs(q, h)
	}
	skills, err := h.Registry.List(q.ctx)
	var found []candidate
	for _, s := range skills {
		switch {
		case !s.Active:
		case len(s.Tools) == 1 && !strings.HasPrefix(q.last, s.Name+":"):
			found = append(found, candidate{s.Name, s.Description})
		default:
			about := aboutTools(q, h, s)
			for _, tool := range s.Tools {
				found = append(found, candidate{s.Name + ":" + tool, cmp.Or(about[tool], s.Description)})
			}
		}
	}
	return found, err
}

// aboutTools are the descriptions of a skill's tools once its name is typed: they are
// in its package, and not all packages are read for one key.
func aboutTools(q question, h *host.Host, s registry.Skill) map[string]string {
	about := map[string]string{}
	if !strings.HasPrefix(q.last, s.Name) {
		return about
	}
	if p, err := h.Registry.Package(q.ctx, s.Digest); err == nil {
		for _, tool := range p.Manifest().Tools {
			about[tool.Name] = tool.Description
		}
	}
	return about
}

// skill is the installed skill that the first word names.
func (q question) skill(h *host.Host) (manifests.Ref, registry.Skill, error) {
	ref, err := manifests.ParseRef(q.line.words[0])
	if err != nil {
		return ref, registry.Skill{}, err
	}
	s, err := h.Registry.Lookup(q.ctx, ref)
	return ref, s, err
}

func inputs(q question, h *host.Host) ([]candidate, error) {
	ref, s, err := q.skill(h)
	if err != nil {
		return nil, err
	}
	p, err := h.Registry.Package(q.ctx, s.Digest)
	if err != nil {
		return nil, err
	}
	tool, ok := p.Manifest().DefaultTool()
	if ref.Tool != "" {
		tool, ok = p.Manifest().Tool(ref.Tool)
	}
	var found []candidate
	for _, property := range tool.Properties() {
		if ok && !slices.ContainsFunc(q.line.words, func(w string) bool { return strings.HasPrefix(w, property.Name+"=") }) {
			found = append(found, candidate{property.Name + "=", property.Description})
		}
	}
	return found, nil
}

func capabilityStarts(question, *host.Host) ([]candidate, error) {
	var starts []candidate
	for _, k := range capability.Kinds() {
		start := string(k.Action)
		if k.Shape != capability.ShapeNone {
			start += ":"
		}
		starts = append(starts, candidate{start, k.Help})
	}
	return starts, nil
}

func grantable(q question, h *host.Host) ([]candidate, error) {
	if len(q.line.words) == 0 {
		return skillNames(q, h)
	}
	return capabilityStarts(q, h)
}

func revocable(q question, h *host.Host) ([]candidate, error) {
	if len(q.line.words) == 0 {
		return skillNames(q, h)
	}
	_, s, err := q.skill(h)
	if err != nil {
		return nil, err
	}
	grants, err := h.Desk.Grants(q.ctx, s.Digest)
	var found []candidate
	for _, g := range grants {
		found = append(found, candidate{g.Capability.String(), g.Capability.Words()})
	}
	return found, err
}

// exportable are skills, behind the file.
func exportable(q question, h *host.Host) ([]candidate, error) {
	if len(q.line.words) == 0 {
		return nil, nil
	}
	return skillNames(q, h)
}

// proposals are ids: of all proposals, or of those that wait.
func proposals(waiting bool) func(question, *host.Host) ([]candidate, error) {
	return func(q question, h *host.Host) ([]candidate, error) {
		all, err := h.Desk.Proposals(q.ctx)
		var found []candidate
		for _, p := range all {
			if !waiting || p.Status == approval.StatusPending {
				found = append(found, candidate{p.ID, p.Title + ", proposed by " + p.ProposedBy})
			}
		}
		return found, err
	}
}

// taskIDs are those of tasks, the newest, where the task is what is asked for.
func taskIDs(q question, h *host.Host) ([]candidate, error) {
	if len(q.line.words) > 0 {
		return nil, nil
	}
	o, err := h.Tasks(q.ctx)
	if err != nil {
		return nil, err
	}
	all, err := o.List(q.ctx, orchestrator.Filter{Limit: 50})
	var found []candidate
	for _, r := range all {
		found = append(found, candidate{shortID(r.TaskID), string(r.State) + ": " + r.Title})
	}
	return found, err
}

func agentNames(q question, h *host.Host) ([]candidate, error) {
	if len(q.line.words) > 0 {
		return nil, nil
	}
	all, err := h.AgentDefinitions(q.ctx)
	var found []candidate
	for _, a := range all {
		if a.Definition != nil {
			found = append(found, candidate{a.Name, a.Definition.Description})
		}
	}
	return found, err
}

func providerNames(q question, h *host.Host) ([]candidate, error) {
	names, err := h.ProviderNames(q.ctx)
	var found []candidate
	for _, n := range names {
		found = append(found, candidate{n, ""})
	}
	return found, err
}

// memoryIDs are those of what is remembered, the latest.
func memoryIDs(q question, h *host.Host) ([]candidate, error) {
	m, err := h.Memory(q.ctx)
	if err != nil {
		return nil, err
	}
	all, err := m.List(q.ctx, memory.Filter{}, 50)
	var found []candidate
	for _, r := range all {
		found = append(found, candidate{r.ID[:8], memory.Shown(r.Text)})
	}
	return found, err
}

func secretNames(q question, h *host.Host) ([]candidate, error) {
	infos, err := h.Secrets.List(q.ctx)
	var found []candidate
	for _, s := range infos {
		found = append(found, candidate{s.Name, "changed " + when(s.UpdatedAt)})
	}
	return found, err
}

// settings are those of the home the line speaks of.
func (q question) settings() (*config.Config, error) {
	home, err := q.home()
	if err != nil {
		return nil, err
	}
	return config.Load(q.ctx, home, config.Layers{Environ: q.t.environ})
}

func settingNames(q question) ([]candidate, error) {
	c, err := q.settings()
	if err != nil {
		return nil, err
	}
	var found []candidate
	for _, v := range c.List() {
		found = append(found, candidate{v.Key, v.Doc})
	}
	return found, nil
}

// settingStarts are what a KEY=VALUE begins with.
func settingStarts(q question) ([]candidate, error) {
	found, err := settingNames(q)
	for i := range found {
		found[i].word += "="
	}
	return found, err
}

// settingsInTurn are the names where a line of names and values has one.
func settingsInTurn(q question) ([]candidate, error) {
	if len(q.line.words)%2 != 0 {
		return nil, nil
	}
	return settingNames(q)
}

// registryNames are the registries of the settings.
func registryNames(q question) ([]candidate, error) {
	c, err := q.settings()
	if err != nil {
		return nil, err
	}
	var found []candidate
	for _, r := range c.Settings().Registries {
		found = append(found, candidate{r.Name, r.URL})
	}
	return found, nil
}

// inputFiles are the files that the beginning of @FILE fits.
func inputFiles(q question) ([]candidate, error) {
	begun, ok := strings.CutPrefix(q.last, "@")
	if !ok {
		return nil, nil
	}
	dir, name := filepath.Split(begun)
	entries, err := os.ReadDir(cmp.Or(dir, "."))
	var found []candidate
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), name) && !e.IsDir() {
			found = append(found, candidate{"@" + dir + e.Name(), "a file"})
		}
	}
	return found, err
}

func shells(question) ([]candidate, error) {
	return []candidate{{"bash", ""}, {"zsh", ""}, {"fish", ""}}, nil
}
