package anthropic

import (
	"testing"

	"github.com/skillet-run/skillet/plugins/provider"
	"github.com/skillet-run/skillet/plugins/providers/internal/acceptance"
	"github.com/skillet-run/skillet/plugins/providers/internal/upstream"
	"github.com/skillet-run/skillet/plugins/providers/wire"
)

func subject() acceptance.Subject {
	return acceptance.Subject{
		Open:         func(env upstream.Env) provider.Provider { return New(env) },
		Serve:        wire.Anthropic,
		Prefix:       "ANTHROPIC",
		ModelsName:   "ANTHROPIC_MODELS",
		NoEmbeddings: true,
		Signs:        true,
		Length:       "max_tokens",
		Filter:       "refusal",
	}
}

func TestMain(m *testing.M) { acceptance.Main(m, subject()) }

func TestAcceptance(t *testing.T) { acceptance.Run(t, subject()) }
