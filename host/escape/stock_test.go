package escape

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	extism "github.com/extism/go-sdk"
	"github.com/hashicorp/go-hclog"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"

	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/run/hostfn"
)

// The same guests, and the same judges, with the parts as they come: wazero
// with its directory mounts, deadlines and memory limit, and the Extism SDK
// with its allowed paths, allowed hosts and timeout. What kills or hangs a
// process does so in a child.

const (
	stockWall  = time.Second // of each call
	stockPages = 64
	stockTime  = 4 * time.Second // a child that is not done then hangs
)

// stock is a loaded guest of either.
type stock struct {
	abi  sandbox.ABI
	call func(ctx context.Context, c sandbox.Call) (sandbox.Result, error)
}

func (s stock) Info() sandbox.Info { return sandbox.Info{ABI: s.abi} }

func (s stock) Close(context.Context) error { return nil }

// Call runs the guest with the deadline that the part offers.
func (s stock) Call(ctx context.Context, c sandbox.Call) (sandbox.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, stockWall)
	defer cancel()
	return s.call(ctx, c)
}

// stockABI tells a command by its export.
func stockABI(m wazero.CompiledModule) sandbox.ABI {
	if _, ok := m.ExportedFunctions()["_start"]; ok {
		return sandbox.ABIWASICommand
	}
	return sandbox.ABIReactor
}

// onWazero loads a guest with wazero.
func onWazero(ctx context.Context, _ *lab, wasm []byte) (module, error) {
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithMemoryLimitPages(stockPages).WithCloseOnContextDone(true))
	wasi_snapshot_preview1.MustInstantiate(ctx, r)
	code, err := r.CompileModule(ctx, wasm)
	if err != nil {
		return nil, err
	}
	return stock{stockABI(code), func(ctx context.Context, c sandbox.Call) (res sandbox.Result, err error) {
		var out, errs bytes.Buffer
		config := wazero.NewModuleConfig().WithName("").WithStartFunctions().WithStdout(&out).WithStderr(&errs).WithFSConfig(mounts(c))
		m, err := r.InstantiateModule(ctx, code, config)
		if err != nil {
			return res, err
		}
		defer m.Close(ctx)
		results, err := m.ExportedFunction(c.Export).Call(ctx)
		if m.Memory() != nil {
			res.PeakMemoryBytes = uint64(m.Memory().Size())
		}
		res.Output, res.Stderr = out.Bytes(), errs.Bytes()
		return res, stockError(results, err)
	}}, nil
}

// mounts are the roots of a call as wazero mounts directories.
func mounts(c sandbox.Call) wazero.FSConfig {
	config := wazero.NewFSConfig()
	if c.FS != nil {
		for _, r := range c.FS.Roots() {
			config = config.WithDirMount(r.Path, r.Path)
		}
	}
	return config
}

// stockError says what a call came to in the words of package sandbox.
func stockError(results []uint64, err error) error {
	var exit *sys.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() == 0:
		return nil
	case err == nil && len(results) > 0 && results[0] != 0:
		return &sandbox.GuestError{Code: api.DecodeU32(results[0])}
	}
	return err
}

// onExtism loads a guest with the Extism SDK, and keeps the plug-in from call
// to call, as its users do.
func onExtism(ctx context.Context, l *lab, wasm []byte) (module, error) {
	r := wazero.NewRuntime(ctx)
	defer r.Close(ctx)
	code, err := r.CompileModule(ctx, wasm)
	if err != nil {
		return nil, err
	}
	var p *extism.Plugin
	var out bytes.Buffer
	return stock{stockABI(code), func(ctx context.Context, c sandbox.Call) (res sandbox.Result, err error) {
		out.Reset()
		if p == nil {
			if p, err = plugIn(ctx, wasm, c, &out); err != nil {
				return res, err
			}
		}
		code, data, err := p.CallWithContext(ctx, c.Export, c.Input)
		res.Output = append(out.Bytes(), data...)
		return res, stockError([]uint64{uint64(code)}, err)
	}}, nil
}

// plugIn makes a plug-in that is allowed what the call is.
func plugIn(ctx context.Context, wasm []byte, c sandbox.Call, out *bytes.Buffer) (*extism.Plugin, error) {
	manifest := extism.Manifest{
		Wasm: []extism.Wasm{extism.WasmData{Data: wasm}}, Timeout: uint64(stockWall.Milliseconds()),
		Memory: &extism.ManifestMemory{MaxPages: stockPages}, AllowedPaths: map[string]string{},
	}
	if _, ok := c.Env.(*hostfn.Env); ok && c.FS != nil {
		manifest.AllowedHosts = []string{"127.0.0.1"}
		for _, r := range c.FS.Roots() {
			manifest.AllowedPaths[r.Path] = r.Path
		}
	}
	compiled, err := extism.NewCompiledPlugin(ctx, manifest, extism.PluginConfig{EnableWasi: true}, nil)
	if err != nil {
		return nil, err
	}
	p, err := compiled.Instance(ctx, extism.PluginInstanceConfig{ModuleConfig: wazero.NewModuleConfig().WithStdout(out)})
	if err == nil {
		p.SetLogger(func(extism.LogLevel, string) {})
	}
	return p, err
}

// stockEngines are the parts as they come.
func stockEngines() map[string]engine {
	return map[string]engine{"wazero": onWazero, "extism": onExtism}
}

// stockChild makes one attempt with a part as it comes, and prints the finding.
func stockChild(args []string) error {
	if err := limitMemory(2 << 30); err != nil {
		return err
	}
	s := slack{engine: stockEngines()[args[0]]}
	found, err := run(context.Background(), hclog.NewNullLogger(), Options{Dir: args[1], Only: args[2:]}, s)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(found[0])
}

// soft are the parts of a breach that say that something was stopped in another
// way than here, and not that something got through.
var soft = regexp.MustCompile(`was to end the call|was compiled|refused for another reason|did not get to its end|nothing stopped it|could not be loaded|not loaded|nothing was left|EPERM|E[A-Z]+$`)

// outcome is what a part as it comes makes of an attempt.
type outcome struct {
	through bool
	text    string
}

// stockOutcome makes an attempt in a child.
func stockOutcome(t *testing.T, engine, id string, atMost time.Duration) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), atMost)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], stockArg, engine, mustRealPath(t), id)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	var f Finding
	switch {
	case ctx.Err() != nil:
		return outcome{true, "hangs the process"}
	case err != nil || json.Unmarshal(out, &f) != nil:
		return outcome{true, "kills the process: " + death(err)}
	case f.Contained:
		return outcome{false, "contained"}
	}
	var harm []string
	for part := range strings.SplitSeq(f.Breach, "; ") {
		if !soft.MatchString(part) {
			harm = append(harm, part)
		}
	}
	if len(harm) == 0 {
		return outcome{false, "no harm seen"}
	}
	return outcome{true, strings.Join(harm[:min(len(harm), 2)], "; ")}
}

// death says what a process died of.
func death(err error) string {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return fmt.Sprint(err)
	}
	for line := range strings.Lines(string(exit.Stderr)) {
		for _, prefix := range []string{"fatal error: ", "runtime: ", "panic: "} {
			if rest, ok := strings.CutPrefix(line, prefix); ok {
				return strings.TrimSpace(rest)
			}
		}
	}
	return exit.Error()
}

// sides are the attempts that are made with the parts as they come: those that
// need nothing but WASI, the Extism ABI, or no function at all.
func sides() (wazero, extism []string) {
	both := strings.Fields("symlink-read symlink-write symlink-found symlink-directory hard-link-found swap-race dotted-path rename-link fifo device-link " +
		"open-file-flood disk-flood huge-file file-count-flood descriptor-bomb " +
		"endless-loop start-loop tail-calls tree-recursion memory-growth table-growth stdout-flood stderr-flood environment " +
		"count-lies locals-lie locals-and-loops wide-branch deep-nesting many-loops type-index left-memory left-global left-table")
	return both, append(slices.Clone(both), "redirect-out", "block-flood")
}

// known are the escapes that the default test shows: the others take longer,
// and are made with -update or SKILLET_PROVE.
func known() map[string][]string {
	return map[string][]string{
		"wazero": {"symlink-read", "symlink-write", "fifo", "count-lies", "tree-recursion"},
		"extism": {"symlink-read", "fifo", "redirect-out", "left-memory"},
	}
}

// TestSideBySide runs the same guests with stock parts. With -update it makes
// all of them and writes the table of docs/escape.md.
func TestSideBySide(t *testing.T) {
	if *update || os.Getenv("SKILLET_PROVE") != "" {
		allSides(t)
		return
	}
	t.Parallel()
	for engine, ids := range known() {
		for _, id := range ids {
			t.Run(engine+"/"+id, func(t *testing.T) {
				t.Parallel()
				o := stockOutcome(t, engine, id, stockTime)
				t.Log(o.text)
				if !o.through {
					t.Errorf("%s contains %s: %s", engine, id, o.text)
				}
			})
		}
	}
}

// allSides makes the whole table.
func allSides(t *testing.T) {
	t.Helper()
	wazero, extism := sides()
	ours, err := Run(t.Context(), hclog.NewNullLogger(), Options{Only: extism})
	if err != nil {
		t.Fatal(err)
	}
	table := "| attempt | tries to | Skillet | wazero, directory mount | Extism Go SDK |\n| --- | --- | --- | --- | --- |\n"
	through := map[string]int{}
	for _, f := range ours {
		row := []string{"`" + f.ID + "`", f.Tries, contained(f)}
		for _, side := range []struct {
			engine string
			ids    []string
		}{{"wazero", wazero}, {"extism", extism}} {
			cell := "no such function"
			if slices.Contains(side.ids, f.ID) {
				o := stockOutcome(t, side.engine, f.ID, 4*stockTime)
				if cell = o.text; o.through {
					through[side.engine]++
					cell = "**" + strings.ReplaceAll(o.text, "|", "/") + "**"
				}
			}
			row = append(row, cell)
		}
		table += "| " + strings.Join(row, " | ") + " |\n"
	}
	t.Logf("got through: %v of %d and %d", through, len(wazero), len(extism))
	if through["wazero"] < 10 || through["extism"] < 10 {
		t.Errorf("the parts as they come hold: %v", through)
	}
	if *update {
		section(t, "side by side", table)
	}
}

// contained is a cell of the table.
func contained(f Finding) string {
	if !f.Contained {
		return "**" + f.Breach + "**"
	}
	parts := strings.Split(f.Stopped, "; ")
	return "contained: " + strings.ReplaceAll(strings.Join(parts[:min(len(parts), 2)], "; "), "|", "/")
}

const document = "../../docs/escape.md"

// section rewrites a part of the document, between two comments.
func section(t *testing.T, name, text string) {
	t.Helper()
	before, _, after := parts(t, name)
	if err := os.WriteFile(document, []byte(before+"\n"+text+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// parts takes the document apart at a section.
func parts(t *testing.T, name string) (before, text, after string) {
	t.Helper()
	b, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- begin "+name+" -->", "<!-- end "+name+" -->"
	i, j := strings.Index(string(b), begin), strings.Index(string(b), end)
	if i < 0 || j < i {
		t.Fatalf("%s has no section %q", document, name)
	}
	i += len(begin)
	return string(b[:i]), string(b[i:j]), string(b[j:])
}

// TestDocument has every attempt in the document.
func TestDocument(t *testing.T) {
	var b strings.Builder
	b.WriteString("| attempt | tries to |\n| --- | --- |\n")
	for _, a := range List() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", a.ID, a.Tries)
	}
	if *update {
		section(t, "attempts", b.String())
	}
	if _, text, _ := parts(t, "attempts"); text != "\n"+b.String() {
		t.Errorf("%s does not list the attempts; run the test with -update", document)
	}
	_, table, _ := parts(t, "side by side")
	wazero, extism := sides()
	for _, id := range slices.Concat(wazero, extism) {
		if !strings.Contains(table, "| `"+id+"` |") {
			t.Errorf("%s has no line for %s in the table of stock parts; run the test with -update", document, id)
		}
	}
}
