package skill

import (
	"encoding/json"
	"reflect"
)

// jsonType names the JSON type that a Go type is decoded from.
func jsonType(e *json.UnmarshalTypeError) string {
	if e.Type == nil {
		return "another type"
	}
	t := e.Type
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch k := t.Kind(); {
	case k == reflect.String:
		return "a string"
	case k == reflect.Bool:
		return "true or false"
	case k >= reflect.Int && k <= reflect.Uint64:
		return "a whole number in range"
	case k == reflect.Float32 || k == reflect.Float64:
		return "a number"
	case k == reflect.Slice || k == reflect.Array:
		return "an array"
	default:
		return "an object"
	}
}
