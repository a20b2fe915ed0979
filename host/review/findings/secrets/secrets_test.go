package secrets

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// example makes a text that looks random and is always the same, so that no
// secret stands in this file.
func example(prefix string, n int) string {
	const letters = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789"
	r, b := rand.New(rand.NewPCG(7, uint64(n))), []byte(prefix)
	for range n {
		b = append(b, letters[r.IntN(len(letters))])
	}
	return string(b)
}

func TestTable(t *testing.T) {
	rules := Rules()
	if len(rules) < 200 {
		t.Fatalf("%d rules", len(rules))
	}
	if load().Source != Source {
		t.Errorf("the table says it is from %q", load().Source)
	}
	for _, r := range rules {
		if r.ID == "" || r.Description == "" || r.Regex == "" && r.Path == "" {
			t.Errorf("an empty rule: %+v", r)
		}
		re := newRule(r).compile()
		if r.Group > re.NumSubexp() {
			t.Errorf("%s has no group %d", r.ID, r.Group)
		}
		for _, a := range slices.Concat(r.Allow, load().Allow) {
			newAllow(a).regexes()
			if a.Target != "" && a.Target != "match" && a.Target != "line" {
				t.Errorf("%s: unknown target %q", r.ID, a.Target)
			}
		}
		for _, k := range r.Keywords {
			if k != strings.ToLower(k) {
				t.Errorf("%s: the keyword %q is not in lower case", r.ID, k)
			}
		}
	}
}

func TestFind(t *testing.T) {
	github := example("ghp_", 36)
	key := "-----BEGIN RSA " + "PRIVATE KEY-----\n" + strings.Repeat(example("", 64)+"\n", 30) + "-----END RSA " + "PRIVATE KEY-----"
	for name, c := range map[string]struct {
		path, text string
		want       []string // rule and secret
	}{
		"token":               {"", "x = \"" + github + "\"\n", []string{"github-pat", github}},
		"far into a text":     {"", strings.Repeat("key here is nothing\n", 30_000) + github, []string{"github-pat", github}},
		"in binary":           {"", "\x00\xff" + github + "\x00", []string{"github-pat", github}},
		"private key":         {"", "\n" + key + "\n", []string{"private-key", key}},
		"generic":             {"", "my_service_api_key = \"" + example("", 32) + "\"", []string{"generic-api-key", example("", 32)}},
		"told once":           {"", "github_token = \"" + github + "\"", []string{"github-pat", github}},
		"allow is no comment": {"", "x = \"" + github + "\" # gitleaks:allow", []string{"github-pat", github}},
		"by path":             {"assets/keys.p12", "", []string{"pkcs12-file", ""}},
		"for another path":    {"config.php", "'secret_key' => 'sk_" + example("", 29) + "'", []string{"freemius-secret-key", "sk_" + example("", 29)}},
		"low entropy":         {"", "x = \"ghp_" + strings.Repeat("a", 36) + "\"", nil},
		"placeholder":         {"", "api_key = \"${API_KEY}\"", nil},
		"stop word":           {"", "api_key = \"placeholder" + example("", 20) + "example\"", nil},
		"keyword alone":       {"", "the token is ghp_ and then 36 letters", nil},
		"nothing":             {"", "", nil},
	} {
		var have []string
		for _, m := range New().Find(c.path, []byte(c.text)) {
			have = append(have, m.Rule, c.text[m.Start:m.End])
		}
		if !slices.Equal(have, c.want) {
			t.Errorf("%s: have %q, want %q", name, have, c.want)
		}
	}
}

// A matcher gives up on a rule after its budget, and says so; other rules go on.
func TestBudget(t *testing.T) {
	m := New()
	text := []byte(strings.Repeat("secret ", 2<<20) + "\n" + example("ghp_", 36))
	found := m.Find("", text)
	if short := m.Short(); !slices.Contains(short, "generic-api-key") || slices.Contains(short, "github-pat") {
		t.Errorf("the rules that gave up: %q", short)
	}
	if len(found) != 1 || found[0].Rule != "github-pat" {
		t.Errorf("found %+v", found)
	}
	if m := New(); len(m.Find("", text[len(text)-1000:])) != 1 || m.Short() != nil {
		t.Error("a short text is too much")
	}
}

// Taking the lead off a pattern changes nothing.
func TestLead(t *testing.T) {
	r := Rule{ID: "x", Regex: lead + `(?:key|api)(?:[ \t\w.-]{0,20})=([a-z]{4,6})(?:;|$)`}
	short, whole := newRule(r), regexp.MustCompile(r.Regex)
	if !short.led {
		t.Fatal("the lead was not found")
	}
	rng := rand.New(rand.NewPCG(5, 6))
	pieces := []string{"key", "api", "=", "abcde", ";", " ", "x.y-", "\n", "Z", strings.Repeat("w", 49)}
	for range 5000 {
		var b strings.Builder
		for range rng.IntN(14) {
			b.WriteString(pieces[rng.IntN(len(pieces))])
		}
		var have [][]int
		for _, m := range short.find([]byte(b.String()), false) {
			have = append(have, []int{m.from, m.to})
		}
		want := whole.FindAllStringIndex(b.String(), maxInChunk)
		if fmt.Sprint(have) != fmt.Sprint(want) {
			t.Fatalf("%q: have %v, want %v", b.String(), have, want)
		}
	}
}

func FuzzFind(f *testing.F) {
	f.Add("a.py", []byte("token = \""+example("ghp_", 36)+"\""))
	f.Add("x.p12", []byte("\x00\xff"))
	f.Add("", []byte("curl -u a:b curl -H 'Authorization: Basic "+base64.StdEncoding.EncodeToString([]byte("user:password"))+"'"))
	f.Add("s.yaml", []byte("kind: Secret\ndata:\n  x: aGVsbG8gd29ybGQ=\n"))
	f.Fuzz(func(t *testing.T, path string, text []byte) {
		last := 0
		for _, m := range New().Find(path, text) {
			if m.Start < last || m.End < m.Start || m.End > len(text) {
				t.Errorf("%s at [%d, %d) of %d bytes after %d", m.Rule, m.Start, m.End, len(text), last)
			}
			last = m.Start
		}
	})
}

func BenchmarkFind(b *testing.B) {
	calm := []byte(strings.Repeat("It is late. We should go home, and see what there is to eat.\n", 1<<14))
	for name, text := range map[string][]byte{
		"calm":    calm,
		"secrets": []byte(strings.Repeat("secret_key = \"something or other\"; token: x\n", 1<<14)),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				New().Find("", text)
			}
		})
	}
}
