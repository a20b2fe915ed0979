package session

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/skillet-run/skillet/manifests"
)

// The file of a session is: magic, seal (32 bytes), the length of the header (4
// bytes, big-endian), the header as JSON, and the state. The seal is HMAC-SHA-256
// over a domain text and the header, which has the digest of the state.
const (
	magic     = "skillet named session 1\n"
	domain    = "skillet named session\x00"
	preamble  = len(magic) + sha256.Size + 4
	maxHeader = 16 << 10
)

// header is what is known of a session without its state. Times are in Unix
// milliseconds.
type header struct {
	Namespace string           `json:"place"`
	Owner     string           `json:"owner"`
	Name      string           `json:"name"`
	Version   string           `json:"version"`
	Digest    manifests.Digest `json:"digest"`
	Tool      string           `json:"tool,omitempty"` // of the last call
	Calls     int              `json:"calls"`
	Created   int64            `json:"created"`
	Used      int64            `json:"used"`
	Timeout   int64            `json:"timeout_ms"`
	Discard   bool             `json:"discard,omitempty"`
	State     manifests.Digest `json:"state,omitempty"` // empty: none yet
	Bytes     int64            `json:"bytes"`           // of the state
	// Number rises with each state, also from one session of the name to the next; 0
	// in files from before there were numbers.
	Number uint64 `json:"number,omitempty"`
}

func (h header) key() Key { return Key{h.Namespace, h.Owner, h.Name} }

// ends is when the session ends unless it is called.
func (h header) ends() time.Time { return time.UnixMilli(h.Used + h.Timeout) }

func (h header) ended(now time.Time) bool { return !now.Before(h.ends()) }

// seal binds a header to the home.
func (s *Store) seal(head []byte) []byte {
	m := hmac.New(sha256.New, s.key)
	io.WriteString(m, domain)
	m.Write(head)
	return m.Sum(nil)
}

// pack makes the file of a session.
func (s *Store) pack(h header, state []byte) ([]byte, error) {
	head, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	if len(head) > maxHeader {
		return nil, fmt.Errorf("session %s: what is known of it takes %d bytes", h.key(), len(head))
	}
	b := make([]byte, 0, preamble+len(head)+len(state))
	b = append(append(b, magic...), s.seal(head)...)
	b = binary.BigEndian.AppendUint32(b, uint32(len(head)))
	return append(append(b, head...), state...), nil
}

// readHeader reads the beginning of a file, up to the state. The error is
// [ErrDamaged] for anything but what was written.
func (s *Store) readHeader(r io.Reader) (h header, err error) {
	var start [preamble]byte
	if _, err := io.ReadFull(r, start[:]); err != nil {
		return h, cut(err)
	}
	n := binary.BigEndian.Uint32(start[preamble-4:])
	if string(start[:len(magic)]) != magic || n > maxHeader {
		return h, ErrDamaged
	}
	head := make([]byte, n)
	if _, err := io.ReadFull(r, head); err != nil {
		return h, cut(err)
	}
	if !hmac.Equal(start[len(magic):preamble-4], s.seal(head)) || json.Unmarshal(head, &h) != nil {
		return h, ErrDamaged
	}
	return h, nil
}

// cut says that a file which ends too soon is damaged.
func cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrDamaged
	}
	return err
}

// read reads a session's header, and its state if that is wanted. found is false
// when there is no session.
func (s *Store) read(ctx context.Context, path string, wanted bool) (h header, state []byte, found bool, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return h, nil, false, nil
	}
	if err != nil {
		return h, nil, false, err
	}
	defer f.Close()
	h, err = s.readHeader(f)
	if base, bad := h.key().base(s.dir); err == nil && (bad != nil || base+".session" != path) { // of another session
		err = ErrDamaged
	}
	if err == nil {
		err = s.newest(ctx, h)
	}
	if err != nil || !wanted {
		return h, nil, true, err
	}
	state, err = readState(f, h)
	return h, state, true, err
}

// readState reads what is behind the header. No more is read than there should
// be, whatever the file holds.
func readState(r io.Reader, h header) ([]byte, error) {
	var b bytes.Buffer
	if _, err := io.Copy(&b, io.LimitReader(r, h.Bytes+1)); err != nil {
		return nil, err
	}
	state := b.Bytes()
	if int64(len(state)) != h.Bytes || h.State != stateDigest(state) {
		return nil, ErrDamaged
	}
	return state, nil
}

func stateDigest(state []byte) manifests.Digest {
	if len(state) == 0 {
		return ""
	}
	return manifests.DigestOf(state)
}
