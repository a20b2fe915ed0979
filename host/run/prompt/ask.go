package prompt

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"
)

// A Model answers prompts.
type Model interface {
	// Answer sends a prompt to the model that it names, or to the default one.
	Answer(ctx context.Context, p Prompt) (Answer, error)
}

// An Answer is what a model said.
type Answer struct {
	Text string `json:"text"`
	// Model is the one that answered.
	Model string `json:"model"`
	// FinishReason is why it stopped, in the provider's words.
	FinishReason string `json:"finish_reason,omitempty"`
	InputTokens  int    `json:"input_tokens"`
	OutputTokens int    `json:"output_tokens"`
}

// Ask puts a prompt to a model, and checks the form of the answer. skill is the
// prompt's name and version, for errors. If m is nil, the error is of
// [fault.KindUsage]. If the answer should be JSON and is not, it is returned with an
// error of [fault.KindSkill].
func Ask(ctx context.Context, m Model, skill string, p Prompt) (Answer, error) {
	if m == nil {
		return Answer{}, fault.Errorf(fault.KindUsage, "%s is a prompt, and no model provider is configured that could answer it", skill).
			WithHint("%s prints the prompt, to be given to a model by hand; %s shows how to configure a provider", fault.SetField(fault.FieldRender), fault.ReadHelp("provider"))
	}
	a, err := m.Answer(ctx, p)
	if err != nil {
		return a, err
	}
	return a, checkForm(skill, p.OutputFormat, a.Text)
}

// checkForm refuses an answer that is not in the form the manifest demands. Only JSON
// can be checked: other formats have no syntax.
func checkForm(skill, format, text string) error {
	if format == "json" && !json.Valid([]byte(strings.TrimSpace(text))) {
		return fault.Errorf(fault.KindSkill, "the model's answer to %s is not JSON", skill).
			WithHint("the same prompt again may help; output_format in its manifest demands JSON")
	}
	return nil
}
