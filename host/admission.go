package host

import (
	"github.com/skillet-run/skillet/host/admit"
	"github.com/skillet-run/skillet/host/script"
)

// Admit changes what is installed, and answers questions about it.
func (h *Host) Admit() *admit.Service { return h.admit }

func (h *Host) wireAdmit() {
	h.admit = admit.New(h.Log.Named("admit"), admit.Parts{
		Registry: h.Registry, Desk: h.Desk, Trust: h.Trust, Installer: h.Installer, Runner: h.Runner, Sources: h.sources, Invoke: h.invoke,
		Recordings: h.Recordings, Shadow: h.Shadow,
		CatchUp: h.CatchUp, Ceilings: h.most(), Engines: script.Names(),
	})
}
