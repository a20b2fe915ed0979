//go:build !unix

package escape

import "errors"

// makeFIFO says that there are none in the file tree of this system.
func makeFIFO(string) error { return errors.ErrUnsupported }
