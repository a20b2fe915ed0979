// Package admit decides what is installed, and answers questions about it, for whoever
// asks: a person at a terminal, a program, an agent in a task. There is no other way to
// have a package installed, changed or removed from outside of the host.
//
// A [Change] is planned, which changes nothing and says all that would happen as data; a
// [Plan] is then committed, with what a person says to it. Signers, sources, revocations
// and policies are looked at while a change is planned, and whoever plans can leave
// nothing of that out. A plan names the state that it was made from, and is refused when
// that has changed. Only a person can consent to a plan; what a model wrote waits as a
// proposal, whoever consents.
package admit

import (
	"context"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/fetch/catalog"
	"github.com/skillet-run/skillet/host/fetch/source"
	"github.com/skillet-run/skillet/host/install"
	"github.com/skillet-run/skillet/host/install/closure"
	"github.com/skillet-run/skillet/host/install/evidence"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/record/trust"
	"github.com/skillet-run/skillet/host/run/mcplogin"
	"github.com/skillet-run/skillet/host/run/recording"
	"github.com/skillet-run/skillet/host/run/replay"
	"github.com/skillet-run/skillet/host/run/runner"
	"github.com/skillet-run/skillet/internal/recent"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/policies/limit"
)

// A Catalog is a list of the packages that come with a program, by their digests, and where
// their files may be. They need no registry, and no signature.
type Catalog = catalog.Catalog

// Builtin is the catalog that this program was built with: empty unless make or the release
// tool built it.
func Builtin() *Catalog { return catalog.Builtin() }

// Parts are what a [Service] works on. All of them are needed.
type Parts struct {
	Registry  *registry.Registry
	Approvals *approval.Store
	Trust     *trust.Store
	Installer *install.Installer
	Runner    *runner.Runner
	Sources   *source.Fetcher
	Invoke    *invoke.Service
	// Recordings are those of recent calls, and Shadow tries a package on them, with
	// nothing done for real; nil for one of which there are none.
	Recordings *recording.Archive
	Shadow     func(context.Context, *bundle.Package) (*replay.Shadow, error)
	// Evidence gathers what is known about a package.
	Evidence *evidence.Collector
	// Sign signs a package, in the form of artifact and in any other, with the key of the
	// home, which it makes when there is none.
	Sign func(ctx context.Context, by approval.Human, p *bundle.Package, artifact manifests.Digest) (Signature, error)
	// CatchUp brings the store to what the record of decisions says.
	CatchUp func(context.Context) error
	// Decided returns a number that changes with each decision; nil where that is not known.
	Decided func() uint64
	// Ceilings are what no call may exceed.
	Ceilings limit.Set
	// Engines are the interpreters of scripts that the host can make packages of.
	Engines []string
	// Home is the directory of the home.
	Home string
	// Logins are those at MCP servers.
	Logins *mcplogin.Keeper
}

// A Service changes what is installed, and answers questions about it. It is safe for
// concurrent use.
type Service struct {
	parts  Parts
	log    hclog.Logger
	listed recent.Cache[struct{}, []Skill]
}

// New makes a Service.
func New(log hclog.Logger, p Parts) *Service { return &Service{parts: p, log: log} }

// ready refuses whoever says not who they are, and brings the store up to date.
func (s *Service) ready(ctx context.Context, by approval.Principal) error {
	if err := approval.CheckPrincipal(by); err != nil {
		return err
	}
	return s.parts.CatchUp(ctx)
}

// writes is [approval.CheckPrincipal] for what writes files where the caller says: only a
// person may.
func writes(by approval.Principal) error {
	if err := approval.CheckPrincipal(by); err != nil {
		return err
	}
	if _, person := by.(approval.Human); !person {
		return fault.Errorf(fault.KindDenied, "%s may not write files of this machine", by.Actor())
	}
	return nil
}

// catalog is what versions of skills can be chosen from: what is installed, and what the
// sources publish.
func (s *Service) catalog(ctx context.Context, of closure.Settings) (*closure.Catalog, error) {
	of.Engines = s.parts.Engines
	return closure.NewCatalog(ctx, s.log.Named("closure"), s.parts.Registry, s.parts.Sources, of)
}
