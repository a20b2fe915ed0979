package manifests

import (
	"encoding/json"
	"errors"

	"github.com/skillet-run/skillet/policies/capability"
)

type valueSchema struct{}

// Parse reads a manifest.
func Parse(data []byte, name string) (*Manifest, error) {
	m := &Manifest{}
	return m, json.Unmarshal(data, m)
}

// RequestedCapability is one capability a skill asks for.
type RequestedCapability struct {
	Capability capability.Capability
	Reason     string
	Field      string
}

// Requests returns what m asks for.
func (m *Manifest) Requests(workspace string) ([]RequestedCapability, error) { return nil, nil }

// Validate checks m.
func (m *Manifest) Validate() error { return nil }

// Unsupported lists the fields this host cannot honour.
func (m *Manifest) Unsupported() []Problem { return nil }

// ResolvedLimits are the limits of one call as plain numbers.
type ResolvedLimits struct {
	MemoryBytes   uint64
	Seconds       float64
	Fuel          uint64
	OutputBytes   int64
	FileSizeBytes int64
	HostCalls     int
	KVBytes       int64
}

// Limits returns the limits of one call.
func (m *Manifest) Limits() ResolvedLimits { return ResolvedLimits{} }

// Schema returns the JSON Schema of the manifest.
func Schema() []byte { return nil }

// ErrInput and ErrOutput tell whose value does not fit its schema.
var (
	ErrInput  = errors.New("input does not fit the tool")
	ErrOutput = errors.New("output does not fit the tool")
)

// ValidateInput checks input against the tool's input schema.
func (m *Manifest) ValidateInput(tool Tool, input json.RawMessage) error { return nil }

// ValidateOutput checks output against the tool's output schema.
func (m *Manifest) ValidateOutput(tool Tool, output json.RawMessage) error { return nil }

// CoerceArgs turns key=value pairs into JSON.
func CoerceArgs(tool Tool, pairs []string) (json.RawMessage, error) { return nil, nil }

// Ref names a skill, perhaps a version and a tool of it.
type Ref struct{ Name, Version, Tool string }

// ParseRef reads name[@version][:tool].
func ParseRef(text string) (Ref, error) { return Ref{}, nil }
