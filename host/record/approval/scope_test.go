package approval

import (
	"strings"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/policies/capability"
)

func TestPatterns(t *testing.T) {
	const input = `{"url":"https://example.com/a","n":10,"deep":{"list":["x",{"y":true}],"a.b":"dot"},"text":"a*b","none":null}`
	for text, want := range map[string]bool{
		"url=https://example.com/*":  true,
		"url=https://example.com/?":  true,
		"url=https://example.com/":   false,
		"url=*":                      true,
		"n=10":                       true,
		"n=1?":                       true,
		"n=1":                        false,
		"deep.list.0=x":              true,
		"deep.list.1.y=true":         true,
		"deep.list.01=*":             false,
		"deep.list.2=*":              false,
		"deep.list.-1=*":             false,
		`deep.a\.b=dot`:              true,
		"deep.a.b=dot":               false,
		`deep.list=["x",{"y":true}]`: true,
		`text=a\*b`:                  true,
		`text=a\?b`:                  false,
		"none=null":                  true,
		"missing=*":                  false,
		"url.x=*":                    false,
		".=*":                        true,
		".=":                         false,
		"url=":                       false,
	} {
		p, err := ParsePattern(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := fits([]Pattern{p}, []byte(input)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	for _, bad := range []string{"", "x", "=x", "a..b=x", ".a=x", "a.=x", strings.Repeat("x", maxPatternText) + "=y"} {
		if _, err := ParsePattern(bad); err == nil || fault.AsError(err).Kind != fault.KindUsage {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
	if p := (Pattern{"n", "*"}); fits([]Pattern{p}, []byte(`{"n":1,"n":2}`)) || fits([]Pattern{p}, []byte("n")) || fits([]Pattern{p}, nil) {
		t.Error("an input that can be read in two ways fits")
	}
	if !fits(nil, []byte("anything")) {
		t.Error("without a pattern everything fits")
	}
}

// A pattern with many stars must not take longer than the text allows.
func TestPatternsAreQuick(t *testing.T) {
	done := make(chan bool)
	go func() { done <- glob(strings.Repeat("a*", 400)+"b", strings.Repeat("a", 50_000)) }()
	select {
	case got := <-done:
		if got {
			t.Error("it fits")
		}
	case <-time.After(30 * time.Second):
		t.Fatal("it takes too long")
	}
}

func FuzzPattern(f *testing.F) {
	f.Add("url=https://*", `{"url":"https://x"}`)
	f.Add(`a\.b.0=\*`, `{"a.b":["*"]}`)
	f.Fuzz(func(t *testing.T, text, input string) {
		p, err := ParsePattern(text)
		if err != nil {
			return
		}
		fits([]Pattern{p}, []byte(input))
		if again, err := ParsePattern(p.String()); err != nil || again != p {
			t.Errorf("%q becomes %q: %v", p, again, err)
		}
	})
}

func TestGrantsHoldForTheirCalls(t *testing.T) {
	now := time.Now()
	pattern := Pattern{"path", "/data/*"}
	for name, c := range map[string]struct {
		g     Grant
		use   Use
		holds bool
	}{
		"always":             {Grant{}, Use{}, true},
		"until":              {Grant{ExpiresAt: now.Add(time.Hour)}, Use{}, true},
		"until, over":        {Grant{ExpiresAt: now}, Use{}, false},
		"once":               {Grant{MaxUses: 1}, Use{}, true},
		"once, used":         {Grant{MaxUses: 1, Uses: 1}, Use{}, false},
		"run":                {Grant{Run: "r1"}, Use{Run: "r1"}, true},
		"another run":        {Grant{Run: "r1"}, Use{Run: "r2"}, false},
		"no run":             {Grant{Run: "r1"}, Use{}, false},
		"session":            {Grant{Session: "s1"}, Use{Session: "s1", Run: "x"}, true},
		"another session":    {Grant{Session: "s1"}, Use{Session: "s2"}, false},
		"no session":         {Grant{Session: "s1"}, Use{Run: "s1"}, false},
		"argument":           {Grant{For: []Pattern{pattern}}, Use{Input: []byte(`{"path":"/data/x"}`)}, true},
		"another argument":   {Grant{For: []Pattern{pattern}}, Use{Input: []byte(`{"path":"/etc/x"}`)}, false},
		"no input":           {Grant{For: []Pattern{pattern}}, Use{}, false},
		"all must fit":       {Grant{For: []Pattern{pattern, {"n", "1"}}}, Use{Input: []byte(`{"path":"/data/x","n":2}`)}, false},
		"run and argument":   {Grant{Run: "r", For: []Pattern{pattern}}, Use{Run: "r", Input: []byte(`{"path":"/data/x"}`)}, true},
		"argument, used up":  {Grant{For: []Pattern{pattern}, MaxUses: 1, Uses: 1}, Use{Input: []byte(`{"path":"/data/x"}`)}, false},
		"session and no run": {Grant{Session: "s", Run: "r"}, Use{Session: "s"}, false},
	} {
		if got := c.g.Holds(c.use, now); got != c.holds {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestScopes(t *testing.T) {
	for want, terms := range map[Scope]Terms{
		ScopeAlways: {}, ScopeOnce: {MaxUses: 1}, ScopeRun: {Run: "r"}, ScopeSession: {Session: "s"}, ScopeUntil: {ExpiresAt: time.Now()},
	} {
		if got := terms.Scope(); got != want {
			t.Errorf("%+v: %s", terms, got)
		}
	}
	ada := NewHuman("ada")
	if _, err := ada.Grant("s", "d", capability.MustParse("kv"), Terms{For: make([]Pattern, maxPatterns+1)}); err == nil {
		t.Error("too many patterns")
	}
	c, err := ada.Grant("s", "d", capability.MustParse("kv"), Terms{Run: "r"})
	if err != nil || c.Kind != kindBounded {
		t.Errorf("a grant with a condition is a %s, %v: a skillet that does not know conditions would give it without", c.Kind, err)
	}
}

// A number of runs below nothing would be read as any number of them.
func TestTermsWithoutRuns(t *testing.T) {
	read, err := capability.Parse("fs.read:/data/**")
	if err != nil {
		t.Fatal(err)
	}
	_, err = NewHuman("ada").Grant("files", "sha256:00", read, Terms{MaxUses: -1})
	if e := fault.AsError(err); err == nil || e.Kind != fault.KindUsage {
		t.Errorf("granted for -1 runs: %v", err)
	}
}
