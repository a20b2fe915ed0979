//go:build unix

package local_test

import (
	"os"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/plugins"
	"github.com/skillet-run/skillet/plugins/provider"
	"github.com/skillet-run/skillet/plugins/provider/local"
	"github.com/skillet-run/skillet/plugins/provider/providertest"
)

// TestMain is the provider's own main when this program is started as one.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "serve-local" {
		plugins.ServeProvider(local.New())
		return
	}
	os.Exit(m.Run())
}

// In a process of its own the provider keeps the contract, too.
func TestContractOfAProcess(t *testing.T) {
	t.Parallel()
	s := plugins.New(hclog.NewNullLogger(), plugins.Settings{Dir: t.TempDir()})
	t.Cleanup(s.Close)
	p, err := s.Provider(t.Context(), plugins.Spec{Name: "local", Args: []string{"serve-local"}})
	if err != nil {
		t.Fatal(err)
	}
	providertest.Run(t, func(*testing.T) provider.Provider { return p }, options())
}
