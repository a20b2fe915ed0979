//go:build !unix

package sandbox

import "errors"

func reserve(uint64) ([]byte, error) { return nil, errors.ErrUnsupported }
func commit([]byte) error            { return nil }
func release([]byte) error           { return nil }
