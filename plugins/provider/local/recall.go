package local

import (
	"strings"

	cut "github.com/skillet-run/skillet/internal/text"
)

// recalled is how much of the words of a question a passage has to have.
const recalled = 0.5

// recall finds the sentences of what is remembered that have most words in common
// with the goal. It is asked for what no tool can do, so it quotes and nothing else.
func (w *run) recall() (passage, bool) {
	asked := w.asked()
	best, bestScore := passage{}, 0.0
	for _, p := range w.passages {
		if ofWork(p) {
			continue
		}
		if s := share(asked, w.lex.meanings(p.text)); s > bestScore {
			best, bestScore = p, s
		}
	}
	if len(asked) == 0 || bestScore < recalled {
		return passage{}, false
	}
	best.text = w.sentence(asked, best.text)
	return best, true
}

// ofWork reports whether a passage is about the work on a goal: what a step came to,
// or that there was such a goal before. It repeats the goal's words and answers nothing.
func ofWork(p passage) bool {
	return strings.HasPrefix(p.source, "step:") || strings.HasPrefix(p.text, "Goal: ")
}

// asked are the words of the goal that say what it is about.
func (w *run) asked() []string {
	var all []string
	for _, t := range w.lex.scan(w.goal) {
		switch {
		case w.lex.tells(t):
			all = append(all, t.mean)
		case t.literal():
			all = append(all, w.lex.meanings(t.text)...)
		}
	}
	return all
}

// share is how much of some words is among others.
func share(asked, there []string) float64 {
	has := map[string]bool{}
	for _, m := range there {
		has[m] = true
	}
	n := 0
	for _, m := range asked {
		if has[m] {
			n++
		}
	}
	if len(asked) == 0 {
		return 0
	}
	return float64(n) / float64(len(asked))
}

// maxPassage is how many characters of a passage are quoted whole.
const maxPassage = 400

// sentence is a passage, or of a long one the sentence that fits best with the one
// behind it.
func (w *run) sentence(asked []string, text string) string {
	if len([]rune(text)) <= maxPassage {
		return text
	}
	all := sentencesOf(text)
	best, bestScore := 0, -1.0
	for i, s := range all {
		if score := share(asked, w.lex.meanings(s)); score > bestScore {
			best, bestScore = i, score
		}
	}
	return cut.Head(strings.Join(all[best:min(best+2, len(all))], " "), maxPassage)
}
