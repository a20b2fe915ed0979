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

// function is one host function of module skillet:host/v1 in its uniform shape:
// a request of JSON meta data and raw body in, the lengths of the pending
// response out (meta length << 32 | body length).
type function func(meta unsafe.Pointer, metaLen uint32, body unsafe.Pointer, bodyLen uint32) int64

//go:wasmimport skillet:host/v1 input_length
func inputLength() int64

//go:wasmimport skillet:host/v1 input_read
func inputRead(ptr unsafe.Pointer, off int64, n uint32) int32

//go:wasmimport skillet:host/v1 output_write
func outputWrite(ptr unsafe.Pointer, n uint32)

//go:wasmimport skillet:host/v1 error_write
func errorWrite(kind unsafe.Pointer, kindLen uint32, msg unsafe.Pointer, msgLen uint32)

//go:wasmimport skillet:host/v1 response_read
func responseRead(meta, body unsafe.Pointer)

//go:wasmimport skillet:host/v1 fs_read
func fsRead(meta unsafe.Pointer, metaLen uint32, body unsafe.Pointer, bodyLen uint32) int64

//go:wasmimport skillet:host/v1 fs_write
func fsWrite(meta unsafe.Pointer, metaLen uint32, body unsafe.Pointer, bodyLen uint32) int64

//go:wasmimport skillet:host/v1 fs_list
func fsList(meta unsafe.Pointer, metaLen uint32, body unsafe.Pointer, bodyLen uint32) int64

//go:wasmimport skillet:host/v1 fs_stat
func fsStat(meta unsafe.Pointer, metaLen uint32, body unsafe.Pointer, bodyLen uint32) int64

//go:wasmimport skillet:host/v1 http_request
func httpRequest(meta unsafe.Pointer, metaLen uint32, body unsafe.Pointer, bodyLen uint32) int64

//go:wasmimport skillet:host/v1 kv_get
func kvGet(meta unsafe.Pointer, metaLen uint32, body unsafe.Pointer, bodyLen uint32) int64

//go:wasmimport skillet:host/v1 kv_put
func kvPut(meta unsafe.Pointer, metaLen uint32, body unsafe.Pointer, bodyLen uint32) int64

//go:wasmimport skillet:host/v1 kv_delete
func kvDelete(meta unsafe.Pointer, metaLen uint32, body unsafe.Pointer, bodyLen uint32) int64

//go:wasmimport skillet:host/v1 kv_list
func kvList(meta unsafe.Pointer, metaLen uint32, body unsafe.Pointer, bodyLen uint32) int64

//go:wasmimport skillet:host/v1 secret_exists
func secretExists(meta unsafe.Pointer, metaLen uint32, body unsafe.Pointer, bodyLen uint32) int64

//go:wasmimport skillet:host/v1 log
func logWrite(meta unsafe.Pointer, metaLen uint32, body unsafe.Pointer, bodyLen uint32) int64

//go:wasmimport skillet:host/v1 notify
func notifySend(meta unsafe.Pointer, metaLen uint32, body unsafe.Pointer, bodyLen uint32) int64

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
	lengths := uint64(fn(pointer(meta), uint32(len(meta)), pointer(body), uint32(len(body))))
	runtime.KeepAlive(meta)
	runtime.KeepAlive(body)
	respMeta = make([]byte, uint32(lengths>>32))
	respBody = make([]byte, uint32(lengths))
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
