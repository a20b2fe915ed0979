package filestore

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/skillet-run/skillet/host/base/store"
)

// The parts of the file; see the package comment.
const (
	formatVersion = 1
	headSize      = 512
	bodyStart     = 2 * headSize // there are two heads
	frameMagic    = "SKTX"
	frameHeader   = 28
	// maxBody is the most that a transaction may have, in bytes.
	maxBody = 256 << 20
	opSet   = 's'
	opGone  = 'd'
)

// head is what the file begins with.
type head struct {
	Magic   string `json:"skillet_store"`
	Format  int    `json:"format"`
	Key     string `json:"key"`   // fingerprint of the key; "" for none
	Salt    string `json:"salt"`  // 16 bytes, hexadecimal; another in each file
	First   uint64 `json:"first"` // number of the first transaction in the file
	Commits uint64 `json:"commits"`
	Sum     uint32 `json:"sum"` // CRC-32C of this object with a sum of 0
}

const headMagic = "file"

func (p *storeDir) newHead(first uint64) (head, error) {
	salt := make([]byte, 16)
	if _, err := rand.Read(salt); err != nil {
		return head{}, err
	}
	return head{Magic: headMagic, Format: formatVersion, Key: p.fingerprint(), Salt: hex.EncodeToString(salt), First: first}, nil
}

// fingerprint identifies the key without giving anything of it away.
func (p *storeDir) fingerprint() string {
	if len(p.options.Key) == 0 {
		return ""
	}
	mac := hmac.New(sha256.New, p.options.Key)
	mac.Write([]byte("skillet store key"))
	return hex.EncodeToString(mac.Sum(nil)[:8])
}

func (h head) encode() ([]byte, error) {
	h.Sum = 0
	plain, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	h.Sum = crc32.Checksum(plain, crc32c)
	b, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	return append(append(b, bytes.Repeat([]byte(" "), headSize-1-len(b))...), '\n'), nil
}

var crc32c = crc32.MakeTable(crc32.Castagnoli)

// decodeHead accepts exactly what encode writes.
func decodeHead(b []byte) (head, error) {
	var h head
	if len(b) < headSize {
		return h, errors.New("it is shorter than its head")
	}
	b = b[:headSize]
	if err := json.Unmarshal(b, &h); err != nil {
		return head{}, fmt.Errorf("its head: %w", err)
	}
	salt, err := hex.DecodeString(h.Salt)
	if err != nil || len(salt) != 16 || h.Magic != headMagic || len(h.Key) > 64 {
		return head{}, errors.New("its head is not one that was written")
	}
	again, err := h.encode()
	if err != nil || !bytes.Equal(again, b) {
		return head{}, errors.New("its head does not match its checksum")
	}
	return h, nil
}

// decodeHeads reads both heads. When the first is damaged it returns the second with the
// error, which has all that the frames are read by.
func decodeHeads(b []byte) (head, error) {
	h, err := decodeHead(b)
	second, failed := decodeHead(b[min(len(b), headSize):])
	switch {
	case err != nil && failed != nil:
		return head{}, err
	case err != nil:
		return second, err
	case failed != nil:
		return h, fmt.Errorf("the copy of its head: %w", failed)
	case h.Salt != second.Salt || h.First != second.First || h.Key != second.Key:
		return h, errors.New("its heads are of two files")
	}
	return h, nil
}

// check refuses a file that this version, or the key, does not fit.
func (p *storeDir) check(h head) error {
	if h.Format > formatVersion {
		return fmt.Errorf("the store has format %d, this version of skillet knows %d: use a newer one", h.Format, formatVersion)
	}
	if h.Key == p.fingerprint() {
		return nil
	}
	switch {
	case h.Key == "":
		return fmt.Errorf("%w: it was made without one", store.ErrKey)
	case len(p.options.Key) == 0:
		return fmt.Errorf("%w: it was made with one, and none was given", store.ErrKey)
	}
	return fmt.Errorf("%w: it was made with another", store.ErrKey)
}

// codec writes and reads the frames of one file.
type codec struct {
	salt []byte
	aead cipher.AEAD // nil without a key
}

func newCodec(h head, key []byte) (*codec, error) {
	salt, err := hex.DecodeString(h.Salt)
	if err != nil || len(key) == 0 {
		return &codec{salt: salt}, err
	}
	derived, err := hkdf.Key(sha256.New, key, salt, "skillet-file-store", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	return &codec{salt, aead}, err
}

func (c *codec) sum(frame []byte) uint32 {
	s := crc32.Update(0, crc32c, c.salt)
	s = crc32.Update(s, crc32c, frame[:frameHeader-4])
	return crc32.Update(s, crc32c, frame[frameHeader:])
}

// frame makes a frame of a transaction.
func (c *codec) frame(commit, number uint64, ops []op) ([]byte, error) {
	body := encodeOps(ops)
	if len(body) > maxBody {
		return nil, fmt.Errorf("%w: a transaction of %d bytes", store.ErrTooLarge, len(body))
	}
	f := append([]byte(frameMagic), make([]byte, frameHeader-len(frameMagic))...)
	size := len(body)
	if c.aead != nil {
		size += c.aead.NonceSize() + c.aead.Overhead()
	}
	binary.BigEndian.PutUint32(f[4:], uint32(size))
	binary.BigEndian.PutUint64(f[8:], commit)
	binary.BigEndian.PutUint64(f[16:], number)
	if c.aead != nil {
		nonce := make([]byte, c.aead.NonceSize())
		if _, err := rand.Read(nonce); err != nil {
			return nil, err
		}
		body = c.aead.Seal(nonce, nonce, body, f[:frameHeader-4])
	}
	f = append(f, body...)
	binary.BigEndian.PutUint32(f[frameHeader-4:], c.sum(f))
	return f, nil
}

func encodeOps(ops []op) []byte {
	var b []byte
	for _, o := range ops {
		kind := byte(opSet)
		if o.value == nil {
			kind = opGone
		}
		b = append(b, kind)
		b = binary.BigEndian.AppendUint32(b, uint32(len(o.key)))
		b = binary.BigEndian.AppendUint32(b, uint32(len(o.value)))
		b = append(append(b, o.key...), o.value...)
	}
	return b
}

// A transaction is what a frame has.
type transaction struct {
	commit, number uint64
	ops            []op
	size           int64 // of its frame
}

var errFrame = errors.New("it is not whole")

// read reads the frame that b begins with.
func (c *codec) read(b []byte) (t transaction, err error) {
	if len(b) < frameHeader || string(b[:len(frameMagic)]) != frameMagic {
		return t, errFrame
	}
	n := int64(binary.BigEndian.Uint32(b[4:]))
	if n > maxBody+1024 || frameHeader+n > int64(len(b)) {
		return t, errFrame
	}
	f := b[:frameHeader+n]
	if c.sum(f) != binary.BigEndian.Uint32(f[frameHeader-4:]) {
		return t, errFrame
	}
	t = transaction{commit: binary.BigEndian.Uint64(f[8:]), number: binary.BigEndian.Uint64(f[16:]), size: int64(len(f))}
	body := f[frameHeader:]
	if c.aead != nil {
		if len(body) < c.aead.NonceSize() {
			return t, errFrame
		}
		if body, err = c.aead.Open(nil, body[:c.aead.NonceSize()], body[c.aead.NonceSize():], f[:frameHeader-4]); err != nil {
			return t, fmt.Errorf("%w: it cannot be decrypted", errFrame)
		}
	}
	t.ops, err = decodeOps(body)
	return t, err
}

func decodeOps(b []byte) (ops []op, err error) {
	for len(b) > 0 {
		if len(b) < 9 {
			return nil, errFrame
		}
		k, v := uint64(binary.BigEndian.Uint32(b[1:])), uint64(binary.BigEndian.Uint32(b[5:]))
		if k+v > uint64(len(b)-9) || b[0] != opSet && (b[0] != opGone || v > 0) {
			return nil, errFrame
		}
		o := op{key: string(b[9 : 9+k])}
		if b[0] == opSet {
			o.value = append([]byte{}, b[9+k:9+k+v]...)
		}
		ops, b = append(ops, o), b[9+k+v:]
	}
	return ops, nil
}
