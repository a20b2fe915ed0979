package otlp_test

import (
	"testing"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/base/otlp"
)

// Nothing is sent unless the environment says where to.
func TestWhatTheEnvironmentSays(t *testing.T) {
	const at = "http://127.0.0.1:1"
	for name, c := range map[string]struct {
		env    map[string]string
		traces bool
		kind   fault.Kind
	}{
		"nothing":  {},
		"all":      {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": at}, true, ""},
		"traces":   {map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": at}, true, ""},
		"none":     {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": at, "OTEL_TRACES_EXPORTER": "none"}, false, ""},
		"disabled": {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": at, "OTEL_SDK_DISABLED": "true"}, false, ""},
		"grpc":     {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": at, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, false, fault.KindUsage},
		"own":      {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": at, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf", "OTEL_METRICS_EXPORTER": "none"}, true, ""},
	} {
		e, err := otlp.Open(t.Context(), otlp.Options{Getenv: func(name string) string { return c.env[name] }})
		if (err != nil) != (c.kind != "") || err != nil && fault.AsError(err).Kind != c.kind {
			t.Errorf("%s: %v", name, err)
		}
		if (e.Tracer() != nil) != c.traces {
			t.Errorf("%s: there are traces: %v", name, e.Tracer() != nil)
		}
		if err := e.Close(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
