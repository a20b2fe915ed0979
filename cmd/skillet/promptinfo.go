package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/skillet-run/skillet/host/app/admit"
	"github.com/skillet-run/skillet/manifests"
)

// maxPromptLines is how many lines of a prompt are shown; --json and --full have
// all.
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
	showProperties(t.say, tool)
	for _, text := range [][2]string{{"prompt", m.Prompt}, {"template", m.PromptTemplate}} {
		showText(t.say, text[0], text[1], maxPromptLines, "`skillet info --json`")
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

// showText prints the first lines of a text; rest says where all of it is.
func showText(print printer, label, text string, most int, rest string) {
	if text == "" {
		return
	}
	print("%s:", label)
	n := 0
	for line := range strings.Lines(text) {
		if n++; n > most {
			print("    ... all of it is in %s", rest)
			return
		}
		print("    | %s", visible(strings.TrimSuffix(line, "\n")))
	}
}

// maxReadTools is how many tools are shown of what models read.
const maxReadTools = 20

// readByModels is what models read of a skill.
type readByModels admit.ReadByModels

// show prints it; full says that nothing is left out, and rest where all of it is.
func (r *readByModels) show(print printer, full bool, rest string) {
	tools, lines := maxReadTools, maxPromptLines
	if full {
		tools, lines = len(r.Tools), math.MaxInt
	}
	print("  what models read of it:")
	print("    | %s", visible(r.Description))
	for i, tool := range r.Tools {
		if i >= tools {
			print("  ... and %s: %s", count(len(r.Tools)-i, "more tool"), rest)
			break
		}
		print("  tool %s: %s", visible(tool.Name), visible(tool.Description))
		showProperties(print, tool)
	}
	for _, text := range [][2]string{{"  prompt", r.Prompt}, {"  template", r.PromptTemplate}} {
		showText(print, text[0], text[1], lines, rest)
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
