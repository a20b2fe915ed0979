package main

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	skill "github.com/skillet-run/skillet/sdk/go"
)

func TestOutput(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, contentType, body string
		form                    form
		text                    string // "" means base64
	}{
		{"html", "text/html; charset=utf-8", "<p>é</p>", auto, "<p>é</p>"},
		{"json", "application/json", `{"a":1}`, auto, `{"a":1}`},
		{"problem", "application/problem+json", `{}`, auto, `{}`},
		{"svg", "image/svg+xml", "<svg/>", auto, "<svg/>"},
		{"no type", "", "plain", auto, "plain"},
		{"broken type", ";;;", "plain", auto, "plain"},
		{"byte order mark", "text/plain", "\ufeffa", auto, "a"},
		{"latin 1", "text/plain; charset=ISO-8859-1", "caf\xe9 \x80", auto, "café €"},
		{"cyrillic", `text/html; charset="windows-1251"`, "\xcf\xf0", auto, "Пр"},
		{"image", "image/png", "\x89PNG", auto, ""},
		{"archive that happens to be text", "application/zip", "text", auto, ""},
		{"text that is none", "text/plain", "a\xffb", auto, ""},
		{"nul", "text/plain", "a\x00b", auto, ""},
		{"unknown character set", "text/plain; charset=shift_jis", "a", auto, ""},
		{"image as text", "image/png", "a\xffb", asText, "a\ufffdb"},
		{"text in base64", "text/plain", "a", asBase64, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := skill.Response{Status: 200, Headers: map[string][]string{"content-type": {tt.contentType}}, Body: []byte(tt.body)}
			got := newOutput(r, tt.form)
			if got.Bytes != len(tt.body) || got.ContentType != tt.contentType {
				t.Fatalf("newOutput = %+v", got)
			}
			if tt.text != "" && (got.Text == nil || *got.Text != tt.text || got.Base64 != nil) {
				t.Errorf("newOutput = %s, want text %q", encoded(t, got), tt.text)
			}
			if tt.text == "" && (got.Base64 == nil || *got.Base64 != base64.StdEncoding.EncodeToString([]byte(tt.body)) || got.Text != nil) {
				t.Errorf("newOutput = %s, want base64", encoded(t, got))
			}
		})
	}
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestOutputMembers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		r    skill.Response
		want string
	}{
		{skill.Response{Status: 404, URL: "http://a/"},
			`{"status":404,"ok":false,"url":"http://a/","content_type":"","headers":{},"text":"","bytes":0,"truncated":false}`},
		{skill.Response{Status: 204, URL: "http://a/", Headers: map[string][]string{"X": {"1", "2"}}, Truncated: true, Body: []byte("a\xe2\x82")},
			`{"status":204,"ok":true,"url":"http://a/","content_type":"","headers":{"X":["1","2"]},"text":"a","bytes":3,"truncated":true}`},
	}
	for _, tt := range tests {
		if got := encoded(t, newOutput(tt.r, auto)); got != tt.want {
			t.Errorf("newOutput = %s, want %s", got, tt.want)
		}
	}
}

func TestRequest(t *testing.T) {
	t.Parallel()
	got, err := newRequest("GET", "HTTPS://a/", map[string]string{"Accept": "text/html"}, new(int64(1500)))
	if err != nil || got.URL != "HTTPS://a/" || got.Timeout.Seconds() != 1.5 || got.Headers["Accept"][0] != "text/html" {
		t.Errorf("newRequest = %+v, %v", got, err)
	}
}

func TestInvalid(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   getInput
		want string
	}{
		{getInput{}, "url: must start with http"},
		{getInput{URL: "file:///etc/passwd"}, "url: must start with http"},
		{getInput{URL: "a.example"}, "url: must start with http"},
		{getInput{URL: "http://a/", Body: "xml"}, "body: must be auto"},
		{getInput{URL: "http://a/", MaxBytes: new(int64(0))}, "max_bytes: must be from 1"},
		{getInput{URL: "http://a/", MaxBytes: new(int64(1 << 30))}, "max_bytes: must be from 1"},
		{getInput{URL: "http://a/", TimeoutMS: new(int64(0))}, "timeout_ms: must be from 1"},
	}
	for _, tt := range tests {
		if _, err := get(tt.in); skill.KindOf(err) != skill.Invalid || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("get(%+v) = %v, want %s", tt.in, err, tt.want)
		}
	}
	if _, err := head(headInput{URL: "ftp://a/"}); skill.KindOf(err) != skill.Invalid {
		t.Errorf("head of another scheme = %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("a\xe2\x82"), "text/html; charset=utf-8", true)
	f.Add([]byte("\xff"), `text/plain; charset="koi8-r`, false)
	f.Fuzz(func(t *testing.T, body []byte, contentType string, truncated bool) {
		text, _ := decode(body, contentType, truncated)
		if !utf8.ValidString(text) {
			t.Errorf("decode(%q, %q) = %q: not UTF-8", body, contentType, text)
		}
	})
}
