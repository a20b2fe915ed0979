package author

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/author/script"
	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/engine/sandbox/worker"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/run/runner"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// Scripts makes modules of scripts with the interpreters that are installed in a
// home, and the packages of interpreters. Whatever runs while something is built
// runs in a worker process.
type Scripts struct {
	parts ScriptsParts

	mu     sync.Mutex
	loaded map[manifests.Digest]*worker.Module // interpreters
	built  map[string][]byte                   // modules by their ids
}

// ScriptsParts are what [Scripts] works on. All are needed.
type ScriptsParts struct {
	Log hclog.Logger
	// Cache keeps modules that were made.
	Cache *script.Cache
	// Apart and Workers run what is run while something is built.
	Apart   *worker.Runtime
	Workers *worker.Pool
	// Skills and Registry find interpreters.
	Skills   *invoke.Skills
	Registry *registry.Registry
	// Engines is the directory where downloaded engines are kept.
	Engines string
}

// NewScripts makes a Scripts.
func NewScripts(p ScriptsParts) *Scripts {
	return &Scripts{parts: p, loaded: map[manifests.Digest]*worker.Module{}, built: map[string][]byte{}}
}

// Run runs an export of a module in a worker process, and keeps the module
// loaded: it is an interpreter's.
func (s *Scripts) Run(ctx context.Context, wasm []byte, c sandbox.Call) (sandbox.Result, error) {
	m, err := s.load(ctx, wasm)
	if err != nil {
		return sandbox.Result{}, err
	}
	return m.Call(ctx, c)
}

// Do has a worker process do a job.
func (s *Scripts) Do(ctx context.Context, j worker.Job, input []byte, answer func([]byte) ([]byte, error)) ([]byte, error) {
	return s.parts.Workers.Do(ctx, j, input, answer)
}

func (s *Scripts) load(ctx context.Context, wasm []byte) (*worker.Module, error) {
	d := manifests.DigestOf(wasm)
	s.mu.Lock()
	defer s.mu.Unlock()
	if m, ok := s.loaded[d]; ok {
		return m, nil
	}
	m, err := s.parts.Apart.Load(ctx, wasm)
	if err == nil {
		s.loaded[d] = m
	}
	return m, err
}

// Module returns the module of a package whose command is an interpreter, made
// now or before. What the package needs of an interpreter is what its closure
// has; of a package that is not installed, what is installed under the name. by
// is an interpreter's package to take in place of that; nil for none.
func (s *Scripts) Module(ctx context.Context, t runner.Target, by *bundle.Package) ([]byte, error) {
	m := t.Package.Manifest()
	in, ok := script.Find(m.Command)
	if !ok {
		return nil, unknownInterpreter(t.Label, m.Command)
	}
	if len(m.Args) == 0 {
		return nil, fault.Errorf(fault.KindVerification, "%s: args do not name the script that %s runs", t.Label, m.Command).WithHint(`write "args": ["main.js"]`)
	}
	wasm, digest, err := s.moduleOf(ctx, t, in.Name, by)
	if err != nil {
		return nil, err
	}
	id := script.ID(in, string(digest), string(t.Package.Digest()), m.Args[0])
	if made, ok := s.lookup(id); ok {
		return made, nil
	}
	files, err := tree(t.Package)
	if err != nil {
		return nil, err
	}
	made, err := script.Build(ctx, s, in, wasm, script.Source{Files: files, Main: m.Args[0]})
	if err != nil {
		return nil, err
	}
	s.keep(id, made)
	return made, nil
}

func (s *Scripts) lookup(id string) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if wasm, ok := s.built[id]; ok {
		return wasm, true
	}
	wasm, ok := s.parts.Cache.Get(id)
	if ok {
		s.hold(id, wasm)
	}
	return wasm, ok
}

func (s *Scripts) keep(id string, wasm []byte) {
	s.parts.Cache.Put(id, wasm)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hold(id, wasm)
}

// maxHeld is how many modules are held in memory, beside the files: a script that is
// worked on becomes another one each time it is saved.
const maxHeld = 32

// hold holds a module. The lock is held.
func (s *Scripts) hold(id string, wasm []byte) {
	if len(s.built) >= maxHeld {
		clear(s.built)
	}
	s.built[id] = wasm
}

// tree is the files of a package.
func tree(p *bundle.Package) (script.Tree, error) {
	t := script.Tree{}
	for _, f := range p.Files() {
		b, err := p.Read(f.Path)
		if err != nil {
			return nil, err
		}
		t[f.Path] = b
	}
	return t, nil
}

// Build makes a module of a script with the interpreter that is installed.
func (s *Scripts) Build(ctx context.Context, source script.Source) ([]byte, error) {
	in, ok := script.ForFile(source.Main)
	if !ok {
		return nil, fault.Errorf(fault.KindUsage, "build %s: no interpreter is for files of this name", source.Main).
			WithHint("there are %s", strings.Join(script.Names(), " and "))
	}
	wasm, _, err := s.moduleOf(ctx, runner.Target{Label: source.Main, Origin: registry.OriginPath}, in.Name, nil)
	if err != nil {
		return nil, err
	}
	return script.Build(ctx, s, in, wasm, source)
}

// Engine builds the package of an interpreter, with the engine from the npm
// registry or from where it was kept.
func (s *Scripts) Engine(ctx context.Context, name string) (map[string][]byte, error) {
	in, ok := script.Find(name)
	if !ok {
		return nil, unknownInterpreter("engine", name)
	}
	return script.Engine(ctx, s, script.NewRegistries(s.parts.Log, os.Getenv, s.parts.Engines), in)
}

func unknownInterpreter(label, name string) error {
	return fault.Errorf(fault.KindUsage, "%s: this host knows no interpreter %q", label, name).
		WithHint("it knows %s; a command can also name a .wasm module in the package", strings.Join(script.Names(), " and "))
}

// moduleOf is the module of an interpreter and the digest of its package: of the
// one given, or of the one that is installed.
func (s *Scripts) moduleOf(ctx context.Context, caller runner.Target, name string, by *bundle.Package) ([]byte, manifests.Digest, error) {
	p := by
	if p == nil {
		var err error
		if p, err = s.provider(ctx, caller, name); err != nil {
			return nil, "", err
		}
	}
	if _, ok := p.Manifest().Provides[name]; !ok {
		return nil, "", fault.Errorf(fault.KindVerification, "%s needs the interpreter %s, and the skill of that name provides none", caller.Label, name).
			WithHint("%s installs the one that belongs to this program", fault.InstallEngine(name))
	}
	_, wasm, err := p.Module()
	if err != nil {
		return nil, "", fault.Wrap(fault.KindVerification, err)
	}
	return wasm, p.Digest(), nil
}

// provider is the installed package that provides an interpreter to a caller.
func (s *Scripts) provider(ctx context.Context, caller runner.Target, name string) (*bundle.Package, error) {
	t, err := s.parts.Skills.Reached(ctx, caller, manifests.Ref{Name: name})
	if err == nil {
		return t.Package, nil
	}
	if !errors.Is(err, registry.ErrNotFound) {
		return nil, err
	}
	p, found, listErr := s.anyProvider(ctx, name)
	if listErr != nil {
		return nil, listErr
	}
	if !found {
		return nil, fault.Errorf(fault.KindNotFound, "%s needs the interpreter %s, which is not installed: %w", caller.Label, name, err).
			WithHint("get it with: %s", fault.InstallEngine(name))
	}
	return p, nil
}

// anyProvider finds an active skill that provides an interface under another name.
func (s *Scripts) anyProvider(ctx context.Context, name string) (*bundle.Package, bool, error) {
	all, err := s.parts.Registry.List(ctx)
	if err != nil {
		return nil, false, err
	}
	for _, skill := range all {
		if !skill.Active || skill.CheckEnabled() != nil {
			continue
		}
		m, err := s.parts.Registry.Manifest(ctx, skill.Digest)
		if err != nil {
			return nil, false, fmt.Errorf("look for who provides %s: %w", name, err)
		}
		if _, ok := m.Provides[name]; ok {
			p, err := s.parts.Registry.Package(ctx, skill.Digest)
			return p, err == nil, err
		}
	}
	return nil, false, nil
}

// Provider names the installed skill that provides an interpreter to scripts that
// are not installed; empty when none does.
func (s *Scripts) Provider(ctx context.Context, name string) (string, error) {
	p, err := s.provider(ctx, runner.Target{Label: name, Origin: registry.OriginPath}, name)
	if errors.Is(err, registry.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return p.Manifest().Name + "@" + p.Manifest().Version, nil
}
