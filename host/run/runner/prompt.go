package runner

import (
	"context"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/host/run/prompt"
	"github.com/skillet-run/skillet/manifests"
)

// Render renders the prompt of a prompt_inline or conversation skill. Its context
// files are read with what the skill was granted, policies are asked about each,
// and what was read and refused is recorded as of any other run. Whatever happens
// is in the result, whose Raw is the text of the prompt; the prompt is empty when
// OK is false.
func (r *Runner) Render(ctx context.Context, c Call) (prompt.Prompt, task.Result) {
	a := r.begin(c, asAsked, nil)
	p, err := r.rendered(ctx, a)
	a.finish(err)
	r.recorded(ctx, a)
	if !a.result.OK {
		return prompt.Prompt{}, a.result
	}
	return p, a.result
}

// rendered renders a prompt, whose text is what the run puts out.
func (r *Runner) rendered(ctx context.Context, a *run) (prompt.Prompt, error) {
	p, err := r.render(ctx, a)
	if err == nil {
		a.output = []byte(p.Text())
	}
	return p, err
}

// Ask renders a prompt and asks a model. Raw of the result is the
// answer; one that does not have the form that the manifest demands is an error of
// [fault.KindSkill]. Without [Settings.Models] there is nobody to ask: see
// [Runner.Asks].
func (r *Runner) Ask(ctx context.Context, c Call) task.Result {
	a := r.begin(c, asAsked, nil)
	p, err := r.render(ctx, a)
	if err == nil {
		var answer prompt.Answer
		answer, err = prompt.Ask(ctx, r.model(c.Target), c.Target.Label, p)
		a.output = []byte(answer.Text)
	}
	a.finish(err)
	r.recorded(ctx, a)
	return a.result
}

// Asks says why nobody answers prompts; nil when somebody does. label names what is
// to be asked.
func (r *Runner) Asks(ctx context.Context, label string) error {
	if r.settings.Models != nil && (r.settings.Asks == nil || r.settings.Asks(ctx) == nil) {
		return nil
	}
	_, err := prompt.Ask(ctx, nil, label, prompt.Prompt{})
	return err
}

// model is what answers the prompts of a target: what answers the model calls of guests.
func (r *Runner) model(t Target) prompt.Model {
	if r.settings.Models == nil {
		return nil
	}
	return answering{r.settings.Models, t.Package.Manifest().Name + "@" + string(t.Package.Digest())}
}

// answering has models answer whole prompts.
type answering struct {
	models hostfn.Models
	asks   string // as the For of a request
}

// Answer sends a prompt to a model.
func (m answering) Answer(ctx context.Context, p prompt.Prompt) (prompt.Answer, error) {
	ask := hostfn.ModelRequest{For: m.asks, Model: p.Model, Format: hostfn.FormatText}
	if p.OutputFormat == hostfn.FormatJSON {
		ask.Format = hostfn.FormatJSON
	}
	for _, message := range p.Messages {
		if message.Role == prompt.System {
			ask.System = message.Content
		} else {
			ask.Prompt = message.Content
		}
	}
	a, err := m.models.AskModel(ctx, ask)
	return prompt.Answer{
		Text: string(a.Text), Model: a.Model, FinishReason: a.FinishReason, InputTokens: a.InputTokens, OutputTokens: a.OutputTokens,
	}, err
}

func (r *Runner) render(ctx context.Context, a *run) (prompt.Prompt, error) {
	if err := r.barred(ctx, a); err != nil {
		return prompt.Prompt{}, err
	}
	if tool := a.call.Tool; tool != "" && tool != manifests.PromptToolName {
		return prompt.Prompt{}, fault.Errorf(fault.KindNotFound, "%s has no tool %s", a.call.Target.Label, tool).
			WithHint("it is a prompt: leave the tool out")
	}
	a.result.Tool = manifests.PromptToolName
	if err := r.permitted(a); err != nil {
		return prompt.Prompt{}, err
	}
	now := r.standing(ctx, a)
	env := hostfn.NewEnv(a.onStage(hostfn.Settings{
		Granted: now.Granted, Policies: now.Policies, Present: r.presentOf(ctx, a),
		Beyond: a.beyond, Approved: a.approved(), Principal: a.principal(), Call: &a.about,
		Home: r.settings.Home, Own: r.settings.Own, Workspace: a.call.Workspace, RunID: string(a.result.RunID),
	}))
	defer env.Close()
	files, err := env.FS()
	if err != nil {
		return prompt.Prompt{}, err
	}
	p, err := prompt.Render(ctx, prompt.Request{
		Package: a.call.Target.Package, Name: a.name(), Input: a.call.Input, Workspace: a.call.Workspace, Files: files,
	})
	a.result.Denials = mergeDenials(a.result.Denials, env.Denials())
	a.uses = mergeUses(a.uses, env.Uses())
	return p, err
}
