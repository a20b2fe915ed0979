package skill_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/capability"
)

var update = flag.Bool("update", false, "write the golden file")

// probe builds testdata/probe and loads it.
func probe(t *testing.T) *sandbox.Module {
	t.Helper()
	out := filepath.Join(t.TempDir(), "probe.wasm")
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w", "-o", out, "./testdata/probe")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, text)
	}
	wasm, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	options := sandbox.Options{Functions: hostfn.Functions(), CacheDir: os.Getenv("TEST_CODE_CACHE")}
	sb, err := sandbox.New(t.Context(), hclog.NewNullLogger(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sb.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	m, err := sb.Load(t.Context(), wasm)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// vault holds one secret.
type vault struct{}

func (vault) Has(_ context.Context, name string) (bool, error) { return name == "known", nil }
func (vault) Get(context.Context, string) ([]byte, error)      { return []byte("value"), nil }

// inbox keeps the notifications it gets.
type inbox struct{ got []hostfn.Notification }

func (i *inbox) Notify(_ context.Context, n hostfn.Notification) error {
	i.got = append(i.got, n)
	return nil
}

func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("X-Echo", r.Header.Get("X-Probe"))
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, r.Method+" "+string(body))
}

// settings grants the probe what it uses, with one exception of each kind.
func settings(t *testing.T, dir, server string, i *inbox) hostfn.Settings {
	t.Helper()
	granted, err := capability.ParseSet("fs.read:"+dir+"/**", "fs.write:"+dir+"/**", "http:GET,POST "+server+"/*", "kv", "secret:known", "notify")
	if err != nil {
		t.Fatal(err)
	}
	rules, err := policies.Default()
	if err != nil {
		t.Fatal(err)
	}
	return hostfn.Settings{
		Granted: granted, Policies: rules, Home: "/nowhere", KV: store.Memory().KV(), Secrets: vault{}, Notifier: i,
		Principal: policies.Principal{Skill: "probe", Version: "1.0.0", Origin: policies.OriginUser},
	}
}

// TestGuest runs a module that calls every function of the package in the real
// sandbox, and compares what each of them returned with a golden file.
func TestGuest(t *testing.T) {
	t.Parallel()
	m := probe(t)
	t.Run("every function", func(t *testing.T) { everyFunction(t, m) })
	t.Run("echo", func(t *testing.T) {
		for _, n := range []int{0, 1, 999, 1 << 20} {
			input := strings.Repeat("x", n)
			r, err := m.Call(t.Context(), sandbox.Call{Export: "echo", Input: []byte(input)})
			if err != nil || string(r.Output) != input {
				t.Errorf("echo of %d bytes: %d bytes, %v", n, len(r.Output), err)
			}
		}
	})
	t.Run("panic", func(t *testing.T) {
		_, err := m.Call(t.Context(), sandbox.Call{Export: "fails", Input: []byte("{}")})
		var guest *sandbox.GuestError
		if !errors.As(err, &guest) || guest.Kind != "failed" || guest.Message != "panic: out of ideas" {
			t.Errorf("a panic ends the call with %v", err)
		}
	})
}

func everyFunction(t *testing.T, m *sandbox.Module) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(echo))
	defer server.Close()
	mail := &inbox{}
	env := hostfn.NewEnv(settings(t, dir, server.URL, mail))
	defer env.Close()
	input, err := json.Marshal(map[string]string{"dir": dir, "url": server.URL + "/x"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := m.Call(t.Context(), sandbox.Call{Export: "everything", Input: input, Env: env})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, strings.NewReplacer(dir, "DIR", server.URL, "SERVER").Replace(lines(t, r.Output)))
	if logs := env.Logs(); len(logs) != 1 || logs[0].Level != "warn" || logs[0].Message != "a line" || logs[0].Fields["k"] != "v" {
		t.Errorf("logs = %+v", logs)
	}
	if len(mail.got) != 1 || mail.got[0].Severity != "warning" || mail.got[0].Title != "title" || mail.got[0].Text != "text" {
		t.Errorf("notifications = %+v", mail.got)
	}
}

// lines writes the steps of a report one below the other.
func lines(t *testing.T, output []byte) string {
	t.Helper()
	var report struct {
		Steps []json.RawMessage `json:"steps"`
	}
	if err := json.Unmarshal(output, &report); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, s := range report.Steps {
		b.WriteString(string(s) + "\n")
	}
	return b.String()
}

func golden(t *testing.T, got string) {
	t.Helper()
	const path = "testdata/probe.golden"
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; got\n%s", path, got)
	}
}
