package builtin_test

import (
	"testing"

	"github.com/skillet-run/skillet/plugins/agent"
	"github.com/skillet-run/skillet/plugins/agent/agenttest"
	"github.com/skillet-run/skillet/plugins/agent/builtin"
)

func open(*testing.T) agent.Agent { return builtin.New(nil, "1.0.0") }

func TestConformance(t *testing.T) {
	t.Parallel()
	for _, name := range append(builtin.Names(), "release-notes") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := agenttest.Settings{Task: agent.Task{Agent: name}}
			if name == builtin.Code {
				s.NoTools, s.Model = true, agenttest.Script(agenttest.Says(goodPackage(t)))
			}
			agenttest.Test(t, open, s)
		})
	}
}
