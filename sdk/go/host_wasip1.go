//go:build wasip1

package skill

import (
	"math"
	"runtime"
	"unsafe"
)

// maxTransfer is the most bytes one host call can pass: lengths travel as
// signed 32-bit numbers.
const maxTransfer = math.MaxInt32

// InputBytes returns the whole input of the current call. It may be called more
// than once; every call copies the input anew.
func InputBytes() ([]byte, error) {
	n := inputLength()
	if n < 0 || n > maxTransfer {
		return nil, Errorf(Limit, "read input: %d bytes are more than a module can hold", n)
	}
	buf := make([]byte, n)
	if got := inputRead(pointer(buf), 0, uint32(n)); int64(got) != n {
		return nil, Errorf(IO, "read input: got %d of %d bytes", got, n)
	}
	return buf, nil
}

// OutputBytes appends data to the output of the current call. The host ends the
// call when the output grows past its limit.
func OutputBytes(data []byte) error {
	if len(data) > maxTransfer {
		return Errorf(Limit, "write output: %d bytes are more than one call can pass", len(data))
	}
	outputWrite(pointer(data), uint32(len(data)))
	runtime.KeepAlive(data)
	return nil
}

// Fail reports an error to the host and returns what the exported function has
// to return. The last reported error counts.
func Fail(kind Kind, message string) int32 {
	if kind == "" {
		kind = Failed
	}
	k, m := []byte(kind), []byte(message)
	errorWrite(pointer(k), uint32(len(k)), pointer(m), uint32(len(m)))
	runtime.KeepAlive(k)
	runtime.KeepAlive(m)
	return statusFailed
}

// exchange passes one request to a host function and fetches its response.
func exchange(fn function, meta, body []byte) (respMeta, respBody []byte, err error) {
	if len(body) > maxTransfer {
		return nil, nil, Errorf(Limit, "%d bytes are more than one call can pass", len(body))
	}
	both, err := fn(meta, body)
	if err != nil {
		return nil, nil, err
	}
	runtime.KeepAlive(meta)
	runtime.KeepAlive(body)
	respMeta = make([]byte, uint32(uint64(both)>>32))
	respBody = make([]byte, uint32(both))
	responseRead(pointer(respMeta), pointer(respBody))
	return respMeta, respBody, nil
}

// pointer returns the address of the first byte of b, nil for an empty b: a
// host function never looks behind a pointer with length 0.
func pointer(b []byte) unsafe.Pointer {
	if len(b) == 0 {
		return nil
	}
	return unsafe.Pointer(unsafe.SliceData(b))
}
