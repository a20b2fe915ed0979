package badgerstore

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// The envelope of a value; see the package comment.
const (
	envelopeVersion = 1
	envelopeHeader  = 1 + 4 + 8 + 4
	keyHashAt       = 1 + 4
	checksumAt      = keyHashAt + 8
)

// wrap puts the value of key into an envelope.
func wrap(key, value []byte) []byte {
	b := make([]byte, envelopeHeader, envelopeHeader+len(value))
	b[0] = envelopeVersion
	binary.BigEndian.PutUint32(b[1:], uint32(len(value)))
	hash := sha256.Sum256(key)
	copy(b[keyHashAt:checksumAt], hash[:])
	b = append(b, value...)
	binary.BigEndian.PutUint32(b[checksumAt:], envelopeSum(b))
	return b
}

func envelopeSum(b []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Checksum(b[:checksumAt], table), table, b[envelopeHeader:])
}

// unwrap returns the value of key, which it checks. The value shares the
// envelope's memory.
func unwrap(key, b []byte) ([]byte, error) {
	if len(b) < envelopeHeader {
		return nil, fmt.Errorf("the value has %d bytes, an envelope has %d more", len(b), envelopeHeader)
	}
	if b[0] != envelopeVersion {
		return nil, fmt.Errorf("the envelope has version %d, want %d", b[0], envelopeVersion)
	}
	value := b[envelopeHeader:]
	if n := binary.BigEndian.Uint32(b[1:]); uint64(n) != uint64(len(value)) {
		return nil, fmt.Errorf("the value has %d bytes, %d were written", len(value), n)
	}
	if binary.BigEndian.Uint32(b[checksumAt:]) != envelopeSum(b) {
		return nil, errors.New("the value does not match its checksum")
	}
	if hash := sha256.Sum256(key); string(hash[:8]) != string(b[keyHashAt:checksumAt]) {
		return nil, errors.New("the value belongs to another key")
	}
	return value, nil
}

// tally is kept with every transaction; see the package comment.
type tally struct {
	format  uint16
	commits uint64
	number  uint64
	count   uint64
	sum     [4]uint64
}

const tallySize = 2 + 8*3 + 8*4

func (t tally) encode() []byte {
	b := binary.BigEndian.AppendUint16(nil, t.format)
	for _, n := range append([]uint64{t.commits, t.number, t.count}, t.sum[:]...) {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	return b
}

func decodeTally(b []byte) (t tally, err error) {
	if len(b) != tallySize {
		return t, fmt.Errorf("the tally has %d bytes, want %d", len(b), tallySize)
	}
	t.format = binary.BigEndian.Uint16(b)
	for i, n := range []*uint64{&t.commits, &t.number, &t.count, &t.sum[0], &t.sum[1], &t.sum[2], &t.sum[3]} {
		*n = binary.BigEndian.Uint64(b[2+8*i:])
	}
	return t, nil
}

// fingerprintOf is what an entry adds to the sum.
func fingerprintOf(key, envelope []byte) (f [4]uint64) {
	h := sha256.New()
	h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(key))))
	h.Write(key)
	h.Write(envelope)
	sum := h.Sum(nil)
	for i := range f {
		f[i] = binary.BigEndian.Uint64(sum[8*i:])
	}
	return f
}

// add counts an entry in.
func (t *tally) add(key, envelope []byte) {
	t.count++
	for i, n := range fingerprintOf(key, envelope) {
		t.sum[i] += n
	}
}

// remove counts an entry out.
func (t *tally) remove(key, envelope []byte) {
	t.count--
	for i, n := range fingerprintOf(key, envelope) {
		t.sum[i] -= n
	}
}

// compare says how the entries that were found differ from the tally.
func (t tally) compare(found tally) error {
	switch {
	case found.count != t.count:
		return fmt.Errorf("%d entries were written, %d are there", t.count, found.count)
	case found.sum != t.sum:
		return errors.New("the entries are not the ones that were written")
	}
	return nil
}
