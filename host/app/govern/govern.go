// Package govern is the application layer for who decides what: proposals,
// grants, policies, signers and what is revoked, the keys that sign, secrets, and the audit
// log.
//
// Each of its services takes a principal before everything else. Queries, and whatever
// writes a file, take an [approval.Principal]; a decision takes an [approval.Human].
// Nobody, and the zero value, is refused with a [fault.KindDenied] error. A field of a
// request that is left out asks for less, and never for less checking.
package govern

import (
	"context"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/base/secret"
	"github.com/skillet-run/skillet/host/fetch/source"
	"github.com/skillet-run/skillet/host/install"
	"github.com/skillet-run/skillet/host/install/evidence"
	"github.com/skillet-run/skillet/host/record/agents"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/audit"
	"github.com/skillet-run/skillet/host/record/journal"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/record/settings"
	"github.com/skillet-run/skillet/host/record/signer"
	"github.com/skillet-run/skillet/host/record/token"
	"github.com/skillet-run/skillet/host/record/trust"
	"github.com/skillet-run/skillet/host/run/mcplogin"
	"github.com/skillet-run/skillet/host/run/replay"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/limit"
)

// Parts are what the services work on. All are needed.
type Parts struct {
	// CatchUp brings the state to what was decided last. Unfinished is the error of a
	// repair of the audit log that was begun and not finished; nil for none.
	CatchUp    func(context.Context) error
	Unfinished func() error
	// Decided returns a number that changes with each decision.
	Decided func() uint64

	// Home is the home directory, and Policies are those in force.
	Home     string
	Policies func() (*policies.Set, error)

	Ledger    *ledger.Ledger
	Registry  *registry.Registry
	Approvals *approval.Store
	Trust     *trust.Store
	Tokens    *token.Store
	// Installer carries out what is decided about packages, and Settings and Agents what is
	// decided about files of the home.
	Installer *install.Installer
	Settings  *settings.Settings
	Agents    *agents.Agents
	Sources   *source.Fetcher

	// Evidence gathers what is known about a package, Replay what it does on recorded calls.
	Evidence *evidence.Collector
	Replay   func(context.Context, *bundle.Package) (*replay.Shadow, error)
	// Script is the script that a run is of which waits for a person.
	Script func(ctx context.Context, by approval.Principal, run string) (approval.ScriptView, error)
	// Ceilings are what no call may exceed, and MissingTools those of some names that no
	// installed skill has.
	Ceilings     limit.Set
	MissingTools func(ctx context.Context, by approval.Principal, names []string) ([]string, error)
	// RevocationLists are the places of the setting of that name, and Explain says what an
	// error means to a caller.
	RevocationLists []string
	// Releases is the place of the setting of that name; empty for none.
	Releases string
	Explain  func(error) *fault.Error

	// Signer keeps the key that signs packages, Secrets the secrets of requests, Logins those
	// of them that are logins, and SecretKey what seals all.
	Signer    *signer.Keystore
	Secrets   *secret.Vault
	Logins    *mcplogin.Keeper
	SecretKey *secret.Key

	// Decisions and Calls are the two parts of the audit log, and AuditKeys what they are
	// signed with.
	Decisions *journal.Journal
	Calls     *journal.Journal
	AuditKeys *audit.Keystore

	log hclog.Logger
}

// Services are the services of this package. They are safe for concurrent use.
type Services struct {
	Proposals *Proposals
	Grants    *Grants
	Policies  *Policies
	Signers   *Signers
	Keys      *Keys
	Secrets   *Secrets
	Logins    *Logins
	Audit     *Audit
	Tokens    *Tokens
}

// New makes the services.
func New(log hclog.Logger, p Parts) Services {
	p.log = log
	keys := &Keys{&p}
	return Services{
		Proposals: &Proposals{&p}, Grants: &Grants{&p}, Policies: &Policies{&p},
		Signers: &Signers{&p, keys}, Keys: keys, Secrets: &Secrets{&p}, Logins: &Logins{&p}, Audit: &Audit{&p}, Tokens: &Tokens{p: &p},
	}
}

// begin refuses nobody, and brings the state to what was decided last.
func (p *Parts) begin(ctx context.Context, by approval.Principal) error {
	if err := approval.CheckPrincipal(by); err != nil {
		return err
	}
	return p.CatchUp(ctx)
}
