package policies

import (
	"fmt"
	"strings"
	"testing"

	cedar "github.com/cedar-policy/cedar-go"
)

// benchSet returns a set of n policies: five that decide, the rest for other
// skills, as a person with many skills has them, or, when broad, for every skill,
// so that each has to be evaluated.
func benchSet(b *testing.B, n int, broad bool) *Set {
	b.Helper()
	l, err := newLoader()
	if err != nil {
		b.Fatal(err)
	}
	if err := l.addDefaults(); err != nil {
		b.Fatal(err)
	}
	keep := map[string]bool{"granted": true, "no-skillet-home": true, "no-kernel-files": true, "no-cloud-metadata": true}
	few := &loader{validator: l.validator, schema: l.schema, byID: map[cedar.PolicyID]*policy{}}
	for _, p := range l.policies {
		if keep[p.ID] {
			if message := few.add(p); message != "" {
				b.Fatal(message)
			}
		}
	}
	var text strings.Builder
	text.WriteString("@id(\"outputs\") @approval(\"required\") @reason(\"outputs are looked at\")\n" +
		"forbid (principal, action == Action::\"fs.write\", resource) when { context.path like \"/data/outputs/*\" } unless { context.approved };\n")
	for i := range n - 5 {
		scope := fmt.Sprintf("principal == Skill::\"s%d\"", i)
		if broad {
			scope = "principal"
		}
		fmt.Fprintf(&text, "@id(\"s%d\") permit (%s, action in [Action::\"fs.read\", Action::\"fs.write\"], resource) when { context.path like \"/data/s%d/*\" };\n", i, scope, i)
	}
	few.addText("bench.cedar", []byte(text.String()))
	s, err := few.set()
	if err != nil || len(s.List()) != n {
		b.Fatal(len(s.List()), err)
	}
	return s
}

func BenchmarkDecide(b *testing.B) {
	for _, broad := range []bool{false, true} {
		for _, n := range []int{5, 105, 1005} {
			s := benchSet(b, n, broad)
			benchDecide(b, fmt.Sprintf("policies=%d/broad=%v", n, broad), s, "call granted | fs.write:/data/outputs/a.csv")
		}
	}
	benchDecide(b, "defaults", mustLoad(b, ""), "install | http:GET https://api.example.com/*")
}

func benchDecide(b *testing.B, name string, s *Set, asks string) {
	b.Helper()
	for _, c := range []struct {
		query string
		want  Effect
	}{
		{"call granted | fs.read:/data/project/a.csv", Allow},
		{"call granted | http:GET https://api.example.com/v1/users", Allow},
		{"call | fs.read:/etc/passwd", Deny},
		{asks, Ask},
	} {
		q := queryOf(b, c.query)
		if d := s.Decide(q); d.Effect != c.want {
			b.Fatalf("%s: %s", c.query, Explain(d))
		}
		action := q.Request.Action
		if q.Phase == PhaseInstall {
			action = "install"
		}
		b.Run(fmt.Sprintf("%s/%s/%s", name, c.want, action), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.decide(q)
			}
		})
	}
}

// BenchmarkDecideAgain is a decision that was made before, with as many policies.
func BenchmarkDecideAgain(b *testing.B) {
	s, q := benchSet(b, 105, true), queryOf(b, "call granted | fs.read:/data/project/a.csv")
	b.ReportAllocs()
	for b.Loop() {
		s.Decide(q)
	}
}
