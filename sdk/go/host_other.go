//go:build !wasip1

package skill

import "runtime"

// InputBytes returns an error of kind Failed: there is no call to read from.
func InputBytes() ([]byte, error) { return nil, noHost("input_read") }

// OutputBytes returns an error of kind Failed: there is no call to answer.
func OutputBytes([]byte) error { return noHost("output_write") }

// Fail reports nothing, for want of a host, and returns the status of a failed
// call.
func Fail(Kind, string) int32 { return statusFailed }

func exchange(fn function, meta, body []byte) (respMeta, respBody []byte, err error) {
	_, err = fn(meta, body)
	return nil, nil, err
}

func noHost(function string) error {
	return Errorf(Failed, "%s: no skill host in a program for %s/%s: build for wasip1/wasm and run it with skillet",
		function, runtime.GOOS, runtime.GOARCH)
}
