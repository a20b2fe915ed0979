package main

import (
	"time"

	skill "github.com/skillet-run/skillet/sdk/go"
)

const (
	defaultEntries = 1000
	maxEntries     = 10_000
)

type listDirInput struct {
	Path      string `json:"path"`
	Recursive bool   `json:"recursive"`
	Limit     *int   `json:"limit"`
}

type listDirOutput struct {
	Entries   []entry `json:"entries"`
	Truncated bool    `json:"truncated"`
}

type entry struct {
	Name     string    `json:"name"`
	Path     string    `json:"path"`
	Type     string    `json:"type"`
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified,omitzero"`
}

// listDir lists what is in a directory.
func listDir(in listDirInput) (listDirOutput, error) {
	limit, err := within("limit", in.Limit, defaultEntries, 1, maxEntries)
	if err != nil {
		return listDirOutput{}, err
	}
	found, err := skill.ListDir(orHere(in.Path), skill.ListOptions{Recursive: in.Recursive, Limit: limit})
	if err != nil {
		return listDirOutput{}, err
	}
	out := listDirOutput{Entries: make([]entry, len(found.Entries)), Truncated: found.Truncated}
	for i, f := range found.Entries {
		out.Entries[i] = newEntry(f)
	}
	return out, nil
}

func newEntry(f skill.FileInfo) entry {
	kind := "file"
	if f.Dir {
		kind = "directory"
	}
	return entry{Name: f.Name, Path: f.Path, Type: kind, Size: f.Size, Modified: f.Modified}
}

// orHere returns the directory to look in: the workspace when none is named.
func orHere(path string) string {
	if path == "" {
		return "."
	}
	return path
}
