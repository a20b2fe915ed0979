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
	"unicode"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/cmd/skillet/internal/cmdline"
	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/upkeep"
)

// A candidate is one word that may come next, and what it is.
type candidate = upkeep.Candidate

// completeTime bounds how long a person at the Tab key waits.
const completeTime = 2 * time.Second

// completeCommand prints what may come next to a shell's completion script. It
// never fails, and never makes a home: a person only pressed Tab.
func (t *terminal) completeCommand() *cli.Command {
	return &cli.Command{
		Name: "__complete", Hidden: true,
		Action: func(c *cli.Context) error {
			ctx, cancel := context.WithTimeout(c.Context, completeTime)
			defer cancel()
			for _, found := range t.complete(ctx, c.App, c.Args().Slice()) {
				t.say("%s\t%s", plain(found.Word), plain(found.About))
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
	words = slices.Clone(words)
	for i, w := range words {
		words[i] = bare(w)
	}
	last, before := words[len(words)-1], words[:len(words)-1]
	l := takeApart(app, append([]string{"skillet"}, before...))
	q := question{ctx: ctx, t: t, line: l, last: last}
	return slices.DeleteFunc(q.candidates(app), func(c candidate) bool {
		return !strings.HasPrefix(c.Word, last)
	})
}

// bare is a word as a shell would hand it over, as far as it was typed: without quotes.
func bare(word string) string {
	var b strings.Builder
	quote := byte(0)
	for i := 0; i < len(word); i++ {
		c := word[i]
		switch {
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case quote != 0 && c == quote:
			quote = 0
		case c == '\\' && quote != '\'' && i+1 < len(word) && !unicode.IsLetter(rune(word[i+1])) && !unicode.IsDigit(rune(word[i+1])):
			i++
			b.WriteByte(word[i])
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// A question is a line that lacks its last word.
type question struct {
	ctx  context.Context
	t    *terminal
	line cmdline.Line
	last string // as far as it was typed
}

func (q question) candidates(app *cli.App) []candidate {
	commands, flags := app.Commands, app.Flags
	if n := len(q.line.Chain); n > 0 {
		commands, flags = q.line.Chain[n-1].Subcommands, q.line.Chain[n-1].Flags
	}
	switch {
	case q.line.Missing != "":
		return q.source(flagSources[flagName(q.line.Missing)])
	case strings.HasPrefix(q.last, "-"):
		return flagNames(flags)
	case q.line.Command() == "help":
		return commandNames(below(app.Commands, q.line.Words))
	case len(commands) > 0 && len(q.line.Words) == 0:
		return commandNames(commands)
	}
	return q.source(argumentSource(q.line.Command()))
}

func commandNames(cs []*cli.Command) []candidate {
	var found []candidate
	for _, c := range cs {
		if !c.Hidden {
			found = append(found, candidate{Word: c.Name, About: c.Usage})
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
	found := []candidate{{Word: "--help", About: "show help"}}
	for _, f := range flags {
		if !cmdline.Shown(f) {
			continue
		}
		usage := ""
		if d, ok := f.(cli.DocGenerationFlag); ok {
			usage = strings.ReplaceAll(d.GetUsage(), "`", "")
		}
		found = append(found, candidate{Word: "--" + f.Names()[0], About: usage})
	}
	return found
}

// A source knows words of one sort.
type source func(question) ([]candidate, error)

// flagSources are the sources of the values of flags; flags without one take a
// file, or something only a person knows.
var flagSources = map[string]source{
	"allow":   capabilityStarts,
	"input":   inputFiles,
	"with":    inHome(upkeep.SourceSkills),
	"lang":    languageNames,
	"role":    roleNames,
	"skill":   inHome(upkeep.SourceSkills),
	"session": inHome(upkeep.SourceSession),
	"set":     settingStarts,
}

// homeSources are the sources in a home of what commands take.
var homeSources = map[upkeep.Source][]string{
	upkeep.SourceTools: {"run", "bench"},
	upkeep.SourceSkills: {
		"info", "remove", "update", "why", "tree", "rollback", "pin", "unpin", "enable", "disable", "verify", "scan",
		"inspect", "test", "push", "permission list", "permission show", "permission reset", "session open", "mcp check", "mcp login", "mcp logout",
	},
	upkeep.SourceProposals: {"approvals show", "approvals revert"},
	upkeep.SourceWaiting:   {"approvals approve", "approvals reject", "approvals review"},
	upkeep.SourceOwners:    {"session list"},
	upkeep.SourceSessions:  {"session show", "session close", "session resume"},
	upkeep.SourceTasks: {
		"task show", "task logs", "task pause", "task resume", "task cancel", "task approve", "task refuse",
		"task remove",
	},
	upkeep.SourceAgents:    {"agent run", "agent show"},
	upkeep.SourceProviders: {"provider test"},
	upkeep.SourceMemories:  {"memory show", "memory remove"},
	upkeep.SourceTokens:    {"token revoke"},
	upkeep.SourceSecrets:   {"secret set", "secret remove"},
	upkeep.SourcePolicies:  {"policy list"},
}

// argumentSources are those of the other commands.
var argumentSources = map[string]source{
	"export":            then(nil, inHome(upkeep.SourceSkills)),
	"explain":           ruleNames,
	"login":             registryNames,
	"logout":            registryNames,
	"engine add":        engineNames,
	"engine build":      engineNames,
	"permission grant":  then(inHome(upkeep.SourceSkills), capabilityStarts),
	"permission revoke": then(inHome(upkeep.SourceSkills), inHome(upkeep.SourceGrants)),
	"policy explain":    then(inHome(upkeep.SourceSkills), capabilityStarts),
	"config get":        settingNames,
	"config set":        settingsInTurn,
	"config unset":      settingNames,
	"stats":             statSections,
	"completion":        shells,
}

// argumentSource is the source of what a command takes; nil for none. A task or an agent is
// followed by something that only a person knows.
func argumentSource(command string) source {
	for from, commands := range homeSources {
		switch {
		case !slices.Contains(commands, command):
		case from == upkeep.SourceTasks || from == upkeep.SourceAgents:
			return then(inHome(from), nil)
		default:
			return inHome(from)
		}
	}
	return argumentSources[command]
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
	for i, f := range q.line.Flags {
		if value, ok := strings.CutPrefix(f, name+"="); ok {
			home = value
		} else if f == name && i+1 < len(q.line.Flags) {
			home = q.line.Flags[i+1]
		}
	}
	if home != "" {
		return absolute(home)
	}
	return upkeep.DefaultHome(q.t.getenv)
}

// then has a source for the first argument, and another for those after it.
func then(first, next source) source {
	return func(q question) ([]candidate, error) {
		if len(q.line.Words) == 0 {
			return q.source(first), nil
		}
		return q.source(next), nil
	}
}

// inHome makes a source of one that looks into a home. There must be one: looking
// must not make it.
func inHome(from upkeep.Source) source {
	return func(q question) ([]candidate, error) {
		home, err := q.home()
		if err != nil {
			return nil, err
		}
		if _, err := os.Stat(filepath.Join(home, "journal")); err != nil {
			return nil, fmt.Errorf("look for a home: %w", err)
		}
		h, err := host.Open(q.ctx, host.Options{Home: home, Environ: q.t.environ, LogOutput: io.Discard, System: q.t.system, Keyring: q.t.keyring, Catalog: builtinCatalog()})
		if err != nil {
			return nil, err
		}
		defer h.Close(q.ctx)
		return h.Upkeep().Complete(q.ctx, q.t.person(), upkeep.CompletionRequest{Source: from, Words: q.line.Words, Last: q.last})
	}
}

// inSettings makes a source of one that reads the settings of the home.
func inSettings(from upkeep.SettingsSource) source {
	return func(q question) ([]candidate, error) {
		home, err := q.home()
		if err != nil {
			return nil, err
		}
		return upkeep.CompleteSettings(q.ctx, home, q.t.environ, from)
	}
}

var (
	settingNames  = inSettings(upkeep.SettingNames)
	registryNames = inSettings(upkeep.RegistryNames)
)

// settingStarts are what a KEY=VALUE begins with.
func settingStarts(q question) ([]candidate, error) {
	found, err := settingNames(q)
	for i := range found {
		found[i].Word += "="
	}
	return found, err
}

// settingsInTurn are the names where a line of names and values has one.
func settingsInTurn(q question) ([]candidate, error) {
	if len(q.line.Words)%2 != 0 {
		return nil, nil
	}
	return settingNames(q)
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
			found = append(found, candidate{Word: "@" + dir + e.Name(), About: "a file"})
		}
	}
	return found, err
}

// capabilityStarts are what capabilities begin with, and behind those of files the paths here.
func capabilityStarts(q question) ([]candidate, error) {
	for _, action := range []string{"fs.read:", "fs.write:"} {
		if path, ok := strings.CutPrefix(q.last, action); ok {
			return grantedPaths(action, path)
		}
	}
	return upkeep.CapabilityStarts(), nil
}

// grantedPaths are absolute paths that go on from one, as capabilities; of the working
// directory when there is none.
func grantedPaths(action, path string) ([]candidate, error) {
	if path == "" {
		dir, err := os.Getwd()
		return []candidate{{Word: action + dir + "/", About: "a file here"}, {Word: action + dir + "/**", About: "everything here"}}, err
	}
	dir, name := filepath.Split(path)
	if !filepath.IsAbs(dir) {
		return nil, nil
	}
	entries, err := os.ReadDir(dir)
	found := []candidate{}
	if name == "" {
		found = append(found, candidate{Word: action + dir + "**", About: "everything in it"})
	}
	for _, e := range entries {
		switch {
		case !strings.HasPrefix(e.Name(), name) || name == "" && strings.HasPrefix(e.Name(), "."):
		case e.IsDir():
			found = append(found, candidate{Word: action + dir + e.Name() + "/", About: "a directory"})
		default:
			found = append(found, candidate{Word: action + dir + e.Name(), About: "a file"})
		}
	}
	return found, err
}

func shells(question) ([]candidate, error) {
	return []candidate{{Word: "bash"}, {Word: "zsh"}, {Word: "fish"}, {Word: "powershell"}}, nil
}
