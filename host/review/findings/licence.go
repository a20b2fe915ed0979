package findings

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/internal/lazyregexp"
)

var licenceRules = []Rule{
	{
		ID: "SK601", Title: "no licence", Severity: Info,
		What: "The manifest says nothing about a licence.",
		Why:  "Without a licence nobody but the author may use, change or pass on the skill.",
		Do:   "Set license in the manifest to an SPDX identifier, such as Apache-2.0.",
	},
	{
		ID: "SK602", Title: "unknown licence", Severity: Warn,
		What: "The licence in the manifest is neither an expression of SPDX identifiers (the list as spdx-license-ids 3.0.24 has it, and the expressions of SPDX specification 2.3, annex D), nor names a file of the package.",
		Why:  "What it allows cannot be told, by a person or by a tool.",
		Do:   "Write an SPDX expression such as MIT OR Apache-2.0, or LicenseRef-NAME for terms of your own, or the name of the file that has the terms.",
	},
	{
		ID: "SK603", Title: "text of the licence is absent", Severity: Info,
		What: "The manifest names a licence, and the package has no file LICENSE, LICENSE.md or LICENSE.txt, nor one that the manifest names.",
		Why:  "Most licences ask that their text goes with every copy.",
		Do:   "Put the text of the licence into the package as LICENSE.",
	},
}

// spdx has one identifier a line, deprecated ones included: the SPDX licence
// list, as the package spdx-license-ids 3.0.24 has it (CC0-1.0).
//
//go:embed spdx.txt
var spdx string

// licence checks what the manifest says about the licence.
func (s *scan) licence() {
	f, text := s.manifestFile(), strings.TrimSpace(s.manifest.License)
	if text == "" {
		s.about("SK601", f, "the manifest names no licence")
		return
	}
	at, n := s.whereLicence(f, text)
	named := slices.ContainsFunc(s.files, func(f *file) bool { return f.role != roleManifest && mentions(text, f.path) })
	if !named {
		if bad := unknownLicence(text); bad != "" {
			s.add("SK602", f, at, n, fmt.Sprintf("%q is not an SPDX identifier", bad))
		}
	}
	if !named && !slices.ContainsFunc(s.files, isLicence) {
		s.add("SK603", f, at, n, fmt.Sprintf("the package does not have the text of %s", cut(text, 60)))
	}
}

// whereLicence is where the manifest names the licence.
func (s *scan) whereLicence(f *file, text string) (at, n int) {
	if i := strings.Index(string(f.data), "license"); i >= 0 {
		if j := strings.Index(string(f.data[i+7:]), text); j >= 0 {
			return i + 7 + j, len(text)
		}
		return i, 7
	}
	return 0, 0
}

func isLicence(f *file) bool {
	return f.path == "LICENSE" || f.path == "LICENSE.md" || f.path == "LICENSE.txt"
}

// mentions reports whether a text names a file.
func mentions(text, path string) bool {
	return slices.ContainsFunc(strings.Fields(text), func(w string) bool { return strings.Trim(w, `.,;:"'()`) == path })
}

var licenceRef = lazyregexp.New(`^(?:DocumentRef-[a-zA-Z0-9.-]+:)?LicenseRef-[a-zA-Z0-9.-]+$`)

// unknownLicence returns the part of an SPDX expression that is not known;
// empty when all is. The names of exceptions are not checked.
func unknownLicence(text string) string {
	tokens := strings.Fields(strings.NewReplacer("(", " ( ", ")", " ) ").Replace(text))
	x := expression{tokens: tokens}
	if bad := x.or(0); bad != "" {
		return bad
	}
	if len(x.tokens) > 0 {
		return text
	}
	return ""
}

// An expression is what is left to read of one.
type expression struct{ tokens []string }

func (x *expression) next(word string) bool {
	if len(x.tokens) == 0 || !strings.EqualFold(x.tokens[0], word) {
		return false
	}
	x.tokens = x.tokens[1:]
	return true
}

// or reads licences between AND and OR, whose order does not matter here.
func (x *expression) or(depth int) string {
	for {
		if bad := x.one(depth); bad != "" {
			return bad
		}
		if !x.next("AND") && !x.next("OR") {
			return ""
		}
	}
}

// maxParentheses is how deep an expression may nest.
const maxParentheses = 20

func (x *expression) one(depth int) string {
	switch {
	case len(x.tokens) == 0 || depth > maxParentheses:
		return "an expression that does not end"
	case x.next("("):
		if bad := x.or(depth + 1); bad != "" {
			return bad
		}
		if !x.next(")") {
			return "("
		}
		return ""
	}
	id := x.tokens[0]
	x.tokens = x.tokens[1:]
	if !isLicenceID(id) {
		return id
	}
	if x.next("WITH") {
		if len(x.tokens) == 0 {
			return "WITH"
		}
		x.tokens = x.tokens[1:]
	}
	return ""
}

func isLicenceID(id string) bool {
	plain := strings.TrimSuffix(id, "+")
	if licenceRef().MatchString(id) || id == "NONE" || id == "NOASSERTION" {
		return true
	}
	for known := range strings.Lines(spdx) {
		if strings.EqualFold(strings.TrimSpace(known), plain) {
			return true
		}
	}
	return false
}
