package findings

import (
	"fmt"
	"strings"

	"github.com/skillet-run/skillet/host/review/findings/secrets"
)

var secretRules = []Rule{
	{
		ID: "SK101", Title: "secret", Severity: Block,
		What: "A text has the form of a certain service's key or token, or is a private key, by the rules of " + secrets.Source + ". Looked at are all files, the data segments and custom sections of modules, and literals that are base64. A secret that is only named, or an obvious placeholder, is left alone.",
		Why:  "A secret in a package is known to everybody who gets the package, and cannot be taken back by removing it from the next version.",
		Do:   "Revoke the secret where it is used, and take it out. A skill asks for a secret by name (security.permissions.secrets), and the host puts it into requests without the skill ever seeing it.",
	},
	{
		ID: "SK102", Title: "what may be a secret", Severity: Warn,
		What: "Something random-looking stands where a name such as key, token or password says that it is secret, by the generic rule of " + secrets.Source + ".",
		Why:  "It may be a password or a key of a kind that no rule knows. It may also be an identifier or a checksum.",
		Do:   "Look at it. If it is a secret, do as for SK101.",
	},
}

// secrets looks for secrets everywhere.
func (s *scan) secrets() {
	m := secrets.New()
	for p := range s.passages {
		if s.over() {
			return
		}
		s.secretsIn(m, p)
	}
	for p := range s.encoded {
		if s.over() {
			return
		}
		s.secretsIn(m, p)
	}
	if short := m.Short(); len(short) > 0 {
		s.about("SK001", s.manifestFile(), "not all places that may hold a secret were looked at: "+strings.Join(short, ", "))
	}
}

func (s *scan) secretsIn(m *secrets.Matcher, p passage) {
	for _, x := range m.Find(p.file.path, p.text) {
		rule := "SK101"
		if x.Generic {
			rule = "SK102"
		}
		at, _ := p.position(x.Start, x.End)
		s.keep(rule, p.file, at, fmt.Sprintf("%s (%s)", sentence(x.Description), x.Rule), mask(p.text[x.Start:x.End]))
	}
}

// sentence is the first part of a description, without its end.
func sentence(text string) string {
	text, _, _ = strings.Cut(text, ", ")
	return strings.TrimSuffix(text, ".")
}

// mask shows a secret so that whoever has it knows it, and nobody else does.
func mask(secret []byte) string {
	const shown = 4
	text := printable(string(secret[:min(len(secret), MaxExcerpt)]))
	if len(secret) == 0 {
		return ""
	}
	return fmt.Sprintf("%s… (%d characters)", cutPlain(text, min(shown, len(text)/4)), len(secret))
}
