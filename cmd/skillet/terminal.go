package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/skillet-run/skillet/cmd/skillet/internal/look"
	"github.com/skillet-run/skillet/cmd/skillet/internal/query"
	"github.com/skillet-run/skillet/cmd/skillet/internal/screen"
	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/admit"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/edge/api"
	"github.com/skillet-run/skillet/internal/lazyregexp"
)

// A terminal is where a command reads and prints. Answers go to out; progress,
// questions, warnings and errors go to err, so that out can be piped.
type terminal struct {
	in      io.Reader
	out     *screen.Answers
	err     *screen.Screen
	environ []string
	// system is the directory of the administrator's bounds.
	system string
	// keyring is nil for that of the system.
	keyring host.Keyring
	json    bool
	// pick is what is printed of the JSON, or of the answer of a tool; nil for all of it.
	pick *query.Query
	// wide is that tables are not fit to the terminal.
	wide bool
	// look is how answers look, and errLook what goes to err.
	look, errLook look.Style
	// elsewhere is how a command names the home of --home; empty without that flag.
	elsewhere string
	// ctx ends when the command is to end: somebody pressed Ctrl-C. ended is its channel.
	ctx   context.Context
	ended <-chan struct{}
	// waits are the proposals that errors told of, and offered is that a person was asked
	// whether to look at what waits: see [terminal.offerReview].
	waits   []string
	offered bool
	// pages is where a pager shows what people read: the error stream, when it is a file.
	pages *os.File
	// inTTY, outTTY and errTTY say which of the streams are terminals.
	inTTY, outTTY, errTTY bool
	// outFile is where out goes.
	outFile *os.File
}

func newTerminal(in, out, err *os.File, environ []string) *terminal {
	t := &terminal{
		in: in, out: screen.NewAnswers(out), err: screen.New(err), pages: err, environ: environ,
		inTTY: isTerminal(in), outTTY: isTerminal(out), errTTY: isTerminal(err), outFile: out,
	}
	t.look, t.errLook = look.For(t.outTTY, t.getenv), look.For(t.errTTY, t.getenv)
	return t
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// canAsk reports whether a person can be asked a question.
func (t *terminal) canAsk() bool { return t.inTTY && t.errTTY && !t.json }

// waiting shows a person what they are waiting for, until done is called.
func (t *terminal) waiting(format string, args ...any) (done func()) {
	if !t.errTTY || t.json {
		return func() {}
	}
	return t.err.Waiting(plain(fmt.Sprintf(format, args...)))
}

// watching is [terminal.waiting] for what changes meanwhile.
func (t *terminal) watching(look func() string) (done func()) {
	if !t.errTTY || t.json {
		return func() {}
	}
	return t.err.Watching(func() (string, int64, int64) { return look(), 0, 0 })
}

// ask puts a yes-or-no question; anything but yes is no.
func (t *terminal) ask(question string) (bool, error) {
	word, err := t.answerTo(question)
	return isYes(word), err
}

func isYes(word string) bool { return word == "y" || word == "yes" }

// answerTo puts a question, and returns the answer in small letters.
func (t *terminal) answerTo(question string) (string, error) { return t.prompt(question + " [y/N] ") }

// prompt shows a text that ends in front of the answer, and returns the answer in small letters.
func (t *terminal) prompt(text string) (string, error) {
	line, err := t.typed(text)
	return strings.ToLower(line), err
}

// typed shows a text that ends in front of what a person types, and returns that.
func (t *terminal) typed(text string) (string, error) {
	fmt.Fprint(t.err, text)
	line, err := unlessEnded(t, func() (string, error) { return bufio.NewReader(t.in).ReadString('\n') })
	if err != nil {
		fmt.Fprintln(t.err)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the answer: %w", err)
	}
	return strings.TrimSpace(line), nil
}

// unlessEnded waits for read, or for the end of the command: a person who is
// asked can press Ctrl-C. The read itself goes on until the program ends.
func unlessEnded[T any](t *terminal, read func() (T, error)) (T, error) {
	type reply struct {
		value T
		err   error
	}
	replies := make(chan reply, 1)
	go func() {
		v, err := read()
		replies <- reply{v, err}
	}()
	select {
	case r := <-replies:
		return r.value, r.err
	case <-t.ended:
		var zero T
		return zero, context.Canceled
	}
}

// hidden reads what a person types at a prompt of the terminal in, without showing it.
func (t *terminal) hidden(in *os.File, prompt string) ([]byte, error) {
	before, err := term.GetState(int(in.Fd()))
	if err != nil {
		return nil, err
	}
	defer term.Restore(int(in.Fd()), before) // Ctrl-C leaves the prompt, too
	fmt.Fprint(t.err, prompt)
	defer fmt.Fprintln(t.err)
	return unlessEnded(t, func() ([]byte, error) { return term.ReadPassword(int(in.Fd())) })
}

// note prints a line for people, on the error stream.
func (t *terminal) note(format string, args ...any) {
	fmt.Fprintln(t.err, t.errLook.Line(fmt.Sprintf(format, args...)))
}

// say prints a line of the answer.
func (t *terminal) say(format string, args ...any) {
	fmt.Fprintln(t.out, t.look.Line(fmt.Sprintf(format, args...)))
}

// answer prints v as JSON when --json was given, and calls plain otherwise.
func (t *terminal) answer(v any, plain func()) error {
	if !t.json {
		plain()
		return nil
	}
	return t.printJSON(v)
}

// answered ends a command whose service has answered v, or failed.
func (t *terminal) answered(v any, err error, plain func()) error {
	if err != nil {
		return err
	}
	return t.answer(v, plain)
}

// judged is answered for a command that fails, with that kind of error, unless what it
// looked at is well; the answer says what is wrong.
func (t *terminal) judged(v any, err error, well bool, kind fault.Kind, plain func()) error {
	if err := t.answered(v, err, plain); err != nil || well {
		return err
	}
	return reported{kind}
}

// agreed reports whether a person agrees to what a command is about to do: with --yes, or
// when asked. The error is nil only then.
func (t *terminal) agreed(c *cli.Context, question string) error {
	if c.Bool("yes") {
		return nil
	}
	return t.confirm(strings.TrimPrefix(c.Command.HelpName, "skillet "), question)
}

// answerEach ends a command that did the same for several things, of which it said
// already what went wrong: the first failure decides the exit code.
func (t *terminal) answerEach(all any, failed *fault.Error) error {
	if t.json {
		if err := t.printJSON(all); err != nil {
			return err
		}
	}
	if failed != nil {
		return reported{failed.Kind}
	}
	return nil
}

// failure is what --json prints when a command fails.
type failure struct {
	OK    bool         `json:"ok"`
	Error *fault.Error `json:"error"`
}

// fail prints an error: what, and how to get out of it.
func (t *terminal) fail(e *fault.Error) {
	if t.json && t.pick == nil && t.printJSON(failure{Error: e}) == nil {
		return
	}
	t.tell(e)
}

// tell prints an error for people. Further lines of a message are marked, so
// that none of them can pass for a line of ours.
func (t *terminal) tell(e *fault.Error) {
	if e.Kind == fault.KindApproval {
		t.waits = append(t.waits, waitingFor(e)...)
	}
	first, rest, _ := strings.Cut(e.Message, "\n")
	t.note("%s %s", t.errLook.Bad("skillet:"), plain(first))
	for l := range strings.Lines(rest) {
		t.note("  | %s", plain(strings.TrimSuffix(l, "\n")))
	}
	if hint := t.way(e.Hint, e.Remedies); hint != "" {
		t.note("  hint: %s", plain(hint))
	}
}

// failedSources are failures of places that skills come from, such as a registry that does not
// answer: of each one is told, with all that it concerns.
type failedSources []failedSource

type failedSource struct {
	key   string
	names []string
	err   *fault.Error
}

var sourceInMessage = lazyregexp.New(`[a-z+-]+://[^/\s]+`)

// take keeps a failure when it is one of a place.
func (d *failedSources) take(name string, e *fault.Error) bool {
	if e == nil {
		return false
	}
	reason := admit.SourceFailure(e)
	if reason == "" {
		return false
	}
	key := sourceInMessage().FindString(e.Message) + " " + reason
	i := slices.IndexFunc(*d, func(p failedSource) bool { return p.key == key })
	if i >= 0 {
		(*d)[i].names = append((*d)[i].names, name)
		return true
	}
	*d = append(*d, failedSource{key, []string{name}, e})
	return true
}

func (t *terminal) tellDown(all failedSources) {
	if t.json {
		return
	}
	for _, d := range all {
		e := *d.err
		if len(d.names) > 1 {
			e.Message = strings.Join(d.names, ", ") + ": " + admit.SourceFailure(d.err)
		}
		t.tell(&e)
	}
}

// rawNote prints what a script wrote to its standard error, made safe for terminals.
func (t *terminal) rawNote(b []byte) error {
	_, err := io.WriteString(t.err, plainLines(string(b)))
	return err
}

// Notify shows a notification of a skill, here or where the command is that it was called for.
func (t *terminal) Notify(ctx context.Context, n host.Notification) error {
	if api.Notify(ctx, n) {
		return nil
	}
	line := fmt.Sprintf("[%s] %s", n.Severity, n.Skill)
	if n.Title != "" {
		line += ": " + n.Title
	}
	_, err := fmt.Fprintf(t.err, "%s: %s\n", visible(line), visible(strings.TrimRight(n.Text, "\n")))
	return err
}

// confirm asks the person at the terminal; without one, it refuses.
func (t *terminal) confirm(what, question string) error {
	if !t.canAsk() {
		return fault.Errorf(fault.KindUsage, "%s needs confirmation, and nobody can be asked here", what).WithHint("add --yes")
	}
	yes, err := t.ask(question)
	if err == nil && !yes {
		return declined(what)
	}
	return err
}

// confirmDetailed is confirm for what was shown in short: the answer d shows the details in a
// pager, and asks again.
func (t *terminal) confirmDetailed(what, question string, details func() ([]string, error)) error {
	for {
		word, err := t.answerTo(question)
		switch {
		case err != nil:
			return err
		case isYes(word):
			return nil
		case word != "d":
			return declined(what)
		}
		if err := t.showDetails(details); err != nil {
			return err
		}
	}
}

// showDetails shows the details of what a person was asked about.
func (t *terminal) showDetails(details func() ([]string, error)) error {
	all, err := details()
	if err == nil {
		t.paged(all)
	}
	return err
}

// standardOutput is how a command line names standard output as a file to write.
const standardOutput = "-"

// overFlag is that of all commands that write a file for others.
func overFlag() cli.Flag {
	return &cli.BoolFlag{Name: "force", Usage: "replace the file if it exists"}
}

// notShown refuses to write to a terminal what nobody could read there.
func (t *terminal) notShown(what string) error {
	if !t.outTTY {
		return nil
	}
	return fault.Errorf(fault.KindUsage, "%s is for files and pipes", what).WithHint("name a file")
}

// notPiped refuses standard output for what is a directory, or several files.
func notPiped(c *cli.Context) error {
	if c.String("output") != standardOutput {
		return nil
	}
	return fault.Errorf(fault.KindUsage, "--output -: it writes more than one stream of bytes").WithHint("name a file or a directory; ./- is one called -")
}

// declined is the error of a question that was not answered with yes.
func declined(what string) error {
	return fault.Errorf(fault.KindDenied, "%s: you did not say yes", what).
		WithHint("nothing was changed; the same command asks again")
}

func absolute(path string) (string, error) {
	p, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("find %s: %w", path, err)
	}
	return p, nil
}
