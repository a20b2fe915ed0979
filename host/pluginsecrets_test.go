package host

import (
	"slices"
	"testing"

	"github.com/skillet-run/skillet/host/config"
	"github.com/skillet-run/skillet/plugins"
)

// A plugin is started with the values of its secrets named, so that what it says of
// failures has none of them.
func TestSecretsOfAPluginAreNamed(t *testing.T) {
	h, err := Open(t.Context(), Options{Home: t.TempDir(), Environ: []string{"SKILLET_SECRET_KEY=file"}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close(t.Context())
	if err := h.Secrets.Set(t.Context(), "key", []byte("correct-horse")); err != nil {
		t.Fatal(err)
	}
	p := &providers{h: h}
	s, err := p.configure(t.Context(), config.Provider{Kind: "openai", Secret: "key"}, plugins.Spec{Name: "one"})
	if err != nil || !slices.Contains(s.Env, "OPENAI_API_KEY=correct-horse") || !slices.Equal(s.Secrets, []string{"correct-horse"}) {
		t.Errorf("%+v, %v", s, err)
	}
}
