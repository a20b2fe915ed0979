package main

import (
	"fmt"
	"strings"

	"github.com/skillet-run/skillet/manifests"
)

// maxPromptLines is how many lines of a prompt are shown; --json has all.
const maxPromptLines = 40

// showPrompt shows what a prompt takes and says; nothing for a skill that runs
// code.
func (t *terminal) showPrompt(m *manifests.Manifest) {
	tool, ok := m.PromptTool()
	if !ok {
		return
	}
	for _, f := range promptFacts(m) {
		if f[1] != "" {
			t.say("%-10s %s", f[0]+":", plain(f[1]))
		}
	}
	t.say("parameters:%s", none(len(m.Parameters)))
	t.showProperties(tool)
	for _, text := range [][2]string{{"prompt", m.Prompt}, {"template", m.PromptTemplate}} {
		t.showText(text[0], text[1])
	}
}

// promptFacts are what a manifest says about a prompt beside its text.
func promptFacts(m *manifests.Manifest) [][2]string {
	facts := [][2]string{{"model", m.Model}, {"answer", m.OutputFormat}}
	if m.ContextWindow > 0 {
		facts = append(facts, [2]string{"window", count(m.ContextWindow, "token")})
	}
	if c := m.ContextFiles; c != nil {
		files := fmt.Sprintf("%s; at most %d of %d KB each", strings.Join(c.Patterns, ", "), c.Files(), c.FileBytes()>>10)
		if len(c.ExcludePatterns) > 0 {
			files += "; not " + strings.Join(c.ExcludePatterns, ", ")
		}
		facts = append(facts, [2]string{"context", files})
	}
	if s := m.AgentSkill; s != nil && len(s.AllowedTools) > 0 {
		facts = append(facts, [2]string{"tools", "it would like an agent to use " + strings.Join(s.AllowedTools, ", ") + " without asking you: that approves nothing here"})
	}
	if s := m.AgentSkill; s != nil {
		facts = append(facts, [2]string{"needs", s.Compatibility}, [2]string{"not run", notRun(s.Scripts)})
	}
	return facts
}

func (t *terminal) showText(label, text string) {
	if text == "" {
		return
	}
	t.say("%s:", label)
	n := 0
	for line := range strings.Lines(text) {
		if n++; n > maxPromptLines {
			t.say("    ... all of it is in `skillet info --json`")
			return
		}
		t.say("    | %s", visible(strings.TrimSuffix(line, "\n")))
	}
}

// notRun names the scripts that no interpreter of this host is made for.
func notRun(scripts []manifests.Script) string {
	var all []string
	for _, s := range scripts {
		if s.Tool == "" {
			all = append(all, s.Path)
		}
	}
	return strings.Join(all, ", ")
}
