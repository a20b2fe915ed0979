package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/skillet-run/skillet/host/fault"
	"github.com/skillet-run/skillet/internal/nearest"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host/scaffold"
	"github.com/skillet-run/skillet/host/toolchain"
)

func (t *terminal) newCommand() *cli.Command {
	return &cli.Command{
		Name:      "new",
		Usage:     "make a new skill that works, in the language of your choice",
		ArgsUsage: "NAME",
		Description: "Writes a small skill with manifest, source, test cases and the SDK of the language, so that it\n" +
			"builds without the network. Without --lang it asks, or lists the languages with what is installed here.\n\n" +
			"Examples:\n  skillet new word-count --lang js\n  skillet new word-count --lang go --dir ./skills/word-count\n  skillet new --list",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "lang", Usage: "the `LANGUAGE`: " + strings.Join(scaffold.Names(), ", ")},
			&cli.StringFlag{Name: "dir", Usage: "the `DIR` to write to (default: one called NAME)"},
			&cli.BoolFlag{Name: "force", Usage: "write over files that are there"},
			&cli.BoolFlag{Name: "list", Usage: "list the languages, and what of their compilers is here"},
		},
		Action: t.withoutHome(t.scaffold),
	}
}

// madeSkill is what --json prints of new.
type madeSkill struct {
	Name     string              `json:"name"`
	Language toolchain.Language  `json:"language"`
	Dir      string              `json:"dir"`
	Files    []string            `json:"files"`
	Compiler toolchain.Toolchain `json:"toolchain"`
}

func (t *terminal) scaffold(ctx context.Context, c *cli.Context) error {
	if c.Bool("list") {
		return t.listLanguages(ctx, c)
	}
	args, err := need(c, 1, "one name")
	if err != nil {
		return err
	}
	if err := scaffold.CheckName(args[0]); err != nil {
		return err
	}
	lang, err := t.language(ctx, c)
	if err != nil {
		return err
	}
	o := scaffold.Order{Dir: cmp.Or(c.String("dir"), args[0]), Name: args[0], Language: lang, Force: c.Bool("force")}
	files, err := scaffold.Write(o)
	if err != nil {
		return err
	}
	made := madeSkill{o.Name, lang, o.Dir, files, toolchain.Find(ctx, lang, o.Dir, t.builders(c).Settings)}
	return t.answer(made, func() { t.showMade(made) })
}

func (t *terminal) showMade(m madeSkill) {
	t.say("%s: %s in %s", plain(m.Dir), count(len(m.Files), "file"), m.Language.Title())
	if err := m.Compiler.Missing(); err != nil {
		e := fault.AsError(err)
		t.note("  note: %s", e.Message)
		t.note("  hint: %s", plain(t.way(e.Hint, e.Remedies)))
	}
	t.note("next:\n  cd %s\n  skillet test\n  skillet dev", quoteWord(m.Dir))
}

// language is the one that --lang names, or that a person at the terminal
// chooses.
func (t *terminal) language(ctx context.Context, c *cli.Context) (toolchain.Language, error) {
	name := c.String("lang")
	if name == "" && t.canAsk() {
		return t.chooseLanguage(ctx, c)
	}
	if name == "" {
		return "", fault.Errorf(fault.KindUsage, "new needs to know the language, and nobody can be asked here").
			WithHint("add --lang with one of %s; `skillet new --list` shows what is installed", strings.Join(scaffold.Names(), ", "))
	}
	if slices.Contains(scaffold.Names(), name) {
		return toolchain.Language(name), nil
	}
	e := fault.Errorf(fault.KindUsage, "there is no language %q", name)
	if best, ok := nearest.Name(name, scaffold.Names()); ok {
		return "", e.WithHint("did you mean %s? the languages are: %s", best, strings.Join(scaffold.Names(), ", "))
	}
	return "", e.WithHint("the languages are: %s", strings.Join(scaffold.Names(), ", "))
}

// chooseLanguage asks for a language, by its number or its name.
func (t *terminal) chooseLanguage(ctx context.Context, c *cli.Context) (toolchain.Language, error) {
	all := scaffold.Languages()
	t.note("Which language?")
	for i, f := range toolchain.FindAll(ctx, all, t.builders(c).Settings) {
		t.note("  %2d  %-15s %s", i+1, f.Language, f.Words())
	}
	fmt.Fprintf(t.err, "number or name: ")
	line, err := unlessEnded(t, func() (string, error) { return bufio.NewReader(t.in).ReadString('\n') })
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the answer: %w", err)
	}
	line = strings.ToLower(strings.TrimSpace(line))
	if n, err := strconv.Atoi(line); err == nil && n >= 1 && n <= len(all) {
		return all[n-1], nil
	}
	if slices.Contains(all, toolchain.Language(line)) {
		return toolchain.Language(line), nil
	}
	return "", fault.Errorf(fault.KindUsage, "%q is none of the languages", line).WithHint("the same command asks again, or takes --lang")
}

func (t *terminal) listLanguages(ctx context.Context, c *cli.Context) error {
	all := toolchain.FindAll(ctx, scaffold.Languages(), t.builders(c).Settings)
	var rows [][]string
	for _, f := range all {
		rows = append(rows, []string{string(f.Language), f.Title, f.Words()})
	}
	return t.answer(all, func() {
		t.table("LANGUAGE\tWRITTEN IN\tHERE", rows)
		for _, f := range all {
			for _, n := range f.Needs {
				if n.Problem != "" {
					t.note("  %s for %s: %s", n.Program, f.Title, n.Get)
				}
			}
		}
	})
}

func languageNames(question) ([]candidate, error) {
	var found []candidate
	for _, l := range scaffold.Languages() {
		found = append(found, candidate{Word: string(l), About: l.Title()})
	}
	return found, nil
}
