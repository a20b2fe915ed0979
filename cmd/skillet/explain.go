package main

import (
	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/internal/text"
)

func (t *terminal) explainCommand() *cli.Command {
	return command("explain", nil, func(c *cli.Context) error {
		if !c.Args().Present() {
			return t.answer(govern.Rules(), t.showRules)
		}
		args, err := need(c, 1, "one rule")
		if err != nil {
			return err
		}
		return t.explainRule(args[0])
	})
}

func (t *terminal) showRules() {
	var rows [][]string
	for _, r := range govern.Rules() {
		rows = append(rows, []string{r.ID, string(r.Severity), r.Title})
	}
	t.table("RULE\tSEVERITY\tTITLE", rows)
}

func (t *terminal) explainRule(id string) error {
	r, err := govern.RuleOf(id)
	if err != nil {
		return fault.AsError(err).WithHint("`skillet explain` lists the rules")
	}
	return t.answer(r, func() {
		t.say("%s: %s (%s)", r.ID, r.Title, severityWords[r.Severity])
		for _, part := range []string{r.What, r.Why, r.Do} {
			t.say("")
			for _, line := range text.Wrapped(part, 100) {
				t.say("%s", line)
			}
		}
	})
}

// severityWords say what a severity means for whoever decides.
var severityWords = map[govern.Severity]string{
	"info":  "good to know",
	"warn":  "deserves a look",
	"block": "blocks: approving needs --despite RULE",
}

// ruleNames are the rules, for completion.
func ruleNames(question) ([]candidate, error) {
	var found []candidate
	for _, r := range govern.Rules() {
		found = append(found, candidate{Word: r.ID, About: r.Title})
	}
	return found, nil
}
