// Package schema has the JSON Schemas of what passes between the parts of the host
// and those who call it: a task, a tool call, its result, a report, and the plan
// of an agent. They are what other programs are written against, and the
// documentation of every field.
//
// It has texts only: whoever checks with them compiles them.
package schema

import _ "embed" // for the schemas

// Base is where the $id of every schema begins.
const Base = "https://github.com/skillet-run/skillet/manifests/schema/"

var (
	//go:embed task.schema.json
	taskText string
	//go:embed tool-call.schema.json
	toolCallText string
	//go:embed tool-result.schema.json
	toolResultText string
	//go:embed report.schema.json
	reportText string
	//go:embed plan.schema.json
	planText string
)

// Task is the schema of a task as it is submitted and kept.
func Task() []byte { return []byte(taskText) }

// ToolCall is the schema of a call of a tool in the work on a task.
func ToolCall() []byte { return []byte(toolCallText) }

// ToolResult is the schema of what a call of a tool came to.
func ToolResult() []byte { return []byte(toolResultText) }

// Report is the schema of what became of a task.
func Report() []byte { return []byte(reportText) }

// Plan is the schema of the plan of an agent. It is what a model is asked to fit.
func Plan() []byte { return []byte(planText) }

// All are the schemas by the name of their file.
func All() map[string][]byte {
	return map[string][]byte{
		"task.schema.json":        Task(),
		"tool-call.schema.json":   ToolCall(),
		"tool-result.schema.json": ToolResult(),
		"report.schema.json":      Report(),
		"plan.schema.json":        Plan(),
	}
}
