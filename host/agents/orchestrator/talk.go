package orchestrator

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/task"
)

// A manner is a kind of plain talk: words that ask for nothing to be done.
type manner struct {
	reply   string
	phrases []string // one of them has to be in it
}

// manners are the kinds, those that say more first.
func manners() []manner {
	return []manner{
		{"I get goals done with the skills that are installed here: say what you want done, and with which file, address or text.", []string{
			"help", "what can you do", "what do you do", "what can i do", "what can i do here", "what can i ask", "what can i say", "who are you", "what are you",
			"how does this work", "how do you work", "can you help me", "can you help", "what now",
		}},
		{"I am ready.", []string{"how are you", "how is it going", "how's it going", "what's up", "are you there", "test", "testing", "ping"}},
		{"Goodbye.", []string{"bye", "goodbye", "see you", "good night", "farewell", "tschüss"}},
		{"You are welcome.", []string{"thanks", "thank you", "thx", "cheers", "danke", "merci", "gracias"}},
		{"Hello.", []string{
			"hello", "hi", "hey", "hiya", "howdy", "greetings", "good morning", "good afternoon", "good evening", "good day", "hallo", "moin", "servus", "bonjour", "hola", "ciao",
		}},
		{"All right.", []string{"ok", "okay", "yes", "no", "great", "nice", "cool", "perfect", "well done", "good job", "good"}},
	}
}

// fillers go along with plain talk.
const fillers = "a again all and dear everybody everyone friend friends i'm it just lot me much my now of oh please skillet so sure that the there this to today very well world you your"

// talk is the reply to plain talk; ok is false for everything else. Nothing but phrases of
// some kinds and fillers may be in it: "hello, summarise README.md" is a goal.
func talk(said string) (reply string, ok bool) {
	left := " " + strings.Join(words(said), " ") + " "
	for _, m := range manners() {
		phrases := slices.SortedFunc(slices.Values(m.phrases), func(a, b string) int { return len(b) - len(a) })
		for _, p := range phrases {
			for strings.Contains(left, " "+p+" ") {
				left = strings.Replace(left, " "+p+" ", " ", 1)
				if reply == "" {
					reply = m.reply
				}
			}
		}
	}
	filler := strings.Fields(fillers)
	for _, w := range strings.Fields(left) {
		if !slices.Contains(filler, w) {
			return "", false
		}
	}
	return reply, reply != ""
}

const (
	// maxExamples is how many examples a reply has, of as many skills where there are.
	maxExamples = 3
	// maxExample is how long a text may be that is in one.
	maxExample = 80
)

// small is the reply to plain talk, with examples of goals that the tools reach which a
// task can use now. No model is asked.
func (o *Orchestrator) small(ctx context.Context, reply string, t task.Task) (string, error) {
	tools, err := o.ports.Tools.List(ctx, t)
	if err != nil {
		return "", fmt.Errorf("list the tools of the conversation: %w", err)
	}
	if len(tools) == 0 {
		return reply + " No skill with a tool is installed yet; with one I can do what its tools do.", nil
	}
	goals := examples(tools)
	if len(goals) == 0 {
		return reply + " Name what one of these does, and what it is to work on: " + families(tools) + ".", nil
	}
	return reply + " For example, say:\n- " + strings.Join(goals, "\n- "), nil
}

// examples are goals that tools reach without any permission and any file: of each skill
// one before there is a second.
func examples(tools []Tool) []string {
	var first, more []string
	seen := map[string]bool{}
	for _, t := range withNames(tools) {
		text, ok := exampleText(t.InputSchema)
		if !t.ReadOnly || t.Untrusted || !ok {
			continue
		}
		goal := fmt.Sprintf("%s of %q", strings.ReplaceAll(t.Tool, "_", " "), text)
		if seen[t.Skill] {
			more = append(more, goal)
			continue
		}
		seen[t.Skill], first = true, append(first, goal)
	}
	first = append(first, more...)
	return first[:min(len(first), maxExamples)]
}

// exampleText is the text of an example of a schema: one short line, and beside it nothing
// that a goal would have to say, too.
func exampleText(schema json.RawMessage) (string, bool) {
	var s struct {
		Examples []map[string]any `json:"examples"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return "", false
	}
	for _, e := range s.Examples {
		if text, ok := onlyText(e); ok && text != "" && len(text) <= maxExample && !strings.ContainsAny(text, "\n\"\\<") {
			return text, true
		}
	}
	return "", false
}

// onlyText is the one text of an input that has numbers and the like beside it.
func onlyText(input map[string]any) (text string, ok bool) {
	for _, v := range input {
		switch v := v.(type) {
		case string:
			if ok {
				return "", false
			}
			text, ok = v, true
		case float64, bool:
		default:
			return "", false
		}
	}
	return text, ok
}

// families are the skills of tools.
func families(tools []Tool) string {
	skills := map[string]bool{}
	for _, t := range tools {
		skills[t.Skill] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(skills)), ", ")
}
