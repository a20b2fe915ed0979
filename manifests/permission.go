package manifests

import (
	"encoding/json"
	"slices"
)

// Permissions are the capabilities a skill asks for. The zero value asks for
// nothing. In a document each entry is an object with a reason, or just its
// main field as text.
type Permissions struct {
	FileRead  []PathPermission `json:"file_read,omitempty"`
	FileWrite []PathPermission `json:"file_write,omitempty"`
	// NetworkAccess is true when Network is not empty. [Parse] sets it.
	NetworkAccess bool                `json:"network_access,omitempty"`
	Network       []NetworkPermission `json:"network,omitempty"`
	// ProcessSpawn is always false: true is refused.
	ProcessSpawn bool                `json:"process_spawn,omitempty"`
	Secrets      []SecretPermission  `json:"secrets,omitempty"`
	Skills       []NamePermission    `json:"skills,omitempty"`
	Models       []NamePermission    `json:"models,omitempty"`
	KV           *KVPermission       `json:"kv,omitempty"`
	Notify       *ReasonedPermission `json:"notify,omitempty"`
	Clock        *ReasonedPermission `json:"clock,omitempty"`
	Random       *ReasonedPermission `json:"random,omitempty"`
}

// A section is a field of the permissions whose entries ask for an action.
type section struct {
	field   string
	there   bool // the manifest has it; a list may still be empty
	entries []requestedPermission
}

// sections lists the fields of the permissions in their order. Which action each
// asks for is in the table of package capability.
func (p Permissions) sections() []section {
	return []section{
		list("file_read", p.FileRead, func(e PathPermission) requestedPermission {
			return requestedPermission{resource: e.Path, reason: e.Reason}
		}),
		list("file_write", p.FileWrite, func(e PathPermission) requestedPermission {
			return requestedPermission{resource: e.Path, reason: e.Reason}
		}),
		list("network", p.Network, func(e NetworkPermission) requestedPermission {
			return requestedPermission{methods: e.Methods, resource: e.URL, reason: e.Reason}
		}),
		list("secrets", p.Secrets, func(e SecretPermission) requestedPermission {
			return requestedPermission{resource: e.Name, reason: e.Reason, inject: e.Inject}
		}),
		list("skills", p.Skills, NamePermission.requested),
		list("models", p.Models, NamePermission.requested),
		single("kv", p.KV, func(e KVPermission) requestedPermission { return requestedPermission{reason: e.Reason} }),
		single("notify", p.Notify, ReasonedPermission.requested),
		single("clock", p.Clock, ReasonedPermission.requested),
		single("random", p.Random, ReasonedPermission.requested),
	}
}

func (p NamePermission) requested() requestedPermission {
	return requestedPermission{resource: p.Name, reason: p.Reason}
}
func (p ReasonedPermission) requested() requestedPermission {
	return requestedPermission{reason: p.Reason}
}

// permissionsField is where the sections are in a manifest.
const permissionsField = "security.permissions."

// list is a section of many entries.
func list[T any](field string, entries []T, read func(T) requestedPermission) section {
	s := section{field: field, there: entries != nil}
	for i, e := range entries {
		w := read(e)
		w.field = permissionsField + field + indexStep(i)
		s.entries = append(s.entries, w)
	}
	return s
}

// single is a section of one entry.
func single[T any](field string, entry *T, read func(T) requestedPermission) section {
	if entry == nil {
		return section{field: field}
	}
	w := read(*entry)
	w.field = permissionsField + field
	return section{field: field, there: true, entries: []requestedPermission{w}}
}

// asksBeyond reports whether p has an entry of another field than those that are
// named.
func (p Permissions) asksBeyond(fields ...string) bool {
	return slices.ContainsFunc(p.sections(), func(s section) bool {
		return len(s.entries) > 0 && !slices.Contains(fields, s.field)
	})
}

// Permissions and dependencies may be written as plain text where the main field
// is all there is to say.

// UnmarshalJSON reads an object, or text for Version.
func (d *Dependency) UnmarshalJSON(b []byte) error {
	type object Dependency
	return textOrObject(b, &d.Version, (*object)(d))
}

// UnmarshalJSON reads an object, or text for Path.
func (p *PathPermission) UnmarshalJSON(b []byte) error {
	type object PathPermission
	return textOrObject(b, &p.Path, (*object)(p))
}

// UnmarshalJSON reads an object, or text for URL.
func (p *NetworkPermission) UnmarshalJSON(b []byte) error {
	type object NetworkPermission
	return textOrObject(b, &p.URL, (*object)(p))
}

// UnmarshalJSON reads an object, or text for Name.
func (p *SecretPermission) UnmarshalJSON(b []byte) error {
	type object SecretPermission
	return textOrObject(b, &p.Name, (*object)(p))
}

// UnmarshalJSON reads an object, or text for Name.
func (p *NamePermission) UnmarshalJSON(b []byte) error {
	type object NamePermission
	return textOrObject(b, &p.Name, (*object)(p))
}

// UnmarshalJSON reads an object, or text for Reason.
func (p *KVPermission) UnmarshalJSON(b []byte) error {
	type object KVPermission
	return textOrObject(b, &p.Reason, (*object)(p))
}

// UnmarshalJSON reads an object, or text for Reason.
func (p *ReasonedPermission) UnmarshalJSON(b []byte) error {
	type object ReasonedPermission
	return textOrObject(b, &p.Reason, (*object)(p))
}

func textOrObject(b []byte, text *string, object any) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, text)
	}
	return json.Unmarshal(b, object)
}
