package manifests

// Support says what this host does with a field of the manifest.
type Support string

const (
	// Enforced fields have the effect the schema describes.
	Enforced Support = "enforced"
	// Informational fields are shown to people and models, and change nothing.
	Informational Support = "informational"
	// Unsupported fields make a valid document that cannot be installed here:
	// see [Manifest.Unsupported].
	Unsupported Support = "unsupported"
)

// A Field is one field of the manifest, as the schema describes it.
type Field struct {
	// Path names the field; [] stands for any item of a list, as in
	// "tools[].name".
	Path string
	// Support says what this host does with it. A field that is enforced may
	// still have values that are not: [Manifest.Unsupported] knows them.
	Support Support
	// Description is the text of the schema.
	Description string
}

// Fields returns every field of the manifest that holds a value, in the order
// of the schema.
func Fields() []Field {
	s := ownSchema()
	var all []Field
	s.each(s.doc(), "", func(path string, raw, n *node) {
		if !s.isSection(n) {
			all = append(all, Field{path, Support(s.either("x-support", raw, n)), s.either("description", raw, n)})
		}
	})
	return all
}

// isSection reports whether n describes an object, or a list of objects, whose
// fields are described one by one.
func (s manifestSchema) isSection(n *node) bool {
	items := s.resolve(n.get("items"))
	return n.get("properties") != nil || items.get("properties") != nil
}

// either returns the text member called name of a, or else of b.
func (s manifestSchema) either(name string, a, b *node) string {
	if text := s.text(a, name); text != "" {
		return text
	}
	return s.text(b, name)
}

// Unsupported returns the fields of m that this host cannot honour, with the
// reason and the way out. A manifest that has any is valid as a document, and
// installing it is refused. It is empty when m can be installed and run.
func (m *Manifest) Unsupported() []Problem {
	var all Errors
	for _, r := range refusals() {
		if r.used(m) {
			all = append(all, Problem{Path: r.path, Message: r.reason, Suggestion: r.wayOut})
		}
	}
	return all.locate(m.lines)
}

// A refusal is a field, or a section, that this host cannot honour.
type refusal struct {
	path   string
	reason string
	wayOut string
	used   func(m *Manifest) bool
}

// refusals lists what this host cannot honour, in the order of the schema.
func refusals() []refusal {
	return []refusal{
		{"security.resource_limits.max_cpu_percent", "the share of a processor is not limited", "leave it out or write 100, and bound the work with max_fuel and max_execution_time", limitsCPU},
	}
}

func limitsCPU(m *Manifest) bool {
	n := m.Security.ResourceLimits.MaxCPUPercent
	return n != 0 && n != 100
}
