package manifests

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Bounds on regular expressions. One of a few bytes can have an automaton of
// millions of states, each of which takes memory and time to make.
const (
	// MaxPatternStates is how many states the automaton of one may have.
	MaxPatternStates = 10_000
	// MaxSchemaStates is how many those of one schema may have together.
	MaxSchemaStates = 100_000
)

// CompilePattern compiles a regular expression in RE2 syntax, whose matching time
// is linear in the text, and says how many states its automaton has at most. One
// that would have more than [MaxPatternStates] is refused before it is compiled.
func CompilePattern(text string) (re *regexp.Regexp, states int, err error) {
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, 0, err
	}
	if states = statesOf(tree); states > MaxPatternStates {
		return nil, 0, &PatternSizeError{states, false}
	}
	re, err = regexp.Compile(text)
	return re, states, err
}

// PatternStates is how many states the automaton of a regular expression would have
// at most; 0 for what is none. Nothing is compiled.
func PatternStates(text string) int {
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return 0
	}
	return statesOf(tree)
}

// A PatternSizeError is a regular expression that is not compiled, because its
// automaton, or all of those of its schema together, would have too many states.
type PatternSizeError struct {
	States   int
	Together bool
}

// Error says how many.
func (e *PatternSizeError) Error() string {
	if e.Together {
		return fmt.Sprintf("the regular expressions of the schema are too large together: their automata would have %d states, and may have %d", e.States, MaxSchemaStates)
	}
	return fmt.Sprintf("the regular expression is too large: its automaton would have %d states, and may have %d", e.States, MaxPatternStates)
}

// statesOf is how many states the automaton of an expression has at most, without
// the two of every one: package regexp/syntax makes copies of what is repeated.
func statesOf(re *syntax.Regexp) int {
	n := 0
	for _, sub := range re.Sub {
		n += statesOf(sub)
	}
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune)
	case syntax.OpConcat:
		return n
	case syntax.OpAlternate:
		return n + len(re.Sub)
	case syntax.OpCapture:
		return n + 2
	case syntax.OpRepeat:
		if re.Max > re.Min {
			n++ // each of them may be the last
		}
		return n*max(re.Min, re.Max, 1) + 1
	}
	return n + 1
}

// patterns compiles the regular expressions of one schema: each once, although the
// library asks for it again when it has found that it is one. Of the texts that are
// checked with the schema later, none counts.
type patterns struct {
	mu    sync.Mutex
	known map[string]*pattern // nil when the schema is compiled
	left  int                 // states
}

// compile is a [jsonschema.RegexpEngine].
func (p *patterns) compile(text string) (jsonschema.Regexp, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if re, ok := p.known[text]; ok {
		return re, nil
	}
	re, states, err := CompilePattern(text)
	if err != nil {
		return nil, err
	}
	if p.known == nil {
		return re, nil
	}
	if p.left -= states; p.left < 0 {
		return nil, &PatternSizeError{MaxSchemaStates - p.left, true}
	}
	p.known[text] = &pattern{re, states}
	return p.known[text], nil
}

// done says that the schema is compiled.
func (p *patterns) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known = nil
}
