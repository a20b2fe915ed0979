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

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/author"
	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/urfave/cli/v2"
)

func (t *terminal) newCommand() *cli.Command {
	// Who says yes to the interpreter says so to the one that belongs to this program.
	yes := &cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Value: true, Hidden: true}
	return command("new", []cli.Flag{
		yes,
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
	if err := answered(t, made, err, t.showMade); err != nil {
		return err
	}
	return t.offerInterpreter(c, author.Interpreter(made.Language))
}

// offerInterpreter asks whether the interpreter of a new skill is to be installed, if it is
// not there and somebody can be asked.
func (t *terminal) offerInterpreter(c *cli.Context, name string) error {
	if name == "" || t.json || !t.canAsk() {
		return nil
	}
	return t.withState(func(ctx context.Context, c *cli.Context, h *host.Host) error {
		all, err := h.Author().Engines(ctx, t.person())
		if err != nil || slices.ContainsFunc(all, func(e author.Engine) bool { return e.Name == name && (e.Installed != "" || e.Error != nil) }) {
			return err
		}
		yes, err := t.ask(fmt.Sprintf("It runs in the interpreter %s, which is not installed. Install it now?", name))
		if err != nil || !yes {
			return err
		}
		from, err := author.EngineAddresses([]string{name})
		if err != nil {
			return err
		}
		return t.installEach(ctx, c, h, from, false)
	})(c)
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
