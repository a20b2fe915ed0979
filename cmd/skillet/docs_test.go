package main

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/cmd/skillet/internal/cmdline"
	"github.com/skillet-run/skillet/host/author/scaffold"
	"github.com/skillet-run/skillet/host/author/toolchain"
	"github.com/skillet-run/skillet/host/fetch/catalog"
)

// A shownShell is what a page has a reader type into one shell.
type shownShell struct {
	name     string
	language toolchain.Language // of the blocks; empty for those that name none
	needs    []string           // what is not on every machine
	commands []shownCommand
}

// A shownCommand is a line behind "$ ", with those behind "> " that go on with it, and
// the lines that it prints.
type shownCommand struct {
	text, code string
	prints     []string
}

var (
	// shownBlock is a console block, a file, or a comment with what the runner does before the next block.
	shownBlock  = regexp.MustCompile("(?ms)^(?:```console([^\n]*)\n(.*?)^```|```\\w+ (file=[^\n]*)\n(.*?)^```|<!-- run([^\n]*)\n(.*?)^-->)$")
	exitComment = regexp.MustCompile(`\s*# exit code (\d+)$`)
	typedAnswer = regexp.MustCompile(`^(.*\[[a-z/]+/N\]) (\S+)$`)
	identifier  = regexp.MustCompile(`\b[0-9a-f]{8,64}\b`)
)

// pageShells are the shells of a page: one, and one for each language it names.
func pageShells(t *testing.T, page string) []*shownShell {
	t.Helper()
	text := readPage(t, page)
	var shells []*shownShell
	for _, m := range shownBlock.FindAllStringSubmatch(text, -1) {
		w := attributes(t, page, m[1]+m[3]+m[5])
		i := slices.IndexFunc(shells, func(s *shownShell) bool { return s.name == w.shell })
		if i < 0 {
			i, shells = len(shells), append(shells, &shownShell{name: w.shell, language: w.language})
		}
		s := shells[i]
		s.needs = append(s.needs, w.needs...)
		switch {
		case w.file != "":
			write := "mkdir -p '" + filepath.Dir(w.file) + "' && cat > '" + w.file + "' <<'END OF THE FILE'\n" + m[4] + "END OF THE FILE"
			s.commands = append(s.commands, shownCommand{text: write, code: "0"})
		case m[6] != "":
			s.commands = append(s.commands, shownCommand{text: strings.TrimSpace(m[6]), code: "0"})
		default:
			s.read(t, page, m[2])
		}
	}
	return shells
}

func readPage(t *testing.T, page string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", page))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// words are those that stand behind console, run or the language of a file.
type words struct {
	shell    string
	language toolchain.Language
	needs    []string
	file     string
}

func attributes(t *testing.T, page, text string) (w words) {
	t.Helper()
	for word := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "lang":
			w.shell, w.language = value, toolchain.Language(value)
		case "shell":
			w.shell = value
		case "needs":
			w.needs = append(w.needs, strings.Split(value, ",")...)
		case "file":
			w.file = value
		default:
			t.Fatalf("%s: a block has %q; it may have lang=LANGUAGE, shell=NAME, needs=THING,THING and file=PATH", page, word)
		}
	}
	return w
}

// read appends the commands of a block.
func (s *shownShell) read(t *testing.T, page, block string) {
	t.Helper()
	begun := false
	for line := range strings.Lines(block) {
		line = strings.TrimSuffix(line, "\n")
		command, isCommand := strings.CutPrefix(line, "$ ")
		if isCommand {
			c := shownCommand{text: exitComment.ReplaceAllString(command, ""), code: "0"}
			if code := exitComment.FindStringSubmatch(command); code != nil {
				c.code = code[1]
			}
			s.commands, begun = append(s.commands, c), true
			continue
		}
		if !begun {
			t.Fatalf("%s: a block begins with %q, which is no command", page, line)
		}
		last := &s.commands[len(s.commands)-1]
		if more, ok := strings.CutPrefix(line, "> "); ok && len(last.prints) == 0 {
			last.text += "\n" + more
		} else if line != "" {
			last.prints = append(last.prints, line)
		}
	}
}

// TestPages runs the commands of every page in the order in which they stand there, in a
// new home and a new directory, and compares what they print. CONTRIBUTING.md says how a
// page is written.
func TestPages(t *testing.T) {
	if underRace {
		t.Skip("it runs only other programs")
	}
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is not here, with which a reader follows the pages")
	}
	pages, skills := pagesOf(t), bundledSkills(t)
	if testing.Short() { // the session that everybody sees, and the way from nothing to a published skill
		pages, skills = []string{"README.md", "docs/tutorial.md"}, []string{"files"}
	}
	built := newClone(t, skills)
	for _, page := range pages {
		for _, s := range pageShells(t, page) {
			t.Run(strings.TrimSuffix(page, ".md")+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				s.ready(t)
				newReader(t, built).follow(append(skillOfPage(page), s.commands...))
			})
		}
	}
}

// skillOfPage is what comes before the page of a skill: who reads it has installed that.
// It cannot say so itself, since a comment in the file of a package is a finding.
func skillOfPage(page string) []shownCommand {
	name, ok := strings.CutPrefix(filepath.Dir(page), "skills/")
	if !ok {
		return nil
	}
	install := `cp -r "$CLONE"/skills/` + name + ` . && skillet install --yes ./` + name
	if engine, ok := strings.CutSuffix(name, "-repl"); ok {
		install = "skillet engine add " + strings.Replace(engine, "js", "qjs", 1) + " && " + install
	}
	return []shownCommand{{text: install, code: "0"}}
}

// pagesOf are the pages of the tree, as paths from its root.
func pagesOf(t *testing.T) []string {
	t.Helper()
	root := filepath.Join("..", "..")
	var pages []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(name, ".") || slices.Contains([]string{"testdata", "node_modules", "dist", "proof"}, name)):
			return fs.SkipDir // what tests read, and what is not ours
		case filepath.Ext(name) == ".md" && name != "CHANGELOG.md": // which says what was
			page, err := filepath.Rel(root, path)
			pages = append(pages, filepath.ToSlash(page))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) < 50 {
		t.Fatalf("only %d pages: %q", len(pages), pages)
	}
	return pages
}

// onlyShown are the blocks with commands that TestPages does not run, by page and first line,
// each with the reason.
var onlyShown = map[string]string{
	"README.md: make demo":                                                              ".ci/run makes it",
	"README.md: make skills":                                                            ".ci/run makes it",
	"docs/compatibility.md: skillet run counting:count":                                 "agentskill.txtar runs it, with the folder that it needs",
	"docs/compatibility.md: skillet run counting --script":                              "agentskill.txtar runs it, with the folder that it needs",
	"docs/agent-skills.md: skillet run docx --script":                                   "cpython.txtar runs such a script, with the folder that it needs",
	"docs/cpython.md: skillet engine add cpython-office":                                "cpython-office.txtar types it, where the wheel is; it takes minutes",
	"docs/escape.md: go test ./host/escape":                                             "it writes that table anew; the gate runs the test without -update",
	"CONTRIBUTING.md: make build":                                                       ".ci/run makes most of it; the others take hours, or an emulator",
	"skills/http/README.md: skillet run http:http_get url=https://example.com/ --allow": "it asks a server on the internet; http.txtar asks one here",
	"skills/http/README.md: skillet run http:http_get url=https://example.com/ --json":  "it asks a server on the internet; http.txtar asks one here",
	"docs/mcp.md: skillet mcp install claude-code":                                      "mcp.txtar writes into files of clients",
	"docs/mcp.md: skillet mcp add issues":                                               "mcp-server.txtar adds such, with a server of its own",
	"docs/sources.md: skillet search   ":                                                "catalog.txtar types the same, with packages of its own",
	"docs/sources.md: skillet login mcp+https://host/mcp":                               "mcp_skills.txtar does, with a server of its own",
	"docs/providers.md: make providers":                                                 "the key is the reader's; plugins/providers/endtoend types the same, with servers of its own",
	"docs/service.md: skillet serve":                                                    "it serves until it is told to end; serve.txtar runs it",
	"docs/service.md: skillet service install":                                          "it changes what the machine starts; service.txtar prints what it would install",
	"docs/signatures.md: cosign verify-blob":                                            "cosign.txtar runs it with the same flags, where there is a cosign",
	"plugins/provider/minilm/README.md: python3 -m venv":                                "it downloads 220 MB; the tests of the plugin run with what it leaves",
	"plugins/provider/minilm/README.md: skillet config set":                             "it needs what the block before it downloads",
	"plugins/provider/minilm/README.md: skillet memory":                                 "it needs what the block before it downloads",
	"plugins/provider/minilm/README.md: MINILM_PYTHON":                                  "it needs what the first block downloads",
	"sdk/conformance/README.md: go test ./sdk/conformance":                              "the gate runs these tests",
	"skills/README.md: GOOS=wasip1":                                                     "the Makefile has it; .ci/run makes it",
}

var (
	plainBlock  = regexp.MustCompile("(?m)(?:^|\n)(?:(?: {4}|\t).*\n+)+|^```.*\n(?s:.*?)\n```$")
	commandLine = regexp.MustCompile(`(?m)^(?:\s*\$ |\s*)(?:skillet [a-z]|make [a-z]|go (?:run|test|build) |cosign [a-z]|git -?[a-zA-Z]|python3 -m|GOOS=|MINILM_|bench/guests/build|.*[;|&(] ?skillet [a-z])`)
)

// TestCommandsAreRunOrNamed goes through the blocks of every page for commands that
// TestPages does not run.
func TestCommandsAreRunOrNamed(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, page := range pagesOf(t) {
		if page == "docs/cli.md" {
			continue // made of the help of commands, which TestWrittenCommandsExist reads
		}
		text := shownBlock.ReplaceAllString(readPage(t, page), "")
		for _, block := range plainBlock.FindAllString(text, -1) {
			at := commandLine.FindString(block)
			if at == "" {
				continue
			}
			line := page + ": " + strings.TrimSpace(block[strings.Index(block, at):])
			named := false
			for k := range onlyShown {
				if strings.HasPrefix(line, k) {
					named, seen[k] = true, true
				}
			}
			if !named {
				first, _, _ := strings.Cut(line, "\n")
				t.Errorf("%s\nis not run: make it a console block (see CONTRIBUTING.md), or say in onlyShown why not", first)
			}
		}
	}
	for k := range onlyShown {
		if !seen[k] {
			t.Errorf("no page has %q any more", k)
		}
	}
}

// ready skips a shell whose commands need what is not here.
func (s *shownShell) ready(t *testing.T) {
	t.Helper()
	if s.language != "" {
		if !slices.Contains(scaffold.Languages(), s.language) {
			t.Skipf("there is no SDK of %s", s.language)
		}
		ready(t, s.language)
	}
	for _, need := range s.needs {
		switch need {
		case "mcpservers":
			if _, err := os.Stat(npmServers()); err != nil || runtime.GOOS != "linux" {
				t.Skip("the MCP servers of npm are not here, or are not held to what they were granted: make mcptools, on Linux")
			}
		case "qjs", "python", "cpython", "cpython-office":
			if !engineThere(t, need) {
				t.Skipf("the interpreter %s cannot be had here", need)
			}
		default:
			if _, err := exec.LookPath(need); err != nil {
				t.Skip(err)
			}
		}
	}
}

// npmServers is the directory of the MCP servers that `make mcptools` installs.
func npmServers() string {
	dir, err := filepath.Abs(cmp.Or(os.Getenv("SKILLET_TOOLS"), filepath.Join("..", "..", ".tools")))
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "mcpservers", "node_modules")
}

// A clone is what `make skills` leaves of the tree, as far as pages use it.
type clone struct{ dir, tree, extism string }

func newClone(t *testing.T, names []string) clone {
	t.Helper()
	p := newPerson(t)
	borrow(t, p.home)
	for _, name := range names {
		p.build(name)
	}
	all := filepath.Join(p.work, "skills")
	if err := os.CopyFS(all, os.DirFS("../../skills")); err != nil {
		t.Fatal(err)
	}
	if _, err := catalog.Make(p.work, names, nil); err != nil {
		t.Fatal(err)
	}
	var modules []string
	for _, name := range names {
		modules = append(modules, filepath.Join(all, name, "main.wasm"))
	}
	compileFirst(t, modules...)
	extism, err := extismModules()
	if err != nil {
		t.Error(err)
	}
	tree, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return clone{p.work, tree, extism}
}

// A reader is a person who types what a page shows.
type reader struct {
	writer
	clone
	dir string
}

// newReader has a home of its own, with nothing in it but compiled code, and stands in an
// empty directory.
func newReader(t *testing.T, built clone) reader {
	t.Helper()
	p := newPerson(t)
	p.home = filepath.Join(p.work, ".skillet")
	borrow(t, p.home)
	dir := filepath.Join(p.work, "here")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return reader{writer{p}, built, dir}
}

// environ is that of the shell: $CLONE is the tree with what was built of it.
func (r reader) environ() []string {
	env := slices.DeleteFunc(authorEnviron(r.work), func(v string) bool { return strings.HasPrefix(v, "SKILLET_HOME=") })
	for i, v := range env {
		if path, ok := strings.CutPrefix(v, "PATH="); ok {
			env[i] = "PATH=" + r.work + string(filepath.ListSeparator) + path
		}
	}
	env = append(env, examples(r.t, r.work)...)
	return append(env, "TREE="+r.tree, "CLONE="+r.clone.dir, "EXTISM="+r.extism, "MCP_SERVERS="+npmServers(), "NO_COLOR=1", "TERM=dumb", "GIT_CONFIG_NOSYSTEM=1", "GIT_PAGER=cat",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com")
}

// endOfCommand is printed behind each command, with its exit code.
const endOfCommand = "=== the end of a command: "

// follow has one shell run commands, answers what they ask, and compares what they print.
func (r reader) follow(commands []shownCommand) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 10*time.Minute)
	defer cancel()
	script, lines, err := os.Pipe()
	if err != nil {
		r.t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, "bash", "/dev/fd/3")
	cmd.Dir, cmd.Env, cmd.ExtraFiles = r.dir, r.environ(), []*os.File{script}
	s := r.sitAt(cmd)
	script.Close()
	defer lines.Close()
	ids := map[string]string{} // those of the page, and what was printed in their place
	from := 0
	for _, c := range commands {
		text := identifier.ReplaceAllStringFunc(c.text, func(id string) string { return cmp.Or(ids[id], id) })
		if _, err := lines.WriteString(text + "\ncode=$?; echo; echo '" + endOfCommand + "'$code.\n"); err != nil {
			r.t.Fatal(err)
		}
		var printed, code string
		printed, code, from = s.follow(c, from)
		if code != c.code {
			r.t.Fatalf("$ %s\nends with %q, and not with %s; it prints\n%s", text, code, c.code, printed)
		}
		if !shows(printed, c.prints, ids) {
			r.t.Errorf("$ %s\nprints\n%s\nand the page says\n%s", text, printed, strings.Join(c.prints, "\n"))
		}
	}
	lines.Close()
	s.ends(0)
}

// follow answers what a command asks, and returns what it printed behind from, its exit
// code, and where it ended.
func (s *session) follow(c shownCommand, from int) (printed, code string, end int) {
	s.t.Helper()
	asked := from
	for _, line := range c.prints {
		m := typedAnswer.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		question := m[1]
		if i := strings.LastIndex(question, "…"); i >= 0 {
			question = question[i+len("…"):]
		}
		at, ok := s.reads(asked, question, endOfCommand)
		if !ok {
			break // and what it prints is not what the page says
		}
		asked = at
		s.types(m[2] + "\n")
	}
	at, ok := s.reads(asked, endOfCommand, "/N]")
	if !ok {
		s.t.Fatalf("$ %s\nasks what the page has no answer to, or does not end; it prints\n%s", c.text, s.shown()[from:])
	}
	end, ok = s.reads(at, ".", ".")
	if !ok {
		s.t.Fatalf("$ %s\ndoes not end; it prints\n%s", c.text, s.shown()[from:])
	}
	all := s.shown()
	return onScreen(all[from : at-len(endOfCommand)]), all[at : end-1], end
}

// reads waits until text is on the terminal behind from, and returns where it ends; false
// when until, or the end of all, comes before it.
func (s *session) reads(from int, text, until string) (end int, ok bool) {
	for {
		closed := false
		select {
		case <-s.closed:
			closed = true
		case <-time.After(5 * time.Millisecond):
		}
		shown := s.shown()[from:]
		at, stop := strings.Index(shown, text), strings.Index(shown, until)
		switch {
		case at >= 0 && (stop < 0 || at <= stop):
			return from + at + len(text), true
		case stop >= 0 || closed:
			return from, false
		}
	}
}

// onScreen is what is left on a terminal of what was written to it: of a line that was
// written over, the last.
func onScreen(written string) string {
	lines := strings.Split(strings.ReplaceAll(written, "\r\n", "\n"), "\n")
	for i, l := range lines {
		l = strings.TrimRight(l, "\r")
		lines[i] = strings.TrimRight(l[strings.LastIndex(l, "\r")+1:], " ")
	}
	return strings.Join(lines, "\n")
}

// shows reports whether lines are all that is printed. In a line, … stands for any text,
// over the ends of lines too, and an identifier for the one that is printed there, which
// is the same wherever the page has it.
func shows(printed string, lines []string, ids map[string]string) bool {
	if len(lines) == 0 {
		return true
	}
	var want, names []string
	for _, l := range lines {
		l = strings.ReplaceAll(regexp.QuoteMeta(l), "…", `(?s:.*?)`)
		want = append(want, identifier.ReplaceAllStringFunc(l, func(id string) string {
			if ids[id] != "" {
				return ids[id]
			}
			names = append(names, id)
			return `([0-9a-f]{8,})`
		}))
	}
	blank := regexp.MustCompile(`\n\s*\n`) // pages leave blank lines out
	printed = strings.Trim(blank.ReplaceAllString(printed, "\n"), "\n")
	m := regexp.MustCompile(`^` + strings.Join(want, `\n?`) + `$`).FindStringSubmatch(printed)
	for i, name := range names {
		if m != nil {
			ids[name] = m[i+1]
		}
	}
	return m != nil
}

// TestWrittenCommandsExist looks at what the help of each command and the text of each page
// have a reader type: there is such a command, and it has those flags. (TestPages runs the
// blocks of pages.)
func TestWrittenCommandsExist(t *testing.T) {
	t.Parallel()
	app := newApp(&terminal{})
	written := map[string][]string{}
	for path, c := range leaves("skillet", app.Commands) {
		written["the help of "+path] = helpExample.FindAllString(c.Description, -1)
	}
	for _, page := range pagesOf(t) {
		for _, m := range typedInText.FindAllStringSubmatch(readPage(t, page), -1) {
			written[page] = append(written[page], m[1])
		}
	}
	n := 0
	for where, lines := range written {
		for _, l := range lines {
			n++
			if err := commandIsThere(app, l); err != nil {
				t.Errorf("%s: %s: %v", where, strings.TrimSpace(l), err)
			}
		}
	}
	if n < 300 {
		t.Errorf("only %d commands were found", n)
	}
}

var (
	helpExample = regexp.MustCompile(`(?m)^  skillet .*$`)
	typedInText = regexp.MustCompile("`(skillet [a-z][^`]*)`")
)

// commandIsThere reports what of a line does not exist.
func commandIsThere(app *cli.App, line string) error {
	commands, flags := app.Commands, app.Flags
	words := strings.Fields(line)[1:]
	if meant := cmdline.Synonym(words[0]); len(meant) > 0 {
		words = slices.Concat(meant, words[1:])
	}
	for _, word := range words {
		word = strings.Trim(word, "[]`,")
		switch {
		case slices.Contains([]string{"|", ";", "&&", ">", "--", `\|`}, word):
			return nil
		case strings.HasPrefix(word, "--"):
			if cmdline.LookFor(flags, flagName(word)) == nil && word != "--help" {
				return fmt.Errorf("no flag %s", word)
			}
		case len(commands) > 0 && !strings.HasPrefix(word, "-"):
			c := find(commands, word)
			if c == nil && word != strings.ToUpper(word) && !strings.Contains(word, "…") {
				return fmt.Errorf("no command %q", word)
			}
			if c == nil {
				return nil
			}
			commands, flags = c.Subcommands, slices.Concat(flags, c.Flags)
		}
	}
	return nil
}
