package sandbox

import (
	"bytes"
	"compress/flate"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/skillet-run/skillet/host/engine/sandbox/codecache"
)

// A saved session is: magic, seal (32 bytes), then compressed with DEFLATE, all
// numbers little-endian and of 64 bits but for the pages' of 32: the module's
// digest (32 bytes), the snapshot's (32 bytes), the size of memory in bytes,
// time passed in nanoseconds, random bytes drawn, the number of globals, the
// globals, the number of pages, their numbers, their contents of 4 KiB each.
// The seal is HMAC-SHA-256 with Options.CacheKey, or SHA-256 without one, over
// a domain text and what follows the seal.
const (
	sessionMagic  = "skillet session 1\n"
	sessionDomain = "skillet saved session\x00"
	sessionHeader = len(sessionMagic) + sha256.Size
)

// digest is a SHA-256.
type digest [sha256.Size]byte

// String returns "sha256:<64 hex>".
func (d digest) String() string { return "sha256:" + hex.EncodeToString(d[:]) }

// digest names the snapshot by all that instances get from it.
func (s *snapshot) digest() digest {
	s.sumOnce.Do(func() {
		h := sha256.New()
		_ = binary.Write(h, binary.LittleEndian, s.size())
		_ = binary.Write(h, binary.LittleEndian, s.globals)
		h.Write(s.image.bytes)
		h.Sum(s.sum[:0])
	})
	return s.sum
}

// seal binds bytes to what they are for.
func (r *Runtime) seal(domain string, b []byte) []byte {
	h := codecache.NewSeal(r.key)
	io.WriteString(h, domain)
	h.Write(b)
	return h.Sum(nil)
}

// Save returns the session as it is after its last call, for [Module.RestoreSession].
// It holds the guest's memory as it is: keep it as safe as what was given to
// the guest.
func (s *Session) Save() ([]byte, error) {
	packed, err := s.Pack()
	if err != nil {
		return nil, err
	}
	return s.module.runtime.sealSession(packed), nil
}

// sealSession makes a saved session of a packed one.
func (r *Runtime) sealSession(packed []byte) []byte {
	return slices.Concat([]byte(sessionMagic), r.seal(sessionDomain, packed), packed)
}

// Pack is Save without the seal, for the process that has the key: see
// [Prepared.SealSession].
func (s *Session) Pack() ([]byte, error) {
	<-s.turn
	defer func() { s.turn <- struct{}{} }()
	var packed bytes.Buffer
	z, err := flate.NewWriter(&packed, flate.BestSpeed)
	if err == nil {
		err = s.write(z)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("save session: %w", err)
	}
	return packed.Bytes(), nil
}

// write writes what is compressed. A session without calls has no pages, and no
// memory.
func (s *Session) write(w io.Writer) error {
	st := s.state
	if st == nil {
		st = &sessionState{}
	}
	for _, part := range []any{
		s.module.sum, st.base, st.size, int64(st.mark.Elapsed), st.mark.Random,
		uint64(len(st.globals)), st.globals, uint64(len(st.pages)), st.pages, st.data,
	} {
		if err := binary.Write(w, binary.LittleEndian, part); err != nil {
			return err
		}
	}
	return nil
}

// RestoreSession continues a session that was saved, perhaps by a process that
// is gone. Errors: [ErrSessionDamaged], and [ErrSession] for a session of
// another module.
func (m *Module) RestoreSession(saved []byte) (*Session, error) {
	packed, err := m.runtime.unsealSession(saved)
	if err != nil {
		return nil, fmt.Errorf("restore session: %w", err)
	}
	return m.UnpackSession(packed)
}

// UnpackSession continues a session that [Session.Pack] has returned. Errors: those of
// [Module.RestoreSession].
func (m *Module) UnpackSession(packed []byte) (*Session, error) {
	s, err := m.OpenSession()
	if err != nil || len(packed) == 0 { // no call was made in it
		return s, err
	}
	if s.state, err = m.unpackSession(packed); err != nil {
		return nil, fmt.Errorf("restore session: %w", err)
	}
	return s, nil
}

// unsealSession returns what is packed in a saved session of this home.
func (r *Runtime) unsealSession(saved []byte) ([]byte, error) {
	if len(saved) < sessionHeader || string(saved[:len(sessionMagic)]) != sessionMagic {
		return nil, ErrSessionDamaged
	}
	packed := saved[sessionHeader:]
	if !hmac.Equal(saved[len(sessionMagic):sessionHeader], r.seal(sessionDomain, packed)) {
		return nil, ErrSessionDamaged
	}
	return packed, nil
}

// HasSessions returns the error that [Module.OpenSession] would return.
func (p *Prepared) HasSessions() error {
	_, err := p.module.OpenSession()
	return err
}

// SealSession makes of what [Session.Pack] has returned in another process what
// [Session.Save] returns.
func (p *Prepared) SealSession(packed []byte) []byte { return p.module.runtime.sealSession(packed) }

// UnsealSession is the way back. The error is [ErrSessionDamaged].
func (p *Prepared) UnsealSession(saved []byte) ([]byte, error) {
	packed, err := p.module.runtime.unsealSession(saved)
	if err != nil {
		return nil, fmt.Errorf("restore session: %w", err)
	}
	return packed, nil
}

// unpackSession reads what is compressed. It allocates no more than a session
// may hold, whatever the bytes say.
func (m *Module) unpackSession(packed []byte) (*sessionState, error) {
	r := sessionReader{r: flate.NewReader(bytes.NewReader(packed))}
	var module digest
	s := &sessionState{}
	r.read(&module)
	if r.err == nil && module != m.sum {
		return nil, fmt.Errorf("%w: it is of another module", ErrSession)
	}
	r.read(&s.base)
	s.size = r.number(uint64(m.maxPages) * pageBytes)
	s.mark.Elapsed = time.Duration(r.number(1 << 62))
	s.mark.Random = r.number(1 << 62)
	s.globals = make([]uint64, r.number(uint64(len(m.globals))))
	r.read(s.globals)
	s.pages = make([]uint32, r.number(min(s.size, MaxSessionBytes)/hostPage))
	r.read(s.pages)
	for i, p := range s.pages {
		if uint64(p) >= s.size/hostPage || i > 0 && p <= s.pages[i-1] {
			return nil, ErrSessionDamaged
		}
	}
	if r.err == nil {
		s.data = make([]byte, len(s.pages)*hostPage)
	}
	r.read(s.data)
	r.end()
	switch {
	case r.err != nil:
		return nil, fmt.Errorf("%w: %w", ErrSessionDamaged, r.err)
	case s.base == digest{}:
		return nil, nil // saved before its first call
	case len(s.globals) != len(m.globals) || s.size%pageBytes != 0:
		return nil, ErrSessionDamaged
	}
	return s, nil
}

// sessionReader reads numbers until the first error.
type sessionReader struct {
	r   io.Reader
	err error
}

func (r *sessionReader) read(to any) {
	if r.err == nil {
		r.err = binary.Read(r.r, binary.LittleEndian, to)
	}
}

// number reads one that must not be above most. It is 0 after an error.
func (r *sessionReader) number(most uint64) (n uint64) {
	r.read(&n)
	if n > most {
		r.err = fmt.Errorf("%d is above %d", n, most)
	}
	if r.err != nil {
		return 0
	}
	return n
}

// end makes sure that nothing follows.
func (r *sessionReader) end() {
	if n, _ := r.r.Read(make([]byte, 1)); r.err == nil && n > 0 {
		r.err = fmt.Errorf("something follows the last page")
	}
}
