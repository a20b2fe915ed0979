package llm

import (
	"errors"
	"strings"

	"github.com/skillet-run/skillet/plugins/provider"
)

// errDiverged ends an attempt whose text is another than what the caller has.
var errDiverged = errors.New("the answer begins otherwise than the one that broke off")

// A gate hands the pieces of an answer to the caller, so that what the caller has is
// always the beginning of one answer, whatever attempts it took:
//
//   - Text that the caller has is never handed out again. An attempt after one that
//     broke off is followed silently as far as it says the same; when it says
//     something else it is ended.
//   - Thoughts come from one attempt only: the first that had some.
//   - An answer that is checked before it counts (schema, Accept) is held back and
//     handed out in one piece.
type gate struct {
	emit func(provider.Delta) error // nil: the caller wants no pieces
	held bool

	sent    strings.Builder // the text that the caller has
	at      int             // how much of it the attempt has said, too
	seen    int             // bytes of text and thoughts of the attempt
	attempt int
	speaker int   // the attempt whose text was handed out first; 0 for none
	thinker int   // the attempt whose thoughts are handed out; 0 for none
	failed  error // what emit returned
	// diverged says that the attempt says something else than the caller has.
	diverged bool
}

// begin begins another attempt.
func (g *gate) begin() {
	g.at, g.seen, g.diverged = 0, 0, false
	g.attempt++
}

// committed reports whether the caller has text.
func (g *gate) committed() bool { return g.sent.Len() > 0 }

// pass is the emit function of an attempt.
func (g *gate) pass(d provider.Delta) error {
	g.seen += len(d.Text) + len(d.Thinking)
	if g.emit == nil {
		return nil
	}
	if d.Thinking != "" && g.thinker == 0 {
		g.thinker = g.attempt
	}
	if g.thinker != g.attempt {
		d.Thinking = ""
	}
	if g.held {
		d.Text = ""
	}
	rest, err := g.follow(d.Text)
	if err != nil {
		return err
	}
	return g.hand(provider.Delta{Text: rest, Thinking: d.Thinking})
}

// follow returns what of a text the caller does not have yet.
func (g *gate) follow(text string) (string, error) {
	known := g.sent.String()[g.at:]
	n := min(len(known), len(text))
	if known[:n] != text[:n] {
		g.diverged = true
		return "", errDiverged
	}
	g.at += n
	return text[n:], nil
}

func (g *gate) hand(d provider.Delta) error {
	if d == (provider.Delta{}) {
		return nil
	}
	if d.Text != "" && g.speaker == 0 {
		g.speaker = g.attempt
	}
	g.sent.WriteString(d.Text)
	g.at += len(d.Text)
	g.failed = g.emit(d)
	return g.failed
}

// finish hands out what of the whole answer the caller does not have. An answer that
// does not begin with its own pieces is the provider's affair; one that does not
// begin with those of another attempt is none.
func (g *gate) finish(text string) error {
	rest, ok := strings.CutPrefix(text, g.sent.String())
	switch {
	case !ok && g.speaker != g.attempt:
		return errDiverged
	case !ok || g.emit == nil:
		return nil
	}
	return g.hand(provider.Delta{Text: rest})
}
