package runner

import (
	"errors"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/fetch/adopt"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/internal/lazyregexp"
)

// bare reports whether the run is of a module that has no manifest of its own.
func (a *run) bare() bool { return a.manifest != nil && adopt.IsModule(a.manifest) }

// name is how commands name the skill of the run: what is not installed by where it was read from.
func (a *run) name() string {
	if a.call.Target.Origin == registry.OriginPath {
		return a.call.Target.Label
	}
	return a.manifest.Name
}

// undeclared reports whether a guest, to which the host refused nothing, says that
// something was: it was answered inside of its module, from which the functions of the
// host were taken that its manifest does not ask for.
func undeclared(err error) bool {
	var guest *sandbox.GuestError
	return errors.As(err, &guest) && guest.Kind == string(fault.KindDenied)
}

// inScript fits what interpreters say of a script's own mistake, which ends with the place.
var inScript = lazyregexp.New(`\(at [^()]+:\d+(?::\d+)?\)$`)

func hint(a *run, k fault.Kind, err error) fault.Hint {
	var trap *sandbox.TrapError
	switch {
	case errors.Is(err, sandbox.ErrPanic):
		return fault.Hintf("this is a fault of skillet, not of the skill, and of this call alone; please report it with the log, which has where it happened")
	case k == fault.KindLimit:
		return raise(err, a.bare())
	case errors.As(err, &trap):
		return fault.Hintf("the skill crashed; %s shows its logs, and the host is not affected", fault.ShowCall())
	case k == fault.KindSkill && a.adrift:
		return a.call.Bounds.withDirectory()
	case k == fault.KindSkill && undeclared(err):
		return fault.Hintf("the host refused nothing: what its code uses has to be asked for under security.permissions of its manifest, and it has to be built again; a grant changes nothing")
	case k == fault.KindSkill && inScript().MatchString(err.Error()):
		return fault.Hintf("it happened in the script, there; %s shows the log of the call, with the whole stack", fault.ShowCall())
	case k == fault.KindSkill:
		return fault.Hintf("this is the skill's own answer; %s shows what it takes", fault.ShowSkill(a.name()))
	}
	return fault.Hint{}
}

// raise says how to raise a limit for one run, or for good. A bare module has no
// manifest that could say it.
func raise(err error, bare bool) fault.Hint {
	l, ok := reached(err)
	switch {
	case errors.Is(err, sandbox.ErrInput): // no setting raises it
		return fault.Hintf("give less at once, or let the skill read a file by itself")
	case !ok && bare:
		return fault.Hintf("give the module a manifest, and raise it there, under security.resource_limits")
	case !ok:
		return fault.Hintf("raise it in the skill's manifest, under security.resource_limits")
	}
	way := fault.Hintf("raise it for one run with %s", fault.SetField(fault.Field(l.Request())))
	if !bare {
		way = fault.Hintf("%s, or in the skill's manifest", way)
	}
	if l.Setting() == "" {
		return way
	}
	return fault.Hintf("%s; the host's own ceiling is in %s", way, fault.List(fault.Settings))
}

// withoutField is err without the manifest's field that raises the limit, which a bare
// module does not have.
func withoutField(err error) error {
	limit := (*sandbox.LimitError)(nil)
	if !errors.As(err, &limit) {
		return err
	}
	said := *limit
	said.Setting = ""
	return &said
}
