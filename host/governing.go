package host

import (
	"context"

	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/upkeep"
	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/signer"
	"github.com/skillet-run/skillet/host/record/token"
	"github.com/skillet-run/skillet/host/record/trust"
)

// Govern has the services for who decides what.
func (h *Host) Govern() govern.Services { return h.govern }

func (h *Host) wireGovern() {
	h.govern = govern.New(h.Log.Named("govern"), govern.Parts{
		CatchUp: h.CatchUp, Unfinished: func() error { return upkeep.UnfinishedRepair(h.Home) }, Explain: Explain,
		Home: h.Home, Policies: h.watch.Policies,
		Ledger: h.Ledger, Registry: h.Registry, Desk: h.Desk, Trust: h.Trust, Tokens: token.New(h.Ledger, h.store.KV()),
		Installer: h.Installer, Settings: h.Settings, Agents: h.agents, Sources: h.sources,
		Evidence: h.Evidence, Replay: h.Shadow, Ceilings: h.ceilings(),
		MissingTools: func(ctx context.Context, by approval.Principal, names []string) ([]string, error) {
			return h.Work().Agents().MissingTools(ctx, by, names)
		},
		RevocationLists: h.Config.Settings().RevocationLists,
		Signer:          h.Signer, Secrets: h.Secrets, SecretKey: h.SecretKey,
		Decisions: h.Decisions, Calls: h.Calls, AuditKeys: h.AuditKeys,
	})
}

// wireTrust keeps the signing key beside the key of the audit log: where one of
// them is, no new identity is made in place of one that is lost.
func (h *Host) wireTrust(kv store.KV) {
	h.Signer = signer.Open(h.path("keys"), h.SecretKey)
	h.Trust = trust.New(h.Ledger, kv)
}
