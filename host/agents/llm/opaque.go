package llm

import (
	"encoding/json"
	"slices"

	"github.com/skillet-run/skillet/plugins/provider"
)

// A seal is what a provider attached to an answer, with its name: the answer goes
// back with the next request, and that may go to another provider.
type seal struct {
	Provider string          `json:"provider"`
	Data     json.RawMessage `json:"data"`
}

// sealed is what a provider attached, for a caller to keep.
func sealed(providerName string, data json.RawMessage) (json.RawMessage, error) {
	if len(data) == 0 {
		return nil, nil
	}
	return json.Marshal(seal{providerName, data})
}

// unsealed are messages as a provider gets them: with what it attached itself, and
// nothing that another one did.
func unsealed(ms []provider.Message, providerName string) []provider.Message {
	foreign := func(m provider.Message) bool { return len(m.Opaque) > 0 }
	if !slices.ContainsFunc(ms, foreign) {
		return ms
	}
	ms = slices.Clone(ms)
	for i := range ms {
		ms[i].Opaque = openedFor(providerName, ms[i].Opaque)
	}
	return ms
}

// openedFor is nil for what is not that provider's.
func openedFor(providerName string, data json.RawMessage) json.RawMessage {
	var s seal
	if len(data) == 0 || json.Unmarshal(data, &s) != nil || s.Provider != providerName {
		return nil
	}
	return s.Data
}
