// Package upkeep keeps a home in order: it diagnoses it, checks, backs up, restores and
// makes again its store, repairs its audit log, and deletes what nobody needs. What has
// to work before a home is open, or when it cannot be opened, are functions: [MakeHome],
// [OpenStore], [UnfinishedRepair], [Escape].
//
// What replaces the store or the audit log takes a person, and wants the home for
// itself: no other call may be made on it meanwhile, in this process.
package upkeep

import (
	"context"
	"path/filepath"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/agents/memory"
	"github.com/skillet-run/skillet/host/base/config"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/base/secret"
	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/engine/sandbox/worker"
	"github.com/skillet-run/skillet/host/fetch/catalog"
	"github.com/skillet-run/skillet/host/install"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/audit"
	"github.com/skillet-run/skillet/host/record/history"
	"github.com/skillet-run/skillet/host/record/journal"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/record/token"
	"github.com/skillet-run/skillet/host/record/trust"
	"github.com/skillet-run/skillet/host/run/recording"
	"github.com/skillet-run/skillet/host/run/runner"
	"github.com/skillet-run/skillet/host/run/session"
	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/limit"
)

// Parts are what a [Service] works on. All are needed.
type Parts struct {
	Home       string
	Config     *config.Config
	Store      store.Opened
	Decisions  *journal.Journal
	Calls      *journal.Journal
	Ledger     *ledger.Ledger
	Registry   *registry.Registry
	Approvals  *approval.Store
	Trust      *trust.Store
	Tokens     *token.Store
	Installer  *install.Installer
	Policies   *policies.Set
	History    *history.History
	Recordings *recording.Archive
	Sessions   *session.Store
	Secrets    *secret.Vault
	SecretKey  *secret.Key
	AuditKeys  *audit.Keystore
	Runner     *runner.Runner
	Sandbox    *sandbox.Runtime
	Workers    *worker.Pool

	// Catalog has the packages that come with the program; nil for none.
	Catalog *catalog.Catalog
	// Bounds is the file with the administrator's bounds; empty for none.
	Bounds string
	// Ceilings are what no call may exceed.
	Ceilings limit.Set
	// JournalOptions are those with which a part of the audit log is opened.
	JournalOptions func(log string) journal.Options
	// CatchUp brings the store to what the journal says. Ready says why no call may be
	// made. Explain says what an error means to a caller.
	CatchUp func(context.Context) error
	Ready   func(context.Context) error
	Explain func(error) *fault.Error
	// Memory is what the home remembers. Tasks, Agents and Providers name what there is of
	// each, for [Service.Complete].
	Memory                   func(context.Context) (*memory.Memory, error)
	Tasks, Agents, Providers Names
	// Reopen opens the store anew, and returns the parts that work on it.
	Reopen func(context.Context) (Parts, error)
}

// A Service keeps an open home in order. It is safe for concurrent use, but for what
// replaces the store.
type Service struct {
	Parts
	log hclog.Logger
}

// New makes a Service.
func New(log hclog.Logger, p Parts) *Service { return &Service{p, log.Named("store")} }

func (s *Service) path(elem ...string) string {
	return filepath.Join(append([]string{s.Home}, elem...)...)
}
