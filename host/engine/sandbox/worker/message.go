package worker

import "github.com/skillet-run/skillet/host/engine/sandbox"

// The messages, by the name of their kind.
type (
	hello struct {
		Magic    string
		Protocol uint32
	}

	setup struct {
		Memory    uint64 // bytes of data, at most
		CPU       uint64 // seconds of processor time, at most
		Functions []function
	}

	// function is a host function without what it does.
	function struct {
		Module, Name    string
		Params, Results []byte
		Fuel            uint64
	}

	ready struct{ Walls []Wall }

	compile struct {
		Workers int
		Wasm    []byte
	}

	load struct{ Image sandbox.Image }

	loaded struct{}

	code struct {
		Name  string
		Bytes []byte
	}

	failed struct{ Failure *sandbox.Failure }

	// call is a call but for what stays with the parent: of Env, Config, Log and
	// Tape the worker knows only whether anybody listens.
	call struct {
		Call     sandbox.Call
		Log      bool
		Files    bool
		Preopens []preopen
		Taped    bool // looks at the clock and at randomness pass the parent
		Waits    bool // and sleeping takes time
		Session  bool // it goes on with State, which is empty at first
		State    []byte
	}

	cancel struct{ Deadline bool }

	result struct {
		Result  sandbox.Result
		Failure *sandbox.Failure
		Lines   []line
		State   []byte // of a session
	}

	// line is a line of the guest's log.
	line struct {
		Level int
		Text  string
	}

	hostCall struct {
		Function uint32
		Stack    []uint64
		Fuel     uint64 // that is left
	}

	hostDone struct {
		Stack      []uint64
		Failure    *sandbox.Failure
		TimeOver   bool   // by the parent's clock, or its caller's wish
		Answered   bool   // Meta and Body are the function's response
		Fuel       uint64 // that it spent for the call
		Meta, Body []byte
	}

	// op is one method of sandbox.Guest.
	op struct {
		Method method
		Ptr, N uint64
		Data   []byte
		Text   string
		Words  []uint64
	}

	opDone struct {
		Failure *sandbox.Failure
		Data    []byte
		Words   []uint64
		Lines   []line
	}

	// look is what a guest is about to see of a clock, or the randomness it is
	// about to have. seen is what it gets instead.
	look struct {
		Random bool
		Clock  uint32
		Now    int64
		Bytes  []byte
	}

	seen struct {
		Errno uint16
		Now   int64
		Bytes []byte
	}

	// job is what other work begins with, and jobDone what comes of it. Meanwhile it
	// asks.
	job         struct{ Input []byte }
	jobDone     struct{ Output []byte }
	jobQuestion struct{ Text []byte }
	jobAnswer   struct{ Text []byte }

	attempt struct{ Name, Text string }
	tried   struct{ Text string }
)

// method names a method of sandbox.Guest.
type method uint8

const (
	methodRead method = iota + 1
	methodView
	methodWrite
	methodBlock
	methodNewBlock
	methodFree
	methodLog
	methodCall
)

// magic is how a worker says hello.
const magic = "skillet worker"
