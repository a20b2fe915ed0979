package host

import (
	"context"

	"github.com/skillet-run/skillet/host/app/admit"
	"github.com/skillet-run/skillet/host/author/script"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// Admit changes what is installed, and answers questions about it.
func (h *Host) Admit() *admit.Service { return h.admit }

func (h *Host) wireAdmit() {
	h.admit = admit.New(h.Log.Named("admit"), admit.Parts{
		Registry: h.Registry, Desk: h.Desk, Trust: h.Trust, Installer: h.Installer, Runner: h.Runner, Sources: h.sources, Invoke: h.invoke,
		Recordings: h.Recordings, Shadow: h.Shadow,
		Sign: h.sign, CatchUp: h.CatchUp, Ceilings: h.ceilings(), Engines: script.Names(),
	})
}

// sign signs a package for who publishes it.
func (h *Host) sign(ctx context.Context, by approval.Human, p *bundle.Package, artifact manifests.Digest) (admit.Signature, error) {
	s, err := h.signPackage(ctx, by, p, artifact)
	return admit.Signature(s), err
}
