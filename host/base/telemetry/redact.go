package telemetry

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/base/redact"
	"github.com/skillet-run/skillet/internal/lazyregexp"
)

// Struck is what stands where a secret was.
const Struck = "[redacted]"

// minSecret is the shortest value that is struck out: shorter ones would take
// ordinary words with them.
const minSecret = 6

// A Redactor strikes out the values of known secrets, as package redact finds
// them, and text that is shaped like a credential. It is safe for concurrent use.
type Redactor struct{ values func() *redact.Values }

// NewRedactor makes a Redactor for the values of secrets. Values shorter than
// six bytes are not struck out.
func NewRedactor(secrets ...string) *Redactor {
	return NewLazyRedactor(func() string { return "" }, func() []string { return secrets })
}

// NewLazyRedactor is [NewRedactor] for secrets that are costly to get: they are
// asked for before the first line is written, and again when version returns
// another text than then. What was a secret once stays one.
func NewLazyRedactor(version func() string, secrets func() []string) *Redactor {
	var mu sync.Mutex
	known, asked, last := &redact.Values{}, false, ""
	return &Redactor{func() *redact.Values {
		mu.Lock()
		defer mu.Unlock()
		if now := version(); !asked || now != last {
			add(known, secrets())
			asked, last = true, now
		}
		return known
	}}
}

func add(to *redact.Values, secrets []string) {
	for _, s := range secrets {
		if len(s) >= minSecret {
			to.Add(s)
			to.Add(strings.Trim(strconv.Quote(s), `"`)) // as the log itself writes it
		}
	}
}

var (
	// secretName matches names of fields whose text is a credential.
	secretName = lazyregexp.New(`(?i)(api[_-]?key|token|secret|passw(or)?d|authorization|cookie|credential)`)
	// credential matches text of well-known credential shapes. A private key is
	// struck out to its end, or to the end of the text when that was cut off.
	credential = lazyregexp.New(`\b(sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|xox[baprs]-[A-Za-z0-9-]{10,}|AKIA[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{35}|eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]+|AGE-SECRET-KEY-1[0-9A-Z]{20,})|(?i:bearer)\s+[A-Za-z0-9._~+/-]{8,}=*|(?s:-----BEGIN [A-Z ]*PRIVATE KEY-----((\r|\n|\\[rn]).*?(-----END [A-Z ]*PRIVATE KEY-----|$))?)`)
)

// Text strikes secrets out of s.
func (r *Redactor) Text(s string) string {
	return credential().ReplaceAllString(r.values().Replace(s, func(int) string { return Struck }), Struck)
}

// Value strikes secrets out of the value of a named field. Text under a name
// such as "token" is struck out whole; numbers, such as "input_tokens", stay.
// Of a list, map or structure the text is taken.
func (r *Redactor) Value(name string, v any) any {
	switch v := v.(type) {
	case hclog.Format:
		return r.named(name, formatted(v))
	case hclog.Hex, hclog.Octal, hclog.Binary, nil:
		return v
	case string:
		return r.named(name, v)
	case []byte:
		return r.named(name, string(v))
	case error:
		return r.named(name, v.Error())
	case fmt.Stringer:
		return r.named(name, v.String())
	}
	if isNumber(reflect.ValueOf(v).Kind()) {
		return v
	}
	return r.named(name, fmt.Sprintf("%+v", v))
}

// isNumber reports whether a value of that kind can hold no text.
func isNumber(k reflect.Kind) bool { return k >= reflect.Bool && k <= reflect.Complex128 }

// formatted is the text that hclog would make of a format and its values.
func formatted(f hclog.Format) string {
	if len(f) == 0 {
		return ""
	}
	return fmt.Sprintf(fmt.Sprint(f[0]), f[1:]...)
}

func (r *Redactor) named(name, s string) string {
	if secretName().MatchString(name) && s != "" {
		return Struck
	}
	return r.Text(s)
}
