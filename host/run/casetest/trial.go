package casetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/internal/duration"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/host/run/runner"
	"github.com/skillet-run/skillet/manifests/testcase"
	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/capability"
	"github.com/skillet-run/skillet/policies/limit"
)

// serverAddress is where the web server of a case is, for the skill. No such server
// exists: names in .test never do (RFC 6761, section 6.2).
const serverAddress = "http://server.test"

// Caller is who calls the tools of cases, in records.
const Caller = "host:test"

// A trial is one case while it runs.
type trial struct {
	suite  *suite
	c      testcase.Case
	dir    string
	result *Result

	cut     bool // it gets less time than it asks for
	made    int  // bytes of the files and values it has before the call
	granted capability.Set
	kv      store.KV // nil when the case has nothing to do with it
	close   []func()
	mocks   *mocks
	sent    notifications
}

// run runs the case and judges it. What the case itself has wrong is a failure of it.
func (t *trial) run(ctx context.Context) {
	defer t.end()
	call, err := t.prepare(ctx)
	if err != nil {
		t.result.Outcome, t.result.Detail = Failed, err.Error()
		return
	}
	res := t.suite.tester.runner.Run(ctx, call)
	r := t.result
	r.Tool, r.Fuel, r.PeakMemoryBytes, r.HostCalls = res.Tool, res.Fuel, res.PeakMemoryBytes, res.Figures.HostCalls
	r.Logs, r.Denials, r.Failure = res.Logs, res.Denials, res.Error
	if res.OK {
		r.Output = bytes.ReplaceAll(res.Raw, []byte(t.dir), []byte(testcase.Workspace))
		r.Output = bytes.ReplaceAll(r.Output, []byte(serverAddress), []byte(testcase.Server))
	}
	t.judge(context.WithoutCancel(ctx), res)
}

// end lets go of everything the case had.
func (t *trial) end() {
	for _, done := range t.close {
		done()
	}
	_ = os.RemoveAll(t.dir) // the directory around it is removed as well
}

// prepare makes what the case needs.
func (t *trial) prepare(ctx context.Context) (runner.Call, error) {
	var call runner.Call
	var err error
	if t.c, err = t.c.Fill(t.dir, serverAddress); err != nil {
		return call, err
	}
	if t.granted, err = capability.ParseSet(t.c.Grants...); err != nil {
		return call, err
	}
	for _, step := range []func(context.Context) error{t.makeFiles, t.makeState, t.makeMocks} {
		if err := step(ctx); err != nil {
			return call, err
		}
	}
	input, err := t.c.Bytes(t.read)
	if err != nil {
		return call, fmt.Errorf("read the input: %w", err)
	}
	return runner.Call{
		Target: runner.Target{Label: label(t.suite.pkg), Package: t.suite.pkg, Origin: registry.OriginPath},
		Tool:   t.c.Tool, Input: input, Workspace: t.dir, Caller: Caller, Limits: limit.Set{Seconds: t.wall().Seconds()},
		Config: t.c.Config, NoCache: true, Tape: t.mocks, Looks: newLooks(t.c.Clock, t.c.Seed),
		Stage: &runner.Stage{
			Stage: hostfn.Stage{Web: t.mocks}, Granted: t.granted, KV: t.kv, Secrets: secrets(t.c.Secrets), Notifier: &t.sent,
			Policies: t.suite.policies, Home: t.suite.home(), Seed: t.c.Seed,
		},
	}, nil
}

// wall is how long the case may take.
func (t *trial) wall() time.Duration {
	most, want := t.suite.options.MaxCaseTime, duration.OfSeconds(t.c.Timeout)
	if want == 0 {
		want = t.suite.pkg.Manifest().Limits().Wall()
	}
	if t.cut = most > 0 && most < want; t.cut {
		return most
	}
	return want
}

// read reads a file of the package.
func (t *trial) read(name string) ([]byte, error) {
	b, err := t.suite.pkg.Read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is not a file of the package", name)
	}
	return b, err
}

// fill puts the placeholders of a case into a text.
func (t *trial) fill(text string) string {
	return strings.NewReplacer(testcase.Workspace, t.dir, testcase.Server, serverAddress).Replace(text)
}

// maxMade bounds the files and values that a case has before the call, in bytes: a
// few bytes of it can name the same large file of the package thousands of times.
const maxMade = 64 << 20

// content reads what a file or a value holds before the call.
func (t *trial) content(c testcase.Content) ([]byte, error) {
	b, err := c.Bytes(t.read)
	if err != nil {
		return nil, err
	}
	if t.made += len(b); t.made > maxMade {
		return nil, fmt.Errorf("the case has more than %d MB of files and values before the call", maxMade>>20)
	}
	return b, nil
}

// makeFiles makes the workspace.
func (t *trial) makeFiles(context.Context) error {
	if err := os.Mkdir(t.dir, 0o700); err != nil {
		return fmt.Errorf("make the workspace: %w", err)
	}
	root, err := os.OpenRoot(t.dir)
	if err != nil {
		return fmt.Errorf("make the workspace: %w", err)
	}
	defer root.Close()
	for name, content := range t.c.Files {
		b, err := t.content(content)
		if err == nil {
			err = root.MkdirAll(filepath.Dir(filepath.FromSlash(name)), 0o755)
		}
		if err == nil {
			err = root.WriteFile(filepath.FromSlash(name), b, 0o644)
		}
		if err != nil {
			return fmt.Errorf("make the file %s: %w", name, err)
		}
	}
	return nil
}

// principal is the skill as its state knows it.
func (t *trial) principal() policies.Principal {
	m := t.suite.pkg.Manifest()
	return policies.Principal{Skill: m.Name, Version: m.Version, Digest: string(t.suite.pkg.Digest()), Origin: string(registry.OriginPath)}
}

// makeState makes the store and what is in it.
func (t *trial) makeState(ctx context.Context) error {
	s := store.Memory()
	t.close = append(t.close, func() { s.Close() })
	t.kv = s.KV()
	if len(t.c.KV) == 0 {
		return nil
	}
	contents := make(map[string][]byte, len(t.c.KV))
	for key, content := range t.c.KV {
		b, err := t.content(content)
		if err != nil {
			return fmt.Errorf("make the value %s: %w", key, err)
		}
		contents[key] = b
	}
	schema := t.c.KVSchema
	if kv := t.suite.pkg.Manifest().Security.Permissions.KV; kv != nil && schema == 0 {
		schema = kv.SchemaVersion
	}
	return hostfn.WriteState(ctx, t.kv, t.principal(), schema, contents)
}

// secrets are the made-up ones of a case.
type secrets map[string]string

// Get returns a value, or an error of [fault.KindNotFound].
func (s secrets) Get(_ context.Context, name string) ([]byte, error) {
	v, ok := s[name]
	if !ok {
		return nil, fault.Errorf(fault.KindNotFound, "the case has no secret %s", name).WithHint("write it under secrets")
	}
	return []byte(v), nil
}

// Has reports whether the case has a value.
func (s secrets) Has(_ context.Context, name string) (bool, error) {
	_, ok := s[name]
	return ok, nil
}

// notifications are those that a tool sends.
type notifications struct {
	mu  sync.Mutex
	all []hostfn.Notification
}

// Notify keeps a notification.
func (n *notifications) Notify(_ context.Context, x hostfn.Notification) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, x)
	return nil
}
