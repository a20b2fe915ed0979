package manifests

import (
	"cmp"
)

// The limits of a call whose manifest does not say otherwise.
const (
	DefaultMemoryMB         = 64              // MiB
	DefaultExecutionSeconds = 30              // wall time
	DefaultFuel             = 200_000_000_000 // units of fuel
	DefaultOutputKB         = 1024            // KiB
	DefaultFileSizeMB       = 10              // MiB a file
	DefaultHostCalls        = 10_000
	DefaultKVMB             = 10 // MiB of a skill's store
	DefaultCacheMB          = 10 // MiB of a skill's kept answers
	DefaultQueue            = 20 // calls that wait for others of the same skill
)

// The most a manifest may ask for. A higher value is an error, not a smaller
// limit.
const (
	CeilingMemoryMB         = 1024
	CeilingExecutionSeconds = 3600
	CeilingFuel             = 10_000_000_000_000
	CeilingOutputKB         = 65_536
	CeilingFileSizeMB       = 256 // what one call may write in all files together
	CeilingHostCalls        = 1_000_000
	CeilingKVMB             = 1024
)

// ResolvedLimits bound one call, in plain units and with the defaults filled
// in. No field is ever zero, except KVBytes.
type ResolvedLimits struct {
	MemoryBytes   uint64  `json:"memory_bytes"`    // linear memory
	Seconds       float64 `json:"seconds"`         // wall time
	Fuel          uint64  `json:"fuel"`            // deterministic cost of the instructions executed
	OutputBytes   int64   `json:"output_bytes"`    // output of the call
	FileSizeBytes int64   `json:"file_size_bytes"` // any one file the skill writes
	HostCalls     int     `json:"host_calls"`      // calls of host functions
	KVBytes       int64   `json:"kv_bytes"`        // the skill's store, all keys and values; 0 without the permission
}

const (
	kib = 1 << 10
	mib = 1 << 20
)

// Limits returns the limits of one call. The wall time is the smaller one of
// resource_limits.max_execution_time and resilience.timeout.
func (m *Manifest) Limits() ResolvedLimits {
	l := m.Security.ResourceLimits
	seconds := cmp.Or(l.MaxExecutionTime, m.Resilience.Timeout, DefaultExecutionSeconds)
	if t := m.Resilience.Timeout; t > 0 {
		seconds = min(seconds, t)
	}
	r := ResolvedLimits{
		MemoryBytes:   uint64(cmp.Or(l.MaxMemoryMB, DefaultMemoryMB)) * mib,
		Seconds:       seconds,
		Fuel:          cmp.Or(l.MaxFuel, DefaultFuel),
		OutputBytes:   int64(cmp.Or(l.MaxOutputKB, DefaultOutputKB)) * kib,
		FileSizeBytes: int64(cmp.Or(l.MaxFileSizeMB, DefaultFileSizeMB)) * mib,
		HostCalls:     cmp.Or(l.MaxHostCalls, DefaultHostCalls),
	}
	if kv := m.Security.Permissions.KV; kv != nil {
		r.KVBytes = int64(cmp.Or(kv.MaxMB, DefaultKVMB)) * mib
	}
	return r
}
