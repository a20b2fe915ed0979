package escape

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/base/store/backends"
	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/capability"
)

// lab is where one attempt is made: a directory with
//
//	open/readme     what the guest is usually granted
//	closed/secret   what must not come out
//	closed/canary   what must not change
//	home/           the host's own
//
// and, when they are asked for, two web servers, a name server and a store.
type lab struct {
	ctx    context.Context
	bench  *bench
	log    hclog.Logger
	dir    string
	before []string // of closed

	site, other *site // the one that is granted, and the one that is not
	mayVisit    bool  // the attempt is granted the other one too
	kv          store.Store

	heard           []string // all that guests were able to put out
	stops, breaches []string
	atEnd           []func()
}

// granted is what a file says that a guest may read.
const granted = "this may be read"

// openLab makes the directory.
func openLab(ctx context.Context, b *bench, dir string) (*lab, error) {
	l := &lab{ctx: ctx, bench: b, log: b.log, dir: dir}
	for name, text := range map[string]string{
		"open/readme": granted, "open/sub/deeper/file": granted,
		"closed/secret": b.secret, "closed/canary": "untouched",
		"home/secrets/token": b.secret, "person/.ssh/id_rsa": b.secret, "person/notes": granted,
	} {
		if err := l.put(name, text); err != nil {
			return nil, err
		}
	}
	var err error
	l.before, err = snapshot(l.path("closed"))
	return l, err
}

// close frees what the attempt used, and removes its directory.
func (l *lab) close() {
	for _, end := range slices.Backward(l.atEnd) {
		end()
	}
	_ = os.RemoveAll(l.dir)
}

// path is an absolute path in the lab.
func (l *lab) path(name string) string { return filepath.Join(l.dir, filepath.FromSlash(name)) }

// put writes a file, with the directories around it.
func (l *lab) put(name, text string) error {
	if err := os.MkdirAll(filepath.Dir(l.path(name)), 0o700); err != nil {
		return err
	}
	return os.WriteFile(l.path(name), []byte(text), 0o600)
}

// must fails the attempt if err is not nil: it could not be made.
func (l *lab) must(err error) bool {
	if err != nil {
		l.breach("the attempt could not be made: %v", err)
	}
	return err == nil
}

// realPath is a path without symbolic links.
func realPath(p string) (string, error) {
	abs, err := filepath.Abs(p)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// snapshot describes everything below a directory.
func snapshot(dir string) (out []string, err error) {
	err = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		line := fmt.Sprintf("%s %v", strings.TrimPrefix(p, dir), info.Mode())
		if info.Mode().IsRegular() {
			b, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" %x %v", sha256.Sum256(b), info.ModTime().UnixNano())
		}
		out = append(out, line)
		return nil
	})
	return out, err
}

// difference names the entries that only one of two snapshots has.
func difference(before, now []string) (names []string) {
	for _, pair := range [][2][]string{{before, now}, {now, before}} {
		for _, line := range pair[0] {
			if name, _, _ := strings.Cut(line, " "); !slices.Contains(pair[1], line) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// settings are those of an installed skill with some grants.
func (l *lab) settings(grants ...string) hostfn.Settings {
	set, err := capability.ParseSet(grants...)
	l.must(err)
	return hostfn.Settings{
		Granted: set, Policies: l.bench.policies, Home: l.path("home"), Workspace: l.path("open"), Log: l.log,
		Principal:   policies.Principal{Skill: "stranger", Version: "1.0.0", Origin: policies.OriginUser},
		HTTPTimeout: 2 * time.Second,
	}
}

// env is the environment of one call with some grants.
func (l *lab) env(grants ...string) *hostfn.Env { return l.envOf(l.settings(grants...)) }

// envOf is the environment of one call.
func (l *lab) envOf(s hostfn.Settings) *hostfn.Env {
	if loosen := l.bench.slack.settings; loosen != nil {
		loosen(l, &s)
	}
	e := hostfn.NewEnv(s)
	l.atEnd = append(l.atEnd, e.Close)
	return e
}

// files grants reading and writing what is below a directory of the lab.
func (l *lab) files(dir string) []string {
	return []string{"fs.read:" + l.path(dir) + "/**", "fs.write:" + l.path(dir) + "/**"}
}

// below is a path of the lab as a guest has to name it: relative to the
// directory that the first root of its file tree is.
func (l *lab) below(e *hostfn.Env, name string) string {
	tree, err := e.FS()
	if !l.must(err) || len(tree.Roots()) == 0 {
		return name
	}
	rel, err := filepath.Rel(tree.Roots()[0].Path, l.path(name))
	l.must(err)
	return filepath.ToSlash(rel)
}

// A callResult is the outcome of a call.
type callResult struct {
	sandbox.Result
	err error
	env *hostfn.Env
}

// usual are the limits of a call: small, so that what reaches them does so soon.
func usual() sandbox.Limits {
	return sandbox.Limits{MemoryBytes: 16 << 20, Fuel: 2_000_000_000, Wall: 5 * time.Second}
}

// load loads a guest that is not to be refused; nil when it is.
func (l *lab) load(wasm []byte) module {
	m, err := l.compile(wasm)
	if err != nil {
		l.breach("the guest could not be loaded: %v", err)
		return nil
	}
	l.atEnd = append(l.atEnd, func() { _ = m.Close(context.Background()) })
	return m
}

// run loads a guest and calls its export run, or _start.
func (l *lab) run(wasm []byte, e *hostfn.Env) callResult { return l.limited(wasm, e, usual()) }

// limited is run with other limits.
func (l *lab) limited(wasm []byte, e *hostfn.Env, limits sandbox.Limits) callResult {
	m := l.load(wasm)
	if m == nil {
		return callResult{err: errors.New("not loaded"), env: e}
	}
	return l.call(m, e, sandbox.Call{Limits: limits})
}

// call calls a guest as the runner of a host does.
func (l *lab) call(m module, e *hostfn.Env, c sandbox.Call) callResult {
	if c.Export == "" {
		c.Export = "run"
		if m.Info().ABI == sandbox.ABIWASICommand {
			c.Export = "_start"
		}
	}
	if c.Env == nil && e != nil {
		tree, err := e.FS()
		l.must(err)
		c.Env, c.FS, c.Log = e, tree, e.Log
		c.Clock = e.Allows(capability.Request{Action: capability.Clock})
		c.Random = e.Allows(capability.Request{Action: capability.Random})
	}
	l.bench.slack.loosen(&c)
	t := callResult{env: e}
	t.Result, t.err = m.Call(l.ctx, c)
	l.hear(t)
	return t
}

// loosen changes a call.
func (s slack) loosen(c *sandbox.Call) {
	if s.limits != nil {
		s.limits(&c.Limits)
	}
	if s.call != nil {
		s.call(c)
	}
}

// hear keeps everything a guest could have put a secret into.
func (l *lab) hear(t callResult) {
	l.heard = append(l.heard, string(t.Output), string(t.Stderr), t.GuestError)
	if t.err != nil {
		l.heard = append(l.heard, t.err.Error())
	}
	if t.env != nil {
		for _, line := range t.env.Logs() {
			l.heard = append(l.heard, fmt.Sprint(line.Message, line.Fields))
		}
	}
}

// store opens the lab's store, of the kind that a home has when nothing else is said.
func (l *lab) store() store.KV {
	if l.kv == nil {
		s, err := backends.Named("").Open(l.log, l.path("home/store"), store.Options{FreeBytes: -1})
		if !l.must(err) {
			return nil
		}
		l.kv = s
		l.atEnd = append(l.atEnd, func() { _ = s.Close() })
	}
	return l.kv.KV()
}

// words takes out of a text what differs from one run to the next.
func (l *lab) words(text string) string {
	pairs := []string{l.dir, "", l.bench.dir, "", l.bench.secret, "(the secret)"}
	for s, name := range map[*site]string{l.site: "granted.site", l.other: "other.site"} {
		if s != nil {
			pairs = append(pairs, s.address, name, "localhost:"+s.port(), "localhost:port", s.port(), "port")
		}
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// refusal says in one line why a module was not loaded.
func refusal(err error) string {
	var gate *wasmbin.Error
	if errors.As(err, &gate) {
		return "the gate: " + gate.Section + " section: " + gate.Message
	}
	text := err.Error()
	for _, known := range []error{sandbox.ErrImport, sandbox.ErrGuest} {
		if i := strings.Index(text, known.Error()); i >= 0 && errors.Is(err, known) {
			text = text[i:]
		}
	}
	text, _, _ = strings.Cut(text, "\n")
	return text
}
