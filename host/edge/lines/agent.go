package lines

import (
	"strings"

	"github.com/skillet-run/skillet/host/app/work"
)

// Agent is the definition of an agent.
func Agent(a work.AgentView) []string {
	return written(Style{}, func(b *block) { b.agent(a) })
}

func (b *block) agent(a work.AgentView) {
	d := a.Definition
	b.say("%s: %s", d.Name, d.Description)
	b.say("  thinks with the tier %s, up to %s and %s a task", d.Tier, count(d.Iterations(), "time"), d.Timeout())
	if d.MaxTokens > 0 {
		b.say("  answers of the model have up to %s", count(d.MaxTokens, "token"))
	}
	if d.Temperature != nil {
		b.say("  temperature %v", *d.Temperature)
	}
	switch {
	case a.AnyTool:
		b.say("  may use every tool of its task, with what they were granted")
	case len(d.Tools) == 0:
		b.say("  may use no tool: it can think and answer")
	default:
		b.say("  may use %s, with what they were granted", strings.Join(d.Tools, ", "))
	}
	if len(a.Missing) > 0 {
		b.say("  not installed: %s", strings.Join(a.Missing, ", "))
	}
	if d.ApprovalRequired {
		b.say("  a person approves its plans")
	}
	b.say("  instructions:")
	for line := range strings.Lines(d.SystemPrompt) {
		b.say("    %s", visible(strings.TrimRight(line, "\n")))
	}
}
