// Package backup has the format in which every backend of the store backs up, so that
// what one wrote another restores. It knows no backend.
package backup

import (
	"bufio"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"io/fs"
	"iter"
	"os"

	"github.com/skillet-run/skillet/host/base/store"
)

// The format of a backup. A header of 26 bytes: magic, version, flags, salt.
// Then frames: length (4 bytes, big-endian, the highest bit set in the last),
// and that many bytes. In a backup with a key they are sealed with AES-256-GCM;
// the nonce counts the frames and marks the last, the additional data is the
// header. Otherwise their CRC-32C is in the last 4. In the frames, records:
// kind (1 byte), length of key and value (4 bytes each), key, value. A record
// is never split. The last is [store.Totals] as JSON.
const (
	magic      = "SKILLETB"
	version    = 1
	flagSealed = 1 << 0
	headerSize = len(magic) + 2 + 16
	lastFrame  = 1 << 31
	frameFill  = 64 << 10 // bytes after which a frame is written
	maxFrame   = 2 << 20  // bytes of a frame that are read
	blobChunk  = 256 << 10
)

// The kinds of records.
const (
	recordItem   = 'i' // an entry of the engine
	recordBlob   = 'b' // a blob begins: key is its digest, value its size
	recordChunk  = 'c' // more of the blob
	recordTotals = 'e'
)

// ErrBackup means that what was read is not a whole backup. It is
// [store.ErrDamaged] as well.
var ErrBackup = fmt.Errorf("the backup is %w", store.ErrDamaged)

// A State is all entries of a store at one point.
type State struct {
	// Items are the entries, by the keys of the engine, and Count how many there are.
	Items iter.Seq2[store.Item, error]
	Count uint64
	// Number is the last that was given out.
	Number uint64
}

// Write writes a backup to w, sealed with key when there is one. view calls its argument
// with the state, which does not change meanwhile. Entries that are more or fewer than the
// state counts are an error, which wraps [store.ErrDamaged].
func Write(ctx context.Context, w io.Writer, key []byte, view func(func(State) error) error, blobs store.Blobs) (store.Totals, error) {
	out, err := newWriter(w, key)
	if err == nil {
		err = view(func(now State) error { return out.items(ctx, now) })
	}
	if err == nil {
		err = out.blobs(ctx, blobs)
	}
	if err == nil {
		err = out.end()
	}
	if err != nil {
		return store.Totals{}, err
	}
	return out.totals, nil
}

// frames is what writing and reading have in common.
type frames struct {
	aead   cipher.AEAD // nil without a key
	header []byte
	count  uint64
	sum    hash.Hash // of the records
	totals store.Totals
}

// newFrames derives the backup's own key: a nonce is never used twice with it.
func newFrames(key, header []byte) (*frames, error) {
	f := &frames{header: header, sum: sha256.New()}
	if len(key) == 0 {
		return f, nil
	}
	derived, err := hkdf.Key(sha256.New, key, header[headerSize-16:], "skillet store backup", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return nil, err
	}
	f.aead, err = cipher.NewGCM(block)
	return f, err
}

func (f *frames) nonce(last bool) []byte {
	n := make([]byte, f.aead.NonceSize())
	binary.BigEndian.PutUint64(n, f.count)
	if last {
		n[len(n)-1] = 1
	}
	return n
}

type writer struct {
	*frames
	w     io.Writer
	frame []byte
}

func newWriter(w io.Writer, key []byte) (*writer, error) {
	header := append([]byte(magic), version, 0)
	if len(key) > 0 {
		header[len(header)-1] |= flagSealed
	}
	salt := make([]byte, 16)
	if _, err := rand.Read(salt); err != nil {
		return nil, err
	}
	header = append(header, salt...)
	f, err := newFrames(key, header)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(header)
	return &writer{frames: f, w: w}, err
}

func (b *writer) record(kind byte, key string, value []byte) error {
	r := append([]byte{kind}, make([]byte, 8)...)
	binary.BigEndian.PutUint32(r[1:], uint32(len(key)))
	binary.BigEndian.PutUint32(r[5:], uint32(len(value)))
	r = append(append(r, key...), value...)
	b.sum.Write(r)
	b.frame = append(b.frame, r...)
	if len(b.frame) < frameFill || kind == recordTotals {
		return nil
	}
	return b.flush(false)
}

// flush writes the frame.
func (b *writer) flush(last bool) error {
	body := b.frame
	if b.aead != nil {
		body = b.aead.Seal(nil, b.nonce(last), body, b.header)
	} else {
		body = binary.BigEndian.AppendUint32(body, crc32c(body))
	}
	n := uint32(len(body))
	if last {
		n |= lastFrame
	}
	b.frame, b.count = nil, b.count+1
	_, err := b.w.Write(append(binary.BigEndian.AppendUint32(nil, n), body...))
	return err
}

func (b *writer) items(ctx context.Context, from State) error {
	b.totals.Number = from.Number
	for it, err := range from.Items {
		if err := errors.Join(ctx.Err(), err); err != nil {
			return err
		}
		if err := b.record(recordItem, it.Key, it.Value); err != nil {
			return err
		}
		b.totals.Entries++
	}
	if uint64(b.totals.Entries) != from.Count {
		return fmt.Errorf("%w: %d entries were written, %d are there", store.ErrDamaged, from.Count, b.totals.Entries)
	}
	return nil
}

func (b *writer) blobs(ctx context.Context, from store.Blobs) error {
	digests, err := from.List(ctx)
	if err != nil {
		return err
	}
	for _, d := range digests {
		content, err := from.Get(ctx, d)
		if err != nil {
			return err
		}
		if err := b.blob(d, content); err != nil {
			return err
		}
		b.totals.Blobs++
	}
	return nil
}

func (b *writer) blob(digest string, content []byte) error {
	err := b.record(recordBlob, digest, binary.BigEndian.AppendUint64(nil, uint64(len(content))))
	for err == nil && len(content) > 0 {
		n := min(blobChunk, len(content))
		err = b.record(recordChunk, "", content[:n])
		content = content[n:]
	}
	return err
}

func (b *writer) end() error {
	b.totals.SHA256 = b.sum.Sum(nil)
	totals, err := json.Marshal(b.totals)
	if err != nil {
		return err
	}
	if err := b.record(recordTotals, "", totals); err != nil {
		return err
	}
	return b.flush(true)
}

// A Sink takes what a backup has, as it is read.
type Sink interface {
	Item(key string, value []byte) error
	Blob(digest string, content []byte) error
}

// Read reads a whole backup. What it gives to the sink is only worth
// something when it returns no error.
func Read(r io.Reader, key []byte, to Sink) (store.Totals, error) {
	in, err := newReader(r, key)
	if err != nil {
		return store.Totals{}, err
	}
	for last := false; !last; {
		var body []byte
		if body, last, err = in.next(); err == nil {
			err = in.records(body, last, to)
		}
		if err != nil {
			return store.Totals{}, err
		}
	}
	if _, err := in.r.ReadByte(); err != io.EOF {
		return store.Totals{}, fmt.Errorf("%w: there is more behind its end", ErrBackup)
	}
	return in.totals, in.finish()
}

type reader struct {
	*frames
	r       *bufio.Reader
	want    store.Totals // of the backup's last record
	digest  string       // of the blob that is being read; "" for none
	size    uint64
	content []byte
}

func newReader(r io.Reader, key []byte) (*reader, error) {
	header := make([]byte, headerSize)
	if _, err := io.ReadFull(r, header); err != nil {
		return nil, fmt.Errorf("%w: it is too short", ErrBackup)
	}
	made, flags := header[len(magic)], header[len(magic)+1]
	switch {
	case string(header[:len(magic)]) != magic:
		return nil, fmt.Errorf("%w: it is not a backup of a store", ErrBackup)
	case made != version:
		return nil, fmt.Errorf("the backup has version %d, this version of skillet reads %d: use a newer one", made, version)
	case flags&^flagSealed != 0:
		return nil, fmt.Errorf("%w: its header is altered", ErrBackup)
	case flags&flagSealed == 0 && len(key) > 0:
		return nil, fmt.Errorf("%w: the backup was made without one", store.ErrKey)
	case flags&flagSealed != 0 && len(key) == 0:
		return nil, fmt.Errorf("%w: the backup was made with one, and none was given", store.ErrKey)
	}
	f, err := newFrames(key, header)
	return &reader{frames: f, r: bufio.NewReader(r)}, err
}

// next returns the content of the next frame.
func (b *reader) next() (body []byte, last bool, err error) {
	var size [4]byte
	if _, err := io.ReadFull(b.r, size[:]); err != nil {
		return nil, false, b.short(err)
	}
	n := binary.BigEndian.Uint32(size[:])
	last, n = n&lastFrame != 0, n&^lastFrame
	if n > maxFrame || n < 4 {
		return nil, false, fmt.Errorf("%w: a frame claims %d bytes", ErrBackup, n)
	}
	body = make([]byte, n)
	if _, err := io.ReadFull(b.r, body); err != nil {
		return nil, false, b.short(err)
	}
	body, err = b.unseal(body, last)
	b.count++
	return body, last, err
}

func (b *reader) short(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: its end is missing", ErrBackup)
	}
	return err
}

func (b *reader) unseal(body []byte, last bool) ([]byte, error) {
	if b.aead == nil {
		plain, sum := body[:len(body)-4], body[len(body)-4:]
		if crc32c(plain) != binary.BigEndian.Uint32(sum) {
			return nil, fmt.Errorf("%w: frame %d does not match its checksum", ErrBackup, b.count)
		}
		return plain, nil
	}
	plain, err := b.aead.Open(nil, b.nonce(last), body, b.header)
	if err != nil {
		return nil, fmt.Errorf("%w at frame %d, or %w", ErrBackup, b.count, store.ErrKey)
	}
	return plain, nil
}

// records takes a frame apart. Totals end the backup, and only they.
func (b *reader) records(body []byte, last bool, to Sink) error {
	for len(body) > 0 {
		kind, key, value, n, err := parseRecord(body)
		if err != nil {
			return err
		}
		if kind == recordTotals {
			if !last || n != len(body) {
				return fmt.Errorf("%w: there is more behind its totals", ErrBackup)
			}
			return json.Unmarshal(value, &b.want)
		}
		b.sum.Write(body[:n])
		if err := b.take(kind, key, value, to); err != nil {
			return err
		}
		body = body[n:]
	}
	if last {
		return fmt.Errorf("%w: its totals are missing", ErrBackup)
	}
	return nil
}

func parseRecord(b []byte) (kind byte, key string, value []byte, size int, err error) {
	if len(b) < 9 {
		return 0, "", nil, 0, fmt.Errorf("%w: a record is torn", ErrBackup)
	}
	k, v := uint64(binary.BigEndian.Uint32(b[1:])), uint64(binary.BigEndian.Uint32(b[5:]))
	if k+v > uint64(len(b)-9) {
		return 0, "", nil, 0, fmt.Errorf("%w: a record is torn", ErrBackup)
	}
	return b[0], string(b[9 : 9+k]), b[9+k : 9+k+v], int(9 + k + v), nil
}

func (b *reader) take(kind byte, key string, value []byte, to Sink) error {
	if b.digest != "" && kind != recordChunk {
		return fmt.Errorf("%w: blob %s is not whole", ErrBackup, b.digest)
	}
	switch kind {
	case recordItem:
		b.totals.Entries++
		return to.Item(key, value)
	case recordBlob:
		if len(value) != 8 || key == "" || binary.BigEndian.Uint64(value) > store.MaxBlob {
			return fmt.Errorf("%w: blob %q is impossible", ErrBackup, key)
		}
		b.digest, b.size, b.content = key, binary.BigEndian.Uint64(value), nil
	case recordChunk:
		b.content = append(b.content, value...)
		if b.digest == "" || uint64(len(b.content)) > b.size || len(value) == 0 {
			return fmt.Errorf("%w: a part of a blob is out of place", ErrBackup)
		}
	default:
		return fmt.Errorf("%w: a record of kind %q", ErrBackup, kind)
	}
	if uint64(len(b.content)) < b.size {
		return nil
	}
	digest := b.digest
	b.digest, b.totals.Blobs = "", b.totals.Blobs+1
	return to.Blob(digest, b.content)
}

// finish compares what was read with the totals.
func (b *reader) finish() error {
	b.totals.Number, b.totals.SHA256 = b.want.Number, b.sum.Sum(nil)
	same := b.totals.Entries == b.want.Entries && b.totals.Blobs == b.want.Blobs && string(b.totals.SHA256) == string(b.want.SHA256)
	if !same || b.digest != "" {
		return fmt.Errorf("%w: it does not have what its totals say", ErrBackup)
	}
	return nil
}

// Restore calls fill to make a store from a backup in a directory beside dir, and renames
// it to dir when it is complete. A directory that has anything in it is refused: fs.ErrExist.
func Restore(dir string, fill func(part string) (store.Totals, error)) (store.Totals, error) {
	t, err := restore(dir, fill)
	if err != nil {
		return store.Totals{}, fmt.Errorf("restore store %s: %w", dir, err)
	}
	return t, nil
}

func restore(dir string, fill func(part string) (store.Totals, error)) (store.Totals, error) {
	found, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return store.Totals{}, err
	}
	if len(found) > 0 {
		return store.Totals{}, fmt.Errorf("the directory is not empty, move it away first: %w", fs.ErrExist)
	}
	part := dir + ".restore"
	if err := os.RemoveAll(part); err != nil {
		return store.Totals{}, err
	}
	t, err := fill(part)
	if err == nil {
		err = replaceEmpty(dir, part)
	}
	return t, errors.Join(err, os.RemoveAll(part))
}

// replaceEmpty gives part the name of dir, which is empty or not there.
func replaceEmpty(dir, part string) error {
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(part, dir)
}

// CheckItem refuses an entry that no store can have written, with [ErrBackup].
func CheckItem(key string, value []byte) error {
	if key == "" || len(key) > 8*store.MaxKey || len(value) > store.MaxValue+4*store.MaxKey {
		return fmt.Errorf("%w: an entry is larger than any that was written", ErrBackup)
	}
	return nil
}

func crc32c(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }
