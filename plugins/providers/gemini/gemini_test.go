package gemini

import (
	"testing"

	"github.com/skillet-run/skillet/plugins/provider"
	"github.com/skillet-run/skillet/plugins/providers/internal/acceptance"
	"github.com/skillet-run/skillet/plugins/providers/internal/upstream"
	"github.com/skillet-run/skillet/plugins/providers/wire"
)

func subject() acceptance.Subject {
	return acceptance.Subject{
		Open:       func(env upstream.Env) provider.Provider { return New(env) },
		Serve:      wire.Gemini,
		Prefix:     "GEMINI",
		ModelsName: "GEMINI_MODELS",
		Signs:      true,
		WholeCalls: true,
		Length:     "MAX_TOKENS",
		Filter:     "SAFETY",
	}
}

func TestMain(m *testing.M) { acceptance.Main(m, subject()) }

func TestAcceptance(t *testing.T) { acceptance.Run(t, subject()) }
