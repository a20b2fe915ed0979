package badgerstore

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/base/store/atomicfile"
	"github.com/skillet-run/skillet/host/base/store/filelock"
	"github.com/skillet-run/skillet/host/base/store/space"
)

// storeDir is the directory of a store, open or not.
type storeDir struct {
	log        hclog.Logger
	dir        string
	options    Options
	space      space.Watch
	migrations []migration
	lasting    bool // the store stays open, so Badger merges tables in the background
}

func newStoreDir(log hclog.Logger, dir string, o Options) *storeDir {
	return hooks{}.storeDir(log, dir, o)
}

func (h hooks) storeDir(log hclog.Logger, dir string, o Options) *storeDir {
	if log == nil {
		log = hclog.NewNullLogger()
	}
	if o = o.OrDefault(); o.Blobs == "" {
		o.Blobs = filepath.Join(dir, "blobs")
	}
	if h.step == nil {
		h.step = migrations()
	}
	w := space.Watch{Log: log, Dir: dir, FreeBytes: o.FreeBytes, WarnBytes: o.WarnBytes, Free: h.free}
	return &storeDir{log: log, dir: dir, options: o, space: w, migrations: h.step}
}

func (p *storeDir) path(name string) string { return filepath.Join(p.dir, name) }

// Names in the directory of a store.
const (
	lockName = "LOCK"
	turnName = "TURN"
	headName = "HEAD"
	sealName = "SEAL"
	dbName   = "db"
	nextName = "db.next"
	oldName  = "db.old"
	keysName = "keys" // holds a copy of KEYREGISTRY, without which nothing encrypted can be read
)

func (p *storeDir) damage(cause error, format string, args ...any) error {
	return &store.DamageError{Dir: p.dir, What: fmt.Sprintf(format, args...), Cause: cause}
}

// lock begins all use of a store: it acquires LOCK. Who waits for it holds TURN, so that
// those who wait are served in order.
func (p *storeDir) lock(ctx context.Context, exclusive bool) (*filelock.Lock, error) {
	if err := p.options.CheckKey(); err != nil {
		return nil, err
	}
	begin, wait := time.Now(), p.options.LockWait
	turn, err := filelock.Acquire(ctx, p.path(turnName), wait)
	if err != nil {
		return nil, err
	}
	acquire := filelock.AcquireShared
	if exclusive {
		acquire = filelock.Acquire
	}
	l, err := acquire(ctx, p.path(lockName), max(0, wait-time.Since(begin)))
	return l, errors.Join(err, turn.Release())
}

// contended reports whether someone waits for the lock.
func (p *storeDir) contended() bool {
	turn, err := filelock.Acquire(context.Background(), p.path(turnName), 0)
	if err != nil {
		return errors.Is(err, filelock.ErrHeld)
	}
	return turn.Release() != nil
}

// head is what HEAD has.
type head struct {
	Format  int    `json:"format"`
	Commits uint64 `json:"commits"` // transactions that were acknowledged
	Key     string `json:"key"`     // fingerprint of the encryption key; "" for none
	Sum     uint32 `json:"sum"`     // CRC-32C of this object with a sum of 0
}

// headSize is the size of a disk's sector, which is written as a whole.
const headSize = 512

func crc32c(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

func (h head) encode() ([]byte, error) {
	h.Sum = 0
	plain, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	h.Sum = crc32c(plain)
	b, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	if len(b) >= headSize {
		return nil, fmt.Errorf("%s would have %d bytes", headName, len(b))
	}
	return append(append(b, bytes.Repeat([]byte(" "), headSize-1-len(b))...), '\n'), nil
}

// decodeHead accepts exactly what encode writes.
func decodeHead(b []byte) (head, error) {
	var h head
	if err := json.Unmarshal(b, &h); err != nil {
		return head{}, err
	}
	again, err := h.encode()
	if err != nil {
		return head{}, err
	}
	if !bytes.Equal(again, b) {
		return head{}, errors.New("it does not match its checksum")
	}
	return h, nil
}

// Reading without the lock can see half of what another process writes. Bytes
// that stay the same over headPause are what is on the disk.
const (
	headPause = 100 * time.Microsecond
	headTries = 100
)

// readHead returns fs.ErrNotExist when there is none.
func (p *storeDir) readHead() (head, error) {
	var last []byte
	for range headTries {
		b, err := os.ReadFile(p.path(headName))
		if err != nil {
			return head{}, err
		}
		h, err := decodeHead(b)
		if err == nil {
			return h, nil
		}
		if bytes.Equal(b, last) {
			return head{}, p.damage(err, "%s: %v", headName, err)
		}
		last = b
		time.Sleep(headPause)
	}
	return head{}, fmt.Errorf("%s changed during every one of many reads", headName)
}

// changes returns a number that changes after each transaction of any process.
func (p *storeDir) changes() (uint64, error) {
	h, err := p.readHead()
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	return h.Commits, err
}

// writeHead writes HEAD in place. It is not synced: a head that is older than
// the store is not damage, and a second sync per transaction would be too slow.
func (p *storeDir) writeHead(h head) error {
	b, err := h.encode()
	if err != nil {
		return err
	}
	f, err := os.OpenFile(p.path(headName), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(b, 0)
	return errors.Join(err, f.Close())
}

// makeHead writes the first HEAD, to the disk: it precedes the database.
func (p *storeDir) makeHead() error {
	if err := p.writeHead(p.firstHead()); err != nil {
		return err
	}
	return errors.Join(syncPath(p.path(headName)), syncPath(p.dir))
}

func (p *storeDir) firstHead() head { return head{Format: p.format(), Key: p.fingerprint()} }

// fingerprint identifies the key without giving anything of it away.
func (p *storeDir) fingerprint() string {
	if len(p.options.Key) == 0 {
		return ""
	}
	mac := hmac.New(sha256.New, p.options.Key)
	mac.Write([]byte("skillet store key"))
	return hex.EncodeToString(mac.Sum(nil)[:8])
}

func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// seal is what SEAL has: Badger's files as a clean close left them. It need not
// be synced nor written atomically: without a matching seal the store is
// examined as after a crash.
type seal struct {
	Format  int          `json:"format"`
	Commits uint64       `json:"commits"`
	Files   []sealedFile `json:"files"`
	Sum     uint32       `json:"sum"` // CRC-32C of this object with a sum of 0
}

// sealedFile is one file of a seal.
type sealedFile struct {
	Name     string    `json:"name"`
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"`
	CRC      uint32    `json:"crc32c"`
}

func (s seal) sum() (uint32, error) {
	s.Sum = 0
	b, err := json.Marshal(s)
	return crc32c(b), err
}

// readSeal returns the zero seal if SEAL is missing or damaged.
func (p *storeDir) readSeal() seal {
	b, err := os.ReadFile(p.path(sealName))
	if err != nil {
		return seal{}
	}
	var s seal
	if err := json.Unmarshal(b, &s); err != nil {
		return seal{}
	}
	if sum, err := s.sum(); err != nil || sum != s.Sum {
		return seal{}
	}
	return s
}

// writeSeal seals the files as they are. The checksums of tables, which never
// change, are taken over from the seal before, so that a change in
// between is detected.
func (p *storeDir) writeSeal(commits uint64) error {
	before := p.readSeal()
	files, err := listFiles(p.path(dbName))
	if err != nil {
		return err
	}
	s := seal{Format: p.format(), Commits: commits}
	for _, f := range files {
		i := slices.IndexFunc(before.Files, func(b sealedFile) bool { return isTable(b.Name) && b.like(f) })
		if i >= 0 {
			f.CRC = before.Files[i].CRC
		} else if f.CRC, err = fileCRC(p.path(filepath.Join(dbName, f.Name))); err != nil {
			return err
		}
		s.Files = append(s.Files, f)
	}
	if s.Sum, err = s.sum(); err != nil {
		return err
	}
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(p.path(sealName), b, 0o600), p.copyKeys())
}

// copyKeys keeps a copy of the keys that Badger encrypts with.
func (p *storeDir) copyKeys() error {
	if len(p.options.Key) == 0 {
		return nil
	}
	to := filepath.Join(p.path(keysName), badger.KeyRegistryFileName)
	keys, err := os.ReadFile(p.path(filepath.Join(dbName, badger.KeyRegistryFileName)))
	if err != nil {
		return err
	}
	if kept, err := os.ReadFile(to); err == nil && bytes.Equal(kept, keys) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	return atomicfile.Write(to, keys)
}

func isTable(name string) bool { return strings.HasSuffix(name, ".sst") }

// like compares what can be compared without reading.
func (f sealedFile) like(g sealedFile) bool {
	return f.Name == g.Name && f.Size == g.Size && f.Modified.Equal(g.Modified)
}

// listFiles lists a directory of Badger, without its lock, by name.
func listFiles(dir string) ([]sealedFile, error) {
	found, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var all []sealedFile
	for _, f := range found {
		if f.Name() == lockName {
			continue
		}
		info, err := f.Info()
		if err != nil {
			return nil, err
		}
		all = append(all, sealedFile{Name: f.Name(), Size: info.Size(), Modified: info.ModTime().UTC()})
	}
	return all, nil
}

func fileCRC(path string) (uint32, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	h := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	if _, err := io.Copy(h, f); err != nil {
		return 0, err
	}
	return h.Sum32(), nil
}

// compare compares Badger's files with the seal; read says whether to read
// them, or to look at sizes and times only.
func (p *storeDir) compare(s seal, read bool) ([]store.FileReport, error) {
	files, err := listFiles(p.path(dbName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var all []store.FileReport
	for _, was := range s.Files {
		if !slices.ContainsFunc(files, func(f sealedFile) bool { return f.Name == was.Name }) {
			all = append(all, store.FileReport{Name: was.Name, Size: was.Size, State: store.FileMissing})
		}
	}
	for _, f := range files {
		state, err := p.compareFile(s, f, read)
		if err != nil {
			return nil, err
		}
		all = append(all, store.FileReport{Name: f.Name, Size: f.Size, State: state})
	}
	return all, nil
}

func (p *storeDir) compareFile(s seal, f sealedFile, read bool) (store.FileState, error) {
	i := slices.IndexFunc(s.Files, func(was sealedFile) bool { return was.Name == f.Name })
	switch {
	case i < 0:
		return store.FileNew, nil
	case s.Files[i].Size != f.Size, !read && !s.Files[i].like(f):
		return store.FileChanged, nil
	case !read:
		return store.FileSealed, nil
	}
	crc, err := fileCRC(p.path(filepath.Join(dbName, f.Name)))
	if err != nil {
		return "", err
	}
	if crc != s.Files[i].CRC {
		return store.FileChanged, nil
	}
	return store.FileSealed, nil
}

// isClean reports whether all files are as a clean close left them.
func isClean(s seal, files []store.FileReport) bool {
	return s.Format > 0 && !slices.ContainsFunc(files, func(f store.FileReport) bool { return f.State != store.FileSealed })
}

func totalSize(files []store.FileReport) (n int64) {
	for _, f := range files {
		n += f.Size
	}
	return n
}
