package install

import (
	"fmt"
	"strings"

	"github.com/skillet-run/skillet/manifests"
)

// agentSkillNotes are what a person should know of what only a SKILL.md says.
func agentSkillNotes(m *manifests.Manifest) []string {
	notes := []string{}
	s := m.AgentSkill
	if s == nil {
		return notes
	}
	if len(s.AllowedTools) > 0 {
		notes = append(notes, fmt.Sprintf("it would like an agent to use %s without asking you: that approves nothing here", strings.Join(s.AllowedTools, ", ")))
	}
	if s.Compatibility != "" {
		notes = append(notes, "it says that it needs: "+s.Compatibility)
	}
	for _, script := range s.Scripts {
		if script.Tool == "" {
			notes = append(notes, script.Path+" cannot be run here: this host has no interpreter for such programs, and starts no others")
		}
	}
	if tools := scriptTools(m); tools != "" {
		notes = append(notes, "its scripts are tools, run in the sandbox with nothing granted, as far as they need no other programs and packages: "+tools)
	}
	if len(s.Others) > 0 {
		notes = append(notes, "fields of its front matter that mean nothing here: "+strings.Join(s.Others, ", "))
	}
	return notes
}

// scriptTools names the scripts that are tools, and what runs them.
func scriptTools(m *manifests.Manifest) string {
	var all []string
	for _, s := range m.AgentSkill.Scripts {
		if s.Tool != "" {
			all = append(all, fmt.Sprintf("%s (%s, %s)", s.Tool, s.Path, s.Interpreter))
		}
	}
	return strings.Join(all, ", ")
}
