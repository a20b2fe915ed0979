package filestore

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/base/store/atomicfile"
)

// read makes the state of a whole file. What a process that died left behind the last
// frame is not damage: see the package comment.
func (p *storeDir) read(b []byte) (*state, error) {
	h, err := decodeHeads(b)
	if err != nil {
		return nil, p.damage(err, "%v", err)
	}
	if err := p.check(h); err != nil {
		return nil, err
	}
	c, err := newCodec(h, p.options.Key)
	if err != nil {
		return nil, err
	}
	s := newState(0)
	s.commits, s.end = h.First-1, bodyStart
	return s, p.follow(s, c, h, b[bodyStart:])
}

// follow brings a state to what comes in the file behind what it has.
func (p *storeDir) follow(s *state, c *codec, h head, b []byte) error {
	for len(b) > 0 {
		t, err := c.read(b)
		if err == nil && t.commit != s.commits+1 {
			err = fmt.Errorf("transaction %d follows number %d", t.commit, s.commits)
		}
		if err == nil && t.number < s.number {
			err = fmt.Errorf("transaction %d gives out number %d again", t.commit, t.number)
		}
		if err != nil {
			if s.commits >= h.Commits && errors.Is(err, errFrame) && !c.anyIn(b[1:]) {
				return nil // what was not acknowledged
			}
			return p.damage(err, "the transaction at byte %d: %v", s.end, err)
		}
		s.apply(t.ops)
		s.commits, s.number, s.end, b = t.commit, t.number, s.end+t.size, b[t.size:]
	}
	if s.commits < h.Commits {
		return p.damage(nil, "%d transactions were acknowledged, the last one that is there is number %d", h.Commits, s.commits)
	}
	return nil
}

// anyIn reports whether there is a whole frame somewhere.
func (c *codec) anyIn(b []byte) bool {
	for {
		i := bytes.Index(b, []byte(frameMagic))
		if i < 0 {
			return false
		}
		if _, err := c.read(b[i:]); err == nil {
			return true
		}
		b = b[i+1:]
	}
}

// salvage reads every frame that is whole, in a file that may be damaged.
func (p *storeDir) salvage(b []byte) (*store.Remains, error) {
	s, err := p.read(b)
	if err == nil {
		n := len(s.keys)
		return &store.Remains{SalvageReport: store.SalvageReport{Entries: n, Expected: uint64(n), Whole: true}, Items: s.items(), Number: s.number}, nil
	}
	if !errors.Is(err, store.ErrDamaged) {
		return nil, err
	}
	var d *store.DamageError
	errors.As(err, &d)
	r := &store.Remains{SalvageReport: store.SalvageReport{Lost: []string{d.What}}}
	h, err := decodeHeads(b)
	if h.Magic == "" { // without its salt no frame can be told from others
		return nil, p.damage(err, "%v", err)
	}
	if err := p.check(h); err != nil {
		return nil, err
	}
	c, err := newCodec(h, p.options.Key)
	if err != nil {
		return nil, err
	}
	s = newState(0)
	for b = b[min(len(b), bodyStart):]; len(b) > 0; {
		t, err := c.read(b)
		if err != nil {
			i := bytes.Index(b[1:], []byte(frameMagic))
			if i < 0 {
				break
			}
			b = b[1+i:]
			continue
		}
		s.apply(t.ops)
		s.number, b = max(s.number, t.number), b[t.size:]
	}
	items, number, err := reindexed(s)
	r.Items, r.Number, r.Entries = items, number, len(items)
	return r, err
}

// reindexed is a state of which a part is lost, with the keys made anew by which queues
// find their jobs.
func reindexed(s *state) ([]store.Item, uint64, error) {
	if err := store.Reindex(&tx{state: s}); err != nil {
		return nil, 0, err
	}
	items, number := s.items(), s.number
	for _, it := range items {
		number = max(number, store.HighestNumber(it))
	}
	return items, number, nil
}

// frameFill is about how much a frame has of a file that is written anew.
const frameFill = 1 << 20

// rewrite writes a file that has the state and nothing else, in place of the one there
// is. It returns the new one, open for writing, and sets where the state ends in it.
func (p *storeDir) rewrite(s *state) (*os.File, error) {
	h, err := p.newHead(s.commits + 1)
	if err != nil {
		return nil, err
	}
	c, err := newCodec(h, p.options.Key)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(p.path(nextName), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	end, commits, err := writeState(f, h, c, s)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = os.Rename(p.path(nextName), p.path(logName))
	}
	if err == nil {
		err = atomicfile.SyncDir(p.dir)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close(), os.RemoveAll(p.path(nextName)))
	}
	s.end, s.commits = end, commits
	return f, nil
}

// writeState writes a head and frames that end with the transaction that is next.
func writeState(f *os.File, h head, c *codec, s *state) (end int64, commits uint64, err error) {
	end, commits = bodyStart, s.commits
	write := func(ops []op) error {
		commits++
		b, err := c.frame(commits, s.number, ops)
		if err == nil {
			_, err = f.WriteAt(b, end)
		}
		end += int64(len(b))
		return err
	}
	var ops []op
	size := 0
	for _, k := range s.keys {
		v := s.entries[k]
		ops, size = append(ops, op{k, append([]byte{}, v...)}), size+len(k)+len(v)
		if size < frameFill {
			continue
		}
		if err := write(ops); err != nil {
			return 0, 0, err
		}
		ops, size = nil, 0
	}
	if err := write(ops); err != nil {
		return 0, 0, err
	}
	h.Commits = commits
	b, err := h.encode()
	if err == nil {
		_, err = f.WriteAt(append(b, b...), 0)
	}
	return end, commits, err
}

// Reading without the lock can see half of what another process writes. Bytes that stay
// the same over headPause are what is on the disk.
const (
	headPause = 100 * time.Microsecond
	headTries = 100
)

// changes is a number that is another after each transaction of any process.
func (p *storeDir) changes() (uint64, error) {
	var last []byte
	for range headTries {
		b, err := readHeadBytes(p.path(logName))
		if errors.Is(err, fs.ErrNotExist) {
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		h, err := decodeHead(b)
		if err == nil {
			return h.Commits, nil
		}
		if bytes.Equal(b, last) {
			return 0, p.damage(err, "%v", err)
		}
		last = b
		time.Sleep(headPause)
	}
	return 0, fmt.Errorf("the head of %s kept changing", logName)
}

func readHeadBytes(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, headSize)
	n, err := f.ReadAt(b, 0)
	if n < headSize && err != nil {
		return b[:n], nil
	}
	return b, nil
}
