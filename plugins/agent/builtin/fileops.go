package builtin

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/plugins/agent"
	"github.com/skillet-run/skillet/plugins/provider"
)

// runFileOps has a loop with the tools that take paths, and says what it changes
// before it does and what it was refused. The bounds are those of the tools: no
// path is judged here.
func runFileOps(ctx context.Context, w *work) (agent.Report, error) {
	l := w.loop()
	l.tools = slices.DeleteFunc(slices.Clone(l.tools), func(t provider.Tool) bool { return !takesPath(t) })
	if len(l.tools) == 0 {
		return w.unable("the task has no tools for files", "Give the task a skill for files, such as files."), nil
	}
	l.before = func(ctx context.Context, c provider.ToolCall) error {
		if onlyLooks(c.Name) {
			return nil
		}
		w.decide("%s: %s", c.Name, pathsOf(c.Input))
		return w.tell(ctx, "Changing files: "+pathsOf(c.Input))
	}
	var refused []string
	l.after = func(c provider.ToolCall, r agent.ToolResult) {
		if !r.OK && r.Kind == "denied" {
			refused = append(refused, pathsOf(c.Input))
		}
	}
	r, err := l.report(ctx)
	if err == nil && len(refused) > 0 {
		r.NextSteps = append(r.NextSteps, "Refused: "+brief(strings.Join(refused, ", "))+". A person can give the skill access; the agent cannot.")
	}
	return r, err
}

// unable is the report of an agent that cannot begin.
func (w *work) unable(problem, next string) agent.Report {
	w.tally.stopped = true
	r := w.report(false, "")
	r.Problem, r.NextSteps = problem, []string{next}
	return r
}

// A tool is taken for one that only looks when its name says so, and does not say
// something else besides. To take one for more than it is, is the safe mistake.
var (
	looks   = nameOf("read", "list", "search", "find", "get", "stat", "show", "info", "count", "hash", "exists", "head", "tail", "glob", "grep")
	changes = nameOf("write", "delete", "remove", "move", "rename", "create", "make", "mkdir", "set", "put", "append", "copy", "replace", "update", "patch", "truncate", "save", "edit")
)

func nameOf(words ...string) *regexp.Regexp {
	return regexp.MustCompile("(?i)(^|[_-])(" + strings.Join(words, "|") + ")([_-]|$)")
}

func onlyLooks(tool string) bool { return looks.MatchString(tool) && !changes.MatchString(tool) }

// pathNames are the parameters that name files.
var pathNames = []string{"path", "paths", "file", "files", "root", "dir", "directory", "from", "to", "source", "target", "destination"}

func takesPath(t provider.Tool) bool {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(t.InputSchema, &schema) != nil {
		return false
	}
	return slices.ContainsFunc(pathNames[:7], func(n string) bool { _, ok := schema.Properties[n]; return ok })
}

// pathsOf are the paths that an input names, in one line.
func pathsOf(input json.RawMessage) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(input, &fields) != nil {
		return "nothing"
	}
	var paths []string
	for _, n := range pathNames {
		if v, ok := fields[n]; ok {
			paths = append(paths, n+" "+brief(string(v)))
		}
	}
	if len(paths) == 0 {
		return "no path"
	}
	return strings.Join(paths, ", ")
}
