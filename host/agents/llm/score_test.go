package llm

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skillet-run/skillet/plugins/provider"
)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

// TestScoresByHand: each number was worked out on paper from the formulas in the
// documentation of Scores.
func TestScoresByHand(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name  string
		facts facts
		want  Scores
		total float64
	}{
		{
			// history: 0.7*0.9 + 0.3*2/(2+2) = 0.63 + 0.15
			// total: 0.30 + 0.15*0.75 + 0.20*0.78 + 0.10 + 0.15*0.5 + 0.10*0.6
			"a busy model elsewhere that costs a cent and is told the schema in words",
			facts{
				record: record{Calls: 10, Success: 0.9, LatencyMS: 2000}, underWay: 2, limit: 8, quick: 2 * time.Second, usd: 0.01,
				model: provider.Model{ContextTokens: 8000}, need: Need{Schema: true},
			},
			Scores{Health: 1, Load: 0.75, History: 0.78, Memory: 1, Cost: 0.5, Fitness: 0.6}, 0.8035,
		},
		{
			// fitness: 0.9 (gives no pieces) * 0.9 (context not known)
			// total: 0 + 0 + 0.20*0.71 + 0.10*0.25 + 0.15 + 0.10*0.81
			"a local model that was never asked, of a provider that is down and full, for which others are unloaded",
			facts{down: true, underWay: 8, limit: 8, quick: time.Second, room: roomAfter, need: Need{Streaming: true}},
			Scores{Health: 0, Load: 0, History: 0.71, Memory: 0.25, Cost: 1, Fitness: 0.81}, 0.398,
		},
		{
			// health: 1 - 3/5; history: 0.7*0.512 + 0.3*20/(20+60); cost: 0.01/0.04; fitness: 0.6 (cannot think)
			// total: 0.12 + 0.15 + 0.20*0.4334 + 0.10*0.5 + 0.15*0.25 + 0.06
			"a slow one that failed three times in a row and costs three cents",
			facts{
				record: record{Calls: 5, Success: 0.512, LatencyMS: 60_000, Row: 3}, limit: 4, quick: 20 * time.Second, room: roomFree, usd: 0.03,
				model: provider.Model{ContextTokens: 1}, need: Need{Thinking: 100},
			},
			Scores{Health: 0.4, Load: 1, History: 0.4334, Memory: 0.5, Cost: 0.25, Fitness: 0.6}, 0.50418,
		},
		{
			// cost: 0, for a price that nobody said
			"one elsewhere whose price is not known",
			facts{record: record{Calls: 1, Success: 1, LatencyMS: 1e-9}, limit: 1, quick: time.Second, model: provider.Model{ContextTokens: 1}, unpriced: true},
			Scores{1, 1, 1, 1, 0, 1}, 0.85,
		},
		{
			"the best there can be",
			facts{record: record{Calls: 1, Success: 1, LatencyMS: 1e-9}, limit: 1, quick: time.Second, model: provider.Model{ContextTokens: 1}},
			Scores{1, 1, 1, 1, 1, 1}, 1,
		},
	} {
		got := row.facts.scores()
		for _, p := range [][2]float64{
			{got.Health, row.want.Health}, {got.Load, row.want.Load}, {got.History, row.want.History},
			{got.Memory, row.want.Memory}, {got.Cost, row.want.Cost}, {got.Fitness, row.want.Fitness}, {got.Total(), row.total},
		} {
			if !near(p[0], p[1]) {
				t.Errorf("%s: got %+v = %v, want %+v = %v", row.name, got, got.Total(), row.want, row.total)
				break
			}
		}
	}
	w := Weights()
	if sum := w.Health + w.Load + w.History + w.Memory + w.Cost + w.Fitness; !near(sum, 1) {
		t.Errorf("the weights are %v together", sum)
	}
}

// TestRecord: the moving averages, on paper.
func TestRecord(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_000_000)
	var r record
	ok := func(ms, estimated, real int) outcome {
		return outcome{took: time.Duration(ms) * time.Millisecond, estimated: estimated, real: real}
	}
	bad := outcome{class: provider.ClassTimeout, message: "slow", took: time.Minute}
	for i, step := range []struct {
		o                       outcome
		success, latency, ratio float64
		row                     int
	}{
		{ok(100, 100, 130), 1, 100, 1.3, 0},
		{bad, 0.8, 100, 1.3, 1},
		{bad, 0.64, 100, 1.3, 2},
		{ok(200, 100, 1000), 0.712, 120, 1.84, 0}, // ten times as many counts as four
		{outcome{class: provider.ClassRateLimited}, 0.712, 120, 1.84, 0},
		{outcome{class: provider.ClassInvalid}, 0.712, 120, 1.84, 0},
		{outcome{class: provider.ClassCancelled}, 0.712, 120, 1.84, 0},
		{ok(120, 0, 0), 0.7696, 120, 1.84, 0}, // the provider told no usage
	} {
		r = r.after(step.o, now)
		if !near(r.Success, step.success) || !near(r.LatencyMS, step.latency) || !near(r.Ratio, step.ratio) || r.Row != step.row || r.OpenUntil != 0 {
			t.Errorf("step %d: got %+v", i, r)
		}
	}
	if r.Calls != 8 || r.Failures != 2 || r.Last != "timeout: slow" {
		t.Errorf("got %+v", r)
	}
	for range openAfter {
		r = r.after(bad, now)
	}
	if r.open(now) != openFor || r.open(now.Add(openFor)) != 0 || r.Row != 5 {
		t.Errorf("got %+v", r)
	}
	r = r.after(ok(1, 1, 1), now)
	if r.open(now) != 0 || r.Row != 0 {
		t.Errorf("got %+v", r)
	}
	r = r.after(outcome{class: provider.ClassRateLimited, retryAfter: time.Minute}, now)
	if r.rest(now) != time.Minute || r.rest(now.Add(time.Hour)) != 0 || r.open(now) != 0 {
		t.Errorf("got %+v", r)
	}
}

func TestTierOf(t *testing.T) {
	t.Parallel()
	const gib = 1 << 30
	for _, row := range []struct {
		model provider.Model
		want  string
	}{
		{provider.Model{Text: true, Tiers: []string{"smart", "unheard-of", "fast"}}, "smart fast"},
		{provider.Model{Text: true, Tiers: []string{"unheard-of"}}, "balanced"},
		{provider.Model{Text: true}, "balanced"},
		{provider.Model{Embeddings: true, Tiers: []string{"fast"}}, ""},
		{provider.Model{Text: true, MemoryBytes: 4 * gib}, "fast conversation"},
		{provider.Model{Text: true, MemoryBytes: 10 * gib, Name: "CodeGemma"}, "balanced code"},
		{provider.Model{Text: true, MemoryBytes: 10*gib + 1, OutputUSD: 1}, "smart code"},
		{provider.Model{Text: true, OutputUSD: 0.4}, "fast conversation"},
		{provider.Model{Text: true, OutputUSD: 8}, "balanced"},
		{provider.Model{Text: true, OutputUSD: 15}, "smart code"},
	} {
		var got []string
		for _, x := range TierOf(row.model) {
			got = append(got, string(x))
		}
		if strings.Join(got, " ") != row.want {
			t.Errorf("%+v: got %v, want %s", row.model, got, row.want)
		}
	}
}

// TestEstimate: bytes by four, and a little for each message and tool.
func TestEstimate(t *testing.T) {
	t.Parallel()
	r := provider.Request{
		System:   strings.Repeat("x", 40),
		Messages: []provider.Message{{Text: strings.Repeat("y", 21)}, {Calls: []provider.ToolCall{{Name: "ab", Input: []byte(`{"a":1}`)}}}},
		Tools:    []provider.Tool{{Name: "t", Description: "does it", InputSchema: []byte(`{}`)}},
	}
	// 40+21+2+7+1+7+2 = 80 bytes are 20 tokens; two messages 8, one tool 8.
	if got := sizeOf(r); got != 36 {
		t.Errorf("got %d", got)
	}
	if got := corrected(36, 1.25); got != 45 {
		t.Errorf("got %d", got)
	}
	m := provider.Model{InputUSD: 3, OutputUSD: 15}
	if a := cost(m, 1000, 200); a.Tokens != 1200 || a.MicroUSD != 6000 { // 1000*3 + 200*15
		t.Errorf("got %+v", a)
	}
	for _, row := range []struct {
		r    provider.Request
		m    provider.Model
		want int
	}{
		{provider.Request{}, provider.Model{}, 2048},
		{provider.Request{}, provider.Model{OutputTokens: 500}, 500},
		{provider.Request{MaxTokens: 9000}, provider.Model{OutputTokens: 8192}, 8192},
		{provider.Request{MaxTokens: 100, Thinking: 50}, provider.Model{}, 100},
		{provider.Request{MaxTokens: 100, Thinking: 50}, provider.Model{Thinking: true}, 150},
	} {
		if got := answerSize(row.r, row.m); got != row.want {
			t.Errorf("%+v: got %d", row, got)
		}
	}
}

func TestUsageOf(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		resp provider.Response
		want provider.Usage
	}{
		{provider.Response{Text: "12345678x"}, provider.Usage{InputTokens: 7, OutputTokens: 3, Estimated: true}},
		{provider.Response{Usage: provider.Usage{InputTokens: 5, OutputTokens: -3}}, provider.Usage{InputTokens: 5}},
		{provider.Response{Usage: provider.Usage{InputTokens: math.MaxInt, OutputTokens: 1}}, provider.Usage{InputTokens: maxTokens, OutputTokens: 1}},
	} {
		if got := usageOf(row.resp, 7); got != row.want {
			t.Errorf("got %+v, want %+v", got, row.want)
		}
	}
}

func TestUnwrapped(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		` {"a":1} `:                  `{"a":1}`,
		"```json\n{\"a\":1}\n```":    `{"a":1}`,
		"Here:\n```\n[1]\n```\nDone": `[1]`,
		`Sure, {"a":{"b":2}} it is.`: `{"a":{"b":2}}`,
		`see [1, 2].`:                `[1, 2]`,
		`no json`:                    `no json`,
		"```json\n{broken\n```":      "```json\n{broken\n```",
		`"text"`:                     `"text"`,
		``:                           ``,
		`}{`:                         `}{`,
	} {
		if got := unwrapped(text); got != want {
			t.Errorf("%q: got %q", text, got)
		}
	}
}

func FuzzUnwrapped(f *testing.F) {
	for _, seed := range []string{`{"a":1}`, "```json\n[1]\n```", "x {\"a\":[1,2]} y", "```", "{}[]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got := unwrapped(text); !strings.Contains(text, got) {
			t.Errorf("%q is not in %q", got, text)
		}
	})
}

// TestRemedies: every class has one, and it is the one that is documented.
func TestRemedies(t *testing.T) {
	t.Parallel()
	stops := []provider.Class{provider.ClassInvalid, provider.ClassRefused, provider.ClassCancelled, "unheard-of"}
	for _, c := range []provider.Class{
		provider.ClassRateLimited, provider.ClassTimeout, provider.ClassUnavailable, provider.ClassInvalid, provider.ClassRefused,
		provider.ClassContextLength, provider.ClassAuth, provider.ClassCancelled, provider.ClassInternal, ClassUnfit, ClassBudget, "unheard-of",
	} {
		r := remedyOf(c, Settings{})
		if (r.next == nextNone) != slices.Contains(stops, c) || (r.again > 0) != r.temp || r.kind == "" {
			t.Errorf("%s: %+v", c, r)
		}
	}
	if remedyOf(provider.ClassRefused, Settings{FallbackRefused: true}).next != nextAny {
		t.Error("the setting that lets another model answer what one refused has no effect")
	}
}

func FuzzOpaque(f *testing.F) {
	for _, seed := range []string{``, `{}`, `{"provider":"p","data":{"a":1}}`, `{"provider":"q"}`, `[`, `{"<&>":{}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if got := openedFor("p", data); got != nil && !bytes.Contains(data, got) {
			t.Errorf("%q is not in %q", got, data)
		}
		if !json.Valid(data) {
			return
		}
		again, err := sealed("p", data)
		if err != nil || len(data) > 0 && !reflect.DeepEqual(value(data), value(openedFor("p", again))) {
			t.Errorf("%q came back as %q: %v", data, openedFor("p", again), err)
		}
	})
}

// value is what JSON says, however it is written.
func value(data []byte) any {
	var v any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	_ = d.Decode(&v) // it is valid
	return v
}
