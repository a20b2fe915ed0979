package memory

import (
	"slices"
	"testing"

	"github.com/skillet-run/skillet/host/agents/memory/hashing"
)

// Of sentences about other things none is found, however many there are, and one that has a
// word of the question is.
func TestSearchLeavesOutWhatIsFar(t *testing.T) {
	m := open(t, newStore(t), hashing.New(0), Settings{Hybrid: true})
	questions(t, m)
	for _, far := range []string{"hello", "Paint the fence", "what is the sea?", "how are you today", "who painted the Mona Lisa?", "recipe for pancakes", "is it done?"} {
		if found := search(t, m, Query{Text: far, Quiet: true}); len(found) > 0 {
			t.Errorf("%s: found %q", far, found[0].Text)
		}
		if found := search(t, m, Query{Text: far, Quiet: true, MinRelevance: -1}); len(found) == 0 {
			t.Errorf("%s: a floor holds that was taken away", far)
		}
	}
	found := search(t, m, Query{Text: "When is the certificate rotated?", Quiet: true})
	if !slices.ContainsFunc(found, func(f Match) bool {
		return f.Text == "The certificate of the mail server is renewed by hand each spring."
	}) {
		t.Errorf("found %+v", found)
	}
}
