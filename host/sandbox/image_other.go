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

func restoreMapped([]byte, []byte, Strategy) (int, error) { return 0, errors.ErrUnsupported }

func dropMemory(*linearMemory) bool { return false }

func writtenSpans([]byte) ([]span, error) { return nil, errors.ErrUnsupported }
