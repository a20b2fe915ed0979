package hostfn

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/engine/jail"
	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/capability"
)

// SecretSource holds the values of secrets. Get of a name that is not stored is an error.
type SecretSource interface {
	Get(ctx context.Context, name string) ([]byte, error)
	Has(ctx context.Context, name string) (bool, error)
}

// A LoginSource is a SecretSource some of whose secrets are logins, of which only tokens are
// given, and only for requests to the server of the login.
type LoginSource interface {
	SecretSource
	// Token is the token for a request to an address. refused is one that the server did not
	// take, for which another is wanted; or empty. ok is false for a secret that is not a
	// login, and for none. Errors wrap [ErrLogin] when a person has to log in again.
	Token(ctx context.Context, name, to, refused string) (token string, ok bool, err error)
}

// ErrLogin means that a login does not hold any more: a person has to log in again.
var ErrLogin = errors.New("the login has ended")

// Injection makes the host add a secret to requests as a header. The guest sees neither.
type Injection struct {
	// Secret is the secret's name. The skill also needs the grant secret:NAME.
	Secret string
	// URL is the pattern of addresses that get the header, written as in an http capability, without
	// methods: https://api.example.com/*. All methods match.
	URL string
	// Header is the name of the header, such as "Authorization".
	Header string
	// Prefix stands before the secret in the header, such as "Bearer ".
	Prefix string
}

// Lifted is what some policies, and no others, do not ask about. It grants nothing.
type Lifted struct {
	Set      capability.Set
	Policies []string
}

// Decide is what policies decide about q, a query about the request r, when those in l do not ask.
func (l Lifted) Decide(by *policies.Set, q policies.Query, r capability.Request) policies.Decision {
	d := by.Decide(q)
	if d.Effect == policies.Ask && l.lifts(r, d.Policies) {
		q.Approved = true
		d = by.Decide(q)
	}
	return d
}

// lifts reports whether nothing asks about a request but policies that are not to.
func (l Lifted) lifts(r capability.Request, asking []string) bool {
	_, ok := l.Set.Allows(r)
	return ok && !slices.ContainsFunc(asking, func(id string) bool { return !slices.Contains(l.Policies, id) })
}

// Settings is what one call may do and with what. The zero value can do nothing.
type Settings struct {
	// Granted is all that was granted to the skill.
	Granted capability.Set
	// Beyond says why no grant helps with a request in this call, and what does; both are
	// empty for one that a grant would allow. nil says so of every request.
	Beyond func(capability.Request) (why string, way fault.Hint)
	// Present says what decides at the moment, in the place of Granted and Policies, which say what did when
	// the call began; nil when that holds to the end of the call. It is asked at each host call, so it must be quick,
	// and return the same pointer as long as nothing changed. It is called from several goroutines.
	Present func() *Authority
	// Approved is what a person approved for this very call: policies that ask about it do not stand in its
	// way. It grants nothing.
	Approved capability.Set
	// Lifted is what a person approved for calls like this one.
	Lifted Lifted
	// Policies may refuse what is granted. Without any, everything is refused.
	Policies *policies.Set
	// Call is what policies can look at of the call; one that does denies when it is nil.
	Call *policies.Call
	// Principal is the skill that runs. Its name is also the name of its key-value state.
	Principal policies.Principal
	// Home is the absolute path of the host's own directory, links resolved. Policies protect it; without
	// it they refuse every file.
	Home string
	// Own are absolute paths of the host's own files that lie outside of Home, which no grant opens.
	Own []string
	// Workspace is the absolute directory that relative paths of the guest mean. Without one they are
	// refused.
	Workspace string
	// Files bounds file access; see jail.Quota for the defaults.
	Files jail.Quota
	// LogBytes is how much of the log is kept; 0 means DefaultLogBytes. Then a last line says so.
	LogBytes int64
	// Logged is told each line of the log as it is kept, and must be quick; nil is for nobody.
	Logged func(task.LogLine)
	// Notifications is how many notifications one call may send; 0 means DefaultNotifications.
	Notifications int
	// VarBytes bounds the Extism variables; 0 means DefaultVarBytes.
	VarBytes int64
	// KV is the store for the skill's state. If nil, the kv functions fail.
	KV store.KV
	// KVQuotaBytes bounds the skill's state; 0 means DefaultKVBytes.
	KVQuotaBytes int64
	// KVSchema is the version of the skill's stored data; 0 means 1. State of another version is not opened.
	KVSchema int
	// Secrets holds the values for Injections; nil holds none.
	Secrets    SecretSource
	Injections []Injection
	// Notifier delivers notifications. If nil, the notify function fails.
	Notifier Notifier
	// Skills runs other skills. If nil, the skill_call function fails.
	Skills Skills
	// Models asks models; nil has the model_call function fail.
	Models Models
	// Log gets what the guest must not know of failures; nil drops it.
	Log hclog.Logger
	// Config is what the Extism function config_get reads, before sandbox.Call.Config.
	Config map[string]string
	// MaxHTTPBytes bounds each request body and each response body; 0 means DefaultHTTPBytes.
	MaxHTTPBytes int64
	// HTTPTimeout bounds each exchange with all its redirects; 0 means DefaultHTTPTimeout.
	HTTPTimeout time.Duration
	// Resolver looks up host names; nil means the system's.
	Resolver *net.Resolver
	// RootCAs are the certificate authorities that are trusted; nil means the system's.
	RootCAs *x509.CertPool
	// RunID is passed on with notifications.
	RunID string
	// Tape is what each host call passes through; nil lets all of them act.
	Tape Tape
	// Stage stands in for the machine; nil for the machine itself.
	Stage *Stage
}

// Authority is what decides about a call at one moment. It is not changed.
type Authority struct {
	Granted  capability.Set
	Policies *policies.Set
	// Ended says why nothing is allowed any more, whatever was granted; empty when that is not so.
	Ended string
	// Epoch is another number for each Standing of a call.
	Epoch uint64
}

// Defaults of Settings.
const (
	DefaultKVBytes       = 10 << 20
	DefaultHTTPBytes     = 10 << 20
	DefaultHTTPTimeout   = 30 * time.Second
	DefaultLogBytes      = 64 << 10
	DefaultNotifications = 5
	DefaultVarBytes      = 1 << 20
)

// Env is the environment of one call: what host functions may do for it, and what they did. Give it to
// the sandbox as sandbox.Call.Env, and Close it after the call. It is safe for concurrent use.
type Env struct {
	s     Settings
	began *Authority

	redact redactor
	web    web
	guard  pathGuard

	mu       sync.Mutex
	fs       *jail.FS
	fsErr    error
	roots    []jail.Root
	denials  []task.Denial
	uses     []Use
	used     map[capability.Request]int // index in uses; this and other maps are made when they are needed
	rest     []Use                      // by grant, when uses is full
	allowed  map[capability.Request]capability.Capability
	decided  *Authority // by which what is in allowed is
	logs     []task.LogLine
	logBytes int64
	notified int
	vars     map[string][]byte
	varBytes int64
	last     lastResponse
	lent     map[string]string // tokens of logins that went with requests, by the name of the secret
	closed   bool
	adrift   bool // it named a file by a relative path, without a workspace
}

// NewEnv makes the environment of one call. It opens nothing.
func NewEnv(s Settings) *Env {
	fill(&s.KVQuotaBytes, DefaultKVBytes)
	fill(&s.KVSchema, 1)
	fill(&s.MaxHTTPBytes, DefaultHTTPBytes)
	fill(&s.HTTPTimeout, DefaultHTTPTimeout)
	fill(&s.LogBytes, DefaultLogBytes)
	fill(&s.Notifications, DefaultNotifications)
	fill(&s.VarBytes, DefaultVarBytes)
	if s.Log == nil {
		s.Log = hclog.NewNullLogger()
	}
	if s.Stage != nil {
		s.Skills, s.Models = nil, nil
	}
	e := &Env{s: s, roots: s.roots(), guard: pathGuard{own: s.Own, other: otherNames{home: s.Home}}}
	e.began, e.web.settings = &Authority{Granted: s.Granted, Policies: s.Policies}, &e.s
	return e
}

// fill gives a field that is not positive its default.
func fill[T int | int64 | time.Duration](v *T, fallback T) {
	if *v <= 0 {
		*v = fallback
	}
}

// present is what decides now.
func (e *Env) present() *Authority {
	if e.s.Present == nil {
		return e.began
	}
	return e.s.Present()
}

// FS returns the file tree of the call, which is opened the first time: the roots of all file grants,
// guarded by the same checks as the fs functions. Without file grants it has no roots. Close closes it.
func (e *Env) FS() (*jail.FS, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.fs == nil && e.fsErr == nil && !e.closed {
		e.fs, e.fsErr = jail.Open(e.roots, guard{e}, e.s.Files)
	}
	if e.closed {
		return nil, jail.ErrEscape
	}
	return e.fs, e.fsErr
}

// fewest returns roots without those inside another one that allows as much: the guard decides within.
func fewest(all []jail.Root) []jail.Root {
	slices.SortStableFunc(all, func(a, b jail.Root) int { return len(a.Path) - len(b.Path) })
	for i := range all { // a root that can be written makes every root in it and at it writable
		for _, r := range all {
			all[i].Write = all[i].Write || r.Write && below(all[i].Path, r.Path)
		}
	}
	var out []jail.Root
	for _, r := range all {
		if !slices.ContainsFunc(out, func(o jail.Root) bool { return below(r.Path, o.Path) && o.Write == r.Write }) {
			out = append(out, r)
		}
	}
	return out
}

// below reports whether the clean path p is dir or in it.
func below(p, dir string) bool {
	return p == dir || dir == "/" || len(p) > len(dir) && p[:len(dir)] == dir && p[len(dir)] == '/'
}

// path returns the absolute path that a guest's path means.
func (e *Env) path(p string) (string, error) {
	if p != "" && p[0] != '/' {
		if e.s.Workspace == "" {
			e.mu.Lock()
			e.adrift = true
			e.mu.Unlock()
			return "", failf(KindInvalid, "the path is relative, and no workspace is set")
		}
		dir := p[len(p)-1] == '/'
		if p = path.Join(e.s.Workspace, p); dir {
			p += "/"
		}
	}
	if _, err := jail.Clean(p); err != nil {
		return "", err
	}
	return p, nil
}

// Adrift reports whether the guest named a file by a relative path although there is no workspace.
func (e *Env) Adrift() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.adrift
}

// Logs returns the lines the guest logged so far, redacted and without control characters.
func (e *Env) Logs() []task.LogLine {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.logs)
}

// Close closes the call's files and connections. What was recorded can still be read.
func (e *Env) Close() {
	e.mu.Lock()
	e.closed = true
	tree := e.fs
	e.mu.Unlock()
	if tree != nil {
		tree.Close()
	}
	e.web.close()
}
