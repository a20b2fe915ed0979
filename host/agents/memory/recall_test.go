package memory

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/agents/memory/hashing"
)

// asked is a sentence, and a question that it answers.
type asked struct{ Text, Question string }

// others are sentences that have words of the questions in them and answer none:
// each is made of one part of every list, chosen by its number.
func others(n int) []string {
	lists := [][]string{
		{"The", "Our old", "The new", "Their second", "Every", "No other", "The spare"},
		{"server", "printer", "report", "invoice", "meeting", "backup", "parser", "robot", "contract", "garage", "archive", "newsletter", "compiler", "crawler", "elevator", "warehouse", "sensor", "queue", "proxy", "gateway", "branch", "project", "customer"},
		{"in Berlin", "of the support team", "on the third floor", "for free users", "from last winter", "in room 12", "of the mail system", "of Jonas", "near the lounge", "behind the desk", "for tests"},
		{"runs", "stops", "is cleaned", "is renewed", "gets stuck", "needs approval", "is restored", "fails", "ends", "is deleted", "takes long", "is merged", "loads"},
		{"every Monday", "on Fridays", "after ten minutes", "in odd weeks", "at noon", "twice a day", "in June", "before the release", "when it rains", "because of a bug", "without the app", "above five degrees", "in batches", "by hand", "on weekdays", "at Christmas", "each spring"},
	}
	var all []string
	for i := range uint64(n) {
		var parts []string
		k := i * 2654435761
		for _, l := range lists {
			parts = append(parts, l[k%uint64(len(l))])
			k = (k/uint64(len(l)) + 40503) * 48271 % 2147483647
		}
		all = append(all, strings.Join(parts, " ")+".")
	}
	return all
}

// mixed begins like one sentence and ends like another.
func mixed(a, b string) string {
	first, second := strings.Fields(a), strings.Fields(b)
	return strings.Join(append(first[:3*len(first)/8:3*len(first)/8], second[len(second)/2:]...), " ")
}

// questions fills a memory with sentences that answer questions, one more for each
// that begins like it, and others, 2050 in all.
func questions(t *testing.T, m *Memory) []asked {
	t.Helper()
	b, err := os.ReadFile("testdata/recall.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []asked
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	var drafts []Draft
	for _, text := range others(1950) {
		drafts = append(drafts, Draft{Text: text})
	}
	for i, q := range all {
		drafts = append(drafts, Draft{Text: mixed(q.Text, all[(i+7)%len(all)].Text)}, Draft{Text: q.Text})
	}
	add(t, m, drafts...)
	return all
}

// recall is how many of the questions have their answer first, and among the first
// five.
func recall(t *testing.T, m *Memory, all []asked, order Order) (first, five int) {
	t.Helper()
	for _, q := range all {
		for i, found := range search(t, m, Query{Text: q.Question, Order: order, Quiet: true}) {
			if found.Text != q.Text {
				continue
			}
			if five++; i == 0 {
				first++
			}
		}
	}
	return first, five
}

// Questions in plain words find their answers among 2050 sentences as the program
// searches when nothing is set, and better than by the cosine of hashed words alone.
func TestRecall(t *testing.T) {
	found := map[string]int{}
	for name, s := range map[string]Settings{"cosine": {}, "hybrid": {Hybrid: true}} {
		m := open(t, newStore(t), hashing.New(0), s)
		all := questions(t, m)
		for order, by := range map[Order]string{ByImportance: "importance", ByRank: "rank"} {
			first, five := recall(t, m, all, order)
			t.Logf("%s, by %s: %d of %d first, %d among five", name, by, first, len(all), five)
			found[name+" "+by] = five
		}
		m.Close()
	}
	if n := found["hybrid importance"]; n < 45 || n < found["cosine importance"] || n < found["hybrid rank"] {
		t.Errorf("answers among the first five: %v", found)
	}
}
