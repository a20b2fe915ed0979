package limit

import (
	"strings"
	"time"

	"github.com/skillet-run/skillet/internal/duration"
)

// A Set has a value for each limit, in plain units. What zero means is said where a set is
// used: in a request it leaves the limit as it is, and in [Set.Within] it is not a bound but
// that of the table.
type Set struct {
	MemoryBytes   uint64  `json:"memory_bytes"`    // linear memory
	Seconds       float64 `json:"seconds"`         // wall time
	Fuel          uint64  `json:"fuel"`            // deterministic cost of the instructions executed
	OutputBytes   int64   `json:"output_bytes"`    // output of the call
	FileSizeBytes int64   `json:"file_size_bytes"` // any one file the skill writes
	HostCalls     int     `json:"host_calls"`      // calls of host functions
	KVBytes       int64   `json:"kv_bytes"`        // the skill's store, all keys and values; 0 without the permission
}

// Wall is the limit of [Time].
func (s Set) Wall() time.Duration { return duration.OfSeconds(s.Seconds) }

// Fields are the fields of a manifest below security.resource_limits. A zero field means
// the default.
type Fields struct {
	MaxMemoryMB      int     `json:"max_memory_mb,omitempty"`      // MiB
	MaxCPUPercent    int     `json:"max_cpu_percent,omitempty"`    // percent of one core; not one of the table, as nothing enforces it
	MaxExecutionTime float64 `json:"max_execution_time,omitempty"` // seconds of wall time
	MaxFuel          uint64  `json:"max_fuel,omitempty"`           // units of fuel
	MaxOutputKB      int     `json:"max_output_kb,omitempty"`      // KiB
	MaxFileSizeMB    int     `json:"max_file_size_mb,omitempty"`   // MiB a file
	MaxHostCalls     int     `json:"max_host_calls,omitempty"`     // calls of host functions
}

// Set is the fields with the defaults filled in; no value of it is zero.
func (f Fields) Set() Set {
	var s Set
	for i := range rows {
		v := rows[i].usual
		if c := rows[i].fields; c.Get != nil && c.Get(&f) != 0 {
			v = c.Get(&f)
		}
		rows[i].set.Put(&s, v)
	}
	return s
}

// Ceilings are what a host allows any call, as its settings and the administrator's file
// have it. A zero field is not a bound.
type Ceilings struct {
	MaxMemoryMB         int     `json:"max_memory_mb,omitempty" koanf:"max_memory_mb" doc:"the most memory any call may have, in MB, whatever its manifest says"`
	MaxExecutionSeconds float64 `json:"max_execution_seconds,omitempty" koanf:"max_execution_seconds" doc:"the longest any call may take, in seconds, whatever its manifest says"`
	MaxFuel             uint64  `json:"max_fuel,omitempty" koanf:"max_fuel" doc:"the most fuel any call may use, whatever its manifest says"`
}

// DefaultCeilings are those of a host that says nothing.
func DefaultCeilings() Ceilings {
	var c Ceilings
	for i := range rows {
		if rows[i].setting != "" {
			rows[i].ceilings.Put(&c, rows[i].normal)
		}
	}
	return c
}

// Of is the value of a limit in the ceilings; 0 for no bound, and where there is no setting.
func (c Ceilings) Of(l Limit) int64 {
	if rows[l].setting == "" {
		return 0
	}
	return rows[l].ceilings.Get(&c)
}

// Set is the ceilings for [Set.Within].
func (c Ceilings) Set() Set {
	var s Set
	for i := range rows {
		rows[i].set.Put(&s, c.Of(Limit(i)))
	}
	return s
}

// Lowered is the ceilings, and those of others where these are lower.
func (c Ceilings) Lowered(by Ceilings) Ceilings {
	for i := range rows {
		l := Limit(i)
		if v, was := by.Of(l), c.Of(l); v > 0 && (was == 0 || v < was) {
			rows[i].ceilings.Put(&c, v)
		}
	}
	return c
}

// Bounds are limits as they hold on a host.
type Bounds struct {
	Limits Set `json:"limits"`
	// Cut are those that were asked for higher than the host allows.
	Cut []Cut `json:"limits_cut"`
}

// A Cut is a limit that a setting of the host makes smaller.
type Cut struct {
	// Limit is the field of the manifest: "max_memory_mb".
	Limit string `json:"limit"`
	// Asked is what was asked for, and Allowed what holds, with units.
	Asked   string `json:"asked"`
	Allowed string `json:"allowed"`
	// Setting is the setting that decides; the administrator may have set a lower
	// bound than it.
	Setting string `json:"setting"`
}

// Within is s below what may not be exceeded: the one clamp. Where most is zero, the ceiling
// of the table is meant.
func (s Set) Within(most Set) Bounds {
	b := Bounds{s, []Cut{}}
	for i := range rows {
		l := Limit(i)
		asked, top := l.Of(s), l.Of(most)
		if top == 0 {
			top = l.Ceiling()
		}
		if asked > top {
			l.Put(&b.Limits, top)
			b.Cut = append(b.Cut, Cut{l.field(), l.Text(asked), l.Text(top), l.Setting()})
		}
	}
	return b
}

// field is the last part of [Limit.Path].
func (l Limit) field() string { return l.Path()[strings.LastIndexByte(l.Path(), '.')+1:] }

// Or is s, with the values of usual where s has none.
func (s Set) Or(usual Set) Set {
	for i := range rows {
		if l := Limit(i); l.Of(s) == 0 {
			l.Put(&s, l.Of(usual))
		}
	}
	return s
}
