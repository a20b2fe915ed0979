// Package hostfn is what a granted skill can call: files, HTTP, key-value state, secrets, log,
// notifications, other skills and models, as host functions of package sandbox.
//
// Every function works in the same order: the grants are asked, then the policies, then it acts, and
// what was refused or used is kept in the call's [Env]. The guest of a refusal learns "denied" and no
// more; [Env.Denials] has what was tried, who refused, why, and the command that would allow it. The
// functions that need no grant are those [Free] lists, with the reason.
//
// The functions of module skillet:host/v1 have one shape: JSON in, JSON out, raw bytes beside each.
// The HTTP, var, config and log imports of the Extism ABI run through the same code. That ABI has no
// way to answer with an error, so there a refusal or failure ends the call, as it does on the Extism
// SDKs: the error of the call is [ErrDenied] or a [Failure].
//
// The package knows no manifest, registry, approval or configuration: what a call may do comes in
// [Settings], and nothing here can grant.
package hostfn

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/skillet-run/skillet/host/engine/sandbox"
)

// Module is the name guests import the functions from.
const Module = "skillet:host/v1"

// A function is one host function with the common shape.
type function struct {
	name string
	// free says why the function needs no grant; empty for those that need one.
	free string
	// example is a request that is refused for no reason but a missing grant.
	example string
	fuel    uint64
	run     func(ctx context.Context, e *Env, meta, body []byte) (answer any, out []byte, err error)
}

// functions is the one table of what guests can call.
func functions() []function {
	return slices.Concat(fileFunctions(), httpFunctions(), kvFunctions(), secretFunctions(), messageFunctions(), skillFunctions(), modelFunctions())
}

// Functions returns everything guests can import from this package, for sandbox.Options.Functions: the
// functions of [Module] and the Extism imports. They find what they may do in the [Env] of the call,
// and refuse to work without one.
func Functions() []sandbox.HostFunc {
	var out []sandbox.HostFunc
	for _, f := range functions() {
		out = append(out, f.hostFunc())
	}
	return append(out, extismFunctions()...)
}

// Free returns the functions that need no grant, as "module.name", each with the reason why.
func Free() map[string]string {
	out := extismFree()
	for _, f := range functions() {
		if f.free != "" {
			out[Module+"."+f.name] = f.free
		}
	}
	return out
}

// hostFunc puts a function into the shape the sandbox takes.
func (f function) hostFunc() sandbox.HostFunc {
	i32, i64 := sandbox.I32, sandbox.I64
	return sandbox.HostFunc{
		Module: Module, Name: f.name, Fuel: f.fuel,
		Params:  []sandbox.ValueType{i32, i32, i32, i32},
		Results: []sandbox.ValueType{i64},
		Call:    f.call,
	}
}

// call reads the request from the guest's memory and leaves the response for it to take.
func (f function) call(ctx context.Context, g *sandbox.Guest, stack []uint64) error {
	e, err := envOf(g)
	if err != nil {
		return err
	}
	if n := uint32(stack[1]); n > MaxMeta {
		return respond(g, stack, failureResponse(failf(KindLimit, "request data of %d bytes; at most %d", n, MaxMeta)), nil)
	}
	meta, err := g.Read(uint32(stack[0]), uint32(stack[1]))
	if err != nil {
		return err
	}
	body, err := g.View(uint32(stack[2]), uint32(stack[3]))
	if err != nil {
		return err
	}
	a, err := f.answer(ctx, e, HostCall{Meta: meta, Body: body, FuelLeft: g.FuelLeft()})
	if err != nil {
		return err
	}
	g.Spend(a.Fuel)
	return respond(g, stack, a.Meta, a.Body)
}

// answer serves a call, or asks the tape for the answer.
func (f function) answer(ctx context.Context, e *Env, c HostCall) (Answer, error) {
	act := func(ctx context.Context) Answer {
		answer, out := f.serve(ctx, e, c.Meta, c.Body)
		return Answer{Meta: answer, Body: out}
	}
	if e.s.Tape == nil {
		return act(ctx), nil
	}
	c.Name, c.Own = f.name, f.free != ""
	return e.pass(ctx, c, act)
}

// MaxMeta is the longest request data in bytes; what is long belongs in the body.
const MaxMeta = 256 << 10

// maxBody is the longest response body in bytes that the shape of the functions can tell.
const maxBody = 1<<31 - 1

// serve runs a function and returns the response data and body. It does not fail: errors are responses.
func (f function) serve(ctx context.Context, e *Env, meta, body []byte) (answer, out []byte) {
	result, out, err := f.run(ctx, e, meta, body)
	if err == nil && len(out) > maxBody {
		err = failf(KindLimit, "response of %d bytes", len(out))
	}
	if err == nil {
		answer, err = json.Marshal(result)
	}
	if err != nil {
		return failureResponse(e.failure(ctx, f.name, err)), nil
	}
	return answer, out
}

// respond hands the response over and returns its two lengths in one number.
func respond(g *sandbox.Guest, stack []uint64, meta, body []byte) error {
	g.SetResponse(meta, body)
	stack[0] = uint64(len(meta))<<32 | uint64(len(body))
	return nil
}

// errNoEnv: the call was started without an Env, so that nothing is known of what it may do.
var errNoEnv = errors.New("the call has no environment of host functions")

// envOf returns the Env of the call.
func envOf(g *sandbox.Guest) (*Env, error) {
	if e, ok := g.Env().(*Env); ok && e != nil {
		return e, nil
	}
	return nil, errNoEnv
}
