//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/text/unicode/norm"

	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/capability"
)

// TestCorpus reads every PDF file in the directory that SKILLET_PDF_CORPUS
// names, natively and as a module in the host's own sandbox, and logs a table:
// processor time, peak memory, fuel and, where pdftotext is installed, how many of its
// words were found. It fails when a file ends the module in another way than
// with a text or an error of the skill.
func TestCorpus(t *testing.T) {
	dir := os.Getenv("SKILLET_PDF_CORPUS")
	if dir == "" {
		t.Skip("SKILLET_PDF_CORPUS names no directory of PDF files")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.pdf"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no PDF files in %s", dir)
	}
	guest := newGuest(t, dir)
	t.Logf("| file | KiB | pages | words | found | native ms | module ms | ratio | peak MiB | fuel M | |")
	t.Logf("| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --- |")
	for _, file := range files {
		t.Log(measure(t, guest, file))
	}
}

// guest is the skill as a module in the sandbox.
type guest struct {
	module   *sandbox.Module
	settings hostfn.Settings
}

func newGuest(t *testing.T, dir string) guest {
	t.Helper()
	wasm := filepath.Join(t.TempDir(), "main.wasm")
	build := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w", "-o", wasm, ".")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the module: %v\n%s", err, out)
	}
	code, err := os.ReadFile(wasm)
	must(t, err)
	runtime, err := sandbox.New(t.Context(), hclog.NewNullLogger(), sandbox.Options{Functions: hostfn.Functions()})
	must(t, err)
	t.Cleanup(func() { runtime.Close(context.Background()) })
	begun := time.Now()
	module, err := runtime.Load(t.Context(), code)
	must(t, err)
	t.Logf("module of %d KiB, checked, instrumented and compiled in %d ms", len(code)>>10, time.Since(begun).Milliseconds())
	return guest{module, settings(t, dir)}
}

func settings(t *testing.T, dir string) hostfn.Settings {
	t.Helper()
	set, err := policies.Default()
	must(t, err)
	granted, err := capability.ParseSet("fs.read:" + filepath.ToSlash(dir) + "/**")
	must(t, err)
	return hostfn.Settings{
		Granted: granted, Policies: set, Home: "/nowhere/.skillet", Workspace: dir,
		Principal: policies.Principal{Skill: "pdf", Version: "0.1.0", Origin: policies.OriginUser},
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// call runs a tool with the limits of the manifest.
func (g guest) call(ctx context.Context, export string, input any) (sandbox.Result, error) {
	data, err := json.Marshal(input)
	if err != nil {
		return sandbox.Result{}, err
	}
	env := hostfn.NewEnv(g.settings)
	defer env.Close()
	return g.module.Call(ctx, sandbox.Call{
		Export: export, Input: data, Env: env,
		Limits: sandbox.Limits{MemoryBytes: 256 << 20, Fuel: 100_000_000_000, Wall: 30 * time.Second, OutputBytes: 32 << 20},
	})
}

// measure returns the row of a file.
func measure(t *testing.T, g guest, file string) string {
	data, err := os.ReadFile(file)
	must(t, err)
	native, text, note := readNatively(data)
	begun := processor()
	result, err := g.call(t.Context(), "pdf_to_text", map[string]any{"path": file, "output": "text", "max_chars": mostChars})
	module := processor() - begun
	if err != nil && result.GuestError == "" {
		t.Errorf("%s: %v", filepath.Base(file), err)
	}
	var reply textReply
	if err == nil {
		must(t, json.Unmarshal(result.Output, &reply))
		if *reply.Text != text {
			t.Errorf("%s: the module and the native code read different texts", filepath.Base(file))
		}
	}
	words, found := recall(file, text)
	native = max(native, time.Millisecond)
	return fmt.Sprintf("| %s | %d | %d | %d | %s | %d | %d | %.1f | %d | %d | %s |",
		strings.TrimSuffix(filepath.Base(file), ".pdf"), len(data)>>10, reply.PageCount, words, found,
		native.Milliseconds(), module.Milliseconds(), float64(module)/float64(native),
		result.PeakMemoryBytes>>20, result.Fuel/1_000_000, note)
}

// processor is the time this process has used of all processors: a busy machine
// does not change it.
func processor() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// readNatively runs the same code in this process.
func readNatively(data []byte) (took time.Duration, text, note string) {
	begun := processor()
	in := textRequest{source: source{DataBase64: data}, Output: "text", MaxChars: mostChars}
	reply, err := pdfToText(in)
	took = processor() - begun
	if err != nil {
		return took, "", err.Error()
	}
	return took, *reply.Text, strings.Join(reply.Warnings, "; ")
}

// recall counts the words pdftotext finds, and which part of them text has.
// Words that hyphens divide at the end of a line are joined first on both
// sides, as pdftotext does.
func recall(file, text string) (words int, found string) {
	oracle, err := exec.Command("pdftotext", "-q", file, "-").Output()
	if err != nil {
		return 0, "-"
	}
	want, got := bag(string(oracle)), bag(text)
	hits := 0
	for word, n := range want {
		words += n
		hits += min(n, got[word])
	}
	if words == 0 {
		return 0, "-"
	}
	return words, fmt.Sprintf("%.3f", float64(hits)/float64(words))
}

// bag counts the words of a text that have a letter or a digit.
func bag(text string) map[string]int {
	text = strings.Map(func(r rune) rune {
		if r >= 0x202a && r <= 0x202e { // pdftotext marks directions
			return -1
		}
		return r
	}, strings.ReplaceAll(text, "\u00ad", "-"))
	text = strings.ReplaceAll(norm.NFKC.String(text), "-\n", "")
	words := map[string]int{}
	for _, word := range strings.Fields(text) {
		if strings.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			words[word]++
		}
	}
	return words
}
