package ollama

import (
	"testing"

	"github.com/skillet-run/skillet/plugins/provider"
	"github.com/skillet-run/skillet/plugins/providers/internal/acceptance"
	"github.com/skillet-run/skillet/plugins/providers/internal/upstream"
	"github.com/skillet-run/skillet/plugins/providers/wire"
)

func subject() acceptance.Subject {
	return acceptance.Subject{
		Open:            func(env upstream.Env) provider.Provider { return New(env) },
		Serve:           wire.Ollama,
		Prefix:          "OLLAMA",
		ModelsName:      "OLLAMA_MODELS_INFO",
		NoThinkingCount: true,
		NoCachedCount:   true,
		NoFilter:        true,
		NoFailedFlag:    true,
		WholeCalls:      true,
		Length:          "length",
		Filter:          "unknown",
	}
}

func TestMain(m *testing.M) { acceptance.Main(m, subject()) }

func TestAcceptance(t *testing.T) { acceptance.Run(t, subject()) }
