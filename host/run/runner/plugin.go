package runner

import (
	"bytes"
	"runtime"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// checkPlugin looks for the program of a plugin for this machine. It starts none.
func checkPlugin(p *bundle.Package) error {
	m := p.Manifest()
	program, _ := m.Program(runtime.GOOS, runtime.GOARCH)
	content, err := p.Read(program.File)
	if err != nil {
		return fault.Errorf(fault.KindVerification, "%s has no program for %s/%s: %s is not in the package", m.Name, runtime.GOOS, runtime.GOARCH, program.File).
			WithHint("it is made for %s", strings.Join(madeFor(p), ", "))
	}
	if program.Interpreter == "" && !executable(content) {
		return fault.Errorf(fault.KindVerification, "%s of %s is not a program of this system", program.File, m.Name).
			WithHint("a script needs %s as its command", strings.Join(manifests.PluginInterpreters(), " or "))
	}
	return nil
}

// madeFor names the platforms that a package has a program for.
func madeFor(p *bundle.Package) []string {
	var all []string
	for _, at := range manifests.Platforms() {
		program, _ := p.Manifest().Program(at.OS, at.Arch)
		if _, err := p.Read(program.File); err == nil {
			all = append(all, at.String())
		}
	}
	return all
}

// executable reports whether a file begins as programs of this system do: ELF,
// Mach-O (of one processor, or of several), or the "MZ" of a portable executable.
func executable(content []byte) bool {
	begins := map[string][]string{
		"darwin":  {"\xcf\xfa\xed\xfe", "\xca\xfe\xba\xbe"},
		"windows": {"MZ"},
	}[runtime.GOOS]
	if begins == nil {
		begins = []string{"\x7fELF"}
	}
	return slices.ContainsFunc(begins, func(b string) bool { return bytes.HasPrefix(content, []byte(b)) })
}

// notRun says why a package that has no code for the sandbox is not run.
func notRun(a *run) error {
	err := fault.Errorf(fault.KindUsage, "%s is a %s skill: it has no code to run", a.call.Target.Label, a.manifest.Type)
	if a.manifest.Type.IsPlugin() {
		err = fault.Errorf(fault.KindUsage, "%s is a plugin, %s: it has no tool to call", a.call.Target.Label, article(a.manifest.Type))
	}
	switch a.manifest.Type {
	case manifests.KindProvider:
		return err.WithHint("%s shows its models, which tasks and skills ask", fault.List(fault.Providers))
	case manifests.KindAgent:
		return err.WithHint("%s has it work", fault.RunAgent(a.manifest.Name))
	}
	return err.WithHint("it is text for a model: %s prints it", fault.Run(a.manifest.Name).With(fault.FieldRender))
}

func article(k manifests.Kind) string {
	if k == manifests.KindAgent {
		return "an agent"
	}
	return "a " + string(k)
}
