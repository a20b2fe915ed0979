package runner

import (
	"encoding/base64"
	"encoding/json"
	"time"
	"unicode/utf8"

	"github.com/skillet-run/skillet/manifests"

	"github.com/skillet-run/skillet/internal/duration"
)

// finish fills in the result.
func (a *run) finish(err error) {
	res := &a.result
	res.Figures.QueuedNS += a.queued.Nanoseconds()
	res.Fuel, res.PeakMemoryBytes = res.Figures.Fuel, res.Figures.PeakMemoryBytes
	res.FinishedAt = time.Now().UTC()
	res.DurationMS = duration.Milliseconds(res.FinishedAt.Sub(res.StartedAt))
	clipDenials(res.Denials)
	if len(a.tries) > 1 {
		res.Attempts = a.tries
	}
	if err != nil {
		res.Error, a.reason = a.callerError(err), Judge(err).Reason
		return
	}
	res.OK, res.Raw, res.Data = true, a.output, asJSON(a.output)
}

// asJSON is output as it stands when it is JSON, and otherwise wrapped in JSON.
// What is nested deeper than any document may be is text: an answer of a few
// kilobytes would become gigabytes when somebody indents it.
func asJSON(output []byte) json.RawMessage {
	switch {
	case !utf8.Valid(output): // which encoding/json would let pass inside a string
	case json.Valid(output) && depth(output) <= manifests.MaxDepth:
		return output
	default:
		return must(json.Marshal(string(output)))
	}
	return must(json.Marshal(struct {
		Base64 string `json:"base64"`
	}{base64.StdEncoding.EncodeToString(output)}))
}

// depth is how deeply the lists and objects of valid JSON are nested.
func depth(b []byte) int {
	deepest, now, quoted := 0, 0, false
	for i := 0; i < len(b); i++ {
		switch {
		case b[i] == '"':
			quoted = !quoted
		case quoted && b[i] == '\\':
			i++
		case !quoted && (b[i] == '[' || b[i] == '{'):
			now++
			deepest = max(deepest, now)
		case !quoted && (b[i] == ']' || b[i] == '}'):
			now--
		}
	}
	return deepest
}

// must returns b; marshalling a string cannot fail.
func must(b []byte, err error) json.RawMessage {
	if err != nil {
		panic("runner: " + err.Error())
	}
	return b
}
