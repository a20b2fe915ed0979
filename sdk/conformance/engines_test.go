package conformance

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/engine/sandbox/reference"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/sdk/hostapi"
)

// result is what a call ended with.
type result struct {
	output, kind, message string
	err                   error // what is no error of the tool's
}

// engine runs calls of a module.
type engine interface {
	run(t testing.TB, c Call, e *hostfn.Env) result
}

// renamed is an engine for a module that exports some tools by other names.
type renamed struct {
	engine
	exports map[string]string
}

func (r renamed) run(t testing.TB, c Call, e *hostfn.Env) result {
	if other, ok := r.exports[c.Tool]; ok {
		c.Tool = other
	}
	return r.engine.run(t, c, e)
}

// ours is the sandbox.
type ours struct{ module *sandbox.Module }

func newSandbox(t testing.TB) *sandbox.Runtime {
	t.Helper()
	rt, err := sandbox.New(t.Context(), hclog.NewNullLogger(), sandbox.Options{Functions: hostfn.Functions(), CacheDir: os.Getenv("TEST_CODE_CACHE")})
	must(t, err)
	t.Cleanup(func() { must(t, rt.Close(context.Background())) })
	return rt
}

func newOurs(t testing.TB, rt *sandbox.Runtime, wasm []byte) engine {
	t.Helper()
	m, err := rt.Load(t.Context(), wasm)
	must(t, err)
	t.Cleanup(func() { must(t, m.Close(context.Background())) })
	return ours{m}
}

func (o ours) run(t testing.TB, c Call, e *hostfn.Env) result {
	r, err := o.module.Call(t.Context(), sandbox.Call{Export: c.Tool, Input: []byte(c.Input), Env: e, Limits: sandbox.Limits{OutputBytes: 16 << 20}})
	var guest *sandbox.GuestError
	if errors.As(err, &guest) {
		return result{kind: guest.Kind, message: guest.Message}
	}
	return result{output: string(r.Output), err: err}
}

// theirs is the reference engine, which is given the functions of skillet:host/v1: those that move input, output and
// responses from here, the others from package hostfn.
type theirs struct {
	module *reference.Module
	now    *guest // of the call that runs
}

// guest is the state of one call.
type guest struct {
	ctx           context.Context
	env           *hostfn.Env
	input, output []byte
	kind, message string
	waiting       hostfn.Answer
}

func newTheirs(t testing.TB, wasm []byte) engine {
	t.Helper()
	api, err := hostapi.Load()
	must(t, err)
	e := &theirs{}
	var functions []reference.Function
	for _, f := range api.Transfer {
		functions = append(functions, e.transfer(t, api.Module, f))
	}
	i32, i64 := sandbox.I32, sandbox.I64
	for _, f := range api.Functions {
		functions = append(functions, reference.Function{
			Module: api.Module, Name: f.Name, Params: []byte{i32, i32, i32, i32}, Results: []byte{i64},
			Call: func(m reference.Memory, s []uint64) error { return e.now.serve(f.Name, m, s) },
		})
	}
	e.module, err = reference.Load(t.Context(), wasm, reference.Options{Functions: functions})
	must(t, err)
	t.Cleanup(func() { must(t, e.module.Close(context.Background())) })
	return e
}

// transfer makes one of the functions with a shape of its own.
func (e *theirs) transfer(t testing.TB, module string, f hostapi.Transfer) reference.Function {
	t.Helper()
	call, ok := map[string]func(g *guest, m reference.Memory, s []uint64) error{
		"input_length": (*guest).inputLength, "input_read": (*guest).inputRead, "output_write": (*guest).outputWrite,
		"error_write": (*guest).errorWrite, "response_read": (*guest).responseRead,
	}[f.Name]
	if !ok {
		t.Fatalf("the reference engine has no %s", f.Name)
	}
	out := reference.Function{Module: module, Name: f.Name, Call: func(m reference.Memory, s []uint64) error { return call(e.now, m, s) }}
	types := map[string]byte{"pointer": sandbox.I32, "length": sandbox.I32, "i32": sandbox.I32, "i64": sandbox.I64}
	for _, p := range f.Params {
		out.Params = append(out.Params, types[p.Type])
	}
	if f.Result != "" {
		out.Results = []byte{types[f.Result]}
	}
	return out
}

func (e *theirs) run(t testing.TB, c Call, env *hostfn.Env) result {
	e.now = &guest{ctx: t.Context(), env: env, input: []byte(c.Input)}
	r, err := e.module.Call(t.Context(), c.Tool, nil)
	if err == nil && r.Code != 0 {
		return result{kind: e.now.kind, message: e.now.message}
	}
	return result{output: string(e.now.output), err: err}
}

var errOutside = errors.New("an address outside of the memory")

// own returns what a guest points to.
func own(m reference.Memory, at, n uint64) ([]byte, error) {
	b, ok := m.Own(uint32(at), uint32(n))
	if !ok && uint32(n) > 0 {
		return nil, fmt.Errorf("%d bytes at %d: %w", n, at, errOutside)
	}
	return b, nil
}

func (g *guest) inputLength(_ reference.Memory, s []uint64) error {
	s[0] = uint64(len(g.input))
	return nil
}

func (g *guest) inputRead(m reference.Memory, s []uint64) error {
	to, err := own(m, s[0], s[2])
	if err != nil {
		return err
	}
	s[0] = uint64(copy(to, g.input[min(s[1], uint64(len(g.input))):]))
	return nil
}

func (g *guest) outputWrite(m reference.Memory, s []uint64) error {
	b, err := own(m, s[0], s[1])
	g.output = append(g.output, b...)
	return err
}

func (g *guest) errorWrite(m reference.Memory, s []uint64) error {
	kind, err := own(m, s[0], s[1])
	if err != nil {
		return err
	}
	message, err := own(m, s[2], s[3])
	g.kind, g.message = string(kind), string(message)
	return err
}

func (g *guest) responseRead(m reference.Memory, s []uint64) error {
	for i, part := range [][]byte{g.waiting.Meta, g.waiting.Body} {
		to, err := own(m, s[i], uint64(len(part)))
		if err != nil {
			return err
		}
		copy(to, part)
	}
	g.waiting = hostfn.Answer{}
	return nil
}

func (g *guest) serve(name string, m reference.Memory, s []uint64) error {
	meta, err := own(m, s[0], s[1])
	if err != nil {
		return err
	}
	body, err := own(m, s[2], s[3])
	if err != nil {
		return err
	}
	if g.waiting, err = g.env.Serve(g.ctx, name, meta, body); err != nil {
		return err
	}
	var both [8]byte
	binary.LittleEndian.PutUint32(both[4:], uint32(len(g.waiting.Meta)))
	binary.LittleEndian.PutUint32(both[:4], uint32(len(g.waiting.Body)))
	s[0] = binary.LittleEndian.Uint64(both[:])
	return nil
}
