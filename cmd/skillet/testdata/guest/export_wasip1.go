package main

import (
	"errors"
	"os"
	"time"

	skill "github.com/skillet-run/skillet/sdk/go"
)

type fetched struct {
	Status int    `json:"status"`
	URL    string `json:"url"`
	Text   string `json:"text"`
}

//go:wasmexport fetch
func fetch() int32 {
	return skill.Handle(func(in struct {
		URL     string
		Headers map[string][]string
	}) (fetched, error) {
		r, err := skill.HTTP(skill.Request{URL: in.URL, Headers: in.Headers})
		return fetched{r.Status, r.URL, string(r.Body)}, err
	})
}

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

type message struct{ Title, Text string }

//go:wasmexport tell
func tell() int32 {
	return skill.Handle(func(in message) (string, error) {
		return "told", skill.Notify(skill.Notification{Severity: skill.SeverityWarning, Title: in.Title, Text: in.Text})
	})
}

//go:wasmexport log
func log() int32 {
	return skill.Handle(func(in message) (string, error) {
		return "logged", skill.Log(skill.LevelWarn, in.Text, skill.Field{Key: "title", Value: in.Title})
	})
}

//go:wasmexport fail
func fail() int32 {
	return skill.Handle(func(in message) (string, error) { return "", errors.New(in.Text) })
}

//go:wasmexport read
func read() int32 {
	return skill.Handle(func(in struct{ Path string }) (string, error) {
		b, err := skill.ReadFile(in.Path)
		return string(b), err
	})
}

//go:wasmexport write
func write() int32 {
	return skill.Handle(func(in struct{ Path, Text string }) (int64, error) {
		return skill.WriteFile(in.Path, []byte(in.Text), skill.WriteOptions{})
	})
}

type around struct {
	Year      int      `json:"year"`
	Env, Args []string `json:",omitempty"`
}

//go:wasmexport look
func look() int32 {
	return skill.Handle(func(struct{}) (around, error) {
		return around{time.Now().Year(), os.Environ(), os.Args}, nil
	})
}
