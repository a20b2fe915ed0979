//go:build unix

package journal

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// limitFiles makes writes behind that many bytes of a file fail, as on a full
// disk.
func limitFiles(bytes string) error {
	if bytes == "" {
		return nil
	}
	n, err := strconv.ParseUint(bytes, 10, 64)
	if err != nil {
		return err
	}
	return unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: n, Max: n})
}
