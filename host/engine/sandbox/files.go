package sandbox

import (
	"strconv"

	"github.com/skillet-run/skillet/host/engine/jail"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasi"
)

// fileTree is the files of a call as WASI sees them. Where they are found is
// decided once, when the call begins: it tells which snapshot fits.
type fileTree struct {
	wasi.FS
	preopens []wasi.Preopen
	refused  *LimitError // the first quota of files the call ran into
}

// newFileTree returns nil for a call without files.
func (m *Module) newFileTree(c *Call) *fileTree {
	scratch := (c.Scratch > 0 || c.Folder.At != "") && m.opensFiles
	if c.FS == nil && c.Files == nil && c.Tape == nil && !scratch {
		return nil
	}
	t := &fileTree{}
	open := c.Files
	if open == nil && c.FS != nil {
		open = jailed(c.FS, c.Limits.Files)
	}
	switch {
	case c.Tape != nil:
		t.FS = c.Tape.Files(open, t.refuse)
	case open != nil:
		t.FS = open(t.refuse)
	}
	if scratch {
		t.FS = wasi.NewScratch(t.FS, c.Scratch, c.Folder)
	}
	if t.FS == nil {
		return nil
	}
	t.preopens = t.FS.Preopens()
	return t
}

// jailed opens what is behind Call.FS.
func jailed(root *jail.FS, quota jail.Quota) func(refused func(*jail.QuotaError)) wasi.FS {
	return func(refused func(*jail.QuotaError)) wasi.FS { return wasi.NewJail(root, quota, refused) }
}

// Preopens lists the directories that are open when the guest begins.
func (t *fileTree) Preopens() []wasi.Preopen { return t.preopens }

// refuse remembers the first quota that stood in the way, for the error of the
// call.
func (t *fileTree) refuse(q *jail.QuotaError) {
	if t.refused == nil {
		t.refused = &LimitError{What: q.What, Limit: fileLimit(q), Setting: fileSetting(q), kind: ErrFiles}
	}
}

func fileLimit(q *jail.QuotaError) string {
	if q.What == "file size" || q.What == "bytes written" {
		return byteCount(q.Limit)
	}
	return strconv.FormatInt(q.Limit, 10)
}

func fileSetting(q *jail.QuotaError) string {
	if q.What == "file size" {
		return "security.resource_limits.max_file_size_mb"
	}
	return ""
}
