package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/approval"
	"github.com/skillet-run/skillet/host/registry"
	"github.com/skillet-run/skillet/host/runner"
	"github.com/skillet-run/skillet/host/task"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/policies/capability"
)

func (t *terminal) runCommand() *cli.Command {
	return &cli.Command{
		Name:      "run",
		Usage:     "run a tool of a skill",
		ArgsUsage: "SKILL[@VERSION][:TOOL] | PATH[:TOOL]  [KEY=VALUE...]",
		Description: "Runs an installed skill with what it was granted, or a directory, .skill or .wasm file\n" +
			"with nothing granted and nothing installed. The answer goes to standard output, all\n" +
			"else to standard error.\n\n" +
			"Examples:\n" +
			"  skillet run text:statistics text='How many words are these?'\n" +
			"  skillet run csv:stats --input @numbers.json --json\n" +
			"  cat page.json | skillet run html:html_to_text --input -\n" +
			"  skillet run files:read_text path=README.md --allow fs.read:$PWD/README.md\n" +
			"  skillet run ./count_vowels.wasm:count_vowels --input 'hello'",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "input", Usage: "the input: `JSON`, @FILE, or - for standard input"},
			&cli.StringSliceFlag{Name: "allow", Usage: "allow this `CAPABILITY` for this run alone; may be repeated"},
			&cli.DurationFlag{Name: "timeout", Usage: "end the call after this `TIME`, such as 500ms or 2m"},
			&cli.Uint64Flag{Name: "max-memory-mb", Usage: "the most memory the guest may have, in `MB`"},
			&cli.Uint64Flag{Name: "max-fuel", Usage: "the most fuel the guest may use"},
			&cli.StringSliceFlag{Name: "config", Usage: "a `KEY=VALUE` that an Extism guest reads with config_get; may be repeated"},
			workspaceFlag(),
		},
		Action: t.withHost(t.run),
	}
}

func (t *terminal) run(ctx context.Context, c *cli.Context, h *host.Host) error {
	if !c.Args().Present() {
		return task.Errorf(task.KindUsage, "run takes a skill or a path").WithHint("`skillet list` shows what is installed; `skillet help run` shows examples")
	}
	call, err := t.call(ctx, c, h)
	if err != nil {
		return err
	}
	res := h.Runner.Run(ctx, call)
	if !res.OK {
		res.Error = host.Explain(res.Error)
	}
	if t.json {
		if err := t.printJSON(res); err != nil {
			return err
		}
		if res.OK {
			return nil
		}
		return reported{res.Error.Kind}
	}
	return t.showResult(res)
}

func (t *terminal) showResult(res task.Result) error {
	for _, l := range res.Logs {
		t.note("[%s] %s", l.Level, plain(l.Message))
	}
	if !res.OK {
		return res.Error
	}
	for _, d := range res.Denials {
		t.note("skillet: denied %s: %s", plain(d.Request), plain(d.Reason))
		if d.Hint != "" {
			t.note("  hint: to allow it: %s", plain(d.Hint))
		}
	}
	return t.raw(res.Raw)
}

func (t *terminal) call(ctx context.Context, c *cli.Context, h *host.Host) (runner.Call, error) {
	target, tool, err := t.target(ctx, h, c.Args().First())
	if err != nil {
		return runner.Call{}, err
	}
	input, err := t.input(c, target.Package.Manifest(), tool)
	if err != nil {
		return runner.Call{}, err
	}
	allow, err := t.allow(c)
	if err != nil {
		return runner.Call{}, err
	}
	config, err := pairs(c.StringSlice("config"))
	if err != nil {
		return runner.Call{}, err
	}
	ws, err := workspace(c)
	if err != nil {
		return runner.Call{}, err
	}
	return runner.Call{
		Target: target, Tool: tool, Input: input, Allow: allow, Workspace: ws, Caller: t.person().Actor(), Config: config,
		Limits: runner.Limits{MemoryBytes: c.Uint64("max-memory-mb") << 20, Fuel: c.Uint64("max-fuel"), Wall: c.Duration("timeout")},
	}, nil
}

func (t *terminal) allow(c *cli.Context) (approval.OneRun, error) {
	set, err := capability.ParseSet(c.StringSlice("allow")...)
	if err != nil {
		return approval.OneRun{}, task.Wrap(task.KindUsage, fmt.Errorf("--allow: %w", err))
	}
	return t.person().Allow(set), nil
}

func pairs(texts []string) (map[string]string, error) {
	m := make(map[string]string, len(texts))
	for _, p := range texts {
		k, v, ok := strings.Cut(p, "=")
		if !ok || k == "" {
			return nil, task.Errorf(task.KindUsage, "--config %s: it must be KEY=VALUE", p)
		}
		m[k] = v
	}
	return m, nil
}

// target finds what the first argument means. It is a path when it looks like
// one; otherwise the name of an installed skill.
func (t *terminal) target(ctx context.Context, h *host.Host, arg string) (runner.Target, string, error) {
	if path, tool, ok := asPath(arg); ok {
		target, err := pathTarget(path)
		return target, tool, err
	}
	ref, err := manifests.ParseRef(arg)
	if err != nil {
		return runner.Target{}, "", task.Wrap(task.KindUsage, err)
	}
	target, err := installedTarget(ctx, h, ref)
	if e := task.AsError(err); e != nil && errors.Is(err, registry.ErrNotFound) && exists(ref.Name) {
		return target, "", e.WithHint("there is a file of that name: to run it, write ./%s", arg)
	}
	return target, ref.Tool, err
}

// asPath splits PATH[:TOOL]; ok is false when arg does not look like a path.
func asPath(arg string) (path, tool string, ok bool) {
	path = arg
	if i := strings.LastIndex(arg, ":"); i > 0 && !strings.ContainsAny(arg[i:], `/\`) && !exists(arg) {
		path, tool = arg[:i], arg[i+1:]
	}
	ext := filepath.Ext(path)
	ok = strings.ContainsAny(path, `/\`) || path == "." || path == ".." || ext == ".wasm" || ext == ".skill"
	return path, tool, ok
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func pathTarget(path string) (runner.Target, error) {
	var p *bundle.Package
	var err error
	if filepath.Ext(path) == ".wasm" {
		p, err = barePackage(path)
	} else {
		p, err = bundle.Open(path)
	}
	return runner.Target{Label: path, Package: p, Origin: registry.OriginPath}, err
}

func installedTarget(ctx context.Context, h *host.Host, ref manifests.Ref) (runner.Target, error) {
	if err := h.CatchUp(ctx); err != nil {
		return runner.Target{}, err
	}
	s, err := h.Registry.Lookup(ctx, ref)
	if err != nil {
		return runner.Target{}, err
	}
	p, err := h.Registry.Package(ctx, s.Digest)
	if err != nil {
		return runner.Target{}, err
	}
	granted, err := h.Desk.Spend(ctx, s)
	return runner.Target{Label: s.Ref(), Package: p, Origin: s.Origin, Granted: granted}, err
}

// maxInput bounds what is read as input; the sandbox has its own, lower limit.
const maxInput = 64 << 20

// input is the tool's input from --input or from key=value pairs.
func (t *terminal) input(c *cli.Context, m *manifests.Manifest, toolName string) ([]byte, error) {
	words := c.Args().Tail()
	if c.IsSet("input") {
		if len(words) > 0 {
			return nil, task.Errorf(task.KindUsage, "--input and key=value pairs do not go together")
		}
		return t.readInput(c.String("input"))
	}
	tool, ok := m.DefaultTool()
	if toolName != "" {
		tool, ok = m.Tool(toolName)
	}
	if !ok { // the runner says it better
		return []byte("{}"), nil
	}
	if len(words) == 0 && len(tool.InputSchema) == 0 {
		return nil, nil
	}
	in, err := manifests.CoerceArgs(tool, words)
	if err != nil {
		return nil, task.Wrap(task.KindUsage, err).WithHint("`skillet info %s` shows what %s takes", m.Name, tool.Name)
	}
	return in, nil
}

func (t *terminal) readInput(text string) ([]byte, error) {
	path, isFile := strings.CutPrefix(text, "@")
	switch {
	case text == "-":
		return limited(t.in, "standard input")
	case isFile:
		f, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("read the input: %w", err)
		}
		defer f.Close()
		return limited(f, path)
	}
	return []byte(text), nil
}

func limited(r io.Reader, name string) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if err != nil {
		return nil, fmt.Errorf("read the input: %w", err)
	}
	if len(b) > maxInput {
		return nil, task.Errorf(task.KindLimit, "the input from %s is larger than %d MB", name, maxInput>>20)
	}
	return b, nil
}
