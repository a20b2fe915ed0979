package local

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	cut "github.com/skillet-run/skillet/internal/text"
)

// maxShown is how many bytes of a text an answer shows.
const maxShown = 6000

// render writes what a tool answered in Markdown. main is the member that is the
// answer, when the tool has one.
func render(a reply, main string) string {
	if a.members == nil {
		return block(a.text)
	}
	for _, m := range a.members {
		var text string
		if m.name == main && main != "" && json.Unmarshal(m.value, &text) == nil {
			if main == "summary" {
				return quote(shown(text))
			}
			return block(text)
		}
	}
	if table, ok := tableOf(a.members); ok {
		return table
	}
	var parts []string
	for _, m := range a.members {
		if s := renderMember(m); s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, "\n")
}

// block is a text in a fence that it cannot end.
func block(text string) string {
	text = shown(strings.TrimRight(text, "\n"))
	if text == "" {
		return "(empty)"
	}
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + text + "\n" + fence
}

func shown(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if short := cut.Head(text, maxShown); short != text {
		return fmt.Sprintf("%s\n(cut: %d bytes more)", short, len(text)-len(short))
	}
	return text
}

// quote is a text as a quotation.
func quote(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight("> "+l, " ")
	}
	return strings.Join(lines, "\n")
}

// tableOf is a table, of an answer with columns and rows.
func tableOf(members []member) (string, bool) {
	var columns []string
	var rows [][]string
	for _, m := range members {
		into := map[string]any{"columns": &columns, "rows": &rows}[m.name]
		if into != nil && json.Unmarshal(m.value, into) != nil {
			return "", false
		}
	}
	if len(columns) == 0 || rows == nil {
		return "", false
	}
	var b strings.Builder
	b.WriteString(tableRow(columns, len(columns)))
	b.WriteString("|" + strings.Repeat(" --- |", len(columns)) + "\n")
	for _, r := range rows[:min(len(rows), maxListed)] {
		b.WriteString(tableRow(r, len(columns)))
	}
	if more := len(rows) - maxListed; more > 0 {
		fmt.Fprintf(&b, "\nand %d more\n", more)
	}
	return strings.TrimRight(b.String(), "\n"), true
}

func tableRow(cells []string, n int) string {
	var b strings.Builder
	b.WriteByte('|')
	for i := range n {
		cell := ""
		if i < len(cells) {
			cell = strings.ReplaceAll(brief(cells[i]), "|", `\|`)
		}
		b.WriteString(" " + cell + " |")
	}
	return b.String() + "\n"
}

// renderMember is a member as items of a list; empty for one that says nothing.
func renderMember(m member) string {
	var items []json.RawMessage
	var text string
	switch {
	case slices.Contains([]string{"null", `""`, "[]", "{}"}, string(m.value)), m.name == "truncated" && string(m.value) == "false":
		return ""
	case json.Unmarshal(m.value, &items) == nil:
		return renderList(m.name, items)
	case json.Unmarshal(m.value, &text) == nil:
		if strings.Contains(text, "\n") {
			return "- " + m.name + ":\n\n" + block(text)
		}
		return "- " + m.name + ": " + escapeMarks(brief(text))
	}
	return "- " + m.name + ": " + brief(string(m.value))
}

func renderList(name string, items []json.RawMessage) string {
	lines := []string{"- " + name + ":"}
	for i, item := range items {
		if i == maxListed {
			lines = append(lines, fmt.Sprintf("  - and %d more", len(items)-i))
			break
		}
		lines = append(lines, "  - "+renderItem(item))
	}
	return strings.Join(lines, "\n")
}

// renderItem is one item of a list: a link, an object in a line, or a value.
func renderItem(item json.RawMessage) string {
	var link struct{ Text, URL string }
	if json.Unmarshal(item, &link) == nil && link.URL != "" {
		return fmt.Sprintf("[%s](<%s>)", escapeMarks(brief(link.Text)), strings.NewReplacer("<", "%3C", ">", "%3E", "\n", "%0A").Replace(link.URL))
	}
	members := membersOf(item)
	if members == nil {
		return plainValue(item)
	}
	var parts []string
	for _, m := range members {
		if v := plainValue(m.value); v != "" {
			parts = append(parts, m.name+": "+v)
		}
	}
	return strings.Join(parts, ", ")
}

func plainValue(v json.RawMessage) string {
	var text string
	if json.Unmarshal(v, &text) == nil {
		return escapeMarks(brief(text))
	}
	return brief(string(v))
}

// escapeMarks takes what would be Markdown in a line of foreign text for itself.
func escapeMarks(text string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", `\<`, "`", "\\`").Replace(text)
}
