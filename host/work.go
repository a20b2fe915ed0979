package host

import (
	"context"
	"errors"

	"github.com/skillet-run/skillet/host/app/upkeep"
	"github.com/skillet-run/skillet/host/app/work"
)

// Work has goals done, and shows what that rests on.
func (h *Host) Work() *work.Service { return h.work }

// wireModels makes what answers the model calls of skills: the runner is made with it.
func (h *Host) wireModels() {
	_ = errors.Join(h.closeWork()...) // what it could not keep went with a store that was replaced
	h.plugins = work.NewPlugins(h.Log.Named("plugin"), work.PluginParts{
		Home: h.Home, Registry: h.Registry, Desk: h.Desk, Policies: h.Policies, Secrets: h.Secrets, CatchUp: h.CatchUp,
	})
	h.models = work.NewModels(h.Log, work.ModelParts{Plugins: h.plugins, Config: h.Config, Store: h.store, Events: h.events})
}

func (h *Host) wireWork() {
	h.work, h.working = work.New(h.Log, work.Parts{
		Models: h.models, Definitions: h.agents, Invoke: h.invoke, Installer: h.Installer, Calls: h.Calls, Doctor: upkeep.DoctorCaller,
		Redact: h.redactor(context.Background()).Text, Explain: Explain, Notifier: h.notifier,
	})
}

// closeWork stops what works, and its plugins.
func (h *Host) closeWork() []error {
	if h.work == nil { // it was not opened so far
		return nil
	}
	h.plugins.Close()
	return []error{h.models.Close(), h.work.Close()}
}
