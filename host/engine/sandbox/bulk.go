package sandbox

import (
	"errors"
	"fmt"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
)

// bulkModule is the module that guests built with the project's own SDKs
// import from. Its functions here move whole buffers; those that leave the
// sandbox are host functions of the same module.
const bulkModule = wasmbin.TickModule

// response is what a host function has answered and the guest has not taken.
type response struct {
	meta, body []byte
	set        bool
}

var errNoResponse = errors.New("no response is waiting")

// bulkFunctions are input_length() -> i64, input_read(ptr, off i64, len) -> i32,
// output_write(ptr, len), error_write(kind_ptr, kind_len, msg_ptr, msg_len),
// response_read(meta_ptr, body_ptr) and tick().
func bulkFunctions() []builtin {
	i32s := func(n int) []ValueType {
		all := []ValueType{I32, I32, I32, I32}
		return all[:n]
	}
	f := func(name string, params, results []ValueType, fuel uint64, call func(in *instance, s []uint64) error) builtin {
		return builtin{bulkModule, name, params, results, fuel, call}
	}
	return []builtin{
		f("input_length", nil, []ValueType{I64}, fuelKernel, func(in *instance, s []uint64) error {
			s[0] = uint64(len(in.call.Input))
			return nil
		}),
		f("input_read", []ValueType{I32, I64, I32}, i32s(1), fuelBulk, inputRead),
		f("output_write", i32s(2), nil, fuelBulk, outputWrite),
		f("error_write", i32s(4), nil, fuelBulk, errorWrite),
		f("response_read", i32s(2), nil, fuelBulk, responseRead),
		f(wasmbin.TickName, nil, nil, 0, func(in *instance, _ []uint64) error {
			in.tick()
			return nil
		}),
	}
}

// inputRead copies as much of the input from off as there is and fits, and
// returns how much.
func inputRead(in *instance, s []uint64) error {
	to, err := in.view(uint32(s[0]), uint32(s[2]))
	if err != nil {
		return err
	}
	n := 0
	if off := s[1]; off < uint64(len(in.call.Input)) {
		n = copy(to, in.call.Input[off:])
	}
	in.chargeBytes(uint64(n))
	s[0] = uint64(n)
	return nil
}

// outputWrite appends to the output.
func outputWrite(in *instance, s []uint64) error {
	b, err := in.view(uint32(s[0]), uint32(s[1]))
	if err != nil {
		return err
	}
	in.chargeBytes(uint64(len(b)))
	if !in.streams.written.add(b) {
		return in.outputError()
	}
	return nil
}

// errorWrite sets the guest's error; the last one stays.
func errorWrite(in *instance, s []uint64) error {
	const maxKind = 64
	kind, err := in.view(uint32(s[0]), uint32(s[1]))
	if err != nil {
		return err
	}
	message, err := in.view(uint32(s[2]), uint32(s[3]))
	if err != nil {
		return err
	}
	in.chargeBytes(uint64(len(message)))
	in.guestErr = &GuestError{
		Kind:    string(kind[:min(len(kind), maxKind)]),
		Message: string(message[:min(len(message), maxErrorBytes)]),
	}
	return nil
}

// responseRead hands the waiting response over, once. The guest knows both
// lengths from the result of the host function.
func responseRead(in *instance, s []uint64) error {
	r := in.response
	if !r.set {
		return errNoResponse
	}
	for i, part := range [][]byte{r.meta, r.body} {
		to, err := in.view(uint32(s[i]), uint32(len(part)))
		if err != nil {
			return err
		}
		in.chargeBytes(uint64(len(part)))
		copy(to, part)
	}
	in.response = response{}
	return nil
}

func (in *instance) outputError() *LimitError {
	return in.limit("output", byteCount(in.call.Limits.OutputBytes), "max_output_kb", ErrOutput)
}

// fail ends the call because of a function of this package: with the limit it
// ran into, or as a trap.
func (in *instance) fail(name string, err error) {
	var limit *LimitError
	if errors.As(err, &limit) {
		in.stop(limit)
	}
	in.stop(&TrapError{Reason: fmt.Sprintf("%s: %v", name, err)})
}
