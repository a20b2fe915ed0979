// Package govern is the application layer for who decides what: secrets, the keys that
// sign, and the audit log.
//
// Each of its services takes a principal before everything else. Queries, and whatever
// writes a file, take an [approval.Principal]; a decision takes an [approval.Human].
// Nobody, and the zero value, is refused with a [fault.KindDenied] error. A field of a
// request that is left out asks for less, and never for less checking.
package govern

import (
	"context"

	"github.com/skillet-run/skillet/host/fault"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/approval"
	"github.com/skillet-run/skillet/host/audit"
	"github.com/skillet-run/skillet/host/journal"
	"github.com/skillet-run/skillet/host/ledger"
	"github.com/skillet-run/skillet/host/secret"
	"github.com/skillet-run/skillet/host/signer"
	"github.com/skillet-run/skillet/host/trust"
)

// Parts are what the services work on. All are needed.
type Parts struct {
	// CatchUp brings the state to what was decided last. Unfinished is the error of a
	// repair of the audit log that was begun and not finished; nil for none.
	CatchUp    func(context.Context) error
	Unfinished func() error

	Ledger *ledger.Ledger
	Trust  *trust.Book

	// Signer keeps the key that signs packages, Secrets the secrets of requests, and
	// SecretKey what seals both.
	Signer    *signer.Safe
	Secrets   *secret.Vault
	SecretKey *secret.Key

	// Decisions and Calls are the two parts of the audit log, and AuditKeys what they are
	// signed with.
	Decisions *journal.Journal
	Calls     *journal.Journal
	AuditKeys *audit.Keeper
}

// Services are the services of this package. They are safe for concurrent use.
type Services struct {
	Secrets *Secrets
	Keys    *Keys
	Audit   *Audit
}

// New makes the services.
func New(_ hclog.Logger, p Parts) Services {
	return Services{Secrets: &Secrets{&p}, Keys: &Keys{&p}, Audit: &Audit{&p}}
}

// known refuses nobody.
func known(by approval.Principal) error {
	if by == nil {
		return fault.Errorf(fault.KindDenied, "nobody asks for it")
	}
	return by.Check()
}

// begin refuses nobody, and brings the state to what was decided last.
func (p *Parts) begin(ctx context.Context, by approval.Principal) error {
	if err := known(by); err != nil {
		return err
	}
	return p.CatchUp(ctx)
}
