//go:build !linux

package sandbox

import "errors"

// sharedFile is never anything but noFile: instances copy the snapshot.
type sharedFile int

const noFile sharedFile = -1

func newMappedImage([]byte) (*image, error) { return nil, errors.ErrUnsupported }

func (*image) close() {}

func (sharedFile) mapOver([]byte) error { return errors.ErrUnsupported }

func mappedStrategies() []Strategy { return nil }

func restoreMapped(*linearMemory, []byte, Strategy, bool) (restored, error) {
	return restored{}, errors.ErrUnsupported
}

func eachWritten([]byte, func(from, to int) bool) error { return errors.ErrUnsupported }

// faultWatch counts nothing: no strategy here goes by it.
type faultWatch struct{}

func (*faultWatch) begin()    {}
func (*faultWatch) stop()     {}
func (*faultWatch) end() bool { return false }

func dropMemory(*linearMemory) bool { return false }

func writtenSpans([]byte) ([]span, error) { return nil, errors.ErrUnsupported }
