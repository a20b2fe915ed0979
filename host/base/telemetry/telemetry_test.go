package telemetry_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/base/telemetry"
)

const hidden = "hunter2/secret+value"

// ways are all the ways a line can reach a log.
func ways() map[string]func(hclog.Logger, string) {
	return map[string]func(hclog.Logger, string){
		"message":        func(l hclog.Logger, s string) { l.Info("got " + s) },
		"argument":       func(l hclog.Logger, s string) { l.Info("got", "it", s) },
		"bytes":          func(l hclog.Logger, s string) { l.Info("got", "it", []byte(s)) },
		"error":          func(l hclog.Logger, s string) { l.Error("got", "err", errors.New(s)) },
		"with":           func(l hclog.Logger, s string) { l.With("it", s).Info("got") },
		"named":          func(l hclog.Logger, s string) { l.Named("x").Warn(s) },
		"reset named":    func(l hclog.Logger, s string) { l.ResetNamed("x").Warn(s) },
		"level by value": func(l hclog.Logger, s string) { l.Log(hclog.Warn, s) },
		"standard":       func(l hclog.Logger, s string) { l.StandardLogger(nil).Print(s) },
		"slog":           func(l hclog.Logger, s string) { telemetry.Slog(l).Warn("got", "it", s) },
		"list":           func(l hclog.Logger, s string) { l.Warn("got", "it", []string{"a", s}) },
		"map":            func(l hclog.Logger, s string) { l.Warn("got", "it", map[string]any{"a": s}) },
		"structure":      func(l hclog.Logger, s string) { l.Warn("got", "it", struct{ A []string }{[]string{s}}) },
		"format":         func(l hclog.Logger, s string) { l.Warn("got", "it", hclog.Fmt("<%s>", s)) },
		"name":           func(l hclog.Logger, s string) { l.Warn("got", s, 1) },
		"no name":        func(l hclog.Logger, s string) { l.Warn("got", errors.New(s)) },
		"slog group":     func(l hclog.Logger, s string) { telemetry.Slog(l).WithGroup("g").With("it", s).Warn("got") },
	}
}

func TestNoSecretReachesTheLog(t *testing.T) {
	spellings := map[string]string{
		"plain":  hidden,
		"query":  url.QueryEscape(hidden),
		"base64": base64.StdEncoding.EncodeToString([]byte(hidden)),
	}
	for name, write := range ways() {
		for spelling, s := range spellings {
			for _, jsonForm := range []bool{false, true} {
				var out bytes.Buffer
				l := telemetry.New(telemetry.Options{Output: &out, Level: "trace", JSON: jsonForm, Redactor: telemetry.NewRedactor(hidden)})
				write(l, s)
				if strings.Contains(out.String(), s) {
					t.Errorf("%s, %s, json %v: the secret is in the log: %s", name, spelling, jsonForm, out.String())
				}
				if !strings.Contains(out.String(), telemetry.Struck) {
					t.Errorf("%s, %s: nothing was struck out: %s", name, spelling, out.String())
				}
			}
		}
	}
}

func TestSecretOfSeveralLinesIsStruckOut(t *testing.T) {
	const key = "line one\n\"line\ttwo\"\\<é>"
	for name, write := range ways() {
		for _, jsonForm := range []bool{false, true} {
			var out bytes.Buffer
			write(telemetry.New(telemetry.Options{Output: &out, Level: "trace", JSON: jsonForm, Redactor: telemetry.NewRedactor(key)}), key)
			if strings.Contains(out.String(), "line") {
				t.Errorf("%s, json %v: %s", name, jsonForm, out.String())
			}
		}
	}
	quoted, err := json.Marshal(map[string]string{"body": key})
	if err != nil {
		t.Fatal(err)
	}
	if got := telemetry.NewRedactor(key).Text(string(quoted)); strings.Contains(got, "line") {
		t.Errorf("as JSON: %s", got)
	}
}

func TestPrivateKeyIsStruckOutWhole(t *testing.T) {
	const begin, body, end = "-----BEGIN OPENSSH PRIVATE KEY-----\n", "b3BlbnNzaC1rZXk\n", "-----END OPENSSH PRIVATE KEY-----"
	for text, want := range map[string]string{
		"a " + begin + body + end + " b": "a " + telemetry.Struck + " b",
		"a " + begin + body:              "a " + telemetry.Struck,
	} {
		if got := telemetry.NewRedactor().Text(text); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestCredentialsAreRecognised(t *testing.T) {
	r := telemetry.NewRedactor()
	for _, s := range []string{
		"sk-abcdefghijklmnop1234", "ghp_abcdefghijklmnopqrstuvwx", "AKIAABCDEFGHIJKLMNOP", "Bearer abcdefgh12345678", "bearer abcdefgh12345678",
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-def", "-----BEGIN OPENSSH PRIVATE KEY-----", "xoxb-1234567890-abc",
	} {
		if got := r.Text("before " + s + " after"); strings.Contains(got, s) || !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after") {
			t.Errorf("%s became %q", s, got)
		}
	}
	for _, s := range []string{"skeleton", "the bearer of news", "token bucket", "AKIA", "sk-short"} {
		if got := r.Text(s); got != s {
			t.Errorf("%q became %q", s, got)
		}
	}
}

func TestNamesOfFields(t *testing.T) {
	r := telemetry.NewRedactor()
	for _, c := range []struct {
		name  string
		value any
		want  any
	}{
		{"api_key", "x", telemetry.Struck}, {"Authorization", "y", telemetry.Struck}, {"input_tokens", 12, 12},
		{"password", "", ""}, {"path", "/a", "/a"},
	} {
		if got := r.Value(c.name, c.value); got != c.want {
			t.Errorf("%s: %v became %v, want %v", c.name, c.value, got, c.want)
		}
	}
}

func TestJSONLinesParse(t *testing.T) {
	var out bytes.Buffer
	l := telemetry.New(telemetry.Options{Output: &out, Level: "info", JSON: true})
	l.Info("one", "run_id", "r1")
	l.Debug("not shown")
	var line struct {
		Message string `json:"@message"`
		RunID   string `json:"run_id"`
	}
	if err := json.Unmarshal(out.Bytes(), &line); err != nil || line.Message != "one" || line.RunID != "r1" {
		t.Errorf("%s: %v", out.String(), err)
	}
}
