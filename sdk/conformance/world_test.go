package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/engine/jail"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/capability"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// outside is the server that all cases share, and an address where nobody listens.
type outside struct{ url, closed string }

func newOutside(t testing.TB) outside {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Echo", strings.Join(r.Header.Values("X-Probe"), ","))
		w.Header()["X-Two"] = []string{"1", "2"}
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprintf(w, "%s %s %s", r.Method, r.URL.RequestURI(), body)
	})
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, Long(1<<20)) })
	mux.HandleFunc("/missing", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/echo", http.StatusFound) })
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	closed := "http://" + l.Addr().String()
	must(t, l.Close())
	return outside{s.URL, closed}
}

// world is the host of one case: its directory, its store, and everybody that a skill may reach.
type world struct {
	c    Case
	dir  string
	out  outside
	kv   store.KV
	mu   sync.Mutex
	got  Left // but for the files
	text *strings.Replacer
	back *strings.Replacer // what text does, undone
}

func newWorld(t testing.TB, c Case, out outside) *world {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	w := &world{c: c, out: out, dir: base + "/data"}
	w.text = strings.NewReplacer("{dir}", w.dir, "{url}", out.url, "{closed}", out.closed)
	w.back = strings.NewReplacer(w.dir, "{dir}", out.url, "{url}", out.closed, "{closed}")
	w.fill(t)
	if !c.World.NoStore {
		s := store.Memory()
		t.Cleanup(func() { s.Close() })
		w.kv = s.KV()
	}
	return w
}

// fill makes the files.
func (w *world) fill(t testing.TB) {
	t.Helper()
	must(t, os.MkdirAll(w.dir+"/sub", 0o755))
	made := map[string]string{"a.txt": "alpha", "empty": "", "ünï 🚀.txt": "grüße", "sub/b.txt": "b", "../secret": "SECRET", "big": ""}
	if strings.Contains(w.c.Input, "{dir}/big") {
		made["big"] = Long(5 << 20)
	}
	for name, content := range made {
		must(t, os.WriteFile(filepath.Join(w.dir, name), []byte(content), 0o644))
	}
	must(t, os.Symlink("../secret", w.dir+"/out"))
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	must(t, os.Chtimes(w.dir+"/sub/b.txt", at, at))
}

// settings are what one call may do.
func (w *world) settings(t testing.TB) hostfn.Settings {
	t.Helper()
	var grants []string
	for _, g := range w.c.Grants {
		grants = append(grants, w.text.Replace(g))
	}
	granted, err := capability.ParseSet(grants...)
	must(t, err)
	rules, err := policies.Default()
	must(t, err)
	s := hostfn.Settings{
		Granted: granted, Policies: rules, Home: "/nowhere/.skillet", KV: w.kv, Secrets: vault{w.c.World.Unreadable},
		Notifier: w, Skills: w, Models: w, MaxHTTPBytes: w.c.World.HTTPBytes,
		Principal:     policies.Principal{Skill: "conformance", Version: "1.0.0", Origin: policies.OriginUser},
		Files:         jail.Quota{FileBytes: w.c.World.FileBytes, Entries: w.c.World.Entries},
		Notifications: w.c.World.Notifications,
	}
	if w.c.World.NoNotifier {
		s.Notifier = nil
	}
	if w.c.World.NoSkills {
		s.Skills = nil
	}
	if w.c.World.NoModels {
		s.Models = nil
	}
	return s
}

// vault holds one secret.
type vault struct{ unreadable bool }

func (v vault) Has(_ context.Context, name string) (bool, error) {
	if v.unreadable {
		return false, errors.New("the disk is on fire")
	}
	return name == "known", nil
}

func (v vault) Get(context.Context, string) ([]byte, error) { return []byte("value"), nil }

// Notify keeps a notification.
func (w *world) Notify(_ context.Context, n hostfn.Notification) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.got.Notifications = append(w.got.Notifications, n.Severity+" "+n.Title+": "+n.Text)
	return nil
}

// CallSkill is the skill echo, and those that are called as the error they answer.
func (w *world) CallSkill(_ context.Context, c hostfn.SkillCall) ([]byte, error) {
	if c.Skill != "echo" {
		return nil, &hostfn.Failure{Kind: hostfn.Kind(strings.ReplaceAll(c.Skill, "-", "_")), Message: "as it is called"}
	}
	w.asked(c.Skill, c.Tool, c.Session, string(c.Input))
	return c.Input, nil
}

// AskModel is the model parrot.
func (w *world) AskModel(_ context.Context, r hostfn.ModelRequest) (hostfn.ModelAnswer, error) {
	temperature := "-"
	if r.Temperature != nil {
		temperature = strconv.FormatFloat(*r.Temperature, 'g', -1, 64)
	}
	w.asked(r.Model, r.System, strconv.Itoa(r.MaxTokens), temperature, r.Format, r.Prompt)
	return hostfn.ModelAnswer{Model: r.Model + "-1", FinishReason: "stop", InputTokens: 3, OutputTokens: 4, Text: []byte(r.Prompt)}, nil
}

func (w *world) asked(words ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.got.Asked = append(w.got.Asked, strings.Join(words, " "))
}

// keep takes over what a call logged.
func (w *world) keep(e *hostfn.Env) {
	for _, l := range e.Logs() {
		line := l.Level + " " + l.Message
		for _, k := range slices.Sorted(maps.Keys(l.Fields)) {
			line += " " + k + "=" + l.Fields[k]
		}
		w.got.Logs = append(w.got.Logs, line)
	}
}

// check compares what is left with what should be.
func (w *world) check(t testing.TB) {
	t.Helper()
	for name, want := range w.c.Left.Files {
		if got, err := os.ReadFile(filepath.Join(w.dir, name)); err != nil || string(got) != want {
			t.Errorf("file %s holds %s, %v; want %s", name, short(string(got)), err, short(want))
		}
	}
	for what, pair := range map[string][2][]string{
		"logs":          {w.got.Logs, w.c.Left.Logs},
		"notifications": {w.got.Notifications, w.c.Left.Notifications},
		"asked":         {w.got.Asked, w.c.Left.Asked},
	} {
		if len(pair[1]) > 0 && !slices.Equal(pair[0], pair[1]) {
			t.Errorf("%s are %q, want %q", what, pair[0], pair[1])
		}
	}
}

// short is a text as it can be printed.
func short(s string) string {
	if len(s) > 500 {
		return fmt.Sprintf("%q… (%d bytes)", s[:500], len(s))
	}
	return fmt.Sprintf("%q", s)
}
