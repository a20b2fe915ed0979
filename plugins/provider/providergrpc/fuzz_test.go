package providergrpc_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/skillet-run/skillet/plugins/provider"
	"github.com/skillet-run/skillet/plugins/provider/providergrpc"
	"github.com/skillet-run/skillet/plugins/provider/providerpb"
)

// FuzzRequest decodes what may be a request: what is taken can be encoded as JSON,
// and is the same when it is sent again.
func FuzzRequest(f *testing.F) {
	half := 0.5
	for _, r := range []provider.Request{
		{},
		{Model: "m", Temperature: &half, Schema: json.RawMessage(`{}`), Stop: []string{"a"}},
		{Messages: []provider.Message{{Role: "user", Calls: []provider.ToolCall{{Input: json.RawMessage(`{"a":[1]}`)}}}}},
		{Tools: []provider.Tool{{Name: "n", InputSchema: json.RawMessage(`{`)}}},
	} {
		b, err := proto.Marshal(providergrpc.EncodeRequest(r))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var p providerpb.GenerateRequest
		if proto.Unmarshal(b, &p) != nil {
			return
		}
		r, err := providergrpc.DecodeRequest(&p)
		if err != nil {
			return
		}
		if _, err := json.Marshal(r); err != nil {
			t.Fatal(err)
		}
		if again, err := providergrpc.DecodeRequest(providergrpc.EncodeRequest(r)); err != nil || !reflect.DeepEqual(again, r) {
			t.Errorf("%+v, then %+v, %v", r, again, err)
		}
	})
}

// FuzzResponse is FuzzRequest for answers.
func FuzzResponse(f *testing.F) {
	for _, r := range []provider.Response{
		{Finish: provider.FinishStop, Text: "t", Usage: provider.Usage{InputTokens: 1}},
		{Finish: provider.FinishTools, Calls: []provider.ToolCall{{ID: "i", Name: "n", Input: json.RawMessage(`{}`)}}, Opaque: json.RawMessage(`1`)},
		{Finish: "later", Usage: provider.Usage{OutputTokens: -1}},
	} {
		b, err := proto.Marshal(providergrpc.EncodeResponse(r))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var p providerpb.GenerateResponse
		if proto.Unmarshal(b, &p) != nil {
			return
		}
		r, err := providergrpc.DecodeResponse(&p)
		if err != nil {
			return
		}
		if r.Usage.InputTokens < 0 || r.Usage.OutputTokens < 0 {
			t.Errorf("%+v", r.Usage)
		}
		if _, err := json.Marshal(r); err != nil {
			t.Fatal(err)
		}
		if again, err := providergrpc.DecodeResponse(providergrpc.EncodeResponse(r)); err != nil || !reflect.DeepEqual(again, r) {
			t.Errorf("%+v, then %+v, %v", r, again, err)
		}
	})
}
