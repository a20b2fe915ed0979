package hostfn

import (
	"context"
	"encoding/json"
	"slices"
	"unicode/utf8"

	"github.com/skillet-run/skillet/internal/lazyregexp"
	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/capability"
)

const (
	// MaxPrompt is the longest prompt of a model call, in bytes.
	MaxPrompt = 1 << 20
	// MaxModelAnswer is the longest answer of a model that a guest is given, in bytes.
	MaxModelAnswer = 4 << 20

	maxTokens      = 1 << 20 // that can be asked for
	maxTemperature = 2
)

// Models asks language models for a guest. Grants and policies were asked before.
type Models interface {
	// AskModel answers a prompt. Of an error the guest is told what a *Failure says, and nothing but its
	// class of any other. It must end when ctx does.
	AskModel(ctx context.Context, r ModelRequest) (ModelAnswer, error)
}

// ModelRequest is what a guest asks a model.
type ModelRequest struct {
	// For is the skill that asks, as NAME@DIGEST: an answer that is kept for one is not given to another.
	For string
	// Model is the name of a model, or of a tier of models.
	Model string
	// System is what the model is told before the prompt; it may be empty.
	System string
	Prompt string
	// MaxTokens bounds the answer; 0 leaves that to the host.
	MaxTokens int
	// Temperature is from 0 to 2; nil leaves it to the model.
	Temperature *float64
	// Format is FormatText or FormatJSON.
	Format string
}

// The formats of a model's answer.
const (
	FormatText = "text"
	FormatJSON = "json" // one JSON value and nothing else
)

// ModelAnswer is what a model answered.
type ModelAnswer struct {
	// Model is the one that answered, which may be another than the tier that was asked for.
	Model string
	// FinishReason says why the answer ends: "stop", "length" or another word of the provider's.
	FinishReason string
	// InputTokens and OutputTokens are what was paid for; 0 when the provider does not tell.
	InputTokens, OutputTokens int
	Text                      []byte
}

func modelFunctions() []function {
	return []function{{name: "model_call", example: `{"model":"fast"}`, run: callModel}}
}

// modelName is the name of a model, which may have a provider's before it.
var modelName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127}$`)

// modelAsk is the request data of model_call.
type modelAsk struct {
	Model       string   `json:"model"`
	System      string   `json:"system"`
	MaxTokens   int      `json:"max_tokens"`
	Temperature *float64 `json:"temperature"`
	Format      string   `json:"format"`
}

func (a modelAsk) check(prompt []byte) error {
	switch {
	case !modelName().MatchString(a.Model):
		return failf(KindInvalid, "model is the name of a model")
	case a.MaxTokens < 0 || a.MaxTokens > maxTokens:
		return failf(KindInvalid, "max_tokens is from 0 to %d", maxTokens)
	case a.Temperature != nil && (*a.Temperature < 0 || *a.Temperature > maxTemperature):
		return failf(KindInvalid, "temperature is from 0 to %d", maxTemperature)
	case !slices.Contains([]string{"", FormatText, FormatJSON}, a.Format):
		return failf(KindInvalid, "format is %s or %s", FormatText, FormatJSON)
	case len(prompt)+len(a.System) > MaxPrompt:
		return failf(KindLimit, "prompt of %d bytes; at most %d", len(prompt)+len(a.System), MaxPrompt)
	case !utf8.Valid(prompt):
		return failf(KindInvalid, "a prompt is text in UTF-8")
	}
	return nil
}

// callModel asks a model.
func callModel(ctx context.Context, e *Env, meta, body []byte) (any, []byte, error) {
	var ask modelAsk
	if err := decode(meta, &ask); err != nil {
		return nil, nil, err
	}
	if err := ask.check(body); err != nil {
		return nil, nil, err
	}
	if _, err := e.permit(capability.Request{Action: capability.Model, Resource: ask.Model}, int64(len(body))); err != nil {
		return nil, nil, err
	}
	if e.s.Models == nil {
		return nil, nil, failf(KindFailed, "no model provider is configured on this host")
	}
	format := FormatText
	if ask.Format != "" {
		format = ask.Format
	}
	a, err := e.s.Models.AskModel(ctx, ModelRequest{
		For: modelsFor(e.s.Principal), Model: ask.Model, System: ask.System, Prompt: string(body), MaxTokens: ask.MaxTokens, Temperature: ask.Temperature, Format: format,
	})
	if err == nil {
		err = a.check(format)
	}
	if err != nil {
		return nil, nil, err
	}
	return struct {
		Model        string `json:"model"`
		FinishReason string `json:"finish_reason"`
		InputTokens  int    `json:"input_tokens"`
		OutputTokens int    `json:"output_tokens"`
	}{a.Model, a.FinishReason, a.InputTokens, a.OutputTokens}, a.Text, nil
}

// modelsFor is a skill as the For of its requests.
func modelsFor(p policies.Principal) string { return p.Skill + "@" + p.Digest }

// check refuses an answer that is not what was asked for.
func (a ModelAnswer) check(format string) error {
	switch {
	case len(a.Text) > MaxModelAnswer:
		return failf(KindLimit, "the model's answer of %d bytes; at most %d", len(a.Text), MaxModelAnswer)
	case format == FormatJSON && !json.Valid(a.Text):
		return failf(KindFailed, "the model's answer is not JSON")
	}
	return nil
}
