package install

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/skillet-run/skillet/host/base/fault"
)

// Bounds on what a proposer says, in bytes.
const (
	maxName      = 256
	maxSource    = 4096
	maxRationale = 4096
)

// tidy makes one printable line of each text of the proposer's. They are shown
// beside what the host says, to a person who decides: a line feed would let
// them speak in its place.
func (r *Request) tidy() error {
	r.Rationale = strings.Join(strings.Fields(r.Rationale), " ")
	for _, t := range []struct {
		what string
		text *string
		most int
	}{{"the name of who proposes", &r.ProposedBy, maxName}, {"the source", &r.Source, maxSource}, {"the rationale", &r.Rationale, maxRationale}} {
		if len(*t.text) > t.most {
			return fault.Errorf(fault.KindUsage, "%s is %d bytes long, and at most %d are accepted", t.what, len(*t.text), t.most).
				WithHint("shorten it")
		}
		*t.text = oneLine(*t.text)
	}
	return nil
}

// oneLine writes out what could not be seen on one line.
func oneLine(text string) string {
	var b strings.Builder
	for _, r := range text {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\u{%x}`, r)
		}
	}
	return b.String()
}
