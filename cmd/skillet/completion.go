package main

import (
	"context"
	_ "embed"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host/base/fault"
)

// The scripts that teach a shell to ask skillet itself what may come next:
// they run `skillet __complete -- WORD...`, which prints one candidate a line,
// with a tab and what it is behind it.
var (
	//go:embed completion/skillet.bash
	bashCompletion string
	//go:embed completion/skillet.zsh
	zshCompletion string
	//go:embed completion/skillet.fish
	fishCompletion string
	//go:embed completion/skillet.ps1
	powershellCompletion string
)

func completion(shell string) (script string, ok bool) {
	switch shell {
	case "bash":
		return bashCompletion, true
	case "zsh":
		return zshCompletion, true
	case "fish":
		return fishCompletion, true
	case "powershell", "pwsh":
		return powershellCompletion, true
	}
	return "", false
}

// completionScript is what --json prints of a script.
type completionScript struct {
	Shell  string `json:"shell"`
	Script string `json:"script"`
}

func (t *terminal) completionCommand() *cli.Command {
	return command("completion", nil, t.withoutHome(func(_ context.Context, c *cli.Context) error {
		args := c.Args().Slice()
		script, ok := completion(args[0])
		if !ok {
			return fault.Errorf(fault.KindUsage, "no completion for %s", args[0]).WithHint("there is one for bash, zsh, fish and powershell")
		}
		return t.answer(completionScript{args[0], script}, func() { t.say("%s", script) })
	}))
}
