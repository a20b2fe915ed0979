package manifests

import "github.com/skillet-run/skillet/policies/limit"

// What holds for skills whose manifest does not say otherwise.
const (
	DefaultCacheMB = 10 // MiB of a skill's kept answers
	DefaultQueue   = 20 // calls that wait for others of the same skill
)

const (
	kib = 1 << 10
	mib = 1 << 20
)

// Limits returns the limits of one call, none of them zero except KVBytes without the
// permission to keep values. The wall time is the smaller one of
// resource_limits.max_execution_time and resilience.timeout.
func (m *Manifest) Limits() limit.Set {
	asked := m.Security.ResourceLimits
	s := asked.Set()
	if t := m.Resilience.Timeout; t > 0 && (asked.MaxExecutionTime == 0 || t < s.Seconds) {
		s.Seconds = t
	}
	switch kv := m.Security.Permissions.KV; {
	case kv == nil:
		s.KVBytes = 0
	case kv.MaxMB > 0:
		s.KVBytes = int64(kv.MaxMB) * mib
	}
	return s
}
