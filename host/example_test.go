package host_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/admit"
	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/app/meaning"
	"github.com/skillet-run/skillet/host/app/work"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
	"github.com/skillet-run/skillet/host/record/approval"
)

// writeEcho writes the package of a skill that answers its input, and asks for the clock.
func writeEcho(dir string) error {
	m := wasmtest.New()
	length := m.ImportFunc("skillet:host/v1", "input_length", wasmtest.Signature{Results: []byte{0x7e}})
	read := m.ImportFunc("skillet:host/v1", "input_read", wasmtest.Signature{Params: []byte{0x7f, 0x7e, 0x7f}, Results: []byte{0x7f}})
	write := m.ImportFunc("skillet:host/v1", "output_write", wasmtest.Signature{Params: []byte{0x7f, 0x7f}})
	m.Memory(16, 16)
	m.ExportFunc("echo", m.Func(wasmtest.Signature{}, "", wasmtest.I32Const(0),
		wasmtest.I32Const(0), wasmtest.I64Const(0), wasmtest.Call(length), wasmtest.Op(0xa7), wasmtest.Call(read), wasmtest.Call(write)))
	manifest := `{"name":"echo","version":"1.0.0","description":"answers what it is told","type":"code_inline","command":"main.wasm",
		"tools":[{"name":"echo","description":"answers its input","read_only":true}],"security":{"permissions":{"clock":{"reason":"to tell the time"}}}}`
	return errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "skill.json"), []byte(manifest), 0o600),
		os.WriteFile(filepath.Join(dir, "main.wasm"), m.Bytes(), 0o600))
}

// exampleHome opens a new home, and makes a package beside it. What it returns last ends both.
func exampleHome() (h *host.Host, dir string, end func()) {
	work, err := os.MkdirTemp("", "skillet-example-")
	if err != nil {
		log.Fatal(err)
	}
	dir = filepath.Join(work, "echo")
	if err := writeEcho(dir); err != nil {
		log.Fatal(err)
	}
	h, err = host.Open(context.Background(), host.Options{
		Home: filepath.Join(work, "home"), Environ: []string{"SKILLET_SECRET_KEY=file"}, LogOutput: io.Discard,
	})
	if err != nil {
		log.Fatal(err)
	}
	return h, dir, func() {
		if err := errors.Join(h.Close(context.Background()), os.RemoveAll(work)); err != nil {
			log.Fatal(err)
		}
	}
}

// A home is opened, used and closed. Several programs may have the same home open.
func ExampleOpen() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "skillet-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	h, err := host.Open(ctx, host.Options{Home: filepath.Join(dir, "home"), Environ: []string{"SKILLET_SECRET_KEY=file"}, LogOutput: os.Stderr})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close(ctx)

	skills, err := h.Admit().List(ctx, approval.NewHuman("ada"), admit.Listing{})
	fmt.Println(len(skills), "skills are installed", err)
	// Output: 0 skills are installed <nil>
}

// A package is installed in two steps: a plan, which changes nothing and says what would
// happen, and a commit with what a person says to it.
func ExampleHost_Admit() {
	ctx := context.Background()
	h, dir, end := exampleHome()
	defer end()
	ada := approval.NewHuman("ada")

	plan, err := h.Admit().Plan(ctx, ada, admit.Install{
		Package: dir,
		Terms:   admit.Terms{Accepted: []admit.Flag{admit.AllowUnsigned}},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, ask := range plan.Main().Asks {
		fmt.Println(plan.Skill, "asks to", ask.Words, "because", ask.Reason)
	}

	// Here the plan is shown to ada, who agrees.
	done, err := h.Admit().Commit(ctx, ada, plan, admit.Shown)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("installed", done.Skill.Ref())

	// A plan is committed once.
	_, err = h.Admit().Commit(ctx, ada, plan, admit.Shown)
	fmt.Println("again:", meaning.Of(err).Kind)
	// Output:
	// echo asks to read the current date and time because to tell the time
	// installed echo@1.0.0
	// again: conflict
}

// A call has a target, an input, and who makes it. What went wrong with a call that was made
// is in its answer.
func ExampleHost_Invoke() {
	ctx := context.Background()
	h, dir, end := exampleHome()
	defer end()
	ada := approval.NewHuman("ada")

	target, err := h.Invoke().Find(ctx, ada, invoke.Address{Path: dir, Tool: "echo"}, nil)
	if err != nil {
		log.Fatal(err)
	}
	answer, err := h.Invoke().Invoke(ctx, invoke.Invocation{Target: target, By: ada, Input: []byte(`{"say":"hello"}`)})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.OK, string(answer.Data))
	// Output: true {"say":"hello"}
}

// A task is a goal in words, with the tools and directories that may be used to reach it.
func ExampleHost_Work() {
	ctx := context.Background()
	h, _, end := exampleHome()
	defer end()
	ada := approval.NewHuman("ada")

	run, err := h.Work().Tasks().Submit(ctx, ada, work.TaskRequest{Goal: "count the words of this sentence", Queue: true})
	if err != nil {
		log.Fatal(err)
	}
	waiting, err := h.Work().Tasks().List(ctx, ada, work.ListRequest{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(waiting), waiting[0].TaskID == run.TaskID, waiting[0].State)
	// Output: 1 true queued
}
