//go:build !part || keep

package main

import skill "github.com/skillet-run/skillet/sdk/go"

type note struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	Found bool   `json:"found"`
}

//go:wasmexport remember
func remember() int32 {
	return skill.Handle(func(in note) (note, error) {
		_, err := skill.KVPut(in.Key, []byte(in.Value), skill.PutOptions{})
		return in, err
	})
}

//go:wasmexport recall
func recall() int32 {
	return skill.Handle(func(in note) (note, error) {
		v, err := skill.KVGet(in.Key)
		return note{in.Key, string(v.Data), v.Found}, err
	})
}

//go:wasmexport tell
func tell() int32 {
	return skill.Handle(func(in message) (string, error) {
		return "told", skill.Notify(skill.Notification{Severity: skill.SeverityWarning, Title: in.Title, Text: in.Text})
	})
}
