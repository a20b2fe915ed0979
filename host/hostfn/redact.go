package hostfn

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
)

const (
	// redacted stands where a secret was.
	redacted = "[secret]"
	// shortest is the length in bytes below which a value is not looked for: it would be found everywhere.
	shortest = 4
)

// redactor takes the secret values it was told out of texts. It is safe for concurrent use, and the zero
// value knows none.
type redactor struct {
	mu       sync.RWMutex
	known    []string
	forms    []string
	replacer *strings.Replacer
	longest  int
}

// add makes a value known.
func (r *redactor) add(value string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.Contains(r.known, value) {
		return
	}
	r.known = append(r.known, value)
	r.forms = append(r.forms, spellings(value)...)
	slices.SortFunc(r.forms, func(a, b string) int { // longer ones first: they hold the shorter ones
		return cmp.Or(len(b)-len(a), strings.Compare(a, b))
	})
	r.forms = slices.Compact(r.forms)
	pairs := make([]string, 0, 2*len(r.forms))
	for _, f := range r.forms {
		pairs = append(pairs, f, redacted)
		r.longest = max(r.longest, len(f))
	}
	r.replacer = strings.NewReplacer(pairs...)
}

// Spellings returns a secret's value in the ways in which it may stand in what
// goes to or comes from a server, but for those that are too short to be looked
// for. It is nil for a value that is too short itself.
func Spellings(value string) []string {
	if len(value) < shortest {
		return nil
	}
	return spellings(value)
}

// spellings returns a value in the ways a server may send it back: as it is, escaped for URLs, JSON and
// HTML, in hexadecimal, and in base64, alone or in the middle of something longer.
func spellings(value string) []string {
	quoted, _ := json.Marshal(value) // a string cannot fail
	b := []byte(value)
	all := []string{
		value, url.QueryEscape(value), url.PathEscape(value), strings.ReplaceAll(url.QueryEscape(value), "+", "%20"),
		strings.ToUpper(escapeAll(b)), escapeAll(b),
		strings.Trim(string(quoted), `"`), html.EscapeString(value),
		hex.EncodeToString(b), strings.ToUpper(hex.EncodeToString(b)),
		base64.StdEncoding.EncodeToString(b), base64.RawStdEncoding.EncodeToString(b),
		base64.URLEncoding.EncodeToString(b), base64.RawURLEncoding.EncodeToString(b),
	}
	for shift := range 3 {
		all = append(all, inBase64(base64.RawStdEncoding, b, shift), inBase64(base64.RawURLEncoding, b, shift))
	}
	return slices.DeleteFunc(all, func(s string) bool { return len(s) < shortest })
}

// escapeAll escapes every byte for a URL, in lower case.
func escapeAll(b []byte) string {
	var out strings.Builder
	for _, c := range b {
		out.WriteString("%" + hex.EncodeToString([]byte{c}))
	}
	return out.String()
}

// inBase64 returns the characters that b has in base64 when shift other bytes (modulo 3) stand before it
// and unknown ones behind: those that b alone decides.
func inBase64(enc *base64.Encoding, b []byte, shift int) string {
	text := enc.EncodeToString(append(make([]byte, shift), b...))
	first := (shift*8 + 5) / 6
	last := (shift + len(b)) * 8 / 6
	if first >= last {
		return ""
	}
	return text[first:last]
}

// text returns s without known secrets.
func (r *redactor) text(s string) string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.replacer == nil {
		return s
	}
	return r.replacer.Replace(s)
}

// margin is how far a secret may reach past the place where a text is cut.
func (r *redactor) margin() int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.longest
}

// header takes secrets out of names and values.
func (r *redactor) header(h http.Header) http.Header {
	out := make(http.Header, len(h))
	for k, vs := range h {
		k = r.text(k)
		for _, v := range vs {
			out[k] = append(out[k], r.text(v))
		}
	}
	return out
}

// body takes secrets out of a body of which at most limit bytes are kept. b has up to margin bytes more,
// so that a secret across the cut is found; cut tells whether the body went on even behind those.
func (r *redactor) body(b []byte, limit int64, cut bool) []byte {
	margin := r.margin()
	if margin > 0 {
		b = []byte(r.text(string(b)))
	}
	if cut { // the last bytes may be the beginning of a secret
		b = b[:max(0, len(b)-margin)]
	}
	return b[:min(int64(len(b)), limit)]
}
