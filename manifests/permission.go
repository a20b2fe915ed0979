package manifests

import (
	"encoding/json"
)

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
