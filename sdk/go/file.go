package skill

import (
	"slices"
	"time"
)

// FileInfo describes one file or directory of the host.
type FileInfo struct {
	// Name is the last element of the path; empty in the answer of Stat.
	Name string `json:"name"`
	// Path is the absolute path; empty in the answer of Stat.
	Path string `json:"path"`
	// Size is the length in bytes, 0 for a directory.
	Size int64 `json:"size"`
	// Dir is true for a directory.
	Dir bool `json:"dir"`
	// Modified is the time of the last change; zero when the host hides it.
	Modified time.Time `json:"modified,omitzero"`
}

// Chunk is a piece of a file.
type Chunk struct {
	// Data is the content read.
	Data []byte
	// Size is the length of the whole file in bytes.
	Size int64
	// Truncated is true when the file goes on behind Data.
	Truncated bool
}

// ReadFile returns the whole content of the file at path. It needs a grant
// fs.read on the path. Errors have kind Denied, NotFound, Limit or IO.
func ReadFile(path string) ([]byte, error) {
	chunk, err := ReadFileAt(path, 0, 0)
	if err != nil {
		return nil, err
	}
	data := chunk.Data
	for chunk.Truncated && len(chunk.Data) > 0 {
		if chunk, err = ReadFileAt(path, int64(len(data)), 0); err != nil {
			return nil, err
		}
		data = append(slices.Grow(data, len(chunk.Data)), chunk.Data...)
	}
	if chunk.Truncated {
		return nil, Errorf(Limit, "read %s: the host stopped after %d of %d bytes", path, len(data), chunk.Size)
	}
	return data, nil
}

// ReadFileAt returns up to length bytes of the file at path, from offset on.
// Length 0 asks for as much as the host passes in one call. It needs a grant
// fs.read on the path. An offset behind the end gives an empty chunk.
func ReadFileAt(path string, offset, length int64) (Chunk, error) {
	got, data, err := fsReadRequest{Path: path, Offset: offset, Length: length}.send()
	return Chunk{Data: data, Size: got.Size, Truncated: got.Truncated}, err
}

// WriteOptions says how WriteFile treats a file that exists. The zero value
// replaces its content.
type WriteOptions struct {
	// Append writes behind the existing content.
	Append bool
	// CreateOnly refuses to touch a file that exists.
	CreateOnly bool
}

// WriteFile writes data to the file at path, creating the file if need be, and
// returns the size of the file afterwards in bytes. It needs a grant fs.write
// on the path. Errors have kind Denied, NotFound, Conflict (CreateOnly and the
// file exists), Invalid, Limit or IO.
func WriteFile(path string, data []byte, o WriteOptions) (size int64, err error) {
	got, err := fsWriteRequest{Path: path, Append: o.Append, CreateOnly: o.CreateOnly}.send(data)
	return got.Size, err
}

// ListOptions bounds ListDir. The zero value lists one directory, up to the
// host's own limit.
type ListOptions struct {
	// Recursive also lists everything below.
	Recursive bool
	// Limit is the greatest number of entries; 0 means the host's limit.
	Limit int
}

// Listing is the answer of ListDir.
type Listing struct {
	// Entries are the files and directories found.
	Entries []FileInfo `json:"entries"`
	// Truncated is true when the limit cut the list.
	Truncated bool `json:"truncated"`
}

// ListDir lists the directory at path. It needs a grant fs.read on the path.
// Errors have kind Denied, NotFound, Limit or IO.
func ListDir(path string, o ListOptions) (Listing, error) {
	got, err := fsListRequest{Path: path, Recursive: o.Recursive, Limit: int64(o.Limit)}.send()
	list := Listing{Truncated: got.Truncated}
	for _, e := range got.Entries {
		list.Entries = append(list.Entries, FileInfo(e))
	}
	return list, err
}

// Stat describes the file or directory at path; exists is false, without an
// error, when there is none. It needs a grant fs.read on the path.
func Stat(path string) (info FileInfo, exists bool, err error) {
	got, err := fsStatRequest{Path: path}.send()
	return FileInfo{Size: got.Size, Dir: got.Dir, Modified: got.Modified}, got.Exists, err
}
