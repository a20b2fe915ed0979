package host

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/skillet-run/skillet/host/base/secret"
	"github.com/skillet-run/skillet/host/record/journal"
	"github.com/skillet-run/skillet/host/run/hostfn"
)

// keyOptions say where the identity of the home is, and what the home is known by.
// A setting that the home itself has is no reason not to ask the keyring: who can
// write the home's files wrote it, perhaps.
func (h *Host) keyOptions(k secret.Keyring) secret.KeyOptions {
	o := secret.KeyOptions{Home: h.Home, Place: secret.Place(h.Config.Settings().SecretKey), Keyring: k, Marker: h.path(hostfn.HomeMarker)}
	if o.Keyring == nil {
		o.Keyring = secret.SystemKeyring()
	}
	v, err := h.Config.Get("secret_key")
	if o.Place == secret.PlaceFile && err == nil && !strings.HasPrefix(v.Source, h.Home+string(filepath.Separator)) {
		o.Keyring = nil
	}
	return o
}

// ready says why no call may be made: the record of decisions, which says what was
// granted, or that of runs is not what this home signed.
func (h *Host) ready(ctx context.Context) error {
	for _, j := range []*journal.Journal{h.Decisions, h.Calls} {
		if err := j.Ready(ctx); err != nil {
			return Explain(err)
		}
	}
	return nil
}
