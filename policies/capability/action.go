package capability

import (
	"strings"

	"github.com/skillet-run/skillet/internal/nearest"
)

// Action names what is done. The zero value names nothing and is granted by
// nothing.
type Action string

// The actions a capability can name. What is known of each is in [Kinds].
const (
	FSRead  Action = "fs.read"  // read, list and stat files
	FSWrite Action = "fs.write" // create, change, rename and delete files
	HTTP    Action = "http"     // send a request to a URL
	KV      Action = "kv"       // keep data of its own between calls
	Secret  Action = "secret"   // have the host use a stored secret
	Skill   Action = "skill"    // call another skill
	Session Action = "session"  // go on with a session of the person's, in a call of another skill
	Model   Action = "model"    // ask a language model
	Notify  Action = "notify"   // send the person a notification
	Clock   Action = "clock"    // read the real time
	Random  Action = "random"   // draw real randomness
	Native  Action = "native"   // run a program of its own, outside the sandbox
)

// Shape says what the resource of an action looks like.
type Shape uint8

// The shapes of resources. Whoever switches on them, and not on actions, needs
// no change for a new action.
const (
	ShapeNone Shape = iota // the action has no resource
	ShapePath              // a path pattern
	ShapeURL               // methods and a URL pattern; HTTP alone has this shape
	ShapeName              // a name, or the start of names and "*"
)

// A Kind is what is known of an action, in every package: the one place to
// describe a new one. Parsing, requests of manifests, completion, help, whether a
// call may be repeated, and the checks of the documentation and of the policies'
// schema are made from it.
type Kind struct {
	Action Action
	// Shape is that of the resource.
	Shape Shape
	// Example is a capability for the action.
	Example string
	// Help says in two or three words what the action is for.
	Help string
	// Field is the field below security.permissions in a manifest whose entries
	// ask for the action; empty for one that no entry asks for.
	Field string
	// AlsoIn are other such fields that show that a skill may need the action.
	AlsoIn []string
	// Harmless says that using the capability changes nothing that outlives a
	// call, so that the call can be repeated. With ShapeURL it is so for safe
	// methods alone; see [Capability.Changes].
	Harmless bool

	// words are those of [Capability.Words].
	words func(Capability) string
	// aliases are wrong words that people use for the action, for suggestions only.
	aliases []string
}

// kinds lists every action in the order Actions gives them.
var kinds = [...]Kind{
	{
		Action: FSRead, Shape: ShapePath, Example: "fs.read:/data/**", Help: "read files",
		Field: "file_read", AlsoIn: []string{"file_write"}, Harmless: true,
		words:   func(c Capability) string { return "read " + fileWords(c.pattern) },
		aliases: []string{"read", "fs", "file", "files", "path", "file.read", "file_read"},
	},
	{
		// What may write can be made to read by a grant alone, so to ask for one speaks of both.
		Action: FSWrite, Shape: ShapePath, Example: "fs.write:/data/out/**", Help: "write files",
		Field: "file_write", AlsoIn: []string{"file_read"},
		words:   func(c Capability) string { return "create, change and delete " + fileWords(c.pattern) },
		aliases: []string{"write", "file.write", "file_write"},
	},
	{
		Action: HTTP, Shape: ShapeURL, Example: "http:GET https://api.example.com/v1/*", Help: "send requests",
		Field: "network", Harmless: true,
		words:   Capability.httpWords,
		aliases: []string{"https", "net", "network", "url", "web", "fetch"},
	},
	{
		Action: KV, Shape: ShapeNone, Example: "kv", Help: "keep values",
		Field:   "kv",
		words:   always("keep data of its own between calls"),
		aliases: []string{"store", "storage", "keyvalue", "key-value"},
	},
	{
		Action: Secret, Shape: ShapeName, Example: "secret:github", Help: "have a secret added to requests",
		Field: "secrets", Harmless: true,
		words:   named("use", "the secret", "secret"),
		aliases: []string{"secrets", "credential", "password", "token"},
	},
	{
		Action: Skill, Shape: ShapeName, Example: "skill:html-to-text", Help: "call a skill",
		Field:   "skills",
		words:   named("call", "the skill", "skill"),
		aliases: []string{"skills", "tool", "call"},
	},
	{
		// No manifest asks for a session: whose it is, only the person who has it knows.
		Action: Session, Shape: ShapeName, Example: "session:js-repl/work", Help: "go on with a session",
		AlsoIn:  []string{"skills"},
		words:   func(c Capability) string { return "go on with " + sessionWords(c.pattern) },
		aliases: []string{"sessions", "repl"},
	},
	{
		Action: Model, Shape: ShapeName, Example: "model:fast", Help: "ask a model",
		Field:   "models",
		words:   named("ask", "the model", "model"),
		aliases: []string{"models", "llm"},
	},
	{
		Action: Notify, Shape: ShapeNone, Example: "notify", Help: "notify you",
		Field:   "notify",
		words:   always("send you notifications"),
		aliases: []string{"notification", "notifications"},
	},
	{
		Action: Clock, Shape: ShapeNone, Example: "clock", Help: "tell the time",
		Field: "clock", Harmless: true,
		words:   always("read the current date and time"),
		aliases: []string{"time", "now"},
	},
	{
		Action: Random, Shape: ShapeNone, Example: "random", Help: "be random",
		Field: "random", Harmless: true,
		words:   always("draw real random numbers"),
		aliases: []string{"rand", "entropy", "randomness"},
	},
	{
		// The type of a plugin asks for it.
		Action: Native, Shape: ShapeNone, Example: "native", Help: "run a plugin's program",
		words:   always("run a program of its own outside the sandbox, which can do whatever you can do on this computer"),
		aliases: []string{"process", "process_spawn", "exec", "binary", "program", "plugin"},
	},
}

// Kinds returns what is known of each action, in a fixed order. The slice is the
// caller's to keep; what is in it is not to be changed.
func Kinds() []Kind { return append([]Kind(nil), kinds[:]...) }

// Actions returns every action a capability can name, in the order of [Kinds].
// The slice is the caller's to keep.
func Actions() []Action {
	list := make([]Action, len(kinds))
	for i := range kinds {
		list[i] = kinds[i].Action
	}
	return list
}

// ActionsWith returns the actions whose resource has a shape, in the order of
// [Kinds]. The slice is the caller's to keep.
func ActionsWith(s Shape) []Action {
	var list []Action
	for i := range kinds {
		if kinds[i].Shape == s {
			list = append(list, kinds[i].Action)
		}
	}
	return list
}

// AskedIn returns the action that the entries of a field below
// security.permissions ask for; "" for a field that asks for none.
func AskedIn(field string) Action {
	for i := range kinds {
		if kinds[i].Field == field && field != "" {
			return kinds[i].Action
		}
	}
	return ""
}

// Kind returns what is known of a, and false when it is not an action.
func (a Action) Kind() (Kind, bool) {
	if k := lookup(a); k != nil {
		return *k, true
	}
	return Kind{}, false
}

// Shape returns the shape of a's resource: [ShapeNone] also when it is not an action.
func (a Action) Shape() Shape {
	if k := lookup(a); k != nil {
		return k.Shape
	}
	return ShapeNone
}

// lookup returns the kind of an action, or nil when there is no such action.
func lookup(a Action) *Kind {
	for i := range kinds {
		if kinds[i].Action == a {
			return &kinds[i]
		}
	}
	return nil
}

// nearestKind guesses which action a wrong word meant; it returns nil when
// nothing comes near.
func nearestKind(word string) *Kind {
	word = strings.ToLower(word)
	best, bestDistance := (*Kind)(nil), 3
	for i := range kinds {
		k := &kinds[i]
		for _, known := range append([]string{string(k.Action)}, k.aliases...) {
			d := nearest.Distance(word, known)
			if d < bestDistance && d < len(known) {
				best, bestDistance = k, d
			}
		}
	}
	return best
}
