package mcpserver

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/skillet-run/skillet/internal/text"
	"github.com/skillet-run/skillet/manifests"
)

// Bounds of a manifest.
const (
	maxName        = 64
	maxExport      = 128
	maxDescription = 4096
	maxTitle       = 256
)

// convert makes tools of a package of those of a server, in the order of their names. odd
// says which cannot be.
func convert(found []*sdk.Tool) (all []manifests.Tool, odd []string) {
	found = slices.Clone(found)
	slices.SortStableFunc(found, func(a, b *sdk.Tool) int { return cmp.Compare(a.Name, b.Name) })
	names, exports := map[string]bool{}, map[string]bool{}
	for _, f := range found {
		t, why := toolOf(f)
		if why == "" && exports[t.Export] {
			why = "is listed twice"
		}
		if why != "" {
			odd = append(odd, fmt.Sprintf("%s %s", text.Short(text.Plain(f.Name), maxName), why))
			continue
		}
		exports[t.Export] = true
		t.Name = unusedName(names, t.Name)
		names[strings.ToLower(t.Name)] = true
		all = append(all, t)
	}
	return all, odd
}

// unusedName is a name that no tool has so far.
func unusedName(names map[string]bool, name string) string {
	for n := 2; names[strings.ToLower(name)]; n++ {
		end := "_" + strconv.Itoa(n)
		name = name[:min(len(name), maxName-len(end))] + end
	}
	return name
}

// toolOf is one tool; why says why a package cannot have it.
func toolOf(f *sdk.Tool) (t manifests.Tool, why string) {
	t = manifests.Tool{Name: nameOf(f.Name), Export: f.Name, Description: f.Description}
	title := f.Title
	if a := f.Annotations; a != nil {
		t.ReadOnly, t.Idempotent = a.ReadOnlyHint, a.IdempotentHint
		title = cmp.Or(title, a.Title)
		t.Annotations = &manifests.Annotations{Destructive: a.DestructiveHint, OpenWorld: a.OpenWorldHint}
	}
	if title != "" {
		if t.Annotations == nil {
			t.Annotations = &manifests.Annotations{}
		}
		t.Annotations.Title = title
	}
	if t.Annotations != nil && *t.Annotations == (manifests.Annotations{}) {
		t.Annotations = nil
	}
	switch {
	case len(f.Name) > maxExport || strings.ContainsFunc(f.Name, func(r rune) bool { return r <= ' ' || r > '~' }):
		return t, "has a name that a package cannot have"
	case len(f.Description) > maxDescription:
		return t, fmt.Sprintf("has a description of %d bytes, of at most %d", len(f.Description), maxDescription)
	case len(title) > maxTitle:
		return t, fmt.Sprintf("has a title of %d bytes, of at most %d", len(title), maxTitle)
	}
	var err error
	if t.InputSchema, err = schemaOf(f.InputSchema); err == nil && f.OutputSchema != nil {
		t.OutputSchema, err = schemaOf(f.OutputSchema)
	}
	if err != nil {
		return t, "has a schema that is not JSON"
	}
	if bad := refusedBy(t); bad != "" {
		return t, "has a schema that is refused: " + bad
	}
	return t, ""
}

// schemaOf is a schema in one form: members in the order of their names.
func schemaOf(v any) (json.RawMessage, error) { return json.Marshal(v) }

// refusedBy says what a manifest refuses of a tool.
func refusedBy(t manifests.Tool) string {
	m := manifests.Manifest{
		Name: "x", Description: "x", Version: "1.0.0", Type: manifests.KindMCP, Tools: []manifests.Tool{t}, MCP: &manifests.MCP{URL: "https://example.com/mcp"},
	}
	if err := m.Validate(); err != nil {
		return text.Short(text.Plain(err.Error()), maxText)
	}
	return ""
}

// nameOf is the name in a package of a tool of a server: letters, digits and underscores.
func nameOf(name string) string {
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, name)
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "_" + name
	}
	return name[:min(len(name), maxName)]
}

// A Difference is what is not as it was approved of a tool.
type Difference struct {
	Tool string `json:"tool"`
	// Kind is "changed", "new" or "gone".
	Kind string `json:"kind"`
	// Parts are what changed; none of a tool that is new or gone.
	Parts []Part `json:"parts,omitempty"`
}

// Kinds of differences.
const (
	KindChanged = "changed"
	KindNew     = "new"
	KindGone    = "gone"
)

// A Part is one part of a tool that changed.
type Part struct {
	What     string `json:"what"`
	Approved string `json:"approved"`
	Now      string `json:"now"`
}

// Words says the difference in one line.
func (d Difference) Words() string {
	switch d.Kind {
	case KindNew:
		return d.Tool + " is new"
	case KindGone:
		return d.Tool + " is not offered any more"
	}
	var parts []string
	for _, p := range d.Parts {
		was, is := around(p.Approved, p.Now)
		parts = append(parts, fmt.Sprintf("its %s was %q and is %q", p.What, was, is))
	}
	return d.Tool + ": " + strings.Join(parts, "; ")
}

// around are the parts of two texts in which they differ, with some of what is before.
func around(a, b string) (string, string) {
	const before, most = 20, 120
	at := 0
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	cut := func(s string) string {
		start := max(0, at-before)
		piece := text.Plain(strings.ToValidUTF8(s[start:min(len(s), at+most)], "\uFFFD"))
		if start > 0 {
			piece = "…" + piece
		}
		if at+most < len(s) {
			piece += "…"
		}
		return piece
	}
	return cut(a), cut(b)
}

// Compare compares a tool as it was approved with what the server lists.
func Compare(approved manifests.Tool, listed []manifests.Tool) (d Difference, same bool) {
	i := slices.IndexFunc(listed, func(t manifests.Tool) bool { return t.Export == approved.Export })
	if i < 0 {
		return Difference{Tool: approved.Name, Kind: KindGone}, false
	}
	d = Difference{Tool: approved.Name, Kind: KindChanged, Parts: partsOf(approved, listed[i])}
	return d, len(d.Parts) == 0
}

// Differences compares all tools that were approved with what the server lists.
func Differences(approved, listed []manifests.Tool) []Difference {
	all := []Difference{}
	for _, t := range approved {
		if d, same := Compare(t, listed); !same {
			all = append(all, d)
		}
	}
	for _, t := range listed {
		if !slices.ContainsFunc(approved, func(a manifests.Tool) bool { return a.Export == t.Export }) {
			all = append(all, Difference{Tool: t.Name, Kind: KindNew})
		}
	}
	return all
}

func partsOf(was, is manifests.Tool) (parts []Part) {
	for _, p := range []Part{
		{"description", was.Description, is.Description},
		{"input schema", canonical(was.InputSchema), canonical(is.InputSchema)},
		{"output schema", canonical(was.OutputSchema), canonical(is.OutputSchema)},
		{"annotations", hints(was), hints(is)},
	} {
		if p.Approved != p.Now {
			parts = append(parts, p)
		}
	}
	return parts
}

// hints are the annotations as text.
func hints(t manifests.Tool) string {
	b, err := json.Marshal(struct {
		ReadOnly   bool `json:"read_only"`
		Idempotent bool `json:"idempotent"`
		*manifests.Annotations
	}{t.ReadOnly, t.Idempotent, t.Annotations})
	if err != nil { // texts and truth values marshal
		return err.Error()
	}
	return string(b)
}

// canonical is JSON in one form, with its numbers as they are written.
func canonical(raw json.RawMessage) string {
	if len(raw) == 0 {
		return ""
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return string(raw)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return string(raw)
	}
	return string(b)
}

// SetDigest is the digest of a set of tools: of what each is called, says and takes.
func SetDigest(tools []manifests.Tool) manifests.Digest {
	var b strings.Builder
	for _, t := range tools {
		for _, part := range []string{t.Name, t.Export, t.Description, canonical(t.InputSchema), canonical(t.OutputSchema), hints(t)} {
			fmt.Fprintf(&b, "%d:%s", len(part), part)
		}
	}
	return manifests.DigestOf([]byte(b.String()))
}
