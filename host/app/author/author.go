// Package author is what authors of skills do: begin one, build it, work on it with the
// result in view, test it, look at its module and at what its calls cost, and make a
// package of it. It asks nobody anything and prints nothing: an edge calls it and shows
// what comes back.
//
// A path in a request is relative to the working directory of the process, unless it is
// absolute. Compilers, and tests of the language itself, run with the rights of the person
// who asks: see [Service.Build].
package author

import (
	"context"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/author/toolchain"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/engine/sandbox/worker"
	"github.com/skillet-run/skillet/host/install"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/signer"
	"github.com/skillet-run/skillet/host/run/casetest"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// Parts are what a [Service] works on. All are needed.
type Parts struct {
	// Environ is the environment that compilers get variables from, in the form of
	// [os.Environ]. Its SKILLET_TOOLS is a directory with compilers.
	Environ []string
	// Dir is the path of the home of the person, and There whether a home is there.
	Dir   func() (string, error)
	There func() bool
	// Home returns that home, opened: it is asked for when something needs it.
	Home func(context.Context) (Home, error)
	// Open opens another home, with the host's own log when debug is true.
	Open func(ctx context.Context, dir string, debug bool) (Home, error)
}

// A Home is an opened home, as far as authors need it.
type Home struct {
	// CatchUp brings the state to what was decided last.
	CatchUp   func(context.Context) error
	Scripts   *Scripts
	Invoke    *invoke.Service
	Tester    *casetest.Tester
	Installer *install.Installer
	// Apart runs modules in processes of their own.
	Apart *worker.Runtime
	// Sign signs a package, in the form of artifact and in any other, with the key of
	// the home, which it makes when there is none.
	Sign func(ctx context.Context, by approval.Human, p *bundle.Package, artifact manifests.Digest) (Signature, error)
	// Close closes it.
	Close func(context.Context) error
}

// A Signature is one of a package.
type Signature = signer.Signature

// A Service works for authors. It is safe for concurrent use.
type Service struct {
	parts Parts
	log   hclog.Logger
}

// New makes a Service.
func New(log hclog.Logger, p Parts) *Service { return &Service{p, log} }

// A Progress is told what takes a while. done is called when that is over. Nil is for
// nobody.
type Progress func(what string) (done func())

func (p Progress) step(what string) (done func()) {
	if p == nil {
		return func() {}
	}
	return p(what)
}

// The vocabulary of the service.
type (
	// A Language is what a skill is written in.
	Language = toolchain.Language
	// A Toolchain is what a language needs, and what of that is here.
	Toolchain = toolchain.Toolchain
	// A Problem is something that is wrong with a package, or worth knowing.
	Problem = toolchain.Problem
)

// DefaultTimeout bounds a build that has no other bound.
const DefaultTimeout = toolchain.DefaultTimeout

// person refuses who is not a person, for what is done with a person's rights.
func person(by approval.Principal, what string) (approval.Human, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return approval.Human{}, err
	}
	h, ok := by.(approval.Human)
	if !ok {
		return h, fault.Errorf(fault.KindDenied, "%s is only for people, and %s is not a person", what, by.Actor())
	}
	return h, nil
}

// state returns the home as it was decided last.
func (s *Service) state(ctx context.Context) (Home, error) {
	h, err := s.parts.Home(ctx)
	if err != nil {
		return h, err
	}
	return h, h.CatchUp(ctx)
}

// compilers are what a build may use: the compilers of this machine, and the
// interpreters of the home.
func (s *Service) compilers(timeout time.Duration) toolchain.Settings {
	return toolchain.Settings{Environ: s.parts.Environ, Tools: s.variable("SKILLET_TOOLS"), Timeout: timeout, Scripts: builtBy{s}}
}

// variable is the value of a variable of the environment, the last one where there are
// several.
func (s *Service) variable(name string) (value string) {
	for _, v := range s.parts.Environ {
		if is, ok := strings.CutPrefix(v, name+"="); ok {
			value = is
		}
	}
	return value
}
