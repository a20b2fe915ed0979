package capability

import "strings"

// Action names what is done. The zero value names nothing and is granted by
// nothing.
type Action string

// The actions a capability can name.
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

// shape says what the resource of an action looks like.
type shape uint8

const (
	shapeNone shape = iota
	shapePath
	shapeURL
	shapeName
)

// spec is what the package knows about one action.
type spec struct {
	action  Action
	shape   shape
	example string
	// aliases are wrong words people use for the action, for suggestions only.
	aliases []string
}

// specs lists every action in the order Actions gives them.
var specs = [...]spec{
	{FSRead, shapePath, "fs.read:/data/**", []string{"read", "fs", "file", "files", "path", "file.read", "file_read"}},
	{FSWrite, shapePath, "fs.write:/data/out/**", []string{"write", "file.write", "file_write"}},
	{HTTP, shapeURL, "http:GET https://api.example.com/v1/*", []string{"https", "net", "network", "url", "web", "fetch"}},
	{KV, shapeNone, "kv", []string{"store", "storage", "keyvalue", "key-value"}},
	{Secret, shapeName, "secret:github", []string{"secrets", "credential", "password", "token"}},
	{Skill, shapeName, "skill:html-to-text", []string{"skills", "tool", "call"}},
	{Session, shapeName, "session:js-repl/work", []string{"sessions", "repl"}},
	{Model, shapeName, "model:fast", []string{"models", "llm"}},
	{Notify, shapeNone, "notify", []string{"notification", "notifications"}},
	{Clock, shapeNone, "clock", []string{"time", "now"}},
	{Random, shapeNone, "random", []string{"rand", "entropy", "randomness"}},
	{Native, shapeNone, "native", []string{"process", "process_spawn", "exec", "binary", "program", "plugin"}},
}

// Actions returns every action a capability can name, in a fixed order. The
// slice is the caller's to keep.
func Actions() []Action {
	list := make([]Action, len(specs))
	for i := range specs {
		list[i] = specs[i].action
	}
	return list
}

// lookup returns the spec of an action, or nil when there is no such action.
func lookup(a Action) *spec {
	for i := range specs {
		if specs[i].action == a {
			return &specs[i]
		}
	}
	return nil
}

// nearestSpec guesses which action a wrong word meant; it returns nil when
// nothing comes near.
func nearestSpec(word string) *spec {
	word = strings.ToLower(word)
	best, bestDistance := (*spec)(nil), 3
	for i := range specs {
		s := &specs[i]
		for _, known := range append([]string{string(s.action)}, s.aliases...) {
			d := distance(word, known)
			if d < bestDistance && d < len(known) {
				best, bestDistance = s, d
			}
		}
	}
	return best
}

// distance is the number of single-byte insertions, deletions, substitutions
// and swaps of neighbours between a and b (optimal string alignment). Words
// longer than any action are as far away as they are long.
func distance(a, b string) int {
	if len(a) > 32 || len(b) > 32 {
		return max(len(a), len(b))
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+differ(a[i], b[j]))
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

func differ(a, b byte) int {
	if a == b {
		return 0
	}
	return 1
}
