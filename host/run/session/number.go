package session

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/skillet-run/skillet/host/base/store"
)

// The store has, for each name of a session in a file, the number of the last state
// that a call left, so that an older file which somebody puts back is not taken. It is
// written behind the file: a process that is killed between the two leaves a file
// with a number above, which only a call can have written. It stays when the session
// is closed, and rises then, so that none of its files is the last one.
//
//	session/PLACE/NAME.WHOSE  -> number (8 bytes, big-endian)
const numberKeys = "session/"

func (k Key) numberKey() string {
	return numberKeys + k.Namespace + "/" + k.Name + "." + whose(k.Owner)
}

// last is the number of the last state that the store knows of; 0 for none.
func (s *Store) last(ctx context.Context, k Key) (uint64, error) {
	if s.numbers == nil {
		return 0, nil
	}
	x, err := s.numbers.Get(ctx, k.numberKey())
	if errors.Is(err, store.ErrNotFound) {
		return 0, nil
	}
	if err == nil && len(x.Value) != 8 {
		err = errors.New("not a number")
	}
	if err != nil {
		return 0, fmt.Errorf("read the number of session %s: %w", k, err)
	}
	return binary.BigEndian.Uint64(x.Value), nil
}

// note makes a number the last one of a session.
func (s *Store) note(ctx context.Context, k Key, n uint64) error {
	if s.numbers == nil {
		return nil
	}
	if _, err := s.numbers.Put(ctx, k.numberKey(), binary.BigEndian.AppendUint64(nil, n), store.AnyRevision); err != nil {
		return fmt.Errorf("keep the number of session %s: %w", k, err)
	}
	return nil
}

// newest refuses a file that is not the last that a call left.
func (s *Store) newest(ctx context.Context, h header) error {
	last, err := s.last(ctx, h.key())
	if err == nil && h.Number < last {
		err = ErrOld
	}
	return err
}

// outdate makes every file of a session that is about to be deleted an old one.
func (s *Store) outdate(ctx context.Context, k Key) error {
	last, err := s.last(ctx, k)
	if err != nil || last == 0 {
		return err
	}
	return s.note(ctx, k, last+1)
}
