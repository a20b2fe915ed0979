package memory

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/agents/memory/hashing"
)

func TestExportAndImport(t *testing.T) {
	a, b := open(t, newStore(t), hashing.New(0), Settings{}), open(t, newStore(t), hashing.New(0), Settings{})
	first := add(t, a,
		Draft{Text: "one <b>&\u2028", Type: ToolRun, Tags: []string{"x"}, Metadata: map[string]string{"k": "v"}, Failed: true, Task: "t1"},
		Draft{Text: "two", Pinned: true}, Draft{Text: "three three"}, Draft{Text: "Three three"})
	search(t, a, Query{Text: "two", Limit: 1, Order: ByRank})
	consolidate(t, a)
	var out bytes.Buffer
	if n, err := a.Export(t.Context(), &out, Filter{}); n != 3 || err != nil {
		t.Fatal(n, err)
	}
	in := func(replace bool) Imported {
		t.Helper()
		done, err := b.Import(t.Context(), strings.NewReader(out.String()+"\n"), replace)
		if err != nil {
			t.Fatal(err)
		}
		return done
	}
	if got := in(false); got != (Imported{Added: 3}) {
		t.Errorf("%+v", got)
	}
	if got := in(true); got != (Imported{Known: 3}) {
		t.Errorf("%+v", got)
	}
	for _, r := range first[:2] {
		want, err1 := a.Get(t.Context(), r.ID)
		got, err2 := b.Get(t.Context(), r.ID)
		if fmt.Sprint(want, err1) != fmt.Sprint(got, err2) {
			t.Errorf("%v, want %v", got, want)
		}
	}
	if got := search(t, b, Query{Text: "two", Order: ByRank}); got[0].Retrievals != 2 {
		t.Errorf("%+v", got[0])
	}
	if _, err := a.Replace(t.Context(), first[1].ID, Draft{Text: "second"}); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if n, err := a.Export(t.Context(), &out, Filter{Types: []Type{Knowledge}}); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	if got := in(true); got != (Imported{Replaced: 1, Known: 1}) {
		t.Errorf("%+v", got)
	}
	if got := texts(t, b, Filter{}); !slices.Contains(got, "second") || slices.Contains(got, "two") {
		t.Errorf("%q", got)
	}
}

const fine = `{"id":"00000000000000000000000000000001","text":"x","created":"2026-01-01T00:00:00Z","updated":"2026-01-01T00:00:00Z"}`

func TestImportRefused(t *testing.T) {
	m := open(t, newStore(t), hashing.New(0), Settings{MaxRecords: 2})
	with := func(field string) string {
		return strings.Replace(fine, `"text"`, field+`,"text"`, 1)
	}
	for name, line := range map[string]string{
		"no JSON":           "x",
		"no object":         "[]",
		"two in a line":     fine + fine,
		"unknown field":     with(`"grants":["all"]`),
		"no ID":             strings.Replace(fine, "0001", "000/", 1),
		"no text":           strings.Replace(fine, `"x"`, `""`, 1),
		"no area":           with(`"area":"attic"`),
		"no times":          strings.ReplaceAll(fine, "2026-01-01", "0001-01-01"),
		"of the future":     strings.Replace(fine, `"updated":"2026`, `"updated":"2926`, 1),
		"older than itself": strings.Replace(fine, `"updated":"2026`, `"updated":"2025`, 1),
		"a source":          with(`"sources":[{"id":"../x"}]`),
		"many counts":       with(`"retrievals":18446744073709551615`),
		"the same twice":    strings.Replace(fine, "0001", "0002", 1) + "\n" + strings.Replace(fine, "0001", "0002", 1),
		"a long line":       with(`"task":"` + strings.Repeat("x", MaxLine) + `"`),
	} {
		if _, err := m.Import(t.Context(), strings.NewReader(fine+"\n"+line), true); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := texts(t, m, Filter{}); len(got) != 0 {
		t.Errorf("a refused import left %q", got)
	}
	three := fine + "\n" + strings.Replace(fine, "0001", "0002", 1) + "\n" + strings.Replace(fine, "0001", "0003", 1)
	if _, err := m.Import(t.Context(), strings.NewReader(three), false); !errors.Is(err, ErrFull) {
		t.Error(err)
	}
}

// A line that names a record as its source does not have it deleted.
func TestImportDeletesNothing(t *testing.T) {
	m := open(t, newStore(t), hashing.New(0), Settings{})
	victim := add(t, m, Draft{Text: "precious"})[0]
	h, _ := m.catalog.get(victim.ID)
	line := strings.Replace(fine, `"text"`, fmt.Sprintf(`"sources":[{"id":%q,"revision":%d}],"text"`, victim.ID, h.revision), 1)
	if _, err := m.Import(t.Context(), strings.NewReader(line), false); err != nil {
		t.Fatal(err)
	}
	consolidate(t, m)
	if got := texts(t, m, Filter{}); !slices.Contains(got, "precious") {
		t.Errorf("%q", got)
	}
}

func FuzzImport(f *testing.F) {
	f.Add(fine)
	f.Add(fine + "\n\n" + strings.Replace(fine, "0001", "0002", 1))
	f.Add(strings.Replace(fine, `"text"`, `"tags":["a","a"],"metadata":{"k":"v"},"sources":[],"text"`, 1))
	f.Add("{")
	f.Fuzz(func(t *testing.T, s string) {
		now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
		records, err := readLines(strings.NewReader(s), now)
		if err != nil {
			return
		}
		for _, r := range records {
			d := r.Draft
			if !isID(r.ID) || d.check() != nil || r.Updated.After(now) || slices.ContainsFunc(r.Sources, func(s Source) bool { return s.Revision != 0 }) {
				t.Errorf("%+v", r)
			}
		}
	})
}

func FuzzEmbedding(f *testing.F) {
	of := digestOf("x")
	f.Add(storedEmbedding("m", of, []float32{1, 2}))
	f.Add(storedEmbedding(strings.Repeat("m", 300), of, nil))
	f.Add([]byte{embeddingVersion})
	f.Add(bytes.Repeat([]byte{1}, 40))
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := readEmbedding(b, "m", of, 2)
		if err == nil && !bytes.Equal(storedEmbedding("m", of, v), b) {
			t.Errorf("%x", b)
		}
	})
}

func TestEmbeddingForm(t *testing.T) {
	of, v := digestOf("text"), []float32{0.5, -1, float32(math.Pi)}
	for _, name := range []string{"", "hashing-1/3", strings.Repeat("n", 300)} {
		got, err := readEmbedding(storedEmbedding(name, of, v), name, of, 3)
		if err != nil || !slices.Equal(got, v) {
			t.Errorf("%.10s: %v, %v", name, got, err)
		}
	}
	b := storedEmbedding("m", of, v)
	for name, wrong := range map[string]func() ([]float32, error){
		"model":      func() ([]float32, error) { return readEmbedding(b, "n", of, 3) },
		"text":       func() ([]float32, error) { return readEmbedding(b, "m", digestOf("other"), 3) },
		"dimensions": func() ([]float32, error) { return readEmbedding(b, "m", of, 4) },
		"short":      func() ([]float32, error) { return readEmbedding(b[:len(b)-1], "m", of, 3) },
		"none":       func() ([]float32, error) { return readEmbedding(nil, "m", of, 3) },
	} {
		if _, err := wrong(); !errors.Is(err, errStale) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for i := range b {
		flipped := slices.Clone(b)
		flipped[i] ^= 4
		if _, err := readEmbedding(flipped, "m", of, 3); !errors.Is(err, errStale) {
			t.Errorf("byte %d: %v", i, err)
		}
	}
}
