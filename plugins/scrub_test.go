//go:build unix

package plugins

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/plugins/provider"
)

// A server that refuses a key may send it back, as it is or in another form.
// Neither the error, nor the log, nor the status has it, whether the plugin says it
// or dies of it.
func TestKeyThatAServerSendsBack(t *testing.T) {
	t.Parallel()
	const key = `ke"y/of+the<server>0123456789`
	escaped := `ke\"y\/of\u002bthe\u003cserver\u003e0123456789`
	encoded := base64.StdEncoding.EncodeToString([]byte("Bearer " + key))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+key {
			t.Errorf("asked with %q", r.Header)
		}
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error":"the key %s is wrong","header":"%s","plain":%q}`, escaped, encoded, key)
	}))
	defer server.Close()
	var log lockedBuffer
	v := New(hclog.New(&hclog.LoggerOptions{Output: &log, Level: hclog.Debug}), quick())
	defer v.Close()
	s := spec("parrot")
	s.Env, s.Secrets = []string{"PARROT_API_KEY=" + key}, []string{key}
	p := start(t, v, s)

	_, err := say(t.Context(), p, "!fetch "+server.URL)
	var e *provider.Error
	if !errors.As(err, &e) || e.Class != provider.ClassAuth || !strings.Contains(e.Message, "the key [redacted] is wrong") {
		t.Errorf("%v", err)
	}
	_, died := say(t.Context(), p, "!die the key "+escaped+" and "+encoded)
	if died == nil || !strings.Contains(died.Error(), "the key [redacted]") {
		t.Errorf("died: %v", died)
	}
	for what, text := range map[string]string{
		"error": fmt.Sprint(err), "message": e.Message, "death": fmt.Sprint(died), "log": log.String(), "status": fmt.Sprintf("%+v", v.Status()),
	} {
		for _, form := range []string{key, escaped, encoded, fmt.Sprintf("%q", key), fmt.Sprintf("%q", escaped)} {
			if strings.Contains(text, strings.Trim(form, `"`)) {
				t.Errorf("%s: %s", what, text)
			}
		}
	}
}

// What cannot be started says nothing of its secrets.
func TestKeyInAFailedStart(t *testing.T) {
	t.Parallel()
	s := spec("exits", "no such key: topsecretvalue")
	s.Secrets = []string{"topsecretvalue"}
	_, err := newSupervisor(t, quick()).Provider(t.Context(), s)
	var start *StartError
	if !errors.As(err, &start) || !errors.Is(err, ErrHandshake) || strings.Contains(fmt.Sprintf("%v %q", err, start.Output), "topsecret") ||
		!strings.Contains(err.Error(), "no such key: [redacted]") {
		t.Errorf("%v", err)
	}
}
