package work

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/base/secret"
	"github.com/skillet-run/skillet/host/base/store/atomicfile"
	"github.com/skillet-run/skillet/host/engine/confine"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/run/mcpserver"
	"github.com/skillet-run/skillet/manifests"
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

// ServePlugin is the process of a plugin that comes with the program.
func ServePlugin(args []string) int {
	switch name := args[0]; name {
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

// PluginParts are what [Plugins] work on. All are needed.
type PluginParts struct {
	Home      string
	Registry  *registry.Registry
	Approvals *approval.Store
	Policies  *policies.Set
	Secrets   *secret.Vault
	// CatchUp brings the store to what was decided.
	CatchUp func(context.Context) error
}

// Plugins starts and supervises the plugins of a home: those that come with the program,
// and those that are installed as packages. No process is started before it is asked for.
// It is safe for concurrent use.
type Plugins struct {
	PluginParts
	// Servers are the MCP servers that are programs.
	Servers *mcpserver.Pool
	log     hclog.Logger

	mu         sync.Mutex
	supervisor *plugins.Supervisor
	extracted  map[manifests.Digest]extracted
}

// NewPlugins makes Plugins. Close them when done.
func NewPlugins(log hclog.Logger, p PluginParts) *Plugins {
	return &Plugins{PluginParts: p, Servers: mcpserver.NewPool(log.Named("mcp"), 0), log: log}
}

// extracted are the files of a package of a plugin, where they are started from.
type extracted struct {
	file    string // the program or the script
	dir     string
	digests map[string]string // by the names in the package
}

// Supervisor is what runs the processes.
func (h *Plugins) Supervisor() *plugins.Supervisor {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.supervisor == nil {
		h.supervisor = plugins.New(h.log, plugins.Settings{Dir: h.path("cache", "plugins")})
	}
	return h.supervisor
}

func (h *Plugins) path(elem ...string) string {
	return filepath.Join(append([]string{h.Home}, elem...)...)
}

// Close stops all processes.
func (h *Plugins) Close() {
	h.Servers.Close()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.supervisor != nil {
		h.supervisor.Close()
	}
}

// withdraw stops a plugin that is gone or may not run any more, as err says. Another
// error, such as the end of one caller's context, is none of its other callers' business.
func (h *Plugins) withdraw(ctx context.Context, kind plugins.Kind, name string, err error) {
	if k := fault.AsError(err).Kind; k == fault.KindNotFound || k == fault.KindDenied {
		h.Supervisor().Remove(ctx, kind, name)
	}
}

// packages are the active packages of a kind of plugins, by name.
func (h *Plugins) packages(ctx context.Context, kind manifests.Kind) (map[string]registry.Skill, error) {
	found := map[string]registry.Skill{}
	err := h.eachActive(ctx, false, func(s registry.Skill, m *manifests.Manifest) { // a package with tools is not a plugin
		if m.Type == kind {
			found[s.Name] = s
		}
	})
	return found, err
}

// eachActive hands on the active versions that are not disabled and have tools, or have
// none, with their manifests: reading one takes longer than finding it.
func (h *Plugins) eachActive(ctx context.Context, tools bool, do func(registry.Skill, *manifests.Manifest)) error {
	if err := h.CatchUp(ctx); err != nil {
		return err
	}
	all, err := h.Registry.List(ctx)
	if err != nil {
		return err
	}
	for _, s := range all {
		if !s.Active || s.Disabled != nil || (len(s.Tools) > 0) != tools {
			continue
		}
		m, err := h.Registry.Manifest(ctx, s.Digest)
		if err != nil {
			return err
		}
		do(s, m)
	}
	return nil
}

// spec says how the process of an installed plugin is started. What it was not
// granted it does not get: without the capability native it is not started at all.
func (h *Plugins) spec(ctx context.Context, s registry.Skill) (plugins.Spec, error) {
	m, err := h.Registry.Manifest(ctx, s.Digest)
	if err != nil {
		return plugins.Spec{}, err
	}
	granted, err := h.Approvals.Granted(ctx, s.Digest, time.Now())
	if err != nil {
		return plugins.Spec{}, err
	}
	may := func(r capability.Request) bool { return h.may(approval.SkillPrincipal(s), granted.Set(), r) }
	if !may(capability.Request{Action: capability.Native}) {
		return plugins.Spec{}, fault.Errorf(fault.KindDenied, "%s may not run: it is a program, and was not granted %s", s.Ref(), capability.Native).
			Hinted(fault.Hintf("%s", fault.Grant(s.Name, string(capability.Native))))
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
		spec.Secrets = append(spec.Secrets, string(value))
	}
	return spec, h.start(ctx, s, program, &spec)
}

// may asks grants and policies.
func (h *Plugins) may(who policies.Principal, granted capability.Set, r capability.Request) bool {
	by, ok := granted.Allows(r)
	return ok && h.Policies.Decide(policies.Query{
		Phase: policies.PhaseCall, Principal: who, Request: r, Granted: true, GrantedBy: by.String(), Home: h.Home,
	}).Effect == policies.Allow
}

// start fills in what is started. The supervisor runs a private copy, and checks its
// digest.
func (h *Plugins) start(ctx context.Context, s registry.Skill, program manifests.Program, spec *plugins.Spec) error {
	l, err := h.extract(ctx, s.Digest, program)
	if err != nil {
		return err
	}
	if program.Interpreter == "" {
		spec.Program, spec.Digest = l.file, l.digests[program.File]
		return nil
	}
	path, err := exec.LookPath(program.Interpreter)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return fault.Errorf(fault.KindNotFound, "%s is run by %s, which is not on this machine", s.Name, program.Interpreter).
			WithHint("install it, or put it into PATH")
	}
	spec.Program, spec.Script = path, &plugins.Script{Dir: l.dir, Main: program.File, Files: l.digests}
	return nil
}

// extract writes the files of a plugin to where they are started from. A provider is looked
// up for each request, and its package may be large: it is read once.
func (h *Plugins) extract(ctx context.Context, digest manifests.Digest, program manifests.Program) (extracted, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l, ok := h.extracted[digest]; ok {
		if _, err := os.Lstat(l.file); err == nil {
			return l, nil
		}
	}
	p, err := h.Registry.Package(ctx, digest)
	if err != nil {
		return extracted{}, err
	}
	l := extracted{dir: h.path("cache", "plugins", "packages", digest.Hex()), digests: map[string]string{}}
	l.file = filepath.Join(l.dir, filepath.FromSlash(program.File))
	for _, f := range p.Files() {
		if program.Interpreter == "" && f.Path != program.File {
			continue
		}
		content, err := p.Read(f.Path)
		if err != nil {
			return extracted{}, err
		}
		if err := extractFile(filepath.Join(l.dir, filepath.FromSlash(f.Path)), content); err != nil {
			return extracted{}, err
		}
		l.digests[f.Path] = string(f.Digest)
	}
	if l.digests[program.File] == "" {
		return extracted{}, fmt.Errorf("start %s of package %s: %w", program.File, p.Manifest().Name, fs.ErrNotExist)
	}
	if h.extracted == nil {
		h.extracted = map[manifests.Digest]extracted{}
	}
	h.extracted[digest] = l
	return l, nil
}

// extractFile writes a file, unless it is there with this content.
func extractFile(path string, content []byte) error {
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
