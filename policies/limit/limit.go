// Package limit has the table of the limits on one call: what each is called, how it is
// measured, what holds when nothing is said, and who may change it where. The fields of
// manifests, settings, requests and flags, the clamp, and what people read are made from
// the table or checked against it. What enforces a limit is not here.
package limit

import "time"

// A Limit is one row of the table.
type Limit int

// The limits, in the order in which people are shown them.
const (
	Memory    Limit = iota // linear memory
	Time                   // wall time
	Fuel                   // deterministic cost of the instructions executed
	Output                 // output of the call
	HostCalls              // calls of host functions
	FileSize               // any one file the skill writes
	KV                     // the skill's store, all keys and values
)

// A row is what is known of a limit: the one place to describe a new one. All numbers are
// values, as [Limit.Of] has them.
type row struct {
	// what names the bounded thing; brief is a phrase with %s for an amount.
	what, brief string
	// kind is how amounts are written, and unit that of the numbers in documents.
	kind kind
	unit int64
	// usual holds when nothing is said, and ceiling is the most that a manifest may ask for.
	usual, ceiling int64
	// most is the most that a setting or a request may name; why says what cannot be more.
	most int64
	why  string

	// path is the field in manifests.
	path string
	// setting is the setting of a host that lowers the limit of every call, and normal
	// its default; empty when there is none.
	setting string
	normal  int64
	// request is the field of a request that changes the limit of one call, and help says
	// what for, with the unit in backquotes; empty when there is none.
	request, help string

	set      Column[Set]
	fields   Column[Fields]   // none when the field is not one of resource_limits
	ceilings Column[Ceilings] // none without setting
	requests Column[Request]  // none without request
}

const (
	kib    = 1 << 10
	mib    = 1 << 20
	second = int64(time.Second)
)

var rows = [...]row{
	Memory: {
		what: "memory", brief: "%s memory", kind: size, unit: mib,
		usual: 64 * mib, ceiling: 1024 * mib, most: 4096 * mib, why: "32-bit WebAssembly has 4096 MB at most",
		path: resourceLimits + "max_memory_mb", setting: "max_memory_mb", normal: 1024 * mib,
		request: "max_memory_mb", help: "the most memory the guest may have, in `MB`",
		set:      ColumnOf(func(s *Set) *uint64 { return &s.MemoryBytes }, 1),
		fields:   ColumnOf(func(f *Fields) *int { return &f.MaxMemoryMB }, mib),
		ceilings: ColumnOf(func(c *Ceilings) *int { return &c.MaxMemoryMB }, mib),
		requests: ColumnOf(func(r *Request) *uint64 { return &r.MaxMemoryMB }, mib),
	},
	Time: {
		what: "time", brief: "%s", kind: span, unit: second,
		usual: 30 * second, ceiling: 3600 * second, most: 86400 * second,
		path: resourceLimits + "max_execution_time", setting: "max_execution_seconds", normal: 300 * second,
		request: "timeout", help: "end the call after this `TIME`, such as 500ms or 2m",
		set:      seconds(func(s *Set) *float64 { return &s.Seconds }),
		fields:   seconds(func(f *Fields) *float64 { return &f.MaxExecutionTime }),
		ceilings: seconds(func(c *Ceilings) *float64 { return &c.MaxExecutionSeconds }),
		requests: seconds(func(r *Request) *float64 { return &r.TimeoutSeconds }),
	},
	Fuel: {
		what: "fuel", brief: "%s fuel", kind: number, unit: 1,
		usual: 200_000_000_000, ceiling: 10_000_000_000_000, most: 1 << 62,
		path: resourceLimits + "max_fuel", setting: "max_fuel", normal: 1_000_000_000_000,
		request: "max_fuel", help: "the most fuel the guest may use",
		set:      ColumnOf(func(s *Set) *uint64 { return &s.Fuel }, 1),
		fields:   ColumnOf(func(f *Fields) *uint64 { return &f.MaxFuel }, 1),
		ceilings: ColumnOf(func(c *Ceilings) *uint64 { return &c.MaxFuel }, 1),
		requests: ColumnOf(func(r *Request) *uint64 { return &r.MaxFuel }, 1),
	},
	Output: {
		what: "output", brief: "%s output", kind: size, unit: kib,
		usual: 1 * mib, ceiling: 64 * mib, most: 64 * mib,
		path:    resourceLimits + "max_output_kb",
		request: "max_output_kb", help: "the longest answer the guest may give, in `KB`",
		set:      ColumnOf(func(s *Set) *int64 { return &s.OutputBytes }, 1),
		fields:   ColumnOf(func(f *Fields) *int { return &f.MaxOutputKB }, kib),
		requests: ColumnOf(func(r *Request) *uint64 { return &r.MaxOutputKB }, kib),
	},
	HostCalls: {
		what: "calls of the host", brief: "%s host calls", kind: number, unit: 1,
		usual: 10_000, ceiling: 1_000_000, most: 1_000_000,
		path:    resourceLimits + "max_host_calls",
		request: "max_host_calls", help: "how many calls of the host's functions the guest may make",
		set:      ColumnOf(func(s *Set) *int { return &s.HostCalls }, 1),
		fields:   ColumnOf(func(f *Fields) *int { return &f.MaxHostCalls }, 1),
		requests: ColumnOf(func(r *Request) *uint64 { return &r.MaxHostCalls }, 1),
	},
	FileSize: {
		what: "the size of a file", brief: "%s a file", kind: size, unit: mib,
		usual: 10 * mib, ceiling: 256 * mib, most: 256 * mib, // what one call may write in all files together
		path:   resourceLimits + "max_file_size_mb",
		set:    ColumnOf(func(s *Set) *int64 { return &s.FileSizeBytes }, 1),
		fields: ColumnOf(func(f *Fields) *int { return &f.MaxFileSizeMB }, mib),
	},
	KV: { // of a skill that has the permission alone
		what: "what it keeps", brief: "%s of values of its own", kind: size, unit: mib,
		usual: 10 * mib, ceiling: 1024 * mib, most: 1024 * mib,
		path: "security.permissions.kv.max_mb",
		set:  ColumnOf(func(s *Set) *int64 { return &s.KVBytes }, 1),
	},
}

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

// Ceilings are what a host allows any call, as its settings and the administrator's file
// have it. A zero field is not a bound.
type Ceilings struct {
	MaxMemoryMB         int     `json:"max_memory_mb,omitempty" koanf:"max_memory_mb" doc:"the most memory any call may have, in MB, whatever its manifest says"`
	MaxExecutionSeconds float64 `json:"max_execution_seconds,omitempty" koanf:"max_execution_seconds" doc:"the longest any call may take, in seconds, whatever its manifest says"`
	MaxFuel             uint64  `json:"max_fuel,omitempty" koanf:"max_fuel" doc:"the most fuel any call may use, whatever its manifest says"`
}

// A Request is what may be asked for one call, as documents have it. A zero field leaves what
// holds without it.
type Request struct {
	MaxMemoryMB    uint64  `json:"max_memory_mb,omitempty"`
	TimeoutSeconds float64 `json:"timeout_seconds,omitempty" minimum:"0" maximum:"86400"`
	MaxFuel        uint64  `json:"max_fuel,omitempty"`
	MaxOutputKB    uint64  `json:"max_output_kb,omitempty"`
	MaxHostCalls   uint64  `json:"max_host_calls,omitempty"`
}

// resourceLimits is the section of a manifest with [Fields].
const resourceLimits = "security.resource_limits."

// All returns the limits in the order of the table.
func All() []Limit {
	all := make([]Limit, len(rows))
	for i := range all {
		all[i] = Limit(i)
	}
	return all
}

// Of is the value of the limit in a set: bytes, nanoseconds, units of fuel, or calls.
func (l Limit) Of(s Set) int64 { return rows[l].set.Get(&s) }

// Put changes the limit in a set.
func (l Limit) Put(s *Set, value int64) { rows[l].set.Put(s, value) }

// What names what is bounded: "memory".
func (l Limit) What() string { return rows[l].what }

// Default is what holds when nothing is said.
func (l Limit) Default() int64 { return rows[l].usual }

// Ceiling is the most that a manifest may ask for.
func (l Limit) Ceiling() int64 { return rows[l].ceiling }

// Most is the most that a setting, or a request for one call, may name.
func (l Limit) Most() int64 { return rows[l].most }

// Why says why nothing can be above [Limit.Most]; empty where that is a choice.
func (l Limit) Why() string { return rows[l].why }

// Path is the field of manifests: "security.resource_limits.max_memory_mb".
func (l Limit) Path() string { return rows[l].path }

// Setting is the setting of a host that lowers the limit of every call; empty for none.
func (l Limit) Setting() string { return rows[l].setting }

// Request is the field of a request that changes the limit of one call; empty for none.
func (l Limit) Request() string { return rows[l].request }

// Help says what the field of a request does, with its unit in backquotes.
func (l Limit) Help() string { return rows[l].help }

// IsTime reports whether values are times. All others are whole numbers.
func (l Limit) IsTime() bool { return rows[l].kind == span }

// Value is the value of a number in a document, in the unit that the names of the fields
// have: of MB for [Memory]. One that does not fit becomes the greatest that does.
func (l Limit) Value(n uint64) int64 { return times(n, rows[l].unit) }

// Number is a value as documents have it, which for a time is in seconds.
func (l Limit) Number(value int64) float64 { return float64(value) / float64(rows[l].unit) }
