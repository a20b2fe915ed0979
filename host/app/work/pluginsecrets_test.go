package work

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/skillet-run/skillet/host/base/config"
	"github.com/skillet-run/skillet/host/base/secret"
	"github.com/skillet-run/skillet/plugins"
)

// A plugin is started with the values of its secrets named, so that what it says of
// failures has none of them.
func TestSecretsOfAPluginAreNamed(t *testing.T) {
	home := t.TempDir()
	vault := secret.Open(filepath.Join(home, "secrets"), secret.NewKey(secret.KeyOptions{Home: home, Location: secret.LocationFile}))
	if err := vault.Set(t.Context(), "key", []byte("correct-horse")); err != nil {
		t.Fatal(err)
	}
	p := &providers{plugins: &Plugins{PluginParts: PluginParts{Secrets: vault}}}
	s, err := p.configure(t.Context(), config.Provider{Kind: "openai", Secret: "key"}, plugins.Spec{Name: "one"})
	if err != nil || !slices.Contains(s.Env, "OPENAI_API_KEY=correct-horse") || !slices.Equal(s.Secrets, []string{"correct-horse"}) {
		t.Errorf("%+v, %v", s, err)
	}
}
