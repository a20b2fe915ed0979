//go:build linux && !amd64 && !arm64

package worker

import (
	"errors"
	"runtime"
)

// filterCalls has no filter: the engine has no compiler for this machine
// either.
func filterCalls() error { return errors.New("no filter for " + runtime.GOARCH) }
