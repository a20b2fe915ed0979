package api

import "github.com/danielgtaylor/huma/v2"

// notNull stands for a null in the body of a request until it was compared with its schema: the
// parser takes a null for a field that was left out, and the document does not.
type notNull struct{}

// MarshalJSON implements [json.Marshaler], for the problem that says where it is.
func (notNull) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

func (notNull) String() string { return "null" }

// unmarshal parses JSON; each null of what is to be compared with a schema fits only where
// anything does.
func unmarshal(b []byte, v any) error {
	err := huma.DefaultJSONFormat.Unmarshal(b, v)
	if p, ok := v.(*any); ok && err == nil {
		*p = withoutNulls(*p)
	}
	return err
}

func withoutNulls(v any) any {
	switch v := v.(type) {
	case nil:
		return notNull{}
	case map[string]any:
		for name := range v {
			v[name] = withoutNulls(v[name])
		}
	case []any:
		for i := range v {
			v[i] = withoutNulls(v[i])
		}
	}
	return v
}
