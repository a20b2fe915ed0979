// Package agent reads the definition of an agent: what it is for, which model
// tier it thinks with, which tools it may use and how far it may go.
//
// A definition is read as strictly as a manifest: an unknown field, a value of
// the wrong type or one above its bound is an error that names the field and the
// line. It grants nothing, and the package knows documents only: it opens no
// file, runs nothing and asks no model.
package agent

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/skillet-run/skillet/manifests"
)

//go:embed agent.schema.json
var schema string

var form = sync.OnceValue(func() *manifests.Form { return manifests.NewForm(schema) })

// Schema is the JSON Schema of a definition, which documents every field.
func Schema() []byte { return []byte(schema) }

// A Tier is a class of models.
type Tier string

// The tiers.
const (
	TierFast         Tier = "fast"
	TierBalanced     Tier = "balanced"
	TierSmart        Tier = "smart"
	TierCode         Tier = "code"
	TierConversation Tier = "conversation"
)

// What a field that is left out means.
const (
	DefaultIterations = 5
	DefaultTimeout    = 5 * time.Minute
)

// A Definition is one agent. Every field is described in [Schema]. It comes from
// [Parse] and must not be changed after that.
type Definition struct {
	SchemaRef    string   `json:"$schema,omitempty"`
	Name         string   `json:"name"`
	Description  string   `json:"description"`
	Tier         Tier     `json:"model_tier"`
	SystemPrompt string   `json:"system_prompt"`
	Tools        []string `json:"tools,omitempty"` // SKILL or SKILL:TOOL
	// MaxIterations and TimeoutSeconds bound one task; zero means the default:
	// see [Definition.Iterations] and [Definition.Timeout].
	MaxIterations  int     `json:"max_iterations,omitempty"`
	TimeoutSeconds float64 `json:"timeout_seconds,omitempty"`
	MaxTokens      int     `json:"max_tokens,omitempty"` // of one answer; 0 = the model's own bound
	// Temperature is nil for the model's own.
	Temperature      *float64    `json:"temperature,omitempty"`
	ApprovalRequired bool        `json:"approval_required,omitempty"`
	Validation       *Validation `json:"validation,omitempty"`
}

// Validation is what scripts that the agent writes must keep to. The zero value
// asks for nothing.
type Validation struct {
	RequiredDocstring bool     `json:"required_docstring,omitempty"`
	RequireTypeHints  bool     `json:"require_type_hints,omitempty"`
	MaxFileSizeKB     int      `json:"max_file_size_kb,omitempty"` // KiB; 0 = no bound of its own
	AllowedImports    []string `json:"allowed_imports,omitempty"`  // empty: any
	BlockedImports    []string `json:"blocked_imports,omitempty"`
}

// Iterations is how many times the agent may think and call tools in one task.
func (d Definition) Iterations() int {
	if d.MaxIterations == 0 {
		return DefaultIterations
	}
	return d.MaxIterations
}

// Timeout is how long one task may take.
func (d Definition) Timeout() time.Duration {
	if d.TimeoutSeconds == 0 {
		return DefaultTimeout
	}
	return time.Duration(d.TimeoutSeconds * float64(time.Second))
}

// Parse reads and checks a definition. name is the name of its file, which tells
// the format as in [manifests.Parse]. Errors wrap [manifests.Errors].
func Parse(data []byte, name string) (*Definition, error) {
	docs, errs := form().ReadEach(data, name)
	switch {
	case len(errs) > 0:
	case len(docs) != 1:
		errs = manifests.Errors{{Message: fmt.Sprintf("holds %d definitions", len(docs)), Suggestion: "write each into a file of its own"}}
	default:
		var d *Definition
		if d, errs = decode(docs[0]); len(errs) == 0 {
			return d, nil
		}
	}
	return nil, fmt.Errorf("parse agent %s: %w", name, errs)
}

// decode reads a document that fits the schema, and checks what that cannot say.
func decode(doc manifests.Document) (*Definition, manifests.Errors) {
	d := &Definition{}
	if err := json.Unmarshal(doc.JSON(), d); err != nil {
		return nil, manifests.Errors{doc.DecodeProblem(err)}
	}
	var errs manifests.Errors
	for i, t := range d.Tools {
		skill, tool, one := strings.Cut(t, ":")
		if one && slices.Contains(d.Tools, skill) {
			errs = append(errs, doc.Problem(manifests.IndexPath("tools", i), "remove "+t+" or "+skill, "%s is one of the tools of %s, which are all listed", tool, skill))
		}
	}
	if v := d.Validation; v != nil {
		for i, m := range v.BlockedImports {
			if slices.Contains(v.AllowedImports, m) {
				errs = append(errs, doc.Problem(manifests.IndexPath("validation.blocked_imports", i), "remove it from one of the two", "%s is allowed and blocked", m))
			}
		}
	}
	return d, errs
}

// Allows reports whether the agent may call a tool of a skill.
func (d Definition) Allows(skill, tool string) bool {
	return slices.Contains(d.Tools, skill) || slices.Contains(d.Tools, skill+":"+tool)
}
