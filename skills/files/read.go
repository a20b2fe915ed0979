package main

import (
	"encoding/base64"

	skill "github.com/skillet-run/skillet/sdk/go"
)

const (
	defaultReadBytes = 256 << 10
	maxReadBytes     = 4 << 20
)

type readTextInput struct {
	Path   string `json:"path"`
	Offset int64  `json:"offset"`
	Limit  *int64 `json:"limit"`
	Errors string `json:"errors"`
}

type readTextOutput struct {
	Text       string `json:"text"`
	Size       int64  `json:"size"`
	Offset     int64  `json:"offset"`
	NextOffset int64  `json:"next_offset"`
	Truncated  bool   `json:"truncated"`
}

// readText reads a piece of a text file.
func readText(in readTextInput) (readTextOutput, error) {
	mode, err := invalidMode(in.Errors)
	if err != nil {
		return readTextOutput{}, err
	}
	chunk, err := readChunk(in.Path, in.Offset, in.Limit)
	if err != nil {
		return readTextOutput{}, err
	}
	p := piece{data: chunk.Data, offset: in.Offset, last: !chunk.Truncated, mode: mode}
	text, used, err := p.decode()
	if err != nil {
		return readTextOutput{}, skill.Errorf(skill.Invalid, "read %s: %w", in.Path, err)
	}
	return readTextOutput{
		Text:       text,
		Size:       chunk.Size,
		Offset:     in.Offset,
		NextOffset: in.Offset + int64(used),
		Truncated:  in.Offset+int64(used) < chunk.Size,
	}, nil
}

type readBinInput struct {
	Path   string `json:"path"`
	Offset int64  `json:"offset"`
	Limit  *int64 `json:"limit"`
}

type readBinOutput struct {
	Base64     string `json:"base64"`
	Size       int64  `json:"size"`
	Offset     int64  `json:"offset"`
	NextOffset int64  `json:"next_offset"`
	Truncated  bool   `json:"truncated"`
}

// readBin reads a piece of any file.
func readBin(in readBinInput) (readBinOutput, error) {
	chunk, err := readChunk(in.Path, in.Offset, in.Limit)
	if err != nil {
		return readBinOutput{}, err
	}
	return readBinOutput{
		Base64:     base64.StdEncoding.EncodeToString(chunk.Data),
		Size:       chunk.Size,
		Offset:     in.Offset,
		NextOffset: in.Offset + int64(len(chunk.Data)),
		Truncated:  chunk.Truncated,
	}, nil
}

// readChunk checks the range and reads it.
func readChunk(path string, offset int64, limit *int64) (skill.Chunk, error) {
	if path == "" {
		return skill.Chunk{}, skill.Errorf(skill.Invalid, "path: must not be empty")
	}
	if offset < 0 {
		return skill.Chunk{}, skill.Errorf(skill.Invalid, "offset: must not be negative")
	}
	n, err := within("limit", limit, defaultReadBytes, 1, maxReadBytes)
	if err != nil {
		return skill.Chunk{}, err
	}
	return skill.ReadFileAt(path, offset, n)
}

// within returns the value of an option, or its default when it is not given.
func within[T int | int64](name string, value *T, preset, low, high T) (T, error) {
	if value == nil {
		return preset, nil
	}
	if *value < low || *value > high {
		return 0, skill.Errorf(skill.Invalid, "%s: must be from %d to %d, not %d", name, low, high, *value)
	}
	return *value, nil
}
