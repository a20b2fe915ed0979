package capability

// Action names what is done.
type Action string

// The actions a capability can name.
const (
	FSRead  Action = "fs.read"
	FSWrite Action = "fs.write"
	HTTP    Action = "http"
	KV      Action = "kv"
	Secret  Action = "secret"
	Skill   Action = "skill"
	Model   Action = "model"
	Notify  Action = "notify"
	Clock   Action = "clock"
	Random  Action = "random"
)

// Capability is an action on a resource pattern.
type Capability struct {
	action   Action
	methods  string
	resource string
}

func Parse(text string) (Capability, error)           { return Capability{}, nil }
func MustParse(text string) Capability                { return Capability{} }
func (c Capability) String() string                   { return "" }
func (c Capability) Action() Action                   { return c.action }
func (c Capability) Resource() string                 { return "" }
func (c Capability) Words() string                    { return "" }
func (c Capability) Base() string                     { return "" }
func (c Capability) Covers(d Capability) bool         { return false }
func (c Capability) Allows(r Request) bool            { return false }
func (c Capability) MarshalText() ([]byte, error)     { return nil, nil }
func (c *Capability) UnmarshalText(text []byte) error { return nil }

// Request is one concrete thing a guest tries.
type Request struct {
	Action   Action
	Method   string
	Resource string
}

func (r Request) String() string                  { return "" }
func (r Request) Capability() (Capability, error) { return Capability{}, nil }

// ParseError tells why a text is not a capability.
type ParseError struct{ Text, Message, Suggestion string }

func (e *ParseError) Error() string { return e.Message }

// Set is an immutable set of capabilities.
type Set struct{ members []Capability }

func NewSet(cs ...Capability) Set                       { return Set{} }
func ParseSet(texts ...string) (Set, error)             { return Set{}, nil }
func (s Set) All() []Capability                         { return nil }
func (s Set) Len() int                                  { return 0 }
func (s Set) Strings() []string                         { return nil }
func (s Set) IsEmpty() bool                             { return true }
func (s Set) Covers(c Capability) bool                  { return false }
func (s Set) CoversSet(t Set) bool                      { return false }
func (s Set) Allows(r Request) (by Capability, ok bool) { return Capability{}, false }
func (s Set) Union(t Set) Set                           { return Set{} }
func (s Set) Minus(t Set) Set                           { return Set{} }
func (s Set) Intersect(t Set) Set                       { return Set{} }
func (s Set) Equal(t Set) bool                          { return false }
func (s Set) Digest() string                            { return "" }
func (s Set) MarshalJSON() ([]byte, error)              { return nil, nil }
func (s *Set) UnmarshalJSON(b []byte) error             { return nil }

// Change is one line of a Difference.
type Change struct{ Old, New []Capability }

func (c Change) Words() string { return "" }

// Difference is what changed between two sets.
type Difference struct{ Added, Removed, Widened, Narrowed []Change }

func (d Difference) IsEmpty() bool   { return true }
func (d Difference) Words() []string { return nil }

func Diff(old, new Set) Difference { return Difference{} }
