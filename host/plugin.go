package host

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/skillet-run/skillet/host/confine"
	"github.com/skillet-run/skillet/host/registry"
	"github.com/skillet-run/skillet/host/secret"
	"github.com/skillet-run/skillet/host/store/atomicfile"
	"github.com/skillet-run/skillet/host/task"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/plugins"
	"github.com/skillet-run/skillet/plugins/agent/builtin"
	"github.com/skillet-run/skillet/plugins/provider/local"
	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/capability"
)

// BuiltinVersion is the version of the plugins that come with the program.
const BuiltinVersion = "1.0.0"

// localProvider is the name of the provider that needs no network.
const localProvider = "local"

// servePlugin are the arguments with which this program is one of its plugins.
func servePlugin(name string) []string { return []string{"plugin", "serve", name} }

// IsPlugin reports whether a process was started as a plugin of this program's own:
// main then ends with what [ServePlugin] returns.
func IsPlugin(args []string) bool {
	return len(args) == 4 && args[1] == "plugin" && args[2] == "serve"
}

// ServePlugin is the process of a plugin that comes with the program.
func ServePlugin(name string) int {
	switch name {
	case localProvider:
		plugins.ServeProvider(local.New())
	case builtin.Name:
		plugins.ServeAgent(builtin.New(nil, BuiltinVersion))
	default:
		fmt.Fprintf(os.Stderr, "skillet: no plugin %q comes with the program\n", name)
		return 2
	}
	return 0
}

// plugged is what supervises the plugins of a home, once somebody has asked for one.
// The zero value is ready to use.
type plugged struct {
	mu         sync.Mutex
	supervisor *plugins.Supervisor
}

// Plugins supervises the plugins of the home. They are stopped when it is closed.
func (h *Host) Plugins() *plugins.Supervisor {
	h.plugged.mu.Lock()
	defer h.plugged.mu.Unlock()
	if h.plugged.supervisor == nil {
		h.plugged.supervisor = plugins.New(h.Log.Named("plugin"), plugins.Settings{Dir: h.path("cache", "plugins")})
	}
	return h.plugged.supervisor
}

func (p *plugged) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.supervisor != nil {
		p.supervisor.Close()
	}
}

// pluginPackages are the active packages of a kind of plugins, by name.
func (h *Host) pluginPackages(ctx context.Context, kind manifests.Kind) (map[string]registry.Skill, error) {
	if err := h.CatchUp(ctx); err != nil {
		return nil, err
	}
	all, err := h.Registry.List(ctx)
	if err != nil {
		return nil, err
	}
	found := map[string]registry.Skill{}
	for _, s := range all {
		if !s.Active || s.Disabled != nil || len(s.Tools) > 0 { // what has tools is no plugin
			continue
		}
		m, err := h.Registry.Manifest(ctx, s.Digest)
		if err != nil {
			return nil, err
		}
		if m.Type == kind {
			found[s.Name] = s
		}
	}
	return found, nil
}

// pluginSpec says how the process of an installed plugin is started. What it was not
// granted it does not get: without the capability native it is not started at all.
func (h *Host) pluginSpec(ctx context.Context, s registry.Skill) (plugins.Spec, error) {
	p, err := h.Registry.Package(ctx, s.Digest)
	if err != nil {
		return plugins.Spec{}, err
	}
	m := p.Manifest()
	granted, err := h.Desk.Granted(ctx, s.Digest, time.Now())
	if err != nil {
		return plugins.Spec{}, err
	}
	who := policies.Principal{Skill: s.Name, Version: s.Version, Digest: string(s.Digest), Signer: s.Signer, Origin: string(s.Origin)}
	may := func(r capability.Request) bool { return h.mayPlugin(who, granted, r) }
	if !may(capability.Request{Action: capability.Native}) {
		return plugins.Spec{}, task.Errorf(task.KindDenied, "%s may not run: it is a program, and was not granted %s", s.Ref(), capability.Native).
			WithHint("skillet permission grant %s %s", s.Name, capability.Native)
	}
	program, _ := m.Program(runtime.GOOS, runtime.GOARCH)
	spec := plugins.Spec{
		Name: s.Name, Kind: plugins.Kind(m.Type), Args: program.Args,
		Limits: confine.Limits{MemoryBytes: uint64(m.Security.ResourceLimits.MaxMemoryMB) << 20},
	}
	for name, value := range m.Config {
		spec.Env = append(spec.Env, name+"="+value)
	}
	for _, want := range m.Security.Permissions.Secrets {
		if !may(capability.Request{Action: capability.Secret, Resource: want.Name}) {
			continue
		}
		value, err := h.Secrets.Get(ctx, want.Name)
		if errors.Is(err, secret.ErrNotFound) {
			continue // the plugin says what it is missing when it is asked
		}
		if err != nil {
			return plugins.Spec{}, err
		}
		spec.Env = append(spec.Env, want.Env+"="+string(value))
	}
	return spec, h.lay(p, program, &spec)
}

// mayPlugin asks grants and policies.
func (h *Host) mayPlugin(who policies.Principal, granted capability.Set, r capability.Request) bool {
	by, ok := granted.Allows(r)
	return ok && h.Policies.Decide(policies.Query{
		Phase: policies.PhaseCall, Principal: who, Request: r, Granted: true, GrantedBy: by.String(), Home: h.Home,
	}).Effect == policies.Allow
}

// lay writes the files of a plugin to where they are started from, unless they are
// there. The supervisor runs a private copy, and checks its digest.
func (h *Host) lay(p *bundle.Package, program manifests.Program, spec *plugins.Spec) error {
	dir := h.path("cache", "plugins", "packages", p.Digest().Hex())
	files := []string{program.File}
	if program.Interpreter != "" {
		files = files[:0]
		for _, f := range p.Files() {
			files = append(files, f.Path)
		}
	}
	digests := map[string]string{}
	for _, name := range files {
		content, err := p.Read(name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(content)
		digests[name] = "sha256:" + hex.EncodeToString(sum[:])
		if err := layFile(filepath.Join(dir, filepath.FromSlash(name)), content); err != nil {
			return err
		}
	}
	if program.Interpreter == "" {
		spec.Program, spec.Digest = filepath.Join(dir, filepath.FromSlash(program.File)), digests[program.File]
		return nil
	}
	path, err := exec.LookPath(program.Interpreter)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return task.Errorf(task.KindNotFound, "%s is run by %s, which is not on this machine", p.Manifest().Name, program.Interpreter).
			WithHint("install it, or put it into PATH")
	}
	spec.Program, spec.Script = path, &plugins.Script{Dir: dir, Main: program.File, Files: digests}
	return nil
}

// layFile writes a file, unless it is there with this content.
func layFile(path string, content []byte) error {
	if st, err := os.Lstat(path); err == nil && st.Mode().IsRegular() {
		if there, err := os.ReadFile(path); err == nil && bytes.Equal(there, content) {
			return nil
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("write plugin: %w", err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("write plugin: %w", err)
	}
	return atomicfile.Write(path, content)
}
