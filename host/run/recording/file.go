package recording

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/skillet-run/skillet/host/engine/jail"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasi"
)

// Operations on files: those of a path, and those of what one of them opened.
const (
	opOpen      = "open"
	opStat      = "stat"
	opMkdir     = "mkdir"
	opRemove    = "remove"
	opRename    = "rename"
	opSetTimes  = "set_times"
	opReadlink  = "readlink"
	opFileStat  = "file_stat"
	opRead      = "read"
	opWrite     = "write"
	opAppend    = "append"
	opSetAppend = "set_append"
	opTruncate  = "truncate"
	opFileTimes = "file_set_times"
	opSync      = "sync"
	opList      = "list"
	opRewind    = "rewind"
	opClose     = "close"
)

// ofPath and ofFile are the operations there are.
var (
	ofPath = []string{opOpen, opStat, opMkdir, opRemove, opRename, opSetTimes, opReadlink}
	ofFile = []string{opFileStat, opRead, opWrite, opAppend, opSetAppend, opTruncate, opFileTimes, opSync, opList, opRewind, opClose}
)

// A File is one thing that WASI had done to a file, and what came of it. Closing
// one is kept only where it went wrong.
type File struct {
	FileAsk
	Result FileResult `json:"told"`
}

// A FileAsk is what was asked.
type FileAsk struct {
	Op   string `json:"op"`
	Path string `json:"path,omitempty"`
	To   string `json:"to,omitempty"`
	// Handle is which of the files that were opened is meant, from 1 in the order
	// they were opened in.
	Handle uint32 `json:"handle,omitempty"`
	// Flags say how: "read", "write", ... to open; "follow" of stat, "directory" of
	// remove, "on" of set_append.
	Flags  []string `json:"flags,omitempty"`
	Offset int64    `json:"offset,omitempty"`
	// Length is how many bytes were to be read or entries listed, or the size to
	// truncate to.
	Length int64 `json:"length,omitempty"`
	// Data is what was written.
	Data Bytes `json:"data,omitzero"`
	// Accessed and Modified are times in nanoseconds since 1970, null to leave
	// them alone.
	Accessed *int64 `json:"accessed,omitempty"`
	Modified *int64 `json:"modified,omitempty"`
}

// A FileResult is the outcome of a [File] operation.
type FileResult struct {
	// Errno is the error, such as "ENOENT"; empty for none.
	Errno string `json:"errno,omitempty"`
	// Directory says that what was opened is one.
	Directory bool  `json:"directory,omitempty"`
	Stat      *Stat `json:"stat,omitempty"`
	// Data is what was read, and N how many bytes were written, up to End.
	Data    Bytes      `json:"data,omitzero"`
	N       int64      `json:"n,omitempty"`
	End     int64      `json:"end,omitempty"`
	Text    string     `json:"text,omitempty"`
	Entries []DirEntry `json:"entries,omitempty"`
	// Quotas are those that stood in the way.
	Quotas []Quota `json:"quotas,omitempty"`
}

// A Stat describes a file, as package wasi has it.
type Stat struct {
	Dev      uint64 `json:"dev"`
	Ino      uint64 `json:"ino"`
	Type     uint8  `json:"type"`
	Nlink    uint64 `json:"nlink"`
	Size     uint64 `json:"size"`
	Accessed int64  `json:"accessed"`
	Modified int64  `json:"modified"`
	Changed  int64  `json:"changed"`
}

// A DirEntry is an entry of a directory.
type DirEntry struct {
	Name string `json:"name"`
	Ino  uint64 `json:"ino,omitempty"`
	Type uint8  `json:"type"`
}

// A Quota is one of package jail.
type Quota struct {
	What  string `json:"what"`
	Limit int64  `json:"limit"`
}

// check refuses what no recorder writes.
func (f *File) check(opened *uint32) error {
	switch {
	case !slices.Contains(ofPath, f.Op) && !slices.Contains(ofFile, f.Op):
		return fmt.Errorf("unknown operation %.20q on files", f.Op)
	case slices.Contains(ofFile, f.Op) && (f.Handle == 0 || f.Handle > *opened):
		return errors.New("it is about a file that was not opened")
	case len(f.Path) > 4*maxName || len(f.To) > 4*maxName || len(f.Flags) > 16 || len(f.Result.Quotas) > 16:
		return errors.New("a path or list is longer than a recorder writes")
	case f.Result.Errno != "" && errnoOf(f.Result.Errno) == wasi.Success:
		return fmt.Errorf("unknown error %.20q", f.Result.Errno)
	case f.Op == opRead && int64(len(f.Result.Data)) > f.Length, f.Op == opList && int64(len(f.Result.Entries)) > f.Length:
		return errors.New("more was read than asked for")
	case f.Result.N < 0 || f.Result.N > int64(len(f.Data)):
		return errors.New("more was written than asked for")
	}
	if f.Op == opOpen && f.Result.Errno == "" {
		*opened++
	}
	return nil
}

func (f *File) size() int {
	n := len(f.Path) + len(f.To) + len(f.Data) + len(f.Result.Data) + len(f.Result.Text)
	for _, e := range f.Result.Entries {
		n += 32 + len(e.Name)
	}
	return n
}

// openNames are the words for the flags of opening, by their bits.
var openNames = [...]string{"read", "write", "append", "create", "exclusive", "truncate", "directory", "nofollow"}

func openWords(how wasi.OpenFlags) (words []string) {
	for i, name := range openNames {
		if how&(1<<i) != 0 {
			words = append(words, name)
		}
	}
	return words
}

// flagged is a list of one word, or none.
func flagged(on bool, word string) []string {
	if on {
		return []string{word}
	}
	return nil
}

// maxErrno is the last number there is.
const maxErrno = wasi.ENOTCAPABLE

// errnoOf is the error of a name, Success for none.
func errnoOf(name string) wasi.Errno {
	for e := wasi.Success + 1; e <= maxErrno; e++ {
		if e.String() == name {
			return e
		}
	}
	return wasi.Success
}

func errnoName(e wasi.Errno) string {
	if e == wasi.Success {
		return ""
	}
	return e.String()
}

func statOf(s wasi.Stat) *Stat {
	return &Stat{s.Dev, s.Ino, uint8(s.Type), s.Nlink, s.Size, s.Atime, s.Mtime, s.Ctime}
}

func (s *Stat) wasi() wasi.Stat {
	if s == nil {
		return wasi.Stat{}
	}
	return wasi.Stat{
		Dev: s.Dev, Ino: s.Ino, Type: wasi.Filetype(s.Type), Nlink: s.Nlink, Size: s.Size,
		Atime: s.Accessed, Mtime: s.Modified, Ctime: s.Changed,
	}
}

func entriesOf(all []wasi.Dirent) (out []DirEntry) {
	for _, e := range all {
		out = append(out, DirEntry{e.Name, e.Ino, uint8(e.Type)})
	}
	return out
}

func wasiEntries(all []DirEntry) (out []wasi.Dirent) {
	for _, e := range all {
		out = append(out, wasi.Dirent{Name: e.Name, Ino: e.Ino, Type: wasi.Filetype(e.Type)})
	}
	return out
}

// nanos is a time, or nil for the zero time.
func nanos(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	n := t.UnixNano()
	return &n
}

func quotaOf(q *jail.QuotaError) Quota { return Quota{q.What, q.Limit} }
