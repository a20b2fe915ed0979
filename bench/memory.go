package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/bench/guests"
	"github.com/skillet-run/skillet/bench/report"
	"github.com/skillet-run/skillet/host/engine/sandbox"
)

const (
	idleRow   = "idle skill"
	pooledRow = "pooled instance"
)

// memory loads many modules that differ in one number, in a process of their
// own, and then calls each until it has an instance in its pool.
func (b *bench) memory(ctx context.Context) error {
	if _, err := residentBytes(); err != nil {
		b.leaveOut("memory of loaded skills: %v", err)
		return nil
	}
	table := report.Table{Head: []string{"module", "skills", idleRow, pooledRow}}
	for _, g := range guests.Text() {
		skills := map[string]int{"c": 1000, "rust": 200, "go": 8}[g.Language]
		wasm, err := b.module(g)
		if err != nil {
			return err
		}
		if wasm == nil || skills == 0 || g.ABI != guests.Bulk {
			continue
		}
		if b.quick {
			skills = 2
		}
		h, err := b.holder(ctx, g, wasm, skills)
		if err != nil {
			return fmt.Errorf("%s: %w", g.Name, err)
		}
		b.report.Add(report.Record{Section: "memory", Module: g.Name, Input: fmt.Sprintf("%d skills", skills), Row: idleRow, Bytes: h.Idle})
		b.report.Add(report.Record{Section: "memory", Module: g.Name, Input: fmt.Sprintf("%d skills", skills), Row: pooledRow, Bytes: h.Pooled})
		table.Rows = append(table.Rows, []string{g.Name, strconv.Itoa(skills), report.Size(h.Idle), report.Size(h.Pooled)})
	}
	b.say("%s", table)
	return nil
}

// holding is memory per skill, in bytes: what loading took, and what was kept
// after the first call.
type holding struct{ Idle, Pooled int64 }

// holder measures in a process of its own: what ran before would be seen.
func (b *bench) holder(ctx context.Context, g guests.Guest, wasm []byte, skills int) (h holding, err error) {
	file := filepath.Join(b.tmp, "hold.wasm")
	if err := os.WriteFile(file, wasm, 0o600); err != nil {
		return h, err
	}
	self, err := os.Executable()
	if err != nil {
		return h, err
	}
	cmd := exec.CommandContext(ctx, self, "--hold-module", file, "--hold-skills", strconv.Itoa(skills))
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return h, fmt.Errorf("hold %d of %s: %w: %s", skills, g.Name, err, errs.Bytes())
	}
	return h, json.Unmarshal(out, &h)
}

// hold loads a module under many numbers, calls each, and prints a holding.
func hold(ctx context.Context, file string, skills int, out io.Writer) (err error) {
	wasm, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	r, err := sandbox.New(ctx, hclog.NewNullLogger(), sandbox.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close(ctx)) }()
	if err := loadAndCall(ctx, r, tagged(wasm, 0)); err != nil { // what the first one costs once
		return err
	}
	var levels [3]int64
	if levels[0], err = residentBytes(); err != nil {
		return err
	}
	var modules []*sandbox.Module
	for i := range skills {
		m, err := r.Load(ctx, tagged(wasm, i+1))
		if err != nil {
			return err
		}
		modules = append(modules, m)
	}
	if levels[1], err = residentBytes(); err != nil {
		return err
	}
	for _, m := range modules {
		if err := callThrice(ctx, m); err != nil {
			return err
		}
	}
	if levels[2], err = residentBytes(); err != nil {
		return err
	}
	n := int64(skills)
	return json.NewEncoder(out).Encode(holding{Idle: (levels[1] - levels[0]) / n, Pooled: (levels[2] - levels[1]) / n})
}

func loadAndCall(ctx context.Context, r *sandbox.Runtime, wasm []byte) error {
	m, err := r.Load(ctx, wasm)
	if err != nil {
		return err
	}
	return callThrice(ctx, m)
}

// callThrice makes the calls after which an instance waits: a snapshot is only
// taken for what is called again.
func callThrice(ctx context.Context, m *sandbox.Module) error {
	t := guests.Counts()[0]
	for range 3 {
		result, err := m.Call(ctx, sandbox.Call{Export: t.Export, Input: t.Input})
		if err != nil || !bytes.Equal(result.Output, t.Want) {
			return wrong(t, result.Output, err)
		}
	}
	return nil
}

// tagged is the module with another number in its data, so that nothing
// compiled or kept for one serves another.
func tagged(wasm []byte, number int) []byte {
	const tag = "bench-tag:"
	return bytes.ReplaceAll(wasm, []byte(tag+"00000000"), fmt.Appendf(nil, "%s%08d", tag, number))
}

// residentBytes is what this process holds in memory after a collection: its
// anonymous pages, and memory files whether mapped or not.
func residentBytes() (int64, error) {
	runtime.GC()
	debug.FreeOSMemory()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, fmt.Errorf("only measured on Linux: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			return kb<<10 + memoryFiles(), err
		}
	}
	return 0, errors.New("the kernel does not tell anonymous memory")
}

// memoryFiles is the size of what is in memory files that are open here.
func memoryFiles() (total int64) {
	open, _ := filepath.Glob("/proc/self/fd/*")
	for _, fd := range open {
		name, err := os.Readlink(fd)
		if err != nil || !strings.HasPrefix(name, "/memfd:") {
			continue
		}
		if s, err := os.Stat(fd); err == nil {
			total += s.Size()
		}
	}
	return total
}
