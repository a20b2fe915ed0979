package host

import (
	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/base/secret"
	"github.com/skillet-run/skillet/host/install"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/audit"
	"github.com/skillet-run/skillet/host/record/journal"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/record/trust"
	"github.com/skillet-run/skillet/host/run/runner"
)

// Parts are what tests of the whole use past the services: to make what no service
// makes, such as a change in between, and to look at what was kept.
type Parts struct {
	Log       hclog.Logger
	Decisions *journal.Journal
	Calls     *journal.Journal
	Ledger    *ledger.Ledger
	Registry  *registry.Registry
	Approvals *approval.Store
	Installer *install.Installer
	Runner    *runner.Runner
	Secrets   *secret.Vault
	Trust     *trust.Store
	AuditKeys *audit.Keystore
}

// Parts returns those of a home.
func (h *Host) Parts() Parts {
	return Parts{h.log, h.decisions, h.calls, h.ledger, h.registry, h.approvals, h.installer, h.runner, h.secrets.Vault, h.trust, h.auditKeys}
}
