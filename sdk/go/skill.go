package skill

// Tool is a tool of another skill.
type Tool struct {
	// Skill is the name of the skill, without a version.
	Skill string
	// Name is the name of the tool; empty stands for the only one the skill has.
	Name string
	// Session is the session to go on with; empty for none.
	Session string
}

// SkillCall calls a tool of another skill with an input, and returns its output,
// both as they are: JSON for most skills. The other skill runs with its own
// grants and limits, within the time that this call has left. It needs a grant
// skill for the name, and for a session the grant session as well. Errors have
// kind Denied, NotFound, Invalid, Limit, Timeout or Failed.
func SkillCall(tool Tool, input []byte) (output []byte, err error) {
	return skillCallRequest{Skill: tool.Skill, Tool: tool.Name, Session: tool.Session}.send(input)
}

// Call is SkillCall with typed input and output: it encodes in as JSON, and
// decodes the output into Out. An output that is not what Out takes is an error
// of kind Failed.
func Call[In, Out any](tool Tool, in In) (out Out, err error) {
	data, err := encode(in)
	if err != nil {
		return out, err
	}
	if data, err = SkillCall(tool, data); err != nil {
		return out, err
	}
	if err := decode(data, &out); err != nil {
		return out, Errorf(Failed, "call skill %s: its answer: %w", tool.Skill, err)
	}
	return out, nil
}

// Prompt is a question to a language model.
type Prompt struct {
	// Model is the name of the model, as the host knows it.
	Model string
	// System is what the model is told before Text; it may be empty.
	System string
	// Text is the prompt itself.
	Text string
	// MaxTokens bounds the answer; 0 means the host's own limit.
	MaxTokens int
	// Temperature says how freely the model chooses; nil means as the provider has it.
	Temperature *float64
	// Format is what the answer is to be; empty means FormatText.
	Format Format
}

// Answer is what a model said.
type Answer struct {
	// Text is the answer itself.
	Text string
	// Model is the model that answered.
	Model string
	// FinishReason says why the answer ends where it does.
	FinishReason string
	// InputTokens and OutputTokens are the lengths of question and answer.
	InputTokens, OutputTokens int
}

// ModelCall asks a language model. It needs a grant model for the name. Errors
// have kind Denied, Invalid or Failed, the last also when the host has no
// provider for the model.
func ModelCall(p Prompt) (Answer, error) {
	ask := modelCallRequest{Model: p.Model, System: p.System, MaxTokens: int64(p.MaxTokens), Temperature: p.Temperature, Format: p.Format}
	got, body, err := ask.send([]byte(p.Text))
	return Answer{
		Text: string(body), Model: got.Model, FinishReason: got.FinishReason,
		InputTokens: int(got.InputTokens), OutputTokens: int(got.OutputTokens),
	}, err
}
