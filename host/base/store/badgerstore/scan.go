package badgerstore

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"hash/crc32"
	"slices"

	"github.com/dgraph-io/badger/v4/fb"
	"github.com/dgraph-io/badger/v4/y"
)

// Badger's readers give up a block, and the rest of a log, for one altered byte. What
// follows finds the entries around it: each has an envelope that says whether it is as
// it was written.

// The layout of Badger's files, as of v4: header in table/builder.go, Copy there, and
// encodeEntry in memtable.go. Its own headers are in the byte order of the machine.
const (
	memSuffix   = ".mem"
	badgersOwn  = "!badger!"
	entryHeader = 4      // bytes of an entry: what its key has in common with the first of the block, and the rest
	entryFlags  = 3      // bytes before a value: flags, and a time of expiry that is never set
	stampSize   = 8      // bytes at the end of a key: the version
	lastBit     = 1 << 7 // marks the end of a transaction in a log (bitFinTxn in value.go)
	deletedBit  = 1 << 0 // marks a deleted key (bitDelete in value.go)
	maxVersion  = 1 << 48
	knownBases  = 8
)

// scanBlocks calls found for each entry in a damaged table that is as it was written:
// in the blocks that its index lists, and also where the index does not say that there is
// something. An error means that the index cannot be read.
func scanBlocks(data, key []byte, found func(key []byte, at uint64, envelope []byte)) error {
	err := guard(func() error {
		for _, b := range tableBlocks(data, key) {
			scanEntries(b.data, b.base, found)
		}
		return nil
	})
	if key == nil {
		scanEntries(data, nil, found)
		return err
	}
	for _, b := range findBlocks(data, key) {
		scanEntries(b.data, nil, found)
	}
	return err
}

// block is a part of a table, decrypted, and its first key.
type block struct{ data, base []byte }

// tableBlocks reads the blocks that a table's index lists, whether its checksum is
// right or not. It may panic on what is damaged.
func tableBlocks(data, key []byte) []block {
	index, end := tableIndex(data, key)
	if index == nil {
		return nil
	}
	var all []block
	for _, l := range listed(index, len(data)/leastListed, end) {
		if l.from > l.end || l.end > uint64(len(data)) {
			continue
		}
		b := block{data[l.from:l.end], l.base}
		if len(key) > 0 {
			b.data = decryptedBlock(b.data, key)
		}
		all = append(all, b)
	}
	return all
}

// decryptedBlock is decrypted for a block, one byte of whose initialization vector may be
// altered: with a wrong vector nothing in the block can be read. The right one is that
// with which the block begins with an entry.
func decryptedBlock(data, key []byte) []byte {
	plain := decrypted(data, key)
	if _, _, n := parseEntry(plain, nil); n > 0 || plain == nil {
		return plain
	}
	cipher, err := aes.NewCipher(key)
	if err != nil {
		return plain
	}
	altered := bytes.Clone(data)
	vector := altered[len(altered)-aes.BlockSize:]
	for i, was := range vector {
		for by := 1; by < 256; by++ {
			vector[i] = was ^ byte(by)
			if !startsBlock(cipher, altered) {
				continue
			}
			other := decrypted(altered, key)
			if _, _, n := parseEntry(other, nil); n > 0 {
				return other
			}
		}
		vector[i] = was
	}
	return plain
}

// listing is where a block is, as the index says.
type listing struct {
	from, end uint64
	base      []byte
}

// leastListed is not more than what the index takes for a block.
const leastListed = 16

// listed are the blocks of an index, at most some. They follow on each other, from the
// beginning of the table to end: where the index says something else, both are listed.
func listed(index *fb.TableIndex, most int, end uint64) []listing {
	var all []listing
	for i := range min(index.OffsetsLength(), most) {
		var l listing
		_ = guard(func() error { // what cannot be read stays zero
			var at fb.BlockOffset
			if index.Offsets(&at, i) {
				l.from = uint64(at.Offset())
				l.end = l.from + uint64(at.Len())
				l.base = at.KeyBytes()
			}
			return nil
		})
		all = append(all, l)
	}
	return append(all, between(all, end)...)
}

// between are the blocks that stand between those before and behind them, where the
// index says something else.
func between(all []listing, end uint64) []listing {
	var others []listing
	for i, l := range all {
		other := listing{0, end, l.base}
		if i > 0 {
			other.from = all[i-1].end
		}
		if i+1 < len(all) {
			other.end = all[i+1].from
		}
		if other.from != l.from || other.end != l.end {
			others = append(others, other)
		}
	}
	return others
}

// findBlocks looks for the blocks of an encrypted table without its index: each ends
// with an initialization vector, with which its first entry can be read.
func findBlocks(data, key []byte) []block {
	cipher, err := aes.NewCipher(key)
	if err != nil {
		return nil
	}
	var all []block
	for from, end := 0, aes.BlockSize+entryHeader; end <= min(len(data), from+valueThreshold); end++ {
		if !startsBlock(cipher, data[from:end]) {
			continue
		}
		b := block{data: decrypted(data[from:end], key)}
		if _, _, n := parseEntry(b.data, nil); n > 0 {
			all = append(all, b)
			from, end = end, end+aes.BlockSize
		}
	}
	return all
}

// startsBlock reports whether what the last bytes of b decrypt it to may begin with the
// first entry of a block, which shares nothing with another.
func startsBlock(c cipher.Block, b []byte) bool {
	var pad [aes.BlockSize]byte
	c.Encrypt(pad[:], b[len(b)-aes.BlockSize:])
	for i := range entryHeader {
		pad[i] ^= b[i]
	}
	shared, own := binary.NativeEndian.Uint16(pad[:]), binary.NativeEndian.Uint16(pad[2:])
	return shared == 0 && own > stampSize && int(own) < len(b)
}

// tableIndex finds the index of a table from its end, where its length is followed by a
// checksum and the length of that, and says where the blocks before it end.
func tableIndex(data, key []byte) (t *fb.TableIndex, end uint64) {
	back := func(n int) (b []byte) {
		if n < 0 || n > len(data) {
			return nil
		}
		b, data = data[len(data)-n:], data[:len(data)-n]
		return b
	}
	length := func() int {
		if b := back(4); b != nil {
			return int(binary.BigEndian.Uint32(b))
		}
		return -1
	}
	if back(length()) == nil {
		return nil, 0
	}
	index := back(length())
	if len(key) > 0 {
		index = decrypted(index, key)
	}
	if len(index) < 8 {
		return nil, 0
	}
	return fb.GetRootAsTableIndex(index, 0), uint64(len(data))
}

// decrypted is what the last bytes of data, an initialization vector, and key make of
// the others.
func decrypted(data, key []byte) []byte {
	if len(data) < aes.BlockSize {
		return nil
	}
	n := len(data) - aes.BlockSize
	plain, err := y.XORBlockAllocate(data[:n], key, data[n:])
	if err != nil {
		return nil
	}
	return plain
}

// scanEntries calls found for each entry in data, a block or several, that is as it was
// written; base is the first key of a block, if it is known. A deleted key has no
// envelope.
func scanEntries(data, base []byte, found func(key []byte, at uint64, envelope []byte)) {
	var bases [][]byte // first keys that the entries here may share something with
	if len(base) > 0 {
		bases = append(bases, base)
	}
	d := deletions{found: found}
	inOrder := true // an entry begins where the one before it ended
	for at := 0; at < len(data); {
		key, envelope, n := parseEntry(data[at:], bases)
		if n > 0 && envelope == nil && hidesEntry(data[at:], n, bases, inOrder) {
			n = 0
		}
		if inOrder = n > 0; !inOrder {
			at++
			continue
		}
		if envelope == nil {
			d.waiting = append(d.waiting, key)
		} else {
			d.until(key)
			found(y.ParseKey(key), y.ParseTs(key), envelope)
		}
		if binary.NativeEndian.Uint16(data[at:]) == 0 { // it shares nothing, so it may be the first
			bases = append(bases[max(0, len(bases)-knownBases):], key)
		}
		at += n
	}
	d.until(nil)
}

// deletions are the deleted keys of a table between two that have values. No envelope
// says that a deleted key is right, and an altered one would delete another entry; but
// the keys of a table are sorted, so that one in the wrong order is altered.
type deletions struct {
	found   func(key []byte, at uint64, envelope []byte)
	before  []byte
	waiting [][]byte
}

// until takes those that stand before key; a nil key is the end.
func (d *deletions) until(key []byte) {
	for _, k := range d.waiting {
		if (d.before == nil || y.CompareKeys(d.before, k) < 0) && (key == nil || y.CompareKeys(k, key) < 0) {
			d.found(y.ParseKey(k), y.ParseTs(k), nil)
		}
	}
	d.before, d.waiting = key, d.waiting[:0]
}

// hidesEntry reports whether another entry begins within what looks like a deleted one
// at the beginning of b, n bytes long. No envelope says that a deleted one is right, so
// bytes in the middle of others can look like it, up to where a real one ends. Where
// entries follow each other in order, only one with an envelope counts against it.
func hidesEntry(b []byte, n int, bases [][]byte, inOrder bool) bool {
	for i := 1; i < n; i++ {
		_, envelope, m := parseEntry(b[i:], bases)
		if m > 0 && (envelope != nil || !inOrder && i+m == n) {
			return true
		}
	}
	return false
}

// parseEntry returns the entry at the beginning of b, and how many bytes it takes; 0
// when there is none. The key is a copy.
func parseEntry(b []byte, bases [][]byte) (key, envelope []byte, n int) {
	if len(b) < entryHeader+entryFlags {
		return nil, nil, 0
	}
	shared, own := int(binary.NativeEndian.Uint16(b)), int(binary.NativeEndian.Uint16(b[2:]))
	n = entryHeader + own + entryFlags
	if own == 0 || shared+own <= stampSize || n > len(b) {
		return nil, nil, 0
	}
	flags := b[n-entryFlags : n]
	if flags[1] != 0 || flags[2] != 0 {
		return nil, nil, 0
	}
	if flags[0]&deletedBit == 0 {
		if envelope = envelopeAt(b[n:]); envelope == nil {
			return nil, nil, 0
		}
		n += len(envelope)
	}
	rest := b[entryHeader : entryHeader+own]
	if shared == 0 {
		bases = [][]byte{nil}
	}
	for _, base := range slices.Backward(bases) {
		if len(base) < shared {
			continue
		}
		key := append(bytes.Clone(base[:shared]), rest...)
		if isEntry(key, envelope) {
			return key, envelope, n
		}
	}
	return nil, nil, 0
}

// envelopeAt returns the envelope at the beginning of b, going by its length; nil when
// there is none.
func envelopeAt(b []byte) []byte {
	if len(b) < envelopeHeader || b[0] != envelopeVersion {
		return nil
	}
	n := uint64(binary.BigEndian.Uint32(b[1:])) + envelopeHeader
	if n > uint64(len(b)) {
		return nil
	}
	return b[:n]
}

// isEntry reports whether a key with its version is one of the store's: one that its
// envelope says is right or, when it was deleted, one that could be.
func isEntry(key, envelope []byte) bool {
	if v := y.ParseTs(key); v == 0 || v > maxVersion {
		return false
	}
	name := y.ParseKey(key)
	if envelope != nil {
		_, err := unwrap(name, envelope)
		return err == nil
	}
	return len(name) > 2 && name[0] == dataPrefix[0] && name[2] == 0 && bytes.IndexByte([]byte("kqlx"), name[1]) >= 0
}

// logEntry is an entry of a log.
type logEntry struct {
	key     []byte
	at      uint64 // its version: entries of one transaction have the same
	deleted bool
	value   []byte
}

// logScan collects the entries of logs.
type logScan struct {
	entries []logEntry
	ended   map[uint64]bool // transactions of which the end was found
}

// read takes the entries of a log whose checksums are right, and says from where on
// something between them is not; 0 for nothing.
func (s *logScan) read(b, key []byte) (damaged int) {
	if s.ended == nil {
		s.ended = map[uint64]bool{}
	}
	end := len(bytes.TrimRight(b, "\x00"))
	after := 0 // where the last damage began, if nothing whole came after it
	for at := logHeader; at < end; {
		n := s.entry(b, at, key)
		if n == 0 {
			if after == 0 {
				after = at
			}
			at++
			continue
		}
		if after > 0 && damaged == 0 {
			damaged = after
		}
		at, after = at+n, 0
	}
	if after > 0 && damaged == 0 {
		damaged = after
	}
	return damaged
}

// entry takes the entry at a place of a log, and returns how many bytes it has; 0 when
// there is none.
func (s *logScan) entry(b []byte, at int, key []byte) int {
	rest := b[at:]
	if len(rest) < logFlags || rest[1] != 0 { // the store sets no flags of its own
		return 0
	}
	pos := logFlags
	var fields [3]uint64
	for i := range fields {
		v, n := binary.Uvarint(rest[pos:])
		if n <= 0 {
			return 0
		}
		fields[i], pos = v, pos+n
	}
	keyLen, valueLen := fields[0], fields[1]
	if fields[2] != 0 || keyLen <= stampSize || keyLen > maxLogKey || valueLen > valueThreshold {
		return 0
	}
	body := int(keyLen + valueLen)
	if len(rest) < pos+body+logSum {
		return 0
	}
	if crc32.Checksum(rest[:pos+body], crc32.MakeTable(crc32.Castagnoli)) != binary.BigEndian.Uint32(rest[pos+body:]) {
		return 0
	}
	kv := rest[pos : pos+body]
	if len(key) > 0 {
		vector := binary.BigEndian.AppendUint32(bytes.Clone(b[8:logHeader]), uint32(at))
		plain, err := y.XORBlockAllocate(kv, key, vector)
		if err != nil {
			return 0
		}
		kv = plain
	}
	s.take(rest[0], kv[:keyLen], kv[keyLen:])
	return pos + body + logSum
}

func (s *logScan) take(flags byte, key, value []byte) {
	at := y.ParseTs(key)
	if flags&lastBit != 0 {
		s.ended[at] = true
		return
	}
	s.entries = append(s.entries, logEntry{bytes.Clone(y.ParseKey(key)), at, flags&deletedBit != 0, bytes.Clone(value)})
}

// committed are the entries of transactions that took effect: their end was found, or
// a later one's, or the store acknowledged them.
func (s *logScan) committed(acknowledged uint64) []logEntry {
	var last uint64
	for at := range s.ended {
		last = max(last, at)
	}
	for _, e := range s.entries {
		if string(e.key) != tallyKey {
			continue
		}
		if v, err := unwrap(e.key, e.value); err == nil {
			if t, err := decodeTally(v); err == nil && t.commits <= acknowledged {
				last = max(last, e.at)
			}
		}
	}
	return slices.DeleteFunc(s.entries, func(e logEntry) bool { return e.at > last && !s.ended[e.at] })
}
