// Command suite is the skill that stands for the tools which the scenarios about tasks call: how long
// a call takes is how long the test's server does.
package main

import (
	"errors"
	"strconv"

	skill "github.com/skillet-run/skillet/sdk/go"
)

type asked struct {
	At       string  `json:"at"`
	Name     string  `json:"name"`
	Seconds  float64 `json:"seconds"`
	Filename string  `json:"filename"`
}

//go:wasmexport greet
func greet() int32 {
	return skill.Handle(func(in asked) (string, error) { return "Hello, " + in.Name + "!", nil })
}

//go:wasmexport slow_compute
func slowCompute() int32 {
	return skill.Handle(func(in asked) (string, error) {
		return get(in.At + "/wait?seconds=" + strconv.FormatFloat(in.Seconds, 'f', -1, 64))
	})
}

//go:wasmexport failing_job
func failingJob() int32 {
	return skill.Handle(func(in asked) (string, error) {
		if _, err := get(in.At + "/wait?seconds=1"); err != nil {
			return "", err
		}
		return "", errors.New("it failed")
	})
}

//go:wasmexport confirm_delete
func confirmDelete() int32 {
	return skill.Handle(func(in asked) (string, error) { return get(in.At + "/delete?name=" + in.Filename) })
}

func get(url string) (string, error) {
	r, err := skill.HTTP(skill.Request{URL: url})
	return string(r.Body), err
}

func main() {}
