//go:build wasip1

// Command go is the conformance skill in Go.
package main

import (
	"time"

	skill "github.com/skillet-run/skillet/sdk/go"
)

type values struct {
	Text  string            `json:"text"`
	Int   int64             `json:"int"`
	Float float64           `json:"float"`
	Flag  bool              `json:"flag"`
	List  []int64           `json:"list"`
	Map   map[string]string `json:"map"`
	Maybe *string           `json:"maybe"`
	Inner struct {
		Depth int64 `json:"depth"`
	} `json:"inner"`
}

func init() { skill.Prepare[values, values]() }

//go:wasmexport values
func exportValues() int32 {
	return skill.Handle(func(v values) (values, error) {
		if v.List == nil {
			v.List = []int64{}
		}
		if v.Map == nil {
			v.Map = map[string]string{}
		}
		return v, nil
	})
}

//go:wasmexport echo
func exportEcho() int32 {
	data, err := skill.InputBytes()
	for err == nil && len(data) > 0 {
		n := min(len(data), 100_000)
		err, data = skill.OutputBytes(data[:n]), data[n:]
	}
	if err != nil {
		return skill.Fail(skill.KindOf(err), err.Error())
	}
	return 0
}

type failure struct {
	Kind    skill.Kind `json:"kind"`
	Message string     `json:"message"`
}

//go:wasmexport fail
func exportFail() int32 {
	return skill.Handle(func(f failure) (struct{}, error) {
		return struct{}{}, &skill.Error{Kind: f.Kind, Message: f.Message}
	})
}

type path struct {
	Path string `json:"path"`
}

//go:wasmexport caught
func exportCaught() int32 {
	return skill.Handle(func(in path) (failure, error) {
		if _, err := skill.ReadFile(in.Path); err != nil {
			return failure{skill.KindOf(err), err.Error()}, nil
		}
		return failure{}, nil
	})
}

type sum struct {
	Bytes int    `json:"bytes"`
	Sum   uint32 `json:"sum"`
}

//go:wasmexport read_file
func exportReadFile() int32 {
	return skill.Handle(func(in path) (sum, error) {
		data, err := skill.ReadFile(in.Path)
		out := sum{Bytes: len(data)}
		for _, b := range data {
			out.Sum += uint32(b)
		}
		return out, err
	})
}

// optional is a time that is null when the host hides it.
func optional(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func main() {}
