package skill

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"
)

type greeting struct {
	Name  string   `json:"name"`
	Times uint8    `json:"times"`
	Loud  bool     `json:"loud"`
	Rate  float64  `json:"rate"`
	Tags  []string `json:"tags"`
	Inner *struct {
		Depth int `json:"depth"`
	} `json:"inner"`
}

type said struct {
	Text string `json:"text"`
}

func greet(in greeting) (said, error) {
	switch in.Name {
	case "panic":
		panic("at the disco")
	case "index":
		return said{Text: in.Tags[len(in.Name)]}, nil
	case "denied":
		return said{}, Errorf(Denied, "read %s: denied", "/etc/passwd")
	case "plain":
		return said{}, fs.ErrNotExist
	}
	return said{Text: "<" + in.Name + "> & more"}, nil
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	tests := []struct{ input, output string }{
		{`{"name":"Ann"}`, `{"text":"<Ann> & more"}`},
		{`{"name":"Ann","unknown":[1,{}]}`, `{"text":"<Ann> & more"}`},
		{``, `{"text":"<> & more"}`},
		{" \n", `{"text":"<> & more"}`},
		{`null`, `{"text":"<> & more"}`},
		{`{"name":"\u00e9\ud83d\ude00"}`, `{"text":"<é😀> & more"}`},
	}
	for _, tt := range tests {
		got, err := answer([]byte(tt.input), greet)
		if err != nil || string(got) != tt.output {
			t.Errorf("answer(%q) = %q, %v; want %q", tt.input, got, err, tt.output)
		}
	}
}

func TestAnswerErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		input   string
		kind    Kind
		message string
	}{
		{`{"name":7}`, Invalid, "name: must be a string, not number"},
		{`{"times":"x"}`, Invalid, "times: must be a whole number in range, not string"},
		{`{"times":256}`, Invalid, "times: must be a whole number in range, not number 256"},
		{`{"loud":1}`, Invalid, "loud: must be true or false, not number"},
		{`{"rate":"x"}`, Invalid, "rate: must be a number, not string"},
		{`{"tags":"x"}`, Invalid, "tags: must be an array, not string"},
		{`{"inner":[]}`, Invalid, "inner: must be an object, not array"},
		{`{"inner":{"depth":true}}`, Invalid, "inner.depth: must be a whole number in range, not bool"},
		{`[1]`, Invalid, "input: must be an object, not array"},
		{`{"name"`, Invalid, "input: not valid JSON at byte 7: unexpected end of JSON input"},
		{`{"name":"denied"}`, Denied, "read /etc/passwd: denied"},
		{`{"name":"plain"}`, Failed, "file does not exist"},
		{`{"name":"panic"}`, Failed, "panic: at the disco"},
		{`{"name":"index"}`, Failed, "panic: runtime error: index out of range [5] with length 0"},
	}
	for _, tt := range tests {
		got, err := answer([]byte(tt.input), greet)
		if err == nil || KindOf(err) != tt.kind || err.Error() != tt.message {
			t.Errorf("answer(%s) = %q, %q (%s); want %q (%s)", tt.input, got, err, KindOf(err), tt.message, tt.kind)
		}
	}
}

func TestPrepare(t *testing.T) {
	t.Parallel()
	Prepare[greeting, said]()
	Prepare[struct{}, func()]() // what cannot be encoded is no reason to stop
}

func TestAnswerUnencodable(t *testing.T) {
	t.Parallel()
	_, err := answer(nil, func(struct{}) (func(), error) { return func() {}, nil })
	if KindOf(err) != Failed || !strings.HasPrefix(err.Error(), "encode output: ") {
		t.Errorf("answer with a function as output: %v", err)
	}
}

func TestPanicText(t *testing.T) {
	t.Parallel()
	tests := []struct {
		value any
		want  string
	}{
		{"text", "panic: text"}, {errors.New("broken"), "panic: broken"}, {42, "panic: 42"},
	}
	for _, tt := range tests {
		if got := panicText(tt.value); got != tt.want {
			t.Errorf("panicText(%v) = %q, want %q", tt.value, got, tt.want)
		}
	}
}

func TestKindOf(t *testing.T) {
	t.Parallel()
	tests := []struct {
		err  error
		want Kind
	}{
		{nil, ""},
		{errors.New("x"), Failed},
		{&Error{}, Failed},
		{&Error{Kind: Limit}, Limit},
		{fmt.Errorf("outer: %w", &Error{Kind: Timeout}), Timeout},
	}
	for _, tt := range tests {
		if got := KindOf(tt.err); got != tt.want {
			t.Errorf("KindOf(%v) = %q, want %q", tt.err, got, tt.want)
		}
	}
	if got := (&Error{Kind: Limit}).Error(); got != "limit" {
		t.Errorf("an error without a message says %q, want its kind", got)
	}
}

func TestResponse(t *testing.T) {
	t.Parallel()
	var info FileInfo
	err := response([]byte(`{"size":5,"modified":"2026-11-21T10:00:00Z","new":1}`), &info)
	if err != nil || info.Size != 5 || info.Modified.Hour() != 10 {
		t.Errorf("response = %+v, %v", info, err)
	}
	tests := []struct {
		meta string
		kind Kind
	}{
		{`{"error":{"kind":"not_found","message":"no such file"}}`, NotFound},
		{`{"error":{"message":"odd"}}`, Failed},
		{``, IO},
		{`{"size":"x"}`, IO},
		{`[]`, IO},
	}
	for _, tt := range tests {
		if err := response([]byte(tt.meta), &info); KindOf(err) != tt.kind {
			t.Errorf("response(%s) = %v (%s), want kind %s", tt.meta, err, KindOf(err), tt.kind)
		}
	}
	if err := response([]byte(`{}`), nil); err != nil {
		t.Errorf("response without a result = %v", err)
	}
}

// TestNoHost calls every host function: outside of a module each one has to
// say what is missing, and none may pretend to have worked.
func TestNoHost(t *testing.T) {
	t.Parallel()
	calls := map[string]func() error{
		"InputBytes":   func() error { _, err := InputBytes(); return err },
		"Input":        func() error { return Input(&said{}) },
		"OutputBytes":  func() error { return OutputBytes(nil) },
		"Output":       func() error { return Output(said{}) },
		"ReadFile":     func() error { _, err := ReadFile("/a"); return err },
		"ReadFileAt":   func() error { _, err := ReadFileAt("/a", 1, 2); return err },
		"WriteFile":    func() error { _, err := WriteFile("/a", nil, WriteOptions{}); return err },
		"ListDir":      func() error { _, err := ListDir("/", ListOptions{}); return err },
		"Stat":         func() error { _, _, err := Stat("/a"); return err },
		"HTTP":         func() error { _, err := HTTP(Request{URL: "http://a/"}); return err },
		"KVGet":        func() error { _, err := KVGet("k"); return err },
		"KVPut":        func() error { _, err := KVPut("k", nil, PutOptions{}); return err },
		"KVDelete":     func() error { _, err := KVDelete("k"); return err },
		"KVList":       func() error { _, err := KVList("k", 0); return err },
		"Log":          func() error { return Log(LevelInfo, "m", Field{"k", "v"}) },
		"Notify":       func() error { return Notify(Notification{Title: "t"}) },
		"SecretExists": func() error { _, err := SecretExists("s"); return err },
		"SkillCall":    func() error { _, err := SkillCall(Tool{Skill: "s"}, nil); return err },
		"Call":         func() error { _, err := Call[greeting, said](Tool{Skill: "s"}, greeting{}); return err },
		"ModelCall":    func() error { _, err := ModelCall(Prompt{Model: "m", Text: "t"}); return err },
	}
	for name, call := range calls {
		if err := call(); KindOf(err) != Failed || !strings.Contains(err.Error(), "no skill host") {
			t.Errorf("%s outside of a module: %v", name, err)
		}
	}
	if got := Handle(greet); got != statusFailed {
		t.Errorf("Handle outside of a module = %d, want %d", got, statusFailed)
	}
	if got := Fail("", "x"); got != statusFailed {
		t.Errorf("Fail = %d, want %d", got, statusFailed)
	}
}

func TestWhole(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]int64{0: 0, 1: 1, time.Second: 1000, time.Millisecond + 1: 2, -1: 0, -time.Second: -1000} {
		if got := whole(d, time.Millisecond); got != want {
			t.Errorf("%v is %d milliseconds, want %d", d, got, want)
		}
	}
}

func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{``, `{}`, `{"name":"a"}`, `{"name":7}`, `{"inner":{"depth":1e99}}`, `[`, "\xff", `{"name":"index"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		out, err := answer(input, greet)
		if err == nil && !json.Valid(out) {
			t.Errorf("answer(%q) = %q: not valid JSON", input, out)
		}
		if err != nil && err.Error() == "" {
			t.Errorf("answer(%q): an error without a message", input)
		}
	})
}
