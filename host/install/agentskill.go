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
	if len(s.Others) > 0 {
		notes = append(notes, "fields of its front matter that mean nothing here: "+strings.Join(s.Others, ", "))
	}
	return notes
}
