package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/cmd/skillet/internal/cmdline"
)

// Each command that people are told of is in one group of the help, and no group has others.
func TestGroupsHaveAllCommands(t *testing.T) {
	var inGroups, all []string
	for _, g := range groups {
		inGroups = append(inGroups, g.names...)
	}
	for _, c := range newApp(&terminal{}).Commands {
		if !c.Hidden {
			all = append(all, c.Name)
		}
	}
	slices.Sort(inGroups)
	slices.Sort(all)
	if !slices.Equal(inGroups, all) {
		t.Errorf("groups have\n%v, and the commands are\n%v", inGroups, all)
	}
	if n := len(groups[0].names); n > 10 {
		t.Errorf("%d commands come first", n)
	}
}

// Words of other programs mean commands that exist, and are not commands of ours.
func TestSynonymsMeanCommands(t *testing.T) {
	app := newApp(&terminal{})
	for word, path := range map[string]string{
		"uninstall": "remove", "show": "info", "grant": "permission grant", "revoke": "permission revoke",
		"approve": "approvals approve", "reject": "approvals reject", "delete": "remove", "add": "install",
		"exec": "run", "init": "new", "allow": "permission grant", "deny": "permission revoke",
	} {
		if find(app.Commands, word) != nil {
			t.Errorf("%s is a command", word)
		}
		l := takeApart(app, []string{"skillet", "--json", word, "text", "--home", "x"})
		if l.Command() != path || !slices.Equal(l.Words, []string{"text"}) || strings.Join(l.Names, " ") != path {
			t.Errorf("%s is %q with %q", word, l.Command(), l.Words)
		}
		if l := takeApart(app, []string{"skillet", "info", word}); l.Command() != "info" {
			t.Errorf("the argument %s was taken for a command", word)
		}
	}
}

// Help shows a few commands and names the others; with --all it explains every command.
func TestHelpOfTheProgram(t *testing.T) {
	app := newApp(&terminal{})
	text := func(all bool) string {
		var b bytes.Buffer
		if err := cmdline.WriteHelp(&b, programTopic(app, all)); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if n := strings.Count(text(false), "\n"); n > 70 {
		t.Errorf("the short help has %d lines", n)
	}
	for _, c := range app.Commands {
		if !c.Hidden && (!strings.Contains(text(false), c.Name) || !strings.Contains(text(true), c.Usage)) {
			t.Errorf("help does not have %s", c.Name)
		}
	}
}
