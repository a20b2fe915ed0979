package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/skillet-run/skillet/host/app/author"
	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/urfave/cli/v2"
)

func (t *terminal) newCommand() *cli.Command {
	return command("new", []cli.Flag{
		&cli.StringFlag{Name: "lang", Usage: "the `LANGUAGE`: " + named(author.Languages())},
		&cli.StringFlag{Name: "dir", Usage: "the `DIR` to write to (default: one called NAME)"},
		&cli.BoolFlag{Name: "force", Usage: "replace files that exist"},
		&cli.BoolFlag{Name: "list", Usage: "list the languages, and what of their compilers is here"},
	}, t.withAuthor(t.scaffold))
}

func (t *terminal) scaffold(ctx context.Context, c *cli.Context, s *author.Service) error {
	if c.Bool("list") {
		return t.listLanguages(ctx, s)
	}
	args, err := need(c, 1, "one name")
	if err != nil {
		return err
	}
	if err := author.CheckName(args[0]); err != nil {
		return err
	}
	lang := author.Language(c.String("lang"))
	if lang == "" && t.canAsk() {
		if lang, err = t.chooseLanguage(ctx, s); err != nil {
			return err
		}
	}
	made, err := s.New(ctx, t.person(), author.NewRequest{Name: args[0], Language: lang, Dir: c.String("dir"), Force: c.Bool("force")})
	return answered(t, made, err, t.showMade)
}

func (t *terminal) showMade(m author.Made) {
	t.say("%s: %s in %s", plain(m.Dir), count(len(m.Files), "file"), m.Language.Title())
	if err := m.Toolchain.Missing(); err != nil {
		e := fault.AsError(err)
		t.note("  note: %s", e.Message)
		t.note("  hint: %s", plain(t.way(e.Hint, e.Remedies)))
	}
	t.note("next:\n  cd %s\n  skillet test\n  skillet dev", quoteWord(m.Dir))
}

// chooseLanguage asks for a language, by its number or its name.
func (t *terminal) chooseLanguage(ctx context.Context, s *author.Service) (author.Language, error) {
	all, err := s.Toolchains(ctx, t.person())
	if err != nil {
		return "", err
	}
	t.note("Which language?")
	for i, f := range all {
		t.note("  %2d  %-15s %s", i+1, f.Language, f.Words())
	}
	fmt.Fprintf(t.err, "number or name: ")
	line, err := unlessEnded(t, func() (string, error) { return bufio.NewReader(t.in).ReadString('\n') })
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the answer: %w", err)
	}
	line = strings.ToLower(strings.TrimSpace(line))
	if n, err := strconv.Atoi(line); err == nil && n >= 1 && n <= len(all) {
		return all[n-1].Language, nil
	}
	if slices.Contains(author.Languages(), author.Language(line)) {
		return author.Language(line), nil
	}
	return "", fault.Errorf(fault.KindUsage, "%q is not one of the languages", line).WithHint("the same command asks again, or takes --lang")
}

func (t *terminal) listLanguages(ctx context.Context, s *author.Service) error {
	all, err := s.Toolchains(ctx, t.person())
	return answered(t, all, err, func(all []author.Toolchain) {
		var rows [][]string
		for _, f := range all {
			rows = append(rows, []string{string(f.Language), f.Title, f.Words()})
		}
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
	for _, l := range author.Languages() {
		found = append(found, candidate{Word: string(l), About: l.Title()})
	}
	return found, nil
}
