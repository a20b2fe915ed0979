package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/author"
	"github.com/skillet-run/skillet/host/app/upkeep"
	"github.com/skillet-run/skillet/host/edge/lines"
)

func (t *terminal) devCommand() *cli.Command {
	return &cli.Command{
		Name: "dev",
		Description: "Works in a home of its own, in " + author.DevDir + " of the project, whose path it prints: another terminal\n" +
			"runs what was built last with `skillet --home THAT run NAME`. A version that does not build, or does not\n" +
			"fit its manifest, is shown with what is wrong, and the one before it stays. What the manifest asks for is\n" +
			"not granted in that home, only what --allow gives; test cases have the grants that they name. Compilers, and tests of the language\n" +
			"itself, run with your rights: work only on projects that you trust.\n\n" +
			"The section \"development\" of the manifest is honoured: debug_mode shows the host's own log,\n" +
			"session_isolation begins with an empty home each time, hot_reload: false leaves the version alone that was\n" +
			"installed at the beginning, and test_framework says which tests are run.\n\n" +
			"Examples:\n  skillet dev\n  skillet dev ./word-count --allow \"fs.read:$PWD/**\"\n  skillet dev --once\n  skillet dev --json",
		Flags: append(buildFlags(),
			&cli.BoolFlag{Name: "once", Usage: "do it once, and end with the exit code of that"},
			&cli.StringSliceFlag{Name: "allow", Usage: "grant this `CAPABILITY` to the skill in the home of dev; may be repeated"},
			&cli.BoolFlag{Name: "no-tests", Usage: "run no test cases"},
		),
		Action: t.dev,
	}
}

func (t *terminal) dev(c *cli.Context) error {
	at, err := oneDir(c)
	if err != nil {
		return err
	}
	r := author.DevRequest{
		Dir: at, Once: c.Bool("once"), NoTests: c.Bool("no-tests"), Timeout: c.Duration("timeout"), Progress: t.progress,
		Ready: t.greet, Turn: t.showTurn,
	}
	if !t.json {
		r.Case = t.showCase
	}
	if r.Allow, err = capabilities(c.StringSlice("allow")); err != nil {
		return fmt.Errorf("--allow: %w", err)
	}
	if c.IsSet("home") {
		if r.Home, err = t.home(c); err != nil {
			return err
		}
	}
	// Interpreters, and what was revoked, are in the person's own home.
	own := host.OpenLater(t.options(c, ""), func() (string, error) { return upkeep.DefaultHome(t.getenv) })
	turns := false
	show := r.Turn
	r.Turn = func(turn author.Turn) { turns = true; show(turn) }
	err = errors.Join(own.Author().Dev(c.Context, t.person(), r), own.Close(c.Context))
	if r.Once && turns && err != nil && c.Context.Err() == nil {
		return reported{explain(err).Kind}
	}
	return err
}

// greeting is the first line of --json.
type greeting struct {
	Event string `json:"event"`
	Dir   string `json:"dir"`
	Home  string `json:"home"`
}

func (t *terminal) greet(dir, home string) {
	if t.json {
		_ = t.line(greeting{"ready", dir, home}) // a stream that is closed is told at the end
		return
	}
	t.note("in another terminal: skillet --home %s run NAME", quoteWord(home))
}

// showTurn shows what came of a change.
func (t *terminal) showTurn(r author.Turn) {
	if r.Error != nil {
		r.Error = explain(r.Error)
	}
	if t.json {
		_ = t.line(r)
		return
	}
	if r.Compiler != "" {
		t.note("%s", plainLines(r.Compiler))
	}
	t.noteProblems(r.Problems)
	if r.Error != nil {
		t.tell(r.Error)
	}
	stays := ""
	switch {
	case r.Before:
		stays = "; the version before it stays"
	case r.Replaced:
		stays = "; it serves now"
	}
	t.say("%s %s%s%s", when(time.Now()), turnWords(r), stays, changedBy(r.Changed))
}

// turnWords says in a line what came of a change.
func turnWords(r author.Turn) string {
	verdict := "ok"
	if r.Error != nil {
		verdict = "failed"
	}
	tests := ""
	if r.Cases != nil {
		tests = ", " + casesWords(*r.Cases)
	}
	return plain(cmp.Or(r.Skill, "build")) + " " + verdict + " in " + millis(r.TotalMS) + tests
}

func casesWords(r author.CasesRun) string {
	text := fmt.Sprintf("%d of %s passed", r.Passed, count(r.Passed+r.Failed+r.Skipped, "case"))
	if r.Left > 0 {
		text += fmt.Sprintf(", %d not run again", r.Left)
	}
	return text
}

func changedBy(paths []string) string {
	const shown = 3
	if len(paths) == 0 {
		return ""
	}
	text := strings.Join(paths[:min(len(paths), shown)], ", ")
	if len(paths) > shown {
		text += " and others"
	}
	return " (" + plain(text) + ")"
}

// showCase shows a case that failed, and what any of them logged.
func (t *terminal) showCase(c author.CaseResult) {
	for _, l := range c.Logs {
		t.note("[%s] %s%s", plain(l.Level), plain(l.Message), lines.Fields(l))
	}
	if c.Outcome != author.CaseFailed {
		return
	}
	if len(c.Differences) == 0 { // whose detail is the first of them
		t.note("  failed: %s: %s", plain(c.Name), plain(c.Detail))
		return
	}
	t.note("  failed: %s", plain(c.Name))
	for _, x := range c.Differences {
		t.note("    %s", plain(x.String()))
	}
}

// quoteWord is a word as a shell takes it.
func quoteWord(word string) string {
	if strings.ContainsAny(word, " \t\"'$&;()<>|*?[]#~`\\") {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}
