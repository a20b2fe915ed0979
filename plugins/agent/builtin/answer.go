package builtin

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// maxAnswer bounds what is read of an answer of a model, in bytes.
const maxAnswer = 4 << 20

var errNoObject = errors.New("it has no JSON object")

// findObject finds the JSON object in an answer of a model, which may have words
// or a fence of Markdown around it. The first that begins a line or the text and
// is whole is the one.
func findObject(text string) (json.RawMessage, error) {
	if len(text) > maxAnswer {
		return nil, fmt.Errorf("it has %d bytes, and may have %d", len(text), maxAnswer)
	}
	var first error
	for at, tries := 0, 0; tries < 8; tries++ {
		i := strings.IndexByte(text[at:], '{')
		if i < 0 {
			break
		}
		at += i
		var object json.RawMessage
		err := json.NewDecoder(strings.NewReader(text[at:])).Decode(&object)
		if err == nil {
			return object, nil
		}
		if first == nil {
			first = err
		}
		next := strings.Index(text[at:], "\n{")
		if next < 0 {
			break
		}
		at += next
	}
	if first == nil {
		first = errNoObject
	}
	return nil, first
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
