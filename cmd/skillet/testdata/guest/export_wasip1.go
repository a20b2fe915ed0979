package main

import (
	"errors"
	"os"
	"time"

	skill "github.com/skillet-run/skillet/sdk/go"
)

type message struct{ Title, Text string }

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
