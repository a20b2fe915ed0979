package text

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

func TestTokens(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{" ,.;!? \t\n", ""},
		{"Hello, World! 42 times", "hello world 42 times"},
		{"snake_case and kebab-case", "snake case and kebab case"},
		{"don't can’t 'quoted' o'", "dont cant quoted o"},
		{"Crème BRÛLÉE naïve", "creme brulee naive"},
		{"Cre\u0300me", "creme"},
		{"Straße STRASSE ẞ", "strasse strasse ss"},
		{"ΣΊΣΥΦΟΣ σίσυφος", "σισυφοσ σισυφοσ"},
		{"Ёлка ёлка", "елка елка"},
		{"ﬁle Ｆｕｌｌ １２ x²", "file full 12 x2"},
		{"co\u00adop zero\u200bwidth", "coop zerowidth"},
		{"שָׁלוֹם عَرَبِيّ", "שלום عربي"},
		{"हिन्दी भाषा", "हिन्दी भाषा"},
		{"東京都 go", "東京 京都 go"},
		{"猫", "猫"},
		{"がぎ かき", "がぎ かき"},
		{"한국어 문서", "한국어 문서"},
		{"ภาษา", "ภา าษ ษา"},
		{"a\xffb", "a b"},
		{strings.Repeat("x", 100), strings.Repeat("x", MaxTerm)},
	} {
		if got := strings.Join(slices.Collect(Tokens(c.text)), " "); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
	for range Tokens("one two 東京都") {
		break
	}
}

func FuzzTokens(f *testing.F) {
	for _, s := range []string{"Hello, World", "don't", "Crème\xff", "東京都ab", "ภาษา", "한국어", "½ ﷺ ŉ İ", "e\u0301\u0301", "'''", "\u0301a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		size := 0
		for token := range Tokens(s) {
			size += len(token)
			if token == "" || len(token) > MaxTerm || !utf8.ValidString(token) {
				t.Fatalf("%q: %q", s, token)
			}
			if len(token) < MaxTerm-utf8.UTFMax {
				if again := slices.Collect(Tokens(token)); len(again) != 1 || again[0] != token {
					t.Fatalf("%q: %q is taken apart again to %q", s, token, again)
				}
			}
		}
		// A decomposed character is at most 18 others; pairs count them twice.
		if size > 2*18*4*len(s) {
			t.Fatalf("%d bytes of terms from %d", size, len(s))
		}
	})
}

// brute ranks texts by the formula, written in another way.
func brute(texts map[string]string, stop []string, query string, k int, keep func(string) bool) []Hit {
	words := map[string][]string{}
	total := 0
	for id, s := range texts {
		for w := range Tokens(s) {
			if !slices.Contains(stop, w) {
				words[id] = append(words[id], w)
				total++
			}
		}
	}
	count := func(all []string, w string) (n float64) {
		for _, a := range all {
			if a == w {
				n++
			}
		}
		return n
	}
	scores := map[string]float64{}
	seen := map[string]bool{}
	for w := range Tokens(query) {
		if seen[w] || slices.Contains(stop, w) {
			continue
		}
		seen[w] = true
		n := 0.0
		for id := range texts {
			if slices.Contains(words[id], w) {
				n++
			}
		}
		for id := range texts {
			if f := count(words[id], w); f > 0 {
				idf := math.Log(1 + (float64(len(texts))-n+0.5)/(n+0.5))
				norm := 1 - 0.75 + 0.75*float64(len(words[id]))/(float64(total)/float64(len(texts)))
				scores[id] += idf * f * 2.2 / (f + 1.2*norm)
			}
		}
	}
	var hits []Hit
	for id, s := range scores {
		if keep == nil || keep(id) {
			hits = append(hits, Hit{id, s})
		}
	}
	slices.SortFunc(hits, order)
	return hits[:min(k, len(hits))]
}

// sentence makes a text of words that are as unequally frequent as those of a language.
func sentence(r *rand.Rand, zipf *rand.Zipf) string {
	var b strings.Builder
	for range 1 + r.IntN(20) {
		b.WriteString("w" + strconv.FormatUint(zipf.Uint64(), 36) + " ")
	}
	return b.String()
}

func TestAgainstBruteForce(t *testing.T) {
	for _, stop := range [][]string{nil, {"w0", "w1"}} {
		r := rand.New(rand.NewPCG(1, 2))
		zipf := rand.NewZipf(r, 1.2, 2, 300)
		x, texts := New(Settings{Stop: stop}), map[string]string{}
		for step := range 2000 {
			id := strconv.Itoa(r.IntN(250))
			if r.IntN(3) == 0 {
				_, was := texts[id]
				if delete(texts, id); x.Delete(id) != was {
					t.Fatalf("delete %s: it was there: %v", id, was)
				}
			} else {
				texts[id] = sentence(r, zipf)
				if err := x.Put(id, texts[id]); err != nil {
					t.Fatal(err)
				}
			}
			if step%40 != 0 {
				continue
			}
			query := sentence(r, zipf)
			for _, keep := range []func(string) bool{nil, func(id string) bool { return strings.HasSuffix(id, "3") }} {
				got, want := x.Search(query, 10, keep), brute(texts, stop, query, 10, keep)
				if err := same(got, want); err != nil {
					t.Fatalf("step %d: %q: %v\n%v\n%v", step, query, err, got, want)
				}
			}
			if x.Len() != len(texts) {
				t.Fatalf("%d texts, want %d", x.Len(), len(texts))
			}
		}
	}
}

func same(got, want []Hit) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d hits, want %d", len(got), len(want))
	}
	for i := range got {
		if math.Abs(got[i].Score-want[i].Score) > 1e-9 {
			return fmt.Errorf("hit %d is %v, want %v", i, got[i], want[i])
		}
	}
	return nil
}

// By hand: three texts of 2, 2 and 4 terms, 8/3 on the average. "cat" is in two of
// them: idf = ln(1 + 1.5/2.5) = 0.470004. In a, norm = 0.25 + 0.75*0.75 = 0.8125:
// 0.470004 * 2.2 / (1 + 0.975) = 0.523549. In c it is there twice, norm = 1.375:
// 0.470004 * 2 * 2.2 / (2 + 1.65) = 0.566580.
func TestByHand(t *testing.T) {
	x := New(Settings{})
	for id, s := range map[string]string{"a": "cat dog", "b": "dog bird", "c": "cat cat fish fish"} {
		if err := x.Put(id, s); err != nil {
			t.Fatal(err)
		}
	}
	got := x.Search("Cat", 5, nil)
	if len(got) != 2 || got[0].ID != "c" || math.Abs(got[0].Score-0.566580) > 1e-6 || math.Abs(got[1].Score-0.523549) > 1e-6 {
		t.Error(got)
	}
}

func TestSearchEnds(t *testing.T) {
	x := New(Settings{Stop: English()})
	if got := x.Search("cat", 3, nil); got != nil {
		t.Error(got)
	}
	for i := range 9 {
		if err := x.Put(fmt.Sprint(9-i), "the cat"); err != nil {
			t.Fatal(err)
		}
	}
	if got := x.Search("cat", 2, nil); len(got) != 2 || got[0].ID != "1" || got[1].ID != "2" {
		t.Errorf("ties: %v", got)
	}
	for _, c := range []struct {
		query string
		k     int
	}{{"the", 3}, {"", 3}, {"cat", 0}, {"bird", 3}} {
		if got := x.Search(c.query, c.k, nil); got != nil {
			t.Errorf("%+v: %v", c, got)
		}
	}
	if err := x.Put("big", strings.Repeat("x ", MaxText)); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
	if got := x.Search(strings.Repeat("dog ", MaxText)+"cat", 1, nil); got != nil {
		t.Errorf("a word behind the limit was looked for: %v", got)
	}
}

// What is deleted does not stay.
func TestBytes(t *testing.T) {
	x := New(Settings{})
	for i := range 5000 {
		if err := x.Put(fmt.Sprint(i), fmt.Sprintf("common word%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	full := x.Stats()
	for i := range 5000 {
		x.Delete(fmt.Sprint(i))
	}
	if s := x.Stats(); s.Bytes > full.Bytes/20 || s.Terms > 100 || s.Words != 0 || s.Texts != 0 {
		t.Errorf("%+v of %+v", s, full)
	}
}

func TestConcurrent(t *testing.T) {
	x := New(Settings{})
	var all sync.WaitGroup
	for w := range 6 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 0))
			zipf := rand.NewZipf(r, 1.2, 2, 300)
			for i := range 300 {
				switch id := strconv.Itoa(r.IntN(100)); {
				case w > 2:
					x.Search(sentence(r, zipf), 10, func(id string) bool { return id != "7" })
				case i%3 == 0:
					x.Delete(id)
				default:
					if err := x.Put(id, sentence(r, zipf)); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
}

func BenchmarkSearch(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		r := rand.New(rand.NewPCG(1, 2))
		zipf := rand.NewZipf(r, 1.1, 5, 50_000)
		x := New(Settings{})
		for i := range n {
			if err := x.Put(strconv.Itoa(i), sentence(r, zipf)+sentence(r, zipf)+sentence(r, zipf)+sentence(r, zipf)); err != nil {
				b.Fatal(err)
			}
		}
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			for i := range b.N {
				x.Search(fmt.Sprintf("w%x w%x w%x", 20+i%200, 300+i%999, 5000+i%999), 10, nil)
			}
			b.ReportMetric(float64(x.Bytes())/(1<<20), "MiB")
		})
	}
}

func BenchmarkPut(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(r, 1.1, 5, 50_000)
	x := New(Settings{})
	var texts []string
	for range 1000 {
		texts = append(texts, sentence(r, zipf)+sentence(r, zipf)+sentence(r, zipf)+sentence(r, zipf))
	}
	b.ResetTimer()
	for i := range b.N {
		if err := x.Put(strconv.Itoa(i), texts[i%len(texts)]); err != nil {
			b.Fatal(err)
		}
	}
}
