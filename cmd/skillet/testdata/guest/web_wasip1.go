//go:build !part || web

package main

import skill "github.com/skillet-run/skillet/sdk/go"

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
