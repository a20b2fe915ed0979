package host

import (
	"context"
	"sync"
	"time"

	"github.com/skillet-run/skillet/host/fault"

	"github.com/skillet-run/skillet/host/config"
	"github.com/skillet-run/skillet/host/memory"
	"github.com/skillet-run/skillet/host/memory/hashing"
)

// memories is the memory of a home, once somebody has asked for it. The zero value
// is ready to use.
type memories struct {
	mu     sync.Mutex
	opened *memory.Memory
}

func (m *memories) close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.opened == nil {
		return nil
	}
	err := m.opened.Close()
	m.opened = nil
	return err
}

// Memory is what the home remembers. It is read when somebody asks for it first,
// which takes some two seconds for 100,000 records, and closed with the home.
func (h *Host) Memory(ctx context.Context) (*memory.Memory, error) {
	h.memory.mu.Lock()
	defer h.memory.mu.Unlock()
	if h.memory.opened != nil {
		return h.memory.opened, nil
	}
	s := h.Config.Settings().Memory
	e, err := h.embedder(ctx, s.Embedder)
	if err == nil {
		h.memory.opened, err = memory.Open(ctx, h.Log.Named("memory"), h.store, h.Events, e, memorySettings(s))
	}
	return h.memory.opened, err
}

// hashingEmbedder is the name of the embedder that needs no model.
const hashingEmbedder = "hashing"

// embedder is what makes vectors of memories.
func (h *Host) embedder(ctx context.Context, name string) (memory.Embedder, error) {
	if name == hashingEmbedder {
		return hashing.New(0), nil
	}
	models, err := h.Models(ctx)
	if err != nil {
		return nil, err
	}
	e, err := models.Embedder(ctx, name)
	if err != nil {
		return nil, fault.Errorf(fault.KindUsage, "setting memory.embedder: the model %s cannot be asked: %w", name, err).
			WithHint("`skillet provider list` shows the models there are; %s needs none", hashingEmbedder)
	}
	return e, nil
}

func memorySettings(s config.Memory) memory.Settings {
	return memory.Settings{
		MaxRecords: s.MaxRecords, Hybrid: s.Embedder == hashingEmbedder,
		Consolidation: memory.Consolidation{
			Records: s.ConsolidateAfterCount, Every: time.Duration(s.ConsolidateAfterHours * float64(time.Hour)),
		},
	}
}
