//go:build wasip1

// Command probe is a module that calls every function of the package once, for
// the test that runs it in the sandbox.
package main

import (
	"strings"
	"time"

	skill "github.com/skillet-run/skillet/sdk/go"
)

type input struct {
	Dir string `json:"dir"`
	URL string `json:"url"`
}

// report is what each call returned, or its error with its kind.
type report struct {
	Steps []step `json:"steps"`
}

type step struct {
	Call   string `json:"call"`
	Result any    `json:"result,omitempty"`
	Kind   string `json:"kind,omitempty"`
	Error  string `json:"error,omitempty"`
}

func (r *report) add(call string, result any, err error) {
	s := step{Call: call, Result: result, Kind: string(skill.KindOf(err))}
	if err != nil {
		s.Result, s.Error = nil, err.Error()
	}
	r.Steps = append(r.Steps, s)
}

func everything(in input) (report, error) {
	var r report
	r.files(in.Dir)
	r.web(in.URL)
	r.state()
	r.messages()
	return r, nil
}

func (r *report) files(dir string) {
	big := []byte(strings.Repeat("0123456789abcdef", 5<<20/16))
	size, err := skill.WriteFile(dir+"/big", big, skill.WriteOptions{})
	r.add("write", size, err)
	size, err = skill.WriteFile(dir+"/big", []byte("!"), skill.WriteOptions{Append: true})
	r.add("append", size, err)
	_, err = skill.WriteFile(dir+"/big", nil, skill.WriteOptions{CreateOnly: true})
	r.add("create", nil, err)
	size, err = skill.WriteFile(dir+"/empty", nil, skill.WriteOptions{CreateOnly: true})
	r.add("empty", size, err)
	data, err := skill.ReadFile(dir + "/big")
	r.add("read whole", string(data) == string(big)+"!", err)
	data, err = skill.ReadFile(dir + "/empty")
	r.add("read empty", len(data), err)
	chunk, err := skill.ReadFileAt(dir+"/big", 10, 6)
	r.add("read part", string(chunk.Data), err)
	chunk, err = skill.ReadFileAt(dir+"/big", 1<<40, 6)
	r.add("read behind", len(chunk.Data), err)
	list, err := skill.ListDir(dir, skill.ListOptions{Limit: 1})
	r.add("list", []any{list.Entries[0].Name, list.Entries[0].Size, list.Truncated}, err)
	info, exists, err := skill.Stat(dir + "/big")
	r.add("stat", []any{info.Size, info.Dir, exists, info.Modified.IsZero()}, err)
	_, exists, err = skill.Stat(dir + "/none")
	r.add("stat none", exists, err)
	_, err = skill.ReadFile(dir + "/none")
	r.add("read none", nil, err)
	_, err = skill.ReadFile("/etc/passwd")
	r.add("read denied", nil, err)
}

func (r *report) web(url string) {
	request := skill.Request{Method: "POST", URL: url, Body: []byte("body"), Headers: map[string][]string{"X-Probe": {"1"}}, Timeout: 5 * time.Second}
	response, err := skill.HTTP(request)
	r.add("http", []any{response.Status, string(response.Body), response.Headers["X-Echo"], response.URL == url, response.Truncated}, err)
	request.MaxBytes = 2
	response, err = skill.HTTP(request)
	r.add("http cut", []any{string(response.Body), response.Truncated}, err)
	_, err = skill.HTTP(skill.Request{URL: "http://example.com/"})
	r.add("http denied", nil, err)
}

func (r *report) state() {
	first, err := skill.KVPut("a/1", []byte("one"), skill.PutOptions{Revision: new(uint64(0)), TTL: time.Hour})
	r.add("kv put", first > 0, err)
	_, err = skill.KVPut("a/1", []byte("two"), skill.PutOptions{Revision: new(uint64(0))})
	r.add("kv put again", nil, err)
	second, err := skill.KVPut("a/1", nil, skill.PutOptions{Revision: &first})
	r.add("kv put next", second > first, err)
	value, err := skill.KVGet("a/1")
	r.add("kv get", []any{len(value.Data), value.Found, value.Revision == second}, err)
	value, err = skill.KVGet("a/2")
	r.add("kv get none", value.Found, err)
	keys, err := skill.KVList("a/", 10)
	r.add("kv list", keys, err)
	deleted, err := skill.KVDelete("a/1")
	r.add("kv delete", deleted, err)
	deleted, err = skill.KVDelete("a/1")
	r.add("kv delete again", deleted, err)
}

func (r *report) messages() {
	exists, err := skill.SecretExists("known")
	r.add("secret", exists, err)
	_, err = skill.SecretExists("other")
	r.add("secret denied", nil, err)
	r.add("log", nil, skill.Log(skill.LevelWarn, "a line", skill.Field{Key: "k", Value: "v"}))
	r.add("notify", nil, skill.Notify(skill.Notification{Severity: skill.SeverityWarning, Title: "title", Text: "text"}))
	r.add("notify untitled", nil, skill.Notify(skill.Notification{}))
}

//go:wasmexport everything
func exportEverything() int32 { return skill.Handle(everything) }

//go:wasmexport echo
func exportEcho() int32 {
	data, err := skill.InputBytes()
	if err != nil {
		return skill.Fail(skill.KindOf(err), err.Error())
	}
	for len(data) > 0 {
		n := min(len(data), 1000)
		if err := skill.OutputBytes(data[:n]); err != nil {
			return skill.Fail(skill.IO, err.Error())
		}
		data = data[n:]
	}
	return 0
}

//go:wasmexport fails
func exportFails() int32 {
	return skill.Handle(func(struct{}) (struct{}, error) {
		panic("out of ideas")
	})
}

func main() {}
