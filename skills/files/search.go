package main

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strings"

	skill "github.com/skillet-run/skillet/sdk/go"
)

const (
	defaultMatches  = 100
	maxMatches      = 10_000
	defaultFileSize = 1 << 20
	maxFileSize     = 16 << 20
	// maxFiles is the most files and directories that one search looks at; the
	// host lists no more at a time.
	maxFiles = 10_000
)

type searchInput struct {
	Root         string `json:"root"`
	Pattern      string `json:"pattern"`
	Regex        bool   `json:"regex"`
	IgnoreCase   bool   `json:"ignore_case"`
	Glob         string `json:"glob"`
	Limit        *int   `json:"limit"`
	MaxFileBytes *int64 `json:"max_file_bytes"`
	Hidden       bool   `json:"hidden"`
}

type searchOutput struct {
	Matches       []match   `json:"matches"`
	FilesSearched int       `json:"files_searched"`
	Skipped       []skipped `json:"skipped"`
	Truncated     bool      `json:"truncated"`
}

// match is a line that contains the pattern.
type match struct {
	Path   string `json:"path"`
	Line   int    `json:"line"`   // from 1
	Column int    `json:"column"` // in characters, from 1
	Text   string `json:"text"`
}

// skipped is a file that was not searched.
type skipped struct {
	Path   string `json:"path"`
	Reason string `json:"reason"` // "denied", "large", "binary", "not_found" or "io"
}

// search looks for a pattern in the lines of all files below a directory.
func search(in searchInput) (searchOutput, error) {
	s, err := newSearcher(in)
	if err != nil {
		return searchOutput{}, err
	}
	files, err := s.candidates(orHere(in.Root))
	if err != nil {
		return searchOutput{}, err
	}
	for _, f := range files {
		if f.Dir || !s.wants(f.Name) {
			continue
		}
		if more, err := s.file(f); err != nil || !more {
			return s.out, err
		}
	}
	return s.out, nil
}

// candidates lists the files below root; root may also be a file itself.
func (s *searcher) candidates(root string) ([]skill.FileInfo, error) {
	info, exists, err := skill.Stat(root)
	if err != nil {
		return nil, err
	}
	if !exists {
		return nil, skill.Errorf(skill.NotFound, "search %s: no such file or directory", root)
	}
	if !info.Dir {
		info.Name, info.Path = path.Base(root), root
		return []skill.FileInfo{info}, nil
	}
	top, err := skill.ListDir(root, skill.ListOptions{Limit: maxFiles})
	if err != nil {
		return nil, err
	}
	s.out.Truncated = top.Truncated
	var files []skill.FileInfo
	for _, f := range top.Entries {
		if !s.hidden && isHidden(f.Name) {
			continue
		}
		files = append(files, f)
		if f.Dir {
			files = append(files, s.below(f.Path, maxFiles-len(files))...)
		}
	}
	return files, nil
}

// below lists everything below a directory in the root, up to a limit. What
// keeps it from being listed is noted and not an error.
func (s *searcher) below(dir string, limit int) []skill.FileInfo {
	if limit <= 0 {
		s.out.Truncated = true
		return nil
	}
	listing, err := skill.ListDir(dir, skill.ListOptions{Recursive: true, Limit: limit})
	if err != nil {
		s.skip(dir, string(skill.KindOf(err)))
		return nil
	}
	s.out.Truncated = s.out.Truncated || listing.Truncated
	return slices.DeleteFunc(listing.Entries, func(f skill.FileInfo) bool {
		return !s.hidden && isHidden(strings.TrimPrefix(f.Path, dir))
	})
}

// isHidden says whether a relative path has an element that starts with a dot.
func isHidden(relative string) bool {
	return strings.HasPrefix(relative, ".") || strings.Contains(relative, "/.")
}

// searcher looks through files one after the other.
type searcher struct {
	pattern *regexp.Regexp
	glob    string
	hidden  bool
	limit   int
	maxSize int64
	out     searchOutput
}

func newSearcher(in searchInput) (*searcher, error) {
	s := &searcher{glob: in.Glob, hidden: in.Hidden, out: searchOutput{Matches: []match{}, Skipped: []skipped{}}}
	var err error
	if s.pattern, err = compile(in.Pattern, in.Regex, in.IgnoreCase); err != nil {
		return nil, err
	}
	if _, err := path.Match(in.Glob, ""); err != nil {
		return nil, skill.Errorf(skill.Invalid, "glob: %w", err)
	}
	if s.limit, err = within("limit", in.Limit, defaultMatches, 1, maxMatches); err != nil {
		return nil, err
	}
	s.maxSize, err = within("max_file_bytes", in.MaxFileBytes, defaultFileSize, 1, maxFileSize)
	return s, err
}

// compile makes a regular expression of the pattern. Its syntax and its time,
// linear in the length of a line, are those of RE2.
func compile(pattern string, isRegex, ignoreCase bool) (*regexp.Regexp, error) {
	if pattern == "" {
		return nil, skill.Errorf(skill.Invalid, "pattern: must not be empty")
	}
	if !isRegex {
		pattern = regexp.QuoteMeta(pattern)
	}
	if ignoreCase {
		pattern = "(?i)" + pattern
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, skill.Errorf(skill.Invalid, "pattern: %w", err)
	}
	return re, nil
}

// wants says whether the name of a file fits the glob.
func (s *searcher) wants(name string) bool {
	if s.glob == "" {
		return true
	}
	ok, _ := path.Match(s.glob, name)
	return ok
}

// file searches one file; more is false when the limit is reached. What keeps a
// single file from being read is noted and not an error.
func (s *searcher) file(f skill.FileInfo) (more bool, err error) {
	if f.Size > s.maxSize {
		s.skip(f.Path, "large")
		return true, nil
	}
	data, err := skill.ReadFile(f.Path)
	switch kind := skill.KindOf(err); kind {
	case "":
	case skill.Denied, skill.NotFound, skill.IO:
		s.skip(f.Path, string(kind))
		return true, nil
	default:
		return false, err
	}
	if isBinary(data) {
		s.skip(f.Path, "binary")
		return true, nil
	}
	s.out.FilesSearched++
	return s.lines(f.Path, data), nil
}

// maxSkipped bounds the list of files that were not searched.
const maxSkipped = 100

func (s *searcher) skip(path, reason string) {
	if len(s.out.Skipped) < maxSkipped {
		s.out.Skipped = append(s.out.Skipped, skipped{path, reason})
	}
}

// isBinary says whether data looks like no text: it has a NUL near its start.
func isBinary(data []byte) bool {
	return bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0
}
