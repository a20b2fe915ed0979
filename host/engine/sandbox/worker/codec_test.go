package worker

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/engine/sandbox"
)

// messages makes one of each kind there is.
func messages() map[kind]any {
	return map[kind]any{
		kindHello: &hello{}, kindSetup: &setup{}, kindReady: &ready{}, kindCompile: &compile{}, kindCode: &code{},
		kindLoad: &load{}, kindLoaded: &loaded{}, kindFailed: &failed{}, kindCall: &call{}, kindResult: &result{},
		kindCancel: &cancel{}, kindHostCall: &hostCall{}, kindHostDone: &hostDone{}, kindOp: &op{}, kindOpDone: &opDone{},
		kindFile: &fileOp{}, kindFileDone: &fileDone{}, kindLook: &look{}, kindSeen: &seen{},
		kindJob: &job{}, kindDone: &jobDone{}, kindQuestion: &jobQuestion{}, kindAnswer: &jobAnswer{}, kindAttempt: &attempt{}, kindTried: &tried{},
	}
}

// here are the fields of a call that stay with the parent.
var here = []string{"FS", "Files", "Config", "Env", "Log", "Tape", "Waits"}

// set gives every field a value that is not its zero value.
func set(t *testing.T, v reflect.Value, path string, causes int) {
	t.Helper()
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(-3)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(200)
	case reflect.String:
		v.SetString("text\xff")
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			set(t, v.Index(i), path, causes)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.IsExported() {
				set(t, v.Field(i), v.Type().Name()+"."+f.Name, causes)
			} else if v.Type() != reflect.TypeFor[sandbox.Call]() {
				t.Errorf("%s.%s is not exported and would not be sent", v.Type(), f.Name)
			}
		}
	case reflect.Pointer:
		if v.Type() == failureType && causes < sandbox.MaxCauses {
			v.Set(reflect.New(failureType.Elem()))
			set(t, v.Elem(), path, causes+1)
		}
	}
}

// TestCodec sends every field there is, but those that are to stay.
func TestCodec(t *testing.T) {
	t.Parallel()
	for k, message := range messages() {
		set(t, reflect.ValueOf(message).Elem(), "", 0)
		back := reflect.New(reflect.TypeOf(message).Elem()).Interface()
		if err := decode(encode(nil, message), back); err != nil || !reflect.DeepEqual(message, back) {
			t.Errorf("kind %d: %v\nsent     %+v\nreceived %+v", k, err, message, back)
		}
	}
	c := reflect.TypeFor[sandbox.Call]()
	for i := range c.NumField() {
		f := c.Field(i)
		sent := !slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Func, reflect.Map, reflect.Interface}, f.Type.Kind())
		if f.IsExported() && sent == slices.Contains(here, f.Name) {
			t.Errorf("Call.%s is sent: %v", f.Name, sent)
		}
	}
}

// FuzzDecode reads anything as any message: what is accepted is what would be
// sent, and takes no more memory than a small multiple of what came.
func FuzzDecode(f *testing.F) {
	for k, message := range messages() {
		f.Add(byte(k), encode(nil, message))
	}
	f.Add(byte(kindResult), []byte{0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Add(byte(kindFailed), bytes.Repeat([]byte{1, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 6))
	f.Fuzz(func(t *testing.T, k byte, b []byte) {
		message := messages()[kind(k)]
		if message == nil || decode(b, message) != nil {
			return
		}
		again := reflect.New(reflect.TypeOf(message).Elem()).Interface()
		sent := encode(nil, message)
		if err := decode(sent, again); err != nil || !bytes.Equal(encode(nil, again), sent) {
			t.Errorf("kind %d: %+v does not come back: %v", k, message, err)
		}
	})
}

// TestFrames receives nothing longer than it may be, and nothing that was not
// sent.
func TestFrames(t *testing.T) {
	t.Parallel()
	header := func(size uint32) []byte {
		return append(binary.LittleEndian.AppendUint32(nil, size), byte(kindCode), 1, 0, 0, 0)
	}
	for name, c := range map[string]struct {
		stream []byte
		want   error
	}{
		"whole":     {append(header(3), "abc"...), nil},
		"too long":  {append(header(11), strings.Repeat("x", 11)...), errMalformed},
		"very long": {header(math.MaxUint32), errMalformed},
		"cut":       {append(header(3), "ab"...), io.ErrUnexpectedEOF},
		"no body":   {header(3), io.EOF},
		"no header": {header(3)[:5], io.ErrUnexpectedEOF},
		"nothing":   {nil, io.EOF},
	} {
		w := newWire(bytes.NewReader(c.stream), io.Discard)
		if _, err := w.receive(10); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	big := bytes.Repeat([]byte("0123456789"), 1<<20)
	got, err := readBody(bytes.NewReader(big), len(big))
	if err != nil || !bytes.Equal(got, big) {
		t.Errorf("a long body: %d bytes, %v", len(got), err)
	}
}

// fake is a process that sends a stream to its parent. Killing it does nothing
// but be noticed.
func fake(stream []byte) *process {
	p := &process{wire: newWire(bytes.NewReader(stream), io.Discard), output: &capture{}, gone: true, ended: make(chan struct{}), how: "fake"}
	close(p.ended)
	return p
}

// speech is what a worker says in a call, in frames.
func speech(frames ...any) []byte {
	var b bytes.Buffer
	w := newWire(nil, &b)
	for i := 0; i < len(frames); i += 2 {
		if err := w.send(frames[i].(kind), 1, frames[i+1]); err != nil {
			panic(err)
		}
	}
	return b.Bytes()
}

// causes is an error with so many in it.
func causes(n int) *sandbox.Failure {
	if n == 0 {
		return nil
	}
	return &sandbox.Failure{Kind: "trap", Cause: causes(n - 1)}
}

// listen makes a call of the reactor in a fake worker.
func listen(t testing.TB, stream []byte, c sandbox.Call) (*talk, sandbox.Result, error) {
	t.Helper()
	m := &Module{runtime: NewRuntime(hclog.NewNullLogger(), nil, nil, hostFunctions(), 0)}
	c.Limits.Wall = time.Second
	c.Limits = c.Limits.Filled()
	k := &talk{module: m, proc: fake(stream), call: c}
	r, err := k.run(t.Context())
	return k, r, err
}

// TestHostileWorker says what no worker says.
func TestHostileWorker(t *testing.T) {
	t.Parallel()
	answer := uint32(0)
	var blocks, nested uint32
	for i, f := range hostFunctions() {
		switch f.Name {
		case "blocks":
			blocks = uint32(i)
		case "nested":
			nested = uint32(i)
		}
	}
	deep := []any{}
	for range 20 {
		deep = append(deep, kindHostCall, &hostCall{Function: nested})
	}
	often := []any{}
	for range 20 {
		often = append(often, kindHostCall, &hostCall{Function: answer, Stack: []uint64{0, 0}},
			kindOpDone, &opDone{}, kindOpDone, &opDone{})
	}
	limits := sandbox.Limits{HostCalls: 10}
	for name, c := range map[string]struct {
		stream []byte
		want   error
	}{
		"nothing":                {nil, ErrDied},
		"garbage":                {[]byte("garbage that is no frame at all"), ErrProtocol},
		"another call's result":  {[]byte{0, 0, 0, 0, byte(kindResult), 2, 0, 0, 0}, ErrProtocol},
		"empty result":           {[]byte{0, 0, 0, 0, byte(kindResult), 1, 0, 0, 0}, ErrProtocol},
		"long result":            {speech(kindResult, &result{Result: sandbox.Result{Output: make([]byte, 80<<20)}}), ErrProtocol},
		"answer to nothing":      {speech(kindOpDone, &opDone{}), ErrProtocol},
		"hello":                  {speech(kindHello, &hello{}), ErrProtocol},
		"a parent's message":     {speech(kindHostDone, &hostDone{}), ErrProtocol},
		"unknown kind":           {speech(kind(99), &loaded{}), ErrProtocol},
		"unknown function":       {speech(kindHostCall, &hostCall{Function: 999}), ErrProtocol},
		"function beyond int":    {speech(kindHostCall, &hostCall{Function: math.MaxUint32}), ErrProtocol},
		"too few values":         {speech(kindHostCall, &hostCall{Function: answer, Stack: []uint64{1}}), ErrProtocol},
		"too many values":        {speech(kindHostCall, &hostCall{Function: answer, Stack: make([]uint64, 1000)}), ErrProtocol},
		"files without any":      {speech(kindFile, &fileOp{Method: fsStat, Path: "/etc/passwd"}), ErrProtocol},
		"a look without a tape":  {speech(kindLook, &look{}), ErrProtocol},
		"less than was read":     {speech(kindHostCall, &hostCall{Function: answer, Stack: []uint64{0, 10}}, kindOpDone, &opDone{Data: []byte("x")}), ErrProtocol},
		"more than was read":     {speech(kindHostCall, &hostCall{Function: answer, Stack: []uint64{0, 10}}, kindOpDone, &opDone{Data: make([]byte, 1000)}), ErrProtocol},
		"no block":               {speech(kindHostCall, &hostCall{Function: blocks}, kindOpDone, &opDone{}), ErrProtocol},
		"host calls for ever":    {speech(often...), ErrProtocol},
		"host calls in another":  {speech(deep...), ErrProtocol},
		"gone in the middle":     {speech(kindHostCall, &hostCall{Function: answer, Stack: []uint64{0, 10}}), ErrDied},
		"result in a host call":  {speech(kindHostCall, &hostCall{Function: answer, Stack: []uint64{0, 10}}, kindResult, &result{}), ErrProtocol},
		"more causes than known": {speech(kindResult, &result{Failure: causes(sandbox.MaxCauses + 1)}), ErrProtocol},
	} {
		k, _, err := listen(t, c.stream, sandbox.Call{Limits: limits})
		if !errors.Is(err, c.want) || k.broken == nil {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	k, r, err := listen(t, speech(kindResult, &result{Result: sandbox.Result{Output: []byte("x")}}), sandbox.Call{})
	if err != nil || string(r.Output) != "x" || k.broken != nil {
		t.Errorf("a good result: %+v, %v", r, err)
	}
}

// TestHostileHandshake starts with what is no worker's hello.
func TestHostileHandshake(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]hello{"magic": {"skillet wrecker", protocol}, "protocol": {magic, protocol + 1}} {
		var b bytes.Buffer
		if err := newWire(nil, &b).send(kindHello, 0, &h); err != nil {
			t.Fatal(err)
		}
		if err := fake(b.Bytes()).greet(); !errors.Is(err, errMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzWorker has a worker say anything in a call: the call ends, with a result
// or an error.
func FuzzWorker(f *testing.F) {
	f.Add(speech(kindResult, &result{}))
	f.Add(speech(kindHostCall, &hostCall{Function: 0, Stack: []uint64{0, 1}}, kindOpDone, &opDone{Data: []byte("x")},
		kindOpDone, &opDone{Data: []byte("x")}, kindResult, &result{Failure: &sandbox.Failure{Kind: "trap", Cause: &sandbox.Failure{Kind: "limit"}}}))
	f.Add(speech(kindHostCall, &hostCall{Function: 7}, kindHostCall, &hostCall{Function: 4}, kindOpDone, &opDone{Lines: []line{{9, "x"}}}))
	f.Add(speech(kindFile, &fileOp{Method: fsOpen, Path: "/"}, kindFile, &fileOp{Method: fileReadDir, File: 1, N: 10}))
	f.Fuzz(func(t *testing.T, stream []byte) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		m := &Module{runtime: NewRuntime(hclog.NewNullLogger(), nil, nil, hostFunctions(), 0)}
		lines := 0
		c := sandbox.Call{Limits: sandbox.Limits{Wall: 50 * time.Millisecond, HostCalls: 10}, Log: func(sandbox.Level, string) { lines++ }}
		c.Limits = c.Limits.Filled()
		k := &talk{module: m, proc: fake(stream), call: c}
		if _, err := k.run(ctx); err == nil && k.broken != nil {
			t.Error("a broken process gave a result")
		}
	})
}

// TestFileServer is asked by a worker for what it cannot have.
func TestFileServer(t *testing.T) {
	t.Parallel()
	s := &fileServer{}
	for name, o := range map[string]fileOp{
		"no method":        {Method: 99},
		"file not open":    {Method: fileStat, File: 7},
		"path without end": {Method: fsStat, Path: strings.Repeat("x", maxPath+1)},
	} {
		if _, err := s.serve(&o); !errors.Is(err, errMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
