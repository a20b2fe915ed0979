package capability

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/policies/goldentest"
)

func TestCanonical(t *testing.T) {
	goldentest.Table(t, "canonical.txt", func(input string) string {
		c, err := Parse(input)
		if err != nil {
			return err.Error()
		}
		again, err := Parse(c.String())
		if err != nil || again != c {
			return fmt.Sprintf("no round trip: %v, %v", again, err)
		}
		return c.String()
	})
}

func TestWords(t *testing.T) {
	goldentest.Table(t, "words.txt", func(input string) string {
		c, err := Parse(input)
		if err != nil {
			return err.Error()
		}
		return c.Words()
	})
}

// The example of each action, and what a person reads about it.
func TestWordsForEveryAction(t *testing.T) {
	var all strings.Builder
	for _, k := range Kinds() {
		fmt.Fprintf(&all, "%s => %s\n", k.Example, MustParse(k.Example).Words())
	}
	goldentest.File(t, "testdata/examples.txt", all.String())
	if got := (Capability{}).Words(); got != "do nothing" {
		t.Errorf("zero capability: %q", got)
	}
}

func TestParseErrors(t *testing.T) {
	goldentest.Table(t, "errors.txt", func(input string) string {
		_, err := Parse(unescape(input))
		var pe *ParseError
		if !errors.As(err, &pe) {
			return fmt.Sprintf("no *ParseError: %v", err)
		}
		if pe.Suggestion == "" {
			return pe.Message
		}
		c, err := Parse(pe.Suggestion)
		if err != nil || c.String() != pe.Suggestion {
			return fmt.Sprintf("suggestion %q is no canonical capability: %v", pe.Suggestion, err)
		}
		return pe.Message + " => " + pe.Suggestion
	})
}

// unescape lets a golden table hold what a text file cannot.
func unescape(s string) string {
	return strings.NewReplacer("<TAB>", "\t", "<NUL>", "\x00", "<FF>", "\xff", "<RLO>", "\u202e", "<SP>", " ", "<ESC>", "\x1b", "<LF>", "\n").Replace(s)
}

func TestRequests(t *testing.T) {
	goldentest.Table(t, "requests.txt", func(input string) string {
		r := requestOf(unescape(input))
		canonical, err := r.Canonical()
		if err != nil {
			var pe *ParseError
			if !errors.As(err, &pe) || pe.What != "request" {
				return fmt.Sprintf("no *ParseError of a request: %v", err)
			}
			return fmt.Sprintf("refused as %s: %s", r, pe.Message)
		}
		if again, err := canonical.Canonical(); err != nil || again != canonical {
			return fmt.Sprintf("canonical is not stable: %v, %v", again, err)
		}
		return canonical.String()
	})
}

// requestOf reads what Request.String writes.
func requestOf(text string) Request {
	action, resource, _ := strings.Cut(text, ":")
	r := Request{Action: Action(action), Resource: resource}
	if method, address, found := strings.Cut(resource, " "); found && r.Action == HTTP {
		r.Method, r.Resource = method, address
	}
	return r
}

// TestAllows reads "capability | request => yes or no".
func TestAllows(t *testing.T) {
	goldentest.Table(t, "allows.txt", func(input string) string {
		text, request, _ := strings.Cut(input, " | ")
		c, err := Parse(text)
		if err != nil {
			return err.Error()
		}
		return yesNo(c.Allows(requestOf(unescape(request))))
	})
}

// TestCovers reads "capability | capability => yes or no".
func TestCovers(t *testing.T) {
	goldentest.Table(t, "covers.txt", func(input string) string {
		left, right, _ := strings.Cut(input, " | ")
		c, err := Parse(left)
		if err != nil {
			return err.Error()
		}
		d, err := Parse(right)
		if err != nil {
			return err.Error()
		}
		return yesNo(c.Covers(d))
	})
}

func TestDiff(t *testing.T) {
	goldentest.Table(t, "diff.txt", func(input string) string {
		left, right, _ := strings.Cut(input, " | ")
		before, err := parseList(left)
		if err != nil {
			return err.Error()
		}
		after, err := parseList(right)
		if err != nil {
			return err.Error()
		}
		return strings.Join(Diff(before, after).Words(), "; ")
	})
}

func parseList(text string) (Set, error) {
	if text == "-" {
		return Set{}, nil
	}
	return ParseSet(strings.Split(text, " + ")...)
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
