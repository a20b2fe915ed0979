package main

import (
	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/cmd/skillet/internal/cmdline"
)

// groups are all commands, in the order in which help shows them; the first are those that
// a person meets first.
var groups = []struct {
	title string
	names []string
}{
	{"First commands", []string{"search", "install", "run", "list", "info", "permission", "approvals", "update", "audit", "doctor"}},
	{"Skills", []string{"remove", "rollback", "outdated", "pin", "unpin", "enable", "disable", "verify", "tree", "why", "code", "session", "replay"}},
	{"Moving skills", []string{"export", "import", "lock", "sync", "pull", "push", "login", "logout"}},
	{"Rights and trust", []string{"policy", "secret", "key", "trust", "scan", "explain"}},
	{"Agents and tasks", []string{"task", "chat", "acp", "agent", "provider", "memory"}},
	{"Writing skills", []string{"new", "build", "dev", "test", "inspect", "bench", "engine", "pack", "propose"}},
	{"Services", []string{"serve", "mcp", "service", "token"}},
	{"Looking after it", []string{"logs", "events", "top", "stats", "demo", "config", "store", "gc", "upgrade", "version", "completion", "exit-codes", "help"}},
}

// programTopic is the topic of the program as a whole.
func programTopic(app *cli.App, all bool) cmdline.Topic {
	p := cmdline.Topic{Path: "skillet", Usage: app.Usage, Text: app.Description, Commands: app.Commands, Flags: app.Flags, All: all}
	for _, g := range groups {
		group := cmdline.Group{Title: g.title}
		for _, name := range g.names {
			group.Commands = append(group.Commands, find(app.Commands, name))
		}
		p.Groups = append(p.Groups, group)
	}
	return p
}
