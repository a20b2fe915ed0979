package recording

import (
	"bytes"
	"cmp"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasi"
)

// disk is what a recorded call saw of files, for a guest that reads them in
// another order or in other parts. What it does not know is answered with
// [wasi.NotRecorded] and noted.
type disk struct {
	r *Recording

	mu    sync.Mutex
	nodes map[string]*node
	was   map[string]bool // what the recorded call did, in words
	is    map[string]bool // what this guest does
	open  map[uint32]*cursor
	last  uint32
	next  map[string][]*File // that nobody has asked for yet, by what they ask
}

// node is what is known of one path.
type node struct {
	opened   *FileResult // what came of opening it; nil when it was not opened
	stat     map[string]FileResult
	content  []byte
	known    []part // of content, ascending and apart
	end      int64  // size of the file; -1 when it is not known
	entries  []DirEntry
	listed   bool
	writable bool
	did      map[string]FileResult // mkdir, remove, ...
}

// part is a range of bytes.
type part struct{ from, to int64 }

// cursor is an open file of the guest on trial.
type cursor struct {
	path    string
	entries int // that were listed
}

// maxDisk bounds the content of one file that was seen in parts.
const maxDisk = MaxContent

func newDisk(r *Recording) *disk {
	d := &disk{r: r, nodes: map[string]*node{}, was: map[string]bool{}, is: map[string]bool{}, open: map[uint32]*cursor{}, next: map[string][]*File{}}
	for path, f := range r.filed() {
		key := f.key(path)
		d.next[key] = append(d.next[key], f)
		d.was[deed(f.FileAsk, path)] = true
		d.at(path).learn(f)
	}
	return d
}

// filed are the operations on files in order, each with the path that it is about.
func (r *Recording) filed() iter.Seq2[string, *File] {
	return func(yield func(string, *File) bool) {
		paths := []string{""} // of the files that were opened, by handle
		for _, e := range r.Events {
			if e.File == nil {
				continue
			}
			path := e.File.Path
			if e.File.Handle > 0 {
				path = paths[e.File.Handle]
			} else if e.File.Op == opOpen && e.File.Result.Errno == "" {
				paths = append(paths, path)
			}
			if !yield(path, e.File) {
				return
			}
		}
	}
}

// A Deed is what the guest did to a file.
type Deed struct {
	// What says it in words: "write to /data/a.txt".
	What string
	// Written is what it wrote, and Before the beginning of what it had read of the file
	// until then; both are empty for other deeds.
	Before, Written []byte
}

// Deeds are what the guest did to files and came about, in order. What it did in parts, such
// as to write a file, is one deed.
func (r *Recording) Deeds() (all []Deed) {
	known := &disk{nodes: map[string]*node{}}
	place := map[string]int{} // in all, by what was done
	for path, f := range r.filed() {
		what := deed(f.FileAsk, path)
		if what == "" || f.Result.Errno != "" {
			continue
		}
		i, more := place[what]
		if !more {
			i, place[what], all = len(all), len(all), append(all, Deed{What: what})
		}
		switch f.Op {
		case opRead:
			known.at(path).learn(f)
		case opWrite, opAppend:
			if !more {
				all[i].Before = known.at(path).beginning()
			}
			all[i].Written = append(all[i].Written, f.Data...)
		}
	}
	return all
}

// beginning is what is known of the content from its first byte on.
func (n *node) beginning() []byte {
	if len(n.known) == 0 || n.known[0].from > 0 {
		return nil
	}
	return bytes.Clone(n.content[:n.known[0].to])
}

func (d *disk) at(path string) *node {
	path = strings.TrimSuffix(path, "/")
	n := d.nodes[path]
	if n == nil {
		n = &node{end: -1, stat: map[string]FileResult{}, did: map[string]FileResult{}}
		d.nodes[path] = n
	}
	return n
}

// learn adds what came of one operation.
func (n *node) learn(f *File) {
	switch t := f.Result; f.Op {
	case opOpen:
		n.opened = &t
		n.writable = n.writable || slices.Contains(f.Flags, "write")
	case opStat:
		n.stat[strings.Join(f.Flags, " ")] = t
	case opFileStat:
		n.stat["follow"] = t
		if t.Stat != nil && n.end < 0 {
			n.end = int64(t.Stat.Size)
		}
	case opRead:
		n.write(f.Offset, t.Data)
		if t.Errno == "" && int64(len(t.Data)) < f.Length {
			n.end = max(n.end, f.Offset+int64(len(t.Data)))
		}
	case opList:
		n.list(t)
	case opMkdir, opRemove, opRename, opSetTimes, opReadlink:
		n.did[f.Op+" "+f.To] = t
	}
}

// list adds entries that were not listed before.
func (n *node) list(t FileResult) {
	for _, e := range t.Entries {
		if !slices.Contains(n.entries, e) {
			n.entries = append(n.entries, e)
		}
	}
	n.listed = n.listed || t.Errno == "" && len(t.Entries) == 0
}

// write notes bytes at a place.
func (n *node) write(off int64, b []byte) {
	end := off + int64(len(b))
	if off < 0 || off > maxDisk || end > maxDisk || len(b) == 0 {
		return
	}
	if end > int64(len(n.content)) {
		n.content = append(n.content, make([]byte, end-int64(len(n.content)))...)
	}
	copy(n.content[off:], b)
	n.known = join(append(n.known, part{off, end}))
}

// join sorts parts and joins those that touch.
func join(all []part) (out []part) {
	slices.SortFunc(all, func(a, b part) int { return cmp.Compare(a.from, b.from) })
	for _, p := range all {
		if last := len(out) - 1; last >= 0 && p.from <= out[last].to {
			out[last].to = max(out[last].to, p.to)
			continue
		}
		out = append(out, p)
	}
	return out
}

// read returns up to length bytes at a place; false when some of them are not
// known.
func (n *node) read(off, length int64) ([]byte, bool) {
	end := off + length
	if n.end >= 0 {
		end = min(end, n.end)
	}
	if off >= end {
		return nil, true
	}
	for _, p := range n.known {
		if p.from <= off && end <= p.to {
			return n.content[off:end], true
		}
	}
	return nil, false
}

func (d *disk) preopens() []wasi.Preopen { return d.r.preopens() }

// deed says in words what an operation does, whoever does it in how many parts.
func deed(f FileAsk, path string) string {
	verb, ok := map[string]string{
		opRead: "read", opList: "list", opWrite: "write to", opAppend: "write to", opTruncate: "write to", opMkdir: "make the directory",
		opRemove: "remove", opSetTimes: "set the times of", opFileTimes: "set the times of", opReadlink: "read the link",
	}[f.Op]
	switch {
	case f.Op == opRename:
		return "rename " + path + " to " + f.To
	case !ok: // opening and looking is for something else
		return ""
	}
	return verb + " " + path
}

// changes compares what was done.
func (d *disk) changes() (all []Change) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, side := range []struct {
		kind    string
		one, no map[string]bool
	}{{Added, d.is, d.was}, {Missing, d.was, d.is}} {
		for _, what := range slices.Sorted(maps.Keys(side.one)) {
			if what != "" && !side.no[what] {
				all = append(all, Change{Kind: side.kind, What: what, Count: 1})
			}
		}
	}
	return all
}

// do tells what comes of an operation.
func (d *disk) do(ask FileAsk, _ func() (wasi.File, FileResult)) (wasi.File, FileResult) {
	d.mu.Lock()
	defer d.mu.Unlock()
	path, c := ask.Path, d.open[ask.Handle]
	if ask.Handle > 0 {
		path = c.path
	}
	d.is[deed(ask, path)] = true
	told, known := d.again(ask, path, c)
	if !known {
		told, known = d.tell(ask, d.at(path), c)
	}
	switch {
	case !known:
		d.is["look at "+path+", which the recorded call did not see so"] = true
		return nil, failedWith(wasi.NotRecorded)
	case ask.Op == opOpen && told.Errno == "":
		d.last++
		d.open[d.last] = &cursor{path: path}
	}
	return nil, told
}

// key is the same for operations that ask for the same of the same path.
func (f FileAsk) key(path string) string {
	f.Handle, f.Path = 0, path
	b, err := json.Marshal(f)
	if err != nil { // texts and numbers cannot fail to marshal
		return ""
	}
	return string(b)
}

// again answers what the recorded call asked in the same way: the first time as
// the first time, the second as the second.
func (d *disk) again(ask FileAsk, path string, c *cursor) (FileResult, bool) {
	key := ask.key(path)
	waiting := d.next[key]
	if len(waiting) == 0 {
		return FileResult{}, false
	}
	d.next[key] = waiting[1:]
	told := waiting[0].Result
	if c != nil {
		c.entries += len(told.Entries)
	}
	return told, true
}

// tell answers from what is known.
func (d *disk) tell(ask FileAsk, n *node, c *cursor) (FileResult, bool) {
	switch ask.Op {
	case opOpen:
		return n.openAs(ask)
	case opStat, opFileStat:
		return n.describe(ask)
	case opRead:
		b, ok := n.read(ask.Offset, ask.Length)
		return FileResult{Data: b}, ok
	case opList:
		return n.next(c, ask.Length), n.listed
	case opRewind:
		c.entries = 0
	case opWrite:
		n.write(ask.Offset, ask.Data)
		n.end = max(n.end, ask.Offset+int64(len(ask.Data)))
		return FileResult{N: int64(len(ask.Data))}, n.writable
	case opAppend:
		return n.extend(ask.Data), n.writable
	case opTruncate:
		n.end = ask.Length
		return FileResult{}, n.writable
	case opMkdir, opRemove, opRename, opSetTimes, opReadlink:
		told, ok := n.did[ask.Op+" "+ask.To]
		return told, ok
	}
	return FileResult{}, true
}

// openAs opens what was opened, for writing only what was opened for writing.
func (n *node) openAs(ask FileAsk) (FileResult, bool) {
	writes := slices.ContainsFunc(ask.Flags, func(f string) bool { return f == "write" || f == "create" || f == "truncate" || f == "append" })
	if n.opened == nil || n.opened.Errno == "" && writes && !n.writable {
		return FileResult{}, false
	}
	if slices.Contains(ask.Flags, "truncate") {
		n.content, n.known, n.end = nil, nil, 0
	}
	return FileResult{Errno: n.opened.Errno, Directory: n.opened.Directory}, true
}

// describe finds a description; of what was opened, one is as good as the other.
func (n *node) describe(ask FileAsk) (FileResult, bool) {
	if told, ok := n.stat[strings.Join(ask.Flags, " ")]; ok && ask.Op == opStat {
		return told, true
	}
	for _, told := range n.stat {
		if ask.Op == opFileStat || told.Stat == nil || told.Stat.Type != uint8(wasi.SymbolicLink) {
			return told, true
		}
	}
	return FileResult{}, false
}

// next are the next entries of a listing.
func (n *node) next(c *cursor, length int64) FileResult {
	from := min(c.entries, len(n.entries))
	to := int(min(int64(from)+max(length, 0), int64(len(n.entries))))
	c.entries = to
	return FileResult{Entries: n.entries[from:to]}
}

// extend writes at the end.
func (n *node) extend(b []byte) FileResult {
	n.end = max(n.end, 0)
	n.write(n.end, b)
	n.end += int64(len(b))
	return FileResult{N: int64(len(b)), End: n.end}
}
