package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/app/principal"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/edge/lines"
	"github.com/skillet-run/skillet/internal/openfile"
	"github.com/skillet-run/skillet/policies/capability"
)

func (t *terminal) runCommand() *cli.Command {
	return command("run", append([]cli.Flag{
		&cli.StringFlag{Name: "input", Usage: "the input: `JSON`, @FILE, or - for standard input"},
		&cli.StringFlag{Name: "script", Usage: "run the script at `PATH` in the folder of an Agent Skill as a shell would: what stands behind -- are its arguments, --input is its standard input, and its exit code is that of the command"},
		&cli.StringSliceFlag{Name: "file", Usage: "hand a file to the script, as `PATH` or NAME=PATH: it finds a copy of that name in its folder; may be repeated"},
		&cli.StringSliceFlag{Name: "take", Usage: "write what the script has made at `PATH` or a pattern in its folder to the same place here; may be repeated"},
		&cli.StringSliceFlag{Name: "allow", Usage: "allow this `CAPABILITY` for this run alone; may be repeated"},
		&cli.StringSliceFlag{Name: "config", Usage: "a `KEY=VALUE` that an Extism guest reads with config_get; may be repeated"},
		&cli.BoolFlag{Name: "render", Usage: "print the prompt of a skill that is one, as a model would be sent it"},
		&cli.StringFlag{Name: "record", Usage: "write a recording of the call to `FILE`, for `skillet replay`; values of secrets are struck out"},
		&cli.BoolFlag{Name: "no-cache", Usage: "run the tool even if its answer was kept, and keep none"},
		&cli.StringFlag{Name: "run", Usage: "the run this call is a step of, as `ID`: grants for that run hold"},
		&cli.StringFlag{Name: "session", Usage: "the session this call belongs to, as `NAME`: a code_session skill goes on with it, and grants for it hold"},
		workspaceFlag(),
	}, limitFlags()...), t.inService(t.runServed, t.withHostFor(expected, t.run)))
}

// expected is what a command line will run.
func expected(c *cli.Context) host.Expectation {
	a, err := invoke.ParseAddress(c.Args().First())
	switch {
	case err == nil && a.Installed():
		return host.ExpectSkill
	case err == nil && a.Path != "" && exists(a.Path) && !c.Bool("render"):
		return host.ExpectPath
	}
	return host.ExpectNothing
}

func (t *terminal) run(ctx context.Context, c *cli.Context, h *host.Host) error {
	if !c.Args().Present() {
		return fault.Errorf(fault.KindUsage, "run takes a skill or a path").WithHint("`skillet list` shows what is installed; `skillet help run` shows examples")
	}
	in, err := t.invocation(ctx, c, h)
	if err != nil {
		return err
	}
	if c.Bool("render") {
		return t.render(ctx, h, in)
	}
	a, err := t.invoke(ctx, h, in)
	if c.IsSet("script") && err == nil && a.OK {
		return t.showScript(a, in.RecordTo)
	}
	return t.showAnswer(a, in.RecordTo, err)
}

// invoke makes a call, and makes it again when it failed for want of what a person at the
// terminal then allows.
func (t *terminal) invoke(ctx context.Context, h *host.Host, in invoke.Invocation) (invoke.Answer, error) {
	asker := t.asker(h)
	for {
		done := t.waiting("running %s", in.Target.Label())
		a, err := h.Invoke().Invoke(ctx, in)
		done()
		if err != nil {
			return a, err
		}
		retry := invoke.Retry{Run: in.Run, Allow: in.Allow}
		again, err := asker.allows(ctx, &retry, a)
		in.Allow = retry.Allow
		switch {
		case err != nil:
			return invoke.Answer{}, err
		case !again:
			return a, nil
		}
	}
}

// showScript shows what came of a script as a shell would, or the whole call as JSON, and
// ends as the script did.
func (t *terminal) showScript(a invoke.Answer, recordTo string) error {
	end, err := invoke.EndOfScript(a.Raw)
	if err == nil {
		err = t.handOut(end.Files)
	}
	if err != nil {
		return err
	}
	if t.json {
		err = t.showAnswer(a, recordTo, nil)
	} else {
		t.noteCuts(a.Cuts)
		t.noteRecorded(a, recordTo, nil)
		res := a.Result
		res.Raw = nil
		err = cmp.Or(t.showResult(res), t.rawNote([]byte(end.Stderr)), t.raw([]byte(end.Stdout)))
	}
	if err == nil && end.ExitCode != 0 {
		return exited{end.ExitCode & 0xff}
	}
	return err
}

// showAnswer shows what came of a call that was to be recorded to a file; empty for none.
func (t *terminal) showAnswer(a invoke.Answer, recordTo string, err error) error {
	t.noteCuts(a.Cuts)
	res := a.Result
	if err != nil && res.RunID == "" {
		return err
	}
	if !res.OK {
		res.Error = explain(res.Error)
	}
	if t.json {
		if err := t.printJSON(res); err != nil {
			return err
		}
		if res.OK {
			return err
		}
		return reported{res.Error.Kind}
	}
	t.noteRecorded(a, recordTo, err)
	return cmp.Or(t.showResult(res), err)
}

// noteRecorded says what was recorded, where that was asked for.
func (t *terminal) noteRecorded(a invoke.Answer, path string, err error) {
	switch {
	case path == "" || t.json || err != nil:
	case a.Recording == nil:
		t.note("skillet: nothing ran, so nothing was recorded")
	default:
		t.noteRecording(a.Recording, path, a.TooShort)
	}
}

func (t *terminal) showResult(res invoke.Result) error {
	t.noteWay(res)
	for _, l := range res.Logs {
		t.note("[%s] %s%s", plain(l.Level), plain(l.Message), lines.Fields(l))
	}
	if !res.OK {
		return res.Error
	}
	for _, d := range res.Denials {
		t.note("skillet: denied %s: %s", plain(d.Request), plain(d.Reason))
		if hint := t.way(d.Hint, d.Remedies); hint != "" {
			t.note("  hint: to allow it: %s", plain(hint))
		}
	}
	return t.raw(res.Raw)
}

// noteWay says how the answer was come by, when that was not the plain way.
func (t *terminal) noteWay(res invoke.Result) {
	if res.Cached {
		t.note("skillet: an answer that was kept; --no-cache runs the tool")
	}
	t.noteParts(res)
	for i, a := range res.Attempts {
		if a.Error != nil && i < len(res.Attempts)-1 {
			t.note("skillet: attempt %d of %d failed: %s", i+1, len(res.Attempts), plain(a.Error.Message))
		}
	}
	switch f := res.Fallback; {
	case f == nil:
	case f.Error == nil:
		t.note("skillet: %s failed: %s", plain(res.Tool), plain(f.Because.Message))
		t.note("skillet: this is the answer of its fallback command %s", plain(f.Command))
	default:
		t.note("skillet: its fallback command %s failed as well: %s", plain(f.Command), plain(f.Error.Message))
	}
}

// noteParts says what became of the session of a call, and of the calls made from
// within it.
func (t *terminal) noteParts(res invoke.Result) {
	if s := res.Session; s != nil && s.After {
		t.note("skillet: the session %s had ended; this is a new one", plain(s.Name))
	}
	if s := res.Session; s != nil && s.Closed {
		t.note("skillet: the session %s was closed meanwhile; what this call left is gone", plain(s.Name))
	}
	for _, c := range res.Calls {
		if c.Error != nil {
			t.note("skillet: it called %s, which failed: %s", plain(c.Skill+":"+c.Tool), plain(c.Error.Message))
			if hint := t.way(c.Error.Hint, c.Error.Remedies); hint != "" {
				t.note("  hint: %s", plain(hint))
			}
		}
	}
}

// invocation is the call that a command line asks for.
func (t *terminal) invocation(ctx context.Context, c *cli.Context, h *host.Host) (invoke.Invocation, error) {
	target, err := t.target(ctx, h, c.Args().First())
	if err != nil {
		return invoke.Invocation{}, err
	}
	in := invoke.Invocation{
		Target: target, By: t.person(), NoCache: c.Bool("no-cache"), Run: c.String("run"), Session: c.String("session"),
		RecordTo: c.String("record"), Limits: limits(c),
	}
	if c.IsSet("record") && in.RecordTo == "" {
		return in, fault.Errorf(fault.KindUsage, "--record is empty").WithHint("name a file: --record call.recording.json")
	}
	if c.IsSet("script") {
		in.Target, in.Input, err = t.script(c, target)
	} else if c.IsSet("file") || c.IsSet("take") {
		err = fault.Errorf(fault.KindUsage, "--file and --take are for a script").WithHint("name it with --script")
	} else {
		in.Input, err = t.input(c, target)
	}
	if err != nil {
		return in, err
	}
	if in.Allow, err = t.allow(c); err != nil {
		return in, err
	}
	if in.Config, err = pairs(c.StringSlice("config")); err != nil {
		return in, err
	}
	in.Workspace, err = workspace(c)
	return in, err
}

// noteCuts says which of the limits that flags ask for are above what this host
// allows.
func (t *terminal) noteCuts(cuts []invoke.Cut) {
	for _, c := range cuts {
		if !t.json {
			t.note("skillet: %s instead of %s: the setting %s of this host allows no more", c.Allowed, c.Asked, c.Setting)
		}
	}
}

func (t *terminal) allow(c *cli.Context) (principal.EphemeralGrant, error) {
	cs, err := capabilities(c.StringSlice("allow"))
	if err != nil {
		return principal.EphemeralGrant{}, fmt.Errorf("--allow: %w", err)
	}
	return t.person().Allow(capability.NewSet(cs...)), nil
}

func pairs(texts []string) (map[string]string, error) {
	m := make(map[string]string, len(texts))
	for _, p := range texts {
		k, v, ok := strings.Cut(p, "=")
		if !ok || k == "" {
			return nil, fault.Errorf(fault.KindUsage, "--config %s: it must be KEY=VALUE", p)
		}
		m[k] = v
	}
	return m, nil
}

// target finds what the first argument means, and shows on a terminal how much of it
// came.
func (t *terminal) target(ctx context.Context, h *host.Host, arg string) (invoke.Target, error) {
	at, err := invoke.ParseAddress(arg)
	if err != nil {
		return invoke.Target{}, err
	}
	progress := t.downloading([]string{arg})
	done := progress.show(0)
	target, err := h.Invoke().Find(ctx, t.person(), at, progress.of(0))
	done()
	t.noteAll(target.Notes())
	return target, err
}

// noteAll says what a person should know of a package.
func (t *terminal) noteAll(notes []string) {
	for _, n := range notes {
		if !t.json {
			t.note("skillet: %s", plain(n))
		}
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// maxInput bounds what is read as input; the sandbox has its own, lower limit.
const maxInput = 64 << 20

// input is the tool's input from --input or from key=value pairs.
func (t *terminal) input(c *cli.Context, target invoke.Target) ([]byte, error) {
	words := c.Args().Tail()
	if c.IsSet("input") {
		if len(words) > 0 {
			return nil, fault.Errorf(fault.KindUsage, "--input and key=value pairs do not go together").WithHint("give the whole input in one of the two ways")
		}
		return t.readInput(c.Context, c.String("input"))
	}
	return target.Input(words)
}

// script is the target for the script that a command line names, with its input.
func (t *terminal) script(c *cli.Context, target invoke.Target) (invoke.Target, []byte, error) {
	if c.Bool("render") {
		return target, nil, fault.Errorf(fault.KindUsage, "--script and --render do not go together").WithHint("a script runs, and has no prompt to print")
	}
	var stdin []byte
	if c.IsSet("input") {
		var err error
		if stdin, err = t.readInput(c.Context, c.String("input")); err != nil {
			return target, nil, err
		}
	}
	files, err := t.handedIn(c.Context, c.StringSlice("file"))
	if err != nil {
		return target, nil, err
	}
	return target.Script(c.String("script"), invoke.ScriptInput{
		Args: c.Args().Tail(), Stdin: string(stdin), Files: files, Outputs: c.StringSlice("take"),
	})
}

// handedIn reads the files that a script is handed.
func (t *terminal) handedIn(ctx context.Context, names []string) (all []invoke.ScriptFile, err error) {
	for _, n := range names {
		name, at, ok := strings.Cut(n, "=")
		if !ok {
			name, at = filepath.Base(n), n
		}
		b, err := t.readInput(ctx, "@"+at)
		if err != nil {
			return nil, err
		}
		all = append(all, invoke.ScriptFile{Path: filepath.ToSlash(name), Bytes: b})
	}
	return all, nil
}

// handOut writes files that a script has made below the working directory. It leads
// nowhere else, whatever a script calls them, and follows no links out of it.
func (t *terminal) handOut(files []invoke.ScriptFile) error {
	if len(files) == 0 {
		return nil
	}
	root, err := os.OpenRoot(".")
	if err != nil {
		return err
	}
	defer root.Close()
	for _, f := range files {
		b := f.Bytes
		if b == nil {
			b = []byte(f.Text)
		}
		name := filepath.FromSlash(strings.TrimPrefix(f.Path, "/"))
		if err := root.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return fmt.Errorf("take %s: %w", f.Path, err)
		}
		if err := root.WriteFile(name, b, 0o666); err != nil {
			return fmt.Errorf("take %s: %w", f.Path, err)
		}
	}
	return nil
}

func (t *terminal) readInput(ctx context.Context, text string) ([]byte, error) {
	path, isFile := strings.CutPrefix(text, "@")
	switch {
	case text == "-":
		return unlessEnded(t, func() ([]byte, error) { return limited(t.in, "standard input") })
	case !isFile:
		return []byte(text), nil
	}
	f, err := openfile.Open(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("read the input: %w", err)
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.IsDir() {
		return nil, fault.Errorf(fault.KindUsage, "read the input: %s is a directory", path).WithHint("name a file behind the @")
	}
	return unlessEnded(t, func() ([]byte, error) { return limited(f, path) })
}

func limited(r io.Reader, name string) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if err != nil {
		return nil, fmt.Errorf("read the input: %w", err)
	}
	if len(b) > maxInput {
		return nil, fault.Errorf(fault.KindLimit, "the input from %s is larger than %d MB", name, maxInput>>20).
			WithHint("have the skill read the file itself: --allow fs.read:/path/of/the/file")
	}
	return b, nil
}
