package manifests_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/skillet-run/skillet/manifests"
)

func TestProperties(t *testing.T) {
	tool := manifests.Tool{InputSchema: json.RawMessage(`{"type":"object","required":["z","m"],"properties":{
		"a":{"type":["string","null"],"description":"first"},"z":{"type":"integer"},"m":{}}}`)}
	got := fmt.Sprint(tool.Properties())
	if want := "[{m any  true} {z integer  true} {a string or null first false}]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, schema := range []string{"", "true", "[]", `{"properties":5}`} {
		if ps := (manifests.Tool{InputSchema: json.RawMessage(schema)}).Properties(); len(ps) != 0 {
			t.Errorf("%s: %v", schema, ps)
		}
	}
}
