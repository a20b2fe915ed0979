//go:build !wasip1

package skill

import "runtime"

// function names a host function; outside of a module there is none to call.
type function string

const (
	fsRead       function = "fs_read"
	fsWrite      function = "fs_write"
	fsList       function = "fs_list"
	fsStat       function = "fs_stat"
	httpRequest  function = "http_request"
	kvGet        function = "kv_get"
	kvPut        function = "kv_put"
	kvDelete     function = "kv_delete"
	kvList       function = "kv_list"
	secretExists function = "secret_exists"
	logWrite     function = "log"
	notifySend   function = "notify"
)

// InputBytes returns an error of kind Failed: there is no call to read from.
func InputBytes() ([]byte, error) { return nil, noHost("input_read") }

// OutputBytes returns an error of kind Failed: there is no call to answer.
func OutputBytes([]byte) error { return noHost("output_write") }

// Fail reports nothing, for want of a host, and returns the status of a failed
// call.
func Fail(Kind, string) int32 { return statusFailed }

func exchange(fn function, _, _ []byte) (respMeta, respBody []byte, err error) {
	return nil, nil, noHost(fn)
}

func noHost(fn function) error {
	return Errorf(Failed, "%s: no skill host in a program for %s/%s: build for wasip1/wasm and run it with skillet",
		string(fn), runtime.GOOS, runtime.GOARCH)
}
