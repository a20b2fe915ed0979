package hostfn

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/skillet-run/skillet/host/engine/sandbox"
)

// extismModule is what the Extism ABI imports from.
const extismModule = "extism:host/env"

// lastResponse is what http_status_code and http_headers tell about.
type lastResponse struct {
	status int
	header http.Header
}

// An extismFunction takes and returns offsets of blocks; there is at most one result. An error ends the call.
type extismFunction struct {
	name    string
	free    string // why it needs no grant; "" for http_request, which asks for each request
	params  int
	result  sandbox.ValueType // 0 for none
	fuel    uint64
	perform func(ctx context.Context, e *Env, g *sandbox.Guest, stack []uint64) (uint64, error)
}

// extismTable lists the imports of the Extism ABI that reach beyond the guest. The others are the sandbox's.
func extismTable() []extismFunction {
	own := "it touches nothing but the state of the skill's own call"
	table := []extismFunction{
		{name: "http_request", params: 2, result: sandbox.I64, fuel: 100_000, perform: extismHTTP},
		{name: "http_status_code", result: sandbox.I32, perform: extismStatus, free: own},
		{name: "http_headers", result: sandbox.I64, perform: extismHeaders, free: own},
		{name: "var_get", params: 1, result: sandbox.I64, perform: extismVarGet, free: own},
		{name: "var_set", params: 2, perform: extismVarSet, free: own},
		{name: "config_get", params: 1, result: sandbox.I64, perform: extismConfig,
			free: "the host chose to give the skill this configuration"},
	}
	for l := sandbox.LevelTrace; l <= sandbox.LevelError; l++ {
		table = append(table, extismFunction{name: "log_" + l.String(), params: 1, perform: extismLog(l), free: own})
	}
	return table
}

// extismFunctions returns the table in the shape the sandbox takes.
func extismFunctions() []sandbox.HostFunc {
	var out []sandbox.HostFunc
	for _, f := range extismTable() {
		h := sandbox.HostFunc{Module: extismModule, Name: f.name, Fuel: f.fuel, Call: f.call}
		for range f.params {
			h.Params = append(h.Params, sandbox.I64)
		}
		if f.result != 0 {
			h.Results = []sandbox.ValueType{f.result}
		}
		out = append(out, h)
	}
	return out
}

// extismFree lists the Extism imports that need no grant.
func extismFree() map[string]string {
	out := map[string]string{}
	for _, f := range extismTable() {
		if f.free != "" {
			out[extismModule+"."+f.name] = f.free
		}
	}
	return out
}

// call runs an import. Errors are those of the call: a refusal is ErrDenied, anything else a *Failure.
func (f extismFunction) call(ctx context.Context, g *sandbox.Guest, stack []uint64) error {
	e, err := envOf(g)
	if err != nil {
		return err
	}
	result, err := f.perform(ctx, e, g, stack)
	if err != nil {
		return e.ending(ctx, f.name, err)
	}
	if f.result != 0 {
		stack[0] = result
	}
	return nil
}

// ending is the error that ends a call. A refusal keeps all a person needs to know.
func (e *Env) ending(ctx context.Context, name string, err error) error {
	if f := e.failure(ctx, name, err); f.Kind != KindDenied {
		return f
	}
	return err
}

// take reads a block and frees it, as the ABI has it for parameters.
func take(g *sandbox.Guest, off uint64) ([]byte, error) {
	b, err := g.Block(off)
	if err == nil {
		g.Free(off)
	}
	return b, err
}

// extismHTTP sends a request given as JSON, and returns the body of the answer. A body that is longer than
// what one answer may have is a failure, because the ABI cannot say that something is missing.
func extismHTTP(ctx context.Context, e *Env, g *sandbox.Guest, stack []uint64) (uint64, error) {
	e.setLast(lastResponse{})
	request, err := take(g, stack[0])
	if err != nil {
		return 0, err
	}
	body, err := take(g, stack[1])
	if err != nil {
		return 0, err
	}
	in, err := e.extismFetch(ctx, request, body)
	if err != nil {
		return 0, err
	}
	return g.NewBlock(in.body)
}

// extismFetch is http_request in the Extism form.
func (e *Env) extismFetch(ctx context.Context, request, body []byte) (*incoming, error) {
	var ask struct {
		URL     string            `json:"url"`
		Method  string            `json:"method"`
		Headers map[string]string `json:"headers"`
	}
	if err := json.Unmarshal(request, &ask); err != nil {
		return nil, failf(KindInvalid, "http request: %v", err)
	}
	r := outgoing{method: ask.Method, url: ask.URL, header: http.Header{}, body: body}
	for k, v := range ask.Headers {
		r.header.Add(k, v)
	}
	in, err := e.fetchPast(ctx, r)
	if err != nil {
		return nil, err
	}
	if in.truncated {
		return nil, failf(KindLimit, "the response is longer than %d bytes", e.s.MaxHTTPBytes)
	}
	e.setLast(lastResponse{status: in.status, header: in.header})
	return in, nil
}

// fetchPast is fetch, past the tape if there is one, which sees the request and the answer of http_request.
func (e *Env) fetchPast(ctx context.Context, r outgoing) (*incoming, error) {
	if e.s.Tape == nil {
		return e.fetch(ctx, r)
	}
	meta, err := json.Marshal(httpAsk{Method: r.method, URL: r.url, Headers: r.header})
	if err != nil {
		return nil, failf(KindInvalid, "http request: %v", err)
	}
	var failed error
	a, err := e.pass(ctx, HostCall{Name: httpName, Meta: meta, Body: r.body}, func(ctx context.Context) Answer {
		var in *incoming
		if in, failed = e.fetch(ctx, r); failed != nil {
			return Answer{Meta: failureResponse(e.failure(ctx, httpName, failed))}
		}
		return in.answer()
	})
	if err = afterTape(a, err, failed); err != nil {
		return nil, err
	}
	return received(a)
}

// setLast keeps status and header of a response.
func (e *Env) setLast(l lastResponse) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.last = l
}

// getLast returns what setLast kept.
func (e *Env) getLast() lastResponse {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.last
}

// extismStatus returns the status of the last response, 0 when there was none.
func extismStatus(_ context.Context, e *Env, _ *sandbox.Guest, _ []uint64) (uint64, error) {
	return uint64(e.getLast().status), nil
}

// extismHeaders returns the header of the last response as a JSON object with names in lower case and the
// values of a name joined by commas.
func extismHeaders(_ context.Context, e *Env, g *sandbox.Guest, _ []uint64) (uint64, error) {
	flat := map[string]string{}
	for k, vs := range e.getLast().header {
		flat[strings.ToLower(k)] = strings.Join(vs, ",")
	}
	b, err := json.Marshal(flat)
	if err != nil {
		return 0, err
	}
	return g.NewBlock(b)
}

// extismVarGet returns a variable, or 0. Variables live as long as the call, as everything a guest sees;
// what is to stay belongs in kv.
func extismVarGet(ctx context.Context, e *Env, g *sandbox.Guest, stack []uint64) (uint64, error) {
	name, err := take(g, stack[0])
	if err != nil {
		return 0, err
	}
	var value []byte
	if err := e.passOwn(ctx, "var_get", named{string(name)}, nil, func() error {
		e.mu.Lock()
		defer e.mu.Unlock()
		value = e.vars[string(name)]
		return nil
	}); err != nil {
		return 0, err
	}
	return g.NewBlock(value) // no block for what is not there, and for an empty value
}

// named is the request of a function about a variable.
type named struct {
	Name string `json:"name"`
}

// extismVarSet sets a variable, or removes it when the value is not a block.
func extismVarSet(ctx context.Context, e *Env, g *sandbox.Guest, stack []uint64) (uint64, error) {
	name, err := take(g, stack[0])
	if err != nil {
		return 0, err
	}
	value, err := take(g, stack[1])
	if err != nil {
		return 0, err
	}
	return 0, e.passOwn(ctx, "var_set", named{string(name)}, value, func() error {
		if stack[1] == 0 {
			e.removeVar(string(name))
			return nil
		}
		return e.setVar(string(name), value)
	})
}

// varOverhead is what a variable counts beside its name and value, in bytes.
const varOverhead = 40

// setVar keeps a variable, within VarBytes.
func (e *Env) setVar(name string, value []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	size := int64(len(name) + len(value) + varOverhead)
	if old, ok := e.vars[name]; ok {
		size -= int64(len(name) + len(old) + varOverhead)
	}
	if e.varBytes+size > e.s.VarBytes {
		return failf(KindLimit, "variables of more than %d bytes", e.s.VarBytes)
	}
	if e.vars == nil {
		e.vars = map[string][]byte{}
	}
	e.vars[name] = value
	e.varBytes += size
	return nil
}

// removeVar forgets a variable.
func (e *Env) removeVar(name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if old, ok := e.vars[name]; ok {
		e.varBytes -= int64(len(name) + len(old) + varOverhead)
		delete(e.vars, name)
	}
}

// extismConfig returns a configuration value, or 0.
func extismConfig(ctx context.Context, e *Env, g *sandbox.Guest, stack []uint64) (uint64, error) {
	name, err := g.Block(stack[0]) // the key stays the guest's, which may use it again
	if err != nil {
		return 0, err
	}
	var value string
	ask := struct {
		Key string `json:"key"`
	}{string(name)}
	if err := e.passOwn(ctx, "config_get", ask, nil, func() error {
		var ok bool
		if value, ok = e.s.Config[string(name)]; !ok {
			value = g.Config()[string(name)]
		}
		return nil
	}); err != nil {
		return 0, err
	}
	return g.NewBlock([]byte(value))
}

// extismLog keeps a line of one level.
func extismLog(level sandbox.Level) func(context.Context, *Env, *sandbox.Guest, []uint64) (uint64, error) {
	return func(ctx context.Context, e *Env, g *sandbox.Guest, stack []uint64) (uint64, error) {
		msg, err := take(g, stack[0])
		if err != nil {
			return 0, err
		}
		return 0, e.passOwn(ctx, "log", logAsk{Level: level.String()}, msg, func() error {
			e.Log(level, string(msg))
			return nil
		})
	}
}
