package host

import (
	"context"

	"github.com/skillet-run/skillet/host/admit"
	"github.com/skillet-run/skillet/host/approval"
	"github.com/skillet-run/skillet/host/script"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/manifests/signature"
)

// Admit changes what is installed, and answers questions about it.
func (h *Host) Admit() *admit.Service { return h.admit }

func (h *Host) wireAdmit() {
	h.admit = admit.New(h.Log.Named("admit"), admit.Parts{
		Registry: h.Registry, Desk: h.Desk, Trust: h.Trust, Installer: h.Installer, Runner: h.Runner, Sources: h.sources, Invoke: h.invoke,
		Recordings: h.Recordings, Shadow: h.Shadow,
		Sign: h.signPackage, CatchUp: h.CatchUp, Ceilings: h.most(), Engines: script.Names(),
	})
}

// signPackage signs a package in the form in which it is published, the artifact, and
// whatever its form.
func (h *Host) signPackage(ctx context.Context, by approval.Human, p *bundle.Package, artifact manifests.Digest) (admit.Signature, error) {
	key, made, err := h.Govern().Keys.Ensure(ctx, by)
	if err != nil {
		return admit.Signature{}, err
	}
	m := p.Manifest()
	b, err := key.Sign(
		signature.Subject{Name: m.Name, Digest: artifact},
		signature.Subject{Name: m.Name + "@" + m.Version, Digest: p.Digest()},
	)
	return admit.Signature{Bundle: b, Signer: key.Identity(), Made: made}, err
}
