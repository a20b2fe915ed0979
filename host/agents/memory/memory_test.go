package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/agents/event"
	"github.com/skillet-run/skillet/host/agents/memory/hashing"
	"github.com/skillet-run/skillet/host/base/store"
)

// open opens a memory on a store for one test.
func open(t testing.TB, s store.Store, e Embedder, settings Settings) *Memory {
	t.Helper()
	bus := event.NewBus(hclog.NewNullLogger(), s)
	m, err := Open(t.Context(), hclog.NewNullLogger(), s, bus, e, settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close(); bus.Close() })
	return m
}

func newStore(t testing.TB) store.Store {
	s := store.Memory()
	t.Cleanup(func() { s.Close() })
	return s
}

func add(t testing.TB, m *Memory, drafts ...Draft) []Record {
	t.Helper()
	all, err := m.Add(t.Context(), drafts...)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func texts(t testing.TB, m *Memory, f Filter) []string {
	t.Helper()
	all, err := m.List(t.Context(), f, 0)
	if err != nil {
		t.Fatal(err)
	}
	var s []string
	for _, r := range all {
		s = append(s, r.Text)
	}
	slices.Sort(s)
	return s
}

func search(t testing.TB, m *Memory, q Query) []Match {
	t.Helper()
	found, err := m.Search(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Each by hand from 0.25 recency + 0.30 success + 0.35 relevance + 0.10 frequency.
func TestImportance(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		name       string
		age        time.Duration
		failed     bool
		said       bool
		relevance  float64
		retrievals uint64
		want       float64
	}{
		{"all there is", 0, false, false, 1, 10, 0.25 + 0.30 + 0.35 + 0.10},
		{"a week old", 7 * day, false, false, 1, 10, 0.125 + 0.30 + 0.35 + 0.10},
		{"two weeks, never found", 14 * day, false, false, 0.5, 0, 0.0625 + 0.30 + 0.175},
		{"a failure just now", 0, true, false, 0.8, 5, 0.25 + 0.09 + 0.28 + 0.05},
		{"often found is capped", 0, false, false, 0, 1000, 0.25 + 0.30 + 0.10},
		{"opposite is not below irrelevant", 0, false, false, -1, 0, 0.25 + 0.30},
		{"rounding above one", 0, false, false, 1.0001, 0, 0.25 + 0.30 + 0.35},
		{"from a clock ahead", -day, false, false, 0, 0, 0.25 + 0.30},
		{"a forgotten failure", 70 * day, true, false, 0, 0, 0.25/1024 + 0.09},
		{"three and a half days", 84 * time.Hour, false, false, 0, 0, 0.1767767 + 0.30},
		{"what an agent said", 0, false, true, 1, 10, 0.25 + 0.18 + 0.35 + 0.10},
		{"a failure that an agent told", 0, true, true, 1, 10, 0.25 + 0.09 + 0.35 + 0.10},
	} {
		got := importanceOf(c.age, c.failed, c.said, c.relevance, c.retrievals)
		if d := got.Total - c.want; d > 1e-6 || d < -1e-6 {
			t.Errorf("%s: %+v, want %v", c.name, got, c.want)
		}
	}
}

func TestRememberAndFind(t *testing.T) {
	m := open(t, newStore(t), hashing.New(0), Settings{})
	all := add(t, m,
		Draft{Text: "Parse CSV files with the csv skill, and sum columns with the json skill", Type: SuccessStrategy, Tags: []string{"csv", "parsing", "csv"}},
		Draft{Text: "The weather service answers 429 when asked more than once a second", Type: FailurePattern, Failed: true, Tags: []string{"http"}},
		Draft{Text: "Ada prefers short answers", Type: UserPreference},
		Draft{Text: "A note about nothing in particular", Area: Instruments})
	if a := all[0]; a.Area != Solutions || len(a.Tags) != 2 || a.Created.IsZero() || !isID(a.ID) {
		t.Errorf("%+v", a)
	}
	found := search(t, m, Query{Text: "how do I parse a CSV file?", MinRelevance: -1})
	if len(found) != 4 || found[0].ID != all[0].ID || found[0].VectorRank != 1 || found[0].TextRank != 1 {
		t.Fatalf("%+v", found)
	}
	if i := found[0].Importance; i.Relevance <= 0.1 || i.Recency < 0.99 || i.Success != 1 || i.Frequency != 0 {
		t.Errorf("%+v", i)
	}
	if want := 2.0 / 61; found[0].Rank != want {
		t.Errorf("rank %v, want %v", found[0].Rank, want)
	}
	for _, c := range []struct {
		filter Filter
		want   int // index
	}{
		{Filter{Areas: []Area{Main, Instruments}, Types: []Type{UserPreference}}, 2},
		{Filter{Tags: []string{"http"}}, 1},
		{Filter{Tags: []string{"csv", "parsing"}}, 0},
		{Filter{Areas: []Area{Instruments}}, 3},
	} {
		if got := search(t, m, Query{Text: "csv", Filter: c.filter, MinRelevance: -1}); len(got) != 1 || got[0].ID != all[c.want].ID {
			t.Errorf("%+v: %+v", c.filter, got)
		}
	}
	for _, f := range []Filter{{Since: time.Now().Add(time.Hour)}, {Until: time.Now().Add(-time.Hour)}, {Tags: []string{"csv", "http"}}} {
		if got := search(t, m, Query{Text: "csv", Filter: f, MinRelevance: -1}); len(got) != 0 {
			t.Errorf("%+v: %+v", f, got)
		}
	}
	if got := search(t, m, Query{Text: "zebra", MinRelevance: 0.5}); len(got) != 0 {
		t.Errorf("irrelevant: %+v", got)
	}
	if got := search(t, m, Query{Text: "weather 429", Order: ByRank, Limit: 1}); len(got) != 1 || got[0].ID != all[1].ID {
		t.Errorf("by rank: %+v", got)
	}
}

func TestReplaceAndDelete(t *testing.T) {
	m := open(t, newStore(t), hashing.New(0), Settings{})
	r := add(t, m, Draft{Text: "the port is 8080"})[0]
	was, err := m.Replace(t.Context(), r.ID, Draft{Text: "the socket is 9090", Tags: []string{"net"}})
	if err != nil || !was.Created.Equal(r.Created) {
		t.Fatal(was, err)
	}
	if got := search(t, m, Query{Text: "port", MinRelevance: 0.9}); len(got) != 0 {
		t.Errorf("the old text is found: %+v", got)
	}
	if got := search(t, m, Query{Text: "socket"}); len(got) != 1 || got[0].Text != "the socket is 9090" {
		t.Errorf("%+v", got)
	}
	if err := m.Delete(t.Context(), r.ID); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{r.ID, "x", "../../secret", strings.Repeat("z", 32)} {
		_, gerr := m.Get(t.Context(), id)
		_, rerr := m.Replace(t.Context(), id, Draft{Text: "x"})
		for _, err := range []error{gerr, rerr, m.Delete(t.Context(), id)} {
			if !errors.Is(err, ErrNotFound) {
				t.Errorf("%s: %v", id, err)
			}
		}
	}
	if left, _ := m.kv.List(t.Context(), embeddingKey); len(left)+len(search(t, m, Query{Text: "socket"})) != 0 {
		t.Errorf("%d embeddings are left", len(left))
	}
}

func TestRefused(t *testing.T) {
	m := open(t, newStore(t), hashing.New(0), Settings{MaxRecords: 3})
	many := func(n int, s string) (all []string) {
		for i := range n {
			all = append(all, fmt.Sprint(s, i))
		}
		return all
	}
	big := map[string]string{}
	for _, k := range many(MaxMetadata+1, "k") {
		big[k] = ""
	}
	for name, d := range map[string]Draft{
		"no text":           {Text: " \n"},
		"long text":         {Text: strings.Repeat("x", MaxText+1)},
		"no UTF-8":          {Text: "\xff\xfe"},
		"no such area":      {Text: "x", Area: "attic"},
		"no such type":      {Text: "x", Type: "dream"},
		"many tags":         {Text: "x", Tags: many(MaxTags+1, "t")},
		"long tag":          {Text: "x", Tags: []string{strings.Repeat("t", MaxTag+1)}},
		"tag with escape":   {Text: "x", Tags: []string{"\x1b[2J"}},
		"tag that turns":    {Text: "x", Tags: []string{"a\u202eb"}},
		"empty tag":         {Text: "x", Tags: []string{""}},
		"much metadata":     {Text: "x", Metadata: big},
		"long value":        {Text: "x", Metadata: map[string]string{"k": strings.Repeat("v", MaxValue+1)}},
		"key with newline":  {Text: "x", Metadata: map[string]string{"a\nb": ""}},
		"value no UTF-8":    {Text: "x", Metadata: map[string]string{"k": "\xff"}},
		"task of two lines": {Text: "x", Task: "a\nb"},
	} {
		if _, err := m.Add(t.Context(), Draft{Text: "fine"}, d); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := texts(t, m, Filter{}); len(got) != 0 {
		t.Errorf("half of a list was stored: %q", got)
	}
	for _, q := range []Query{{}, {Text: strings.Repeat("q", MaxText+1)}, {Text: "q", Limit: -1}, {Text: "q", Limit: MaxLimit + 1}, {Text: "q", Order: "random"}} {
		if _, err := m.Search(t.Context(), q); !errors.Is(err, ErrInvalid) {
			t.Errorf("%.50v: %v", q, err)
		}
	}
	if _, err := m.Add(t.Context(), Draft{Text: "1"}, Draft{Text: "2"}, Draft{Text: "3"}, Draft{Text: "4"}); !errors.Is(err, ErrFull) {
		t.Error(err)
	}
	add(t, m, Draft{Text: "1"}, Draft{Text: "2"}, Draft{Text: "3"})
	if _, err := m.Add(t.Context(), Draft{Text: "4"}); !errors.Is(err, ErrFull) {
		t.Error(err)
	}
}

func TestShown(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ttext\n":        "plain\ttext\n",
		"\x1b[31mred\r":        "\uFFFD[31mred\uFFFD",
		"a\u202eb\u200bc\xffd": "a\uFFFDb\uFFFDc\uFFFDd",
		"Crème 東京":             "Crème 東京",
	} {
		if got := Shown(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// Counts are told at once, stored after a while, and there after a restart.
func TestRetrievals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		m := open(t, s, hashing.New(0), Settings{})
		r := add(t, m, Draft{Text: "often asked"})[0]
		for range 3 {
			search(t, m, Query{Text: "asked"})
		}
		search(t, m, Query{Text: "asked", Quiet: true})
		if got := search(t, m, Query{Text: "asked"}); got[0].Retrievals != 4 || got[0].Retrieved.IsZero() || got[0].Importance.Frequency != 0.3 {
			t.Errorf("%+v", got[0])
		}
		time.Sleep(2 * time.Second)
		other := open(t, s, hashing.New(0), Settings{})
		search(t, other, Query{Text: "asked"})
		search(t, m, Query{Text: "asked"})
		time.Sleep(2 * time.Second)
		again := open(t, s, hashing.New(0), Settings{})
		if got, err := again.Get(t.Context(), r.ID); err != nil || got.Retrievals != 6 {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// model is an embedder that can be changed, and fails when it is told to.
type model struct {
	hashing.Embedder
	name  string
	fails atomic.Bool
	calls atomic.Int64
}

func (e *model) Name() string { return e.name }

func (e *model) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if e.fails.Load() {
		return nil, errors.New("no answer")
	}
	e.calls.Add(int64(len(texts)))
	return e.Embedder.Embed(ctx, texts)
}

// Embeddings that match are not made again; those that do not are, each for its
// reason.
func TestEmbeddingsAreMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		first := &model{Embedder: hashing.New(64), name: "one"}
		m := open(t, s, first, Settings{})
		all := add(t, m, Draft{Text: "alpha"}, Draft{Text: "beta"}, Draft{Text: "gamma"})
		m.Close()
		reopen := func(e *model, want int64) {
			t.Helper()
			e.calls.Store(0)
			m := open(t, s, e, Settings{})
			synctest.Wait()
			if got := e.calls.Load(); got != want {
				t.Errorf("%d texts were embedded, want %d", got, want)
			}
			if st, err := m.Stats(t.Context()); err != nil || st.Waiting != 0 || st.Vectors.Vectors != 3 || st.Words.Texts != 3 {
				t.Errorf("%+v, %v", st, err)
			}
			m.Close()
		}
		reopen(first, 0)
		reopen(&model{Embedder: hashing.New(64), name: "two"}, 3)
		larger := &model{Embedder: hashing.New(128), name: "two"}
		reopen(larger, 3)
		kv, ctx := s.KV(), t.Context()
		e, err := kv.Get(ctx, embeddingKey+all[0].ID)
		if err != nil {
			t.Fatal(err)
		}
		flipped := slices.Clone(e.Value)
		flipped[len(flipped)-1] ^= 1
		for _, bad := range [][]byte{flipped, nil, e.Value[:30], storedEmbedding("two", digestOf("delta"), make([]float32, 128))} {
			if _, err := kv.Put(ctx, embeddingKey+all[0].ID, bad, store.AnyRevision); err != nil {
				t.Fatal(err)
			}
			reopen(larger, 1)
		}
		if err := kv.Delete(ctx, embeddingKey+all[1].ID, store.AnyRevision); err != nil {
			t.Fatal(err)
		}
		reopen(larger, 1)
	})
}

// All that is missing is made once, however many ask for it, and who waits sees how
// far it is. Until then a record without an embedding is not behind those with one.
func TestReindex(t *testing.T) {
	s := newStore(t)
	m := open(t, s, &model{Embedder: hashing.New(64), name: "one"}, Settings{})
	var drafts []Draft
	for i := range 5 * embedBatch {
		drafts = append(drafts, Draft{Text: fmt.Sprintf("note %d about something else", i)})
	}
	add(t, m, drafts...)
	add(t, m, Draft{Text: "The release needs a signed tag."})
	m.Close()

	e := &model{Embedder: hashing.New(64), name: "two"}
	e.fails.Store(true)
	m = open(t, s, e, Settings{})
	if got := search(t, m, Query{Text: "which tag does the release need?", Limit: 1}); len(got) != 1 || got[0].Text != "The release needs a signed tag." {
		t.Errorf("while nothing is embedded: %+v", got)
	}
	e.fails.Store(false)
	var seen []int
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			if _, err := m.Embed(t.Context(), nil); err != nil {
				t.Error(err)
			}
		})
	}
	if _, err := m.Embed(t.Context(), func(made int) { seen = append(seen, made) }); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	if n := e.calls.Load(); n != int64(len(drafts))+1 {
		t.Errorf("%d embeddings were made of %d records", n, len(drafts)+1)
	}
	if st, err := m.Stats(t.Context()); err != nil || st.Waiting != 0 || len(seen) != 6 || !slices.IsSorted(seen) {
		t.Errorf("%d wait, %v; progress %v", st.Waiting, err, seen)
	}
}

// While the embedder fails, everything goes on by words; later it is made good.
func TestEmbedderFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &model{Embedder: hashing.New(64), name: "m"}
		e.fails.Store(true)
		m := open(t, newStore(t), e, Settings{})
		r := add(t, m, Draft{Text: "found by its words"})[0]
		if got := search(t, m, Query{Text: "words"}); len(got) != 1 || got[0].ID != r.ID || got[0].VectorRank != 0 || got[0].TextRank != 1 {
			t.Errorf("%+v", got)
		}
		if _, err := m.Embed(t.Context(), nil); err == nil {
			t.Error("no error")
		}
		e.fails.Store(false)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if got := search(t, m, Query{Text: "words"}); len(got) != 1 || got[0].VectorRank != 1 {
			t.Errorf("%+v", got)
		}
	})
}

// A record that cannot be read costs only itself.
func TestDamagedRecord(t *testing.T) {
	s := newStore(t)
	m := open(t, s, hashing.New(0), Settings{})
	all := add(t, m, Draft{Text: "one"}, Draft{Text: "two"})
	m.Close()
	other, _ := json.Marshal(all[1])
	for id, value := range map[string][]byte{makeID(): []byte("{"), makeID(): other, "0": []byte("{}")} {
		if _, err := s.KV().Put(t.Context(), recordKey+id, value, store.AnyRevision); err != nil {
			t.Fatal(err)
		}
	}
	if got := texts(t, open(t, s, hashing.New(0), Settings{}), Filter{}); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("%q", got)
	}
}

// shared is an engine that several stores use, as processes do.
type shared struct{ store.Engine }

func (shared) Close() error { return nil }

// counting counts the writes of all, which is how stores see those of others.
type counting struct {
	store.Engine
	n *atomic.Uint64
}

func (c counting) Update(ctx context.Context, fn func(store.Tx) error) error {
	defer c.n.Add(1)
	return c.Engine.Update(ctx, fn)
}

// Two processes see what the other writes, and at the end have the same.
func TestTwoProcesses(t *testing.T) {
	engine, n := store.MemoryEngine(), &atomic.Uint64{}
	process := func() *Memory {
		blobs, err := store.DirBlobs(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		s := store.New(counting{shared{engine}, n}, blobs, store.Settings{
			Changes: func() (uint64, error) { return n.Load(), nil }, Poll: time.Millisecond,
		})
		t.Cleanup(func() { s.Close() })
		return open(t, s, hashing.New(32), Settings{})
	}
	a, b := process(), process()
	var both sync.WaitGroup
	for i, m := range []*Memory{a, b} {
		both.Go(func() {
			var mine []string
			for j := range 60 {
				r, err := m.Add(t.Context(), Draft{Text: fmt.Sprintf("process %d note %d", i, j)})
				if err != nil {
					t.Error(err)
					return
				}
				if mine = append(mine, r[0].ID); j%3 == 0 {
					err = m.Delete(t.Context(), mine[j/2])
				} else if j%3 == 1 {
					_, err = m.Replace(t.Context(), mine[j], Draft{Text: fmt.Sprintf("process %d replaced %d", i, j)})
				}
				if err != nil && !errors.Is(err, ErrNotFound) {
					t.Error(err)
				}
			}
		})
	}
	both.Wait()
	fresh := process()
	want := texts(t, fresh, Filter{})
	for _, m := range []*Memory{a, b} {
		for range 2000 {
			if slices.Equal(texts(t, m, Filter{}), want) && m.vectors.Len() == len(want) && m.words.Len() == len(want) {
				break
			}
			time.Sleep(2 * time.Millisecond)
		}
		if got := texts(t, m, Filter{}); !slices.Equal(got, want) || m.vectors.Len() != len(want) {
			t.Errorf("%d records and %d vectors, want %d", len(got), m.vectors.Len(), len(want))
		}
	}
	if found := search(t, a, Query{Text: "process 1 replaced", Order: ByRank}); !strings.HasPrefix(found[0].Text, "process 1 replaced") {
		t.Errorf("%+v", found[0])
	}
}

func TestStats(t *testing.T) {
	m := open(t, newStore(t), hashing.New(0), Settings{})
	add(t, m, Draft{Text: "one", Tags: []string{"x"}}, Draft{Text: "three", Type: ToolRun, Failed: true, Tags: []string{"x", "y"}}, Draft{Text: "five", Pinned: true})
	search(t, m, Query{Text: "one", MinRelevance: -1})
	s, err := m.Stats(t.Context())
	if err != nil || s.Records != 3 || s.Areas[Fragments] != 2 || s.Types[ToolRun] != 1 || s.Tags["x"] != 2 || s.TextBytes != 12 ||
		s.Failed != 1 || s.Pinned != 1 || s.Retrievals != 3 || s.Waiting != 0 || s.Vectors.Vectors != 3 || s.Oldest.IsZero() || s.Embedder != "hashing-1/384" {
		t.Errorf("%+v, %v", s, err)
	}
}
