package runner

import (
	"context"

	"github.com/skillet-run/skillet/host/hostfn"
	"github.com/skillet-run/skillet/host/prompt"
	"github.com/skillet-run/skillet/host/task"
	"github.com/skillet-run/skillet/manifests"
)

// Render renders the prompt of a prompt_inline or conversation skill. Its context
// files are read with what the skill was granted, policies are asked about each,
// and what was read and refused is recorded as of any other run. Whatever happens
// is in the result, whose Raw is the text of the prompt; the prompt is empty when
// OK is false.
func (r *Runner) Render(ctx context.Context, c Call) (prompt.Prompt, task.Result) {
	a := begin(c, asAsked, nil)
	p, err := r.render(ctx, a)
	if err == nil {
		a.output = []byte(p.Text())
	}
	a.finish(err)
	r.recorded(ctx, a)
	if !a.result.OK {
		return prompt.Prompt{}, a.result
	}
	return p, a.result
}

func (r *Runner) render(ctx context.Context, a *run) (prompt.Prompt, error) {
	if tool := a.call.Tool; tool != "" && tool != manifests.PromptToolName {
		return prompt.Prompt{}, task.Errorf(task.KindNotFound, "%s has no tool %s", a.call.Target.Label, tool).
			WithHint("it is a prompt: leave the tool out")
	}
	a.result.Tool = manifests.PromptToolName
	env := hostfn.NewEnv(hostfn.Settings{
		Granted: a.granted, Approved: a.approved(), Policies: r.policies, Principal: a.principal(),
		Home: r.settings.Home, Own: r.settings.Own, Workspace: a.call.Workspace, RunID: string(a.result.RunID),
	})
	defer env.Close()
	files, err := env.FS()
	if err != nil {
		return prompt.Prompt{}, err
	}
	p, err := prompt.Render(ctx, prompt.Request{
		Package: a.call.Target.Package, Input: a.call.Input, Workspace: a.call.Workspace, Files: files,
	})
	a.result.Denials = mergeDenials(a.result.Denials, env.Denials())
	a.uses = mergeUses(a.uses, env.Uses())
	return p, err
}
