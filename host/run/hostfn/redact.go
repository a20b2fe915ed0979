package hostfn

import (
	"net/http"

	"github.com/skillet-run/skillet/host/base/redact"
)

// redacted stands where a secret was.
const redacted = "[secret]"

// redactor takes the secret values it was told out of texts. It is safe for concurrent use, and the zero
// value knows none.
type redactor struct{ known redact.Values }

// add makes a value known.
func (r *redactor) add(value string) { r.known.Add(value) }

// text returns s without known secrets.
func (r *redactor) text(s string) string {
	return r.known.Replace(s, func(int) string { return redacted })
}

// margin is how far a secret may reach past the place where a text is cut, 0 when none is known.
func (r *redactor) margin() int { return r.known.Margin() }

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
