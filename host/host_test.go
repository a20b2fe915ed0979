package host_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host"
)

func open(t *testing.T, home string, log *bytes.Buffer) *host.Host {
	t.Helper()
	h, err := host.Open(t.Context(), host.Options{
		Home: home, Environ: []string{"SKILLET_SECRET_KEY=file", "SKILLET_LOG_LEVEL=info"}, LogOutput: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestSecretsStayOutOfTheLog(t *testing.T) {
	home, value := t.TempDir(), "correct-horse-battery"
	var log bytes.Buffer
	h := open(t, home, &log)
	if err := h.Secrets.Set(t.Context(), "api", []byte(value)); err != nil {
		t.Fatal(err)
	}
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	h = open(t, home, &log)
	defer h.Close(t.Context())
	h.Log.Named("run").With("it", value).Info("the answer was "+value, "also", []byte(value))
	if strings.Contains(log.String(), value) || !strings.Contains(log.String(), "the answer was") {
		t.Errorf("the log: %s", log.String())
	}
}
