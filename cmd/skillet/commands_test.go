package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/cmd/skillet/internal/cmdline"
)

// A mention is a command line that a text shows, and where.
type mention struct{ place, line string }

var (
	// inTicks is a command between backticks, ownLine one in a line of its own, and
	// first one that a string begins with, which may be another word of ours.
	inTicks = regexp.MustCompile("`(skillet [^`]+)`")
	ownLine = regexp.MustCompile(`(?m)^(?: +|\$ )(skillet [a-z-].*)$`)
	first   = regexp.MustCompile(`^(skillet [a-z-]+ .*)$`)
	// fenced is a block of a page, and inPage a command in it.
	fenced = regexp.MustCompile("(?ms)^ *```[a-z]*[^\n]*\n(.*?)^ *```$")
	inPage = regexp.MustCompile(`(?m)^ *(?:\$ )?(skillet [a-z-].*)$`)
)

// commandsIn are the command lines in the strings of a program.
func commandsIn(app *cli.App, text string) []string {
	lines := found(text, inTicks, ownLine)
	for _, line := range found(text, first) {
		if find(app.Commands, shellWords(line)[1]) != nil && line != "skillet store key" {
			lines = append(lines, line)
		}
	}
	return lines
}

// commandsOfPage are those that a page shows.
func commandsOfPage(text string) []string {
	lines := found(fenced.ReplaceAllString(text, ""), inTicks)
	for _, m := range fenced.FindAllStringSubmatch(text, -1) {
		lines = append(lines, found(m[1], inPage)...)
	}
	return lines
}

// found is what the only groups of patterns match in a text.
func found(text string, patterns ...*regexp.Regexp) []string {
	var all []string
	for _, pattern := range patterns {
		for _, m := range pattern.FindAllStringSubmatch(text, -1) {
			all = append(all, m[1])
		}
	}
	return all
}

// literals are the strings of a Go file, joined where + joins them.
func literals(t *testing.T, path string) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	ast.Inspect(f, func(n ast.Node) bool {
		e, ok := n.(ast.Expr)
		if !ok {
			return true
		}
		text, whole := literal(e)
		if whole {
			all = append(all, text)
		}
		return !whole
	})
	return all
}

// literal is the text of an expression that is made of string literals; what is put
// between them stands as X.
func literal(e ast.Expr) (text string, ok bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, e.Kind == token.STRING && err == nil
	case *ast.BinaryExpr:
		a, left := literal(e.X)
		b, right := literal(e.Y)
		if e.Op != token.ADD || !left && !right {
			return "", false
		}
		if !left {
			a = "X"
		}
		if !right {
			b = "X"
		}
		return a + b, true
	}
	return "", false
}

// shownCommands are the command lines in strings of the program and in its pages.
func shownCommands(t *testing.T, app *cli.App) []mention {
	t.Helper()
	var all []mention
	add := func(path string, lines []string) {
		for _, line := range lines {
			all = append(all, mention{path, line})
		}
	}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2 || d.Name() == "testdata" || d.Name() == "node_modules"):
			return filepath.SkipDir
		case d.IsDir() || strings.HasSuffix(path, "_test.go"):
		case filepath.Ext(path) == ".go":
			for _, text := range literals(t, path) {
				add(path, commandsIn(app, text))
			}
		case filepath.Ext(path) == ".md" && d.Name() != "CHANGELOG.md":
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			add(path, commandsOfPage(string(b)))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// shellWords splits a command line as a shell does, as far as our texts need it, and
// ends at what ends a command: a mark, a comma, or the gap before what it does.
func shellWords(line string) []string {
	line, _, _ = strings.Cut(strings.ReplaceAll(line, "\n", " "), "  ")
	var words []string
	word, quote, there := "", rune(0), false
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word += string(r)
		case r == '\'' || r == '"':
			quote, there = r, true
		case r == ' ':
			cut := strings.TrimRight(word, ",.:")
			if word != "" || there {
				words = append(words, cut)
			}
			if cut != word && word != "..." {
				return words
			}
			word, there = "", false
		case strings.ContainsRune("|>#;\\", r):
			return words
		default:
			word += string(r)
		}
	}
	if word != "" || there {
		words = append(words, word)
	}
	return words
}

// placeholder is a word that stands for any.
var placeholder = regexp.MustCompile(`^(?:[A-Z][A-Z_]*|.*[%X…\[<].*|\.\.\.|COMMAND)$`)

// wrongWith says what of a command line the program does not have; empty when
// it has all of it.
func wrongWith(app *cli.App, line string) string {
	words := shellWords(line)
	l := takeApart(app, words)
	if len(l.Chain) == 0 {
		if len(l.Words) == 0 || placeholder.MatchString(l.Words[0]) {
			return ""
		}
		return "there is no command " + l.Words[0]
	}
	last := l.Chain[len(l.Chain)-1]
	if len(last.Subcommands) > 0 && len(l.Words) > 0 && l.Words[0] != "help" && !placeholder.MatchString(l.Words[0]) && regexp.MustCompile(`^[a-z-]+$`).MatchString(l.Words[0]) {
		return "there is no command " + l.Command() + " " + l.Words[0]
	}
	if l.Command() == "help" && len(l.Words) > 0 && l.Words[0] == "json" { // the schemas, of all or of one
		l.Words = l.Words[1:]
	}
	if l.Command() == "help" && len(l.Words) > 0 && placeholder.MatchString(l.Words[0]) {
		return ""
	}
	if l.Command() == "help" && len(l.Words) > 0 {
		if below(app.Commands, l.Words) == nil && find(app.Commands, l.Words[0]) == nil {
			return "there is no command " + strings.Join(l.Words, " ")
		}
		return ""
	}
	flags := cmdline.FlagsBelow(last.Flags, last.Subcommands)
	for _, f := range l.Flags {
		name := flagName(strings.TrimRight(f, ")"))
		if strings.HasPrefix(f, "--") && name != "" && name != "help" && cmdline.LookFor(flags, name) == nil && !placeholder.MatchString(name) {
			return l.Command() + " has no flag --" + name
		}
	}
	return ""
}

// Each command that a string or a page shows exists, with its flags.
func TestCommandsInTextsExist(t *testing.T) {
	app := newApp(&terminal{})
	checked := 0
	for _, m := range shownCommands(t, app) {
		checked++
		if wrong := wrongWith(app, m.line); wrong != "" {
			t.Errorf("%s: %s: %s", m.place, m.line, wrong)
		}
	}
	if checked < 500 {
		t.Errorf("only %d command lines were found", checked)
	}
}

// The check finds what it is for.
func TestCommandsThatDoNotExistAreFound(t *testing.T) {
	app := newApp(&terminal{})
	for line, found := range map[string]bool{
		"skillet permission grant X 'fs.read:/**' --expires 7d": false,
		"skillet permission give X kv":                          true,
		"skillet approvals approve ID --override":               true,
		"skillet agent add %s --deadline 3s":                    true,
		"skillet instal text":                                   true,
		"skillet COMMAND --json":                                false,
		"skillet help permission grant":                         false,
		"skillet help permissions":                              true,
		"skillet run text --json | jq --raw-output .":           false,
	} {
		if got := wrongWith(app, line); (got != "") != found {
			t.Errorf("%s: %q", line, got)
		}
	}
}

// flagInText is a flag that a text tells a person to add.
var flagInText = regexp.MustCompile("(?:^|[ (`])--([a-z][a-z-]+)")

// foreignFlags are those of other programs that our strings speak of, and foreignDirs
// have programs that start others.
var (
	foreignFlags = []string{"max-memory", "user-group"}
	foreignDirs  = []string{"testdata", ".git", "bench", "prove", "toolchain", "release", "daemon"}
)

// Each flag that a string of the program names is one of ours.
func TestFlagsInTextsExist(t *testing.T) {
	app := newApp(&terminal{})
	ours := cmdline.FlagsBelow(app.Flags, app.Commands)
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains(foreignDirs, d.Name()) {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		for _, text := range literals(t, path) {
			for _, name := range found(text, flagInText) {
				if cmdline.LookFor(ours, name) == nil && name != "help" && !slices.Contains(foreignFlags, name) {
					t.Errorf("%s: --%s in %q", path, name, text)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Commands that are said to make no home exist.
func TestLookingCommandsExist(t *testing.T) {
	app := newApp(&terminal{})
	for _, path := range looking {
		if l := takeApart(app, append([]string{"skillet"}, strings.Fields(path)...)); l.Command() != path || len(l.Words) > 0 {
			t.Errorf("there is no command %s", path)
		}
	}
}

// TestListOfCommands compares the list of commands with the texts, whose order is that of the
// help, and with the methods that make commands: `skillet exit-codes` is exitCodesCommand.
func TestListOfCommands(t *testing.T) {
	const path = "commandlist.go"
	made := methodsOfCommands(t)
	var list strings.Builder
	for _, name := range namesInTexts() {
		method := methodOf(name)
		if !slices.Contains(made, method) {
			t.Errorf("commands.txt has a text for %s: write its method %s", name, method)
			continue
		}
		made = slices.DeleteFunc(made, func(m string) bool { return m == method })
		list.WriteString("\t\tt." + method + "(),\n")
	}
	for _, method := range made {
		t.Errorf("%s makes a command: write its text in commands.txt, at its place in the help", method)
	}
	want := "// Code generated by go test ./cmd/skillet -run TestListOfCommands -update; DO NOT EDIT.\n\n" +
		"package main\n\nimport \"github.com/urfave/cli/v2\"\n\n" +
		"// list makes all commands, in the order of commands.txt.\nfunc (t *terminal) list() []*cli.Command {\n\treturn []*cli.Command{\n" + list.String() + "\t}\n}\n"
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case string(b) == want:
	case *update && !t.Failed():
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is not what commands.txt has: run go test ./cmd/skillet -run TestListOfCommands -update", path)
	}
}

// methodOf is the method that makes the command of that name.
func methodOf(command string) string {
	words := strings.FieldsFunc(command, func(r rune) bool { return r == '-' || r == '_' })
	for i, w := range words[1:] {
		words[i+1] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "") + "Command"
}

// namesInTexts are the names of the commands that texts are about, in their order.
func namesInTexts() []string {
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^= ([a-z_-]+)`).FindAllStringSubmatch(commandTexts, -1) {
		if !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	return names
}

// methodsOfCommands are the methods of a terminal that make commands.
func methodsOfCommands(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil && fn.Type.Params.NumFields() == 0 && strings.HasSuffix(fn.Name.Name, "Command") {
				all = append(all, fn.Name.Name)
			}
		}
	}
	return all
}
