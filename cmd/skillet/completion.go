package main

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host/task"
)

// completions are the scripts that teach a shell to ask skillet itself what
// may come next.
var completions = map[string]string{
	"bash": `_skillet() {
  local IFS=$'\n'
  COMPREPLY=($(compgen -W "$("${COMP_WORDS[@]:0:$COMP_CWORD}" --generate-bash-completion 2>/dev/null)" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o bashdefault -o default -F _skillet skillet
`,
	"zsh": `#compdef skillet
_skillet() {
  local -a found
  found=("${(@f)$("${(@)words[1,$CURRENT-1]}" --generate-bash-completion 2>/dev/null)}")
  compadd -a found
  _files
}
compdef _skillet skillet
`,
}

func (t *terminal) completionCommand() *cli.Command {
	return &cli.Command{
		Name:      "completion",
		Usage:     "print a script that completes skillet's commands in a shell",
		ArgsUsage: "bash|zsh|fish",
		Description: "Examples:\n  source <(skillet completion bash)\n  skillet completion zsh > ~/.zfunc/_skillet\n" +
			"  skillet completion fish > ~/.config/fish/completions/skillet.fish",
		Action: t.withoutHome(func(_ context.Context, c *cli.Context) error {
			args, err := need(c, 1, "the name of a shell")
			if err != nil {
				return err
			}
			script, err := completion(c.App, args[0])
			if err != nil {
				return err
			}
			t.say("%s", script)
			return nil
		}),
	}
}

func completion(app *cli.App, shell string) (string, error) {
	if shell == "fish" {
		return app.ToFishCompletion()
	}
	script, ok := completions[shell]
	if !ok {
		return "", task.Errorf(task.KindUsage, "no completion for %s", shell).WithHint("there is one for bash, zsh and fish")
	}
	return script, nil
}
