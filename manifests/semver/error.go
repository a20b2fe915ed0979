package semver

import (
	"errors"
	"fmt"
	"strings"
)

// What an [*Error] wraps.
var (
	// ErrVersion means a text is not a version.
	ErrVersion = errors.New("no semantic version")
	// ErrRange means a text is not a version constraint.
	ErrRange = errors.New("no version constraint")
)

// An Error says what is wrong with a text, and what to write.
type Error struct {
	// Text is what was read, shortened when it is long.
	Text string
	// Problem says what is wrong with it, as a sentence without a subject.
	Problem string
	// Instead is a text that is accepted and means what Text seems to; empty when
	// there is no telling.
	Instead string

	kind error
}

// Error returns one line: the text, the problem, and what to write.
func (e *Error) Error() string {
	line := fmt.Sprintf("parse %q: %v: %s", e.Text, e.kind, e.Problem)
	return line + "; " + e.Suggestion()
}

// Suggestion says what to write, as an imperative.
func (e *Error) Suggestion() string {
	switch {
	case e.Instead != "":
		return "write " + e.Instead
	case e.kind == ErrVersion:
		return "write three numbers, such as 1.2.0"
	default:
		return "write one such as ^1.2.0 or >=2.1.0 <3.0.0"
	}
}

// Unwrap returns [ErrVersion] or [ErrRange].
func (e *Error) Unwrap() error { return e.kind }

func shorten(text string) string {
	const limit = 80
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}

func versionError(text string) *Error {
	e := &Error{Text: shorten(text), kind: ErrVersion, Problem: "is not three numbers with dots between"}
	if len(text) > MaxLength {
		e.Problem = fmt.Sprintf("has more than %d characters", MaxLength)
		return e
	}
	if p, ok := parsePartial(strings.TrimLeft(strings.TrimSpace(text), "v= ")); ok && p.firstWildcard < 3 {
		e.Problem = "does not have all three numbers"
		if p.firstWildcard == p.parts {
			e.Instead = p.version.String()
		}
		return e
	}
	if strict, problem := tighten(text); strict != "" {
		e.Instead, e.Problem = strict, problem
	} else if hasLongNumber(text) {
		e.Problem = fmt.Sprintf("has a number above %d", uint64(MaxNumber))
	}
	return e
}

func hasLongNumber(text string) bool {
	for n := range strings.FieldsFuncSeq(text, func(r rune) bool { return r < '0' || r > '9' }) {
		if len(n) >= 16 {
			if _, ok := parseNumber(strings.TrimLeft(n, "0")); !ok {
				return true
			}
		}
	}
	return false
}

// tighten returns the version that npm's loose mode reads in text, in the strict
// form, and what is not strict about text. It returns nothing when there is no
// such version.
func tighten(text string) (strict, problem string) {
	strict, problem = tightenPartial(strings.TrimSpace(text))
	if _, ok := strictVersion(strict); !ok {
		return "", ""
	}
	return strict, problem
}

func tightenPartial(text string) (strict, problem string) {
	text = strings.TrimLeft(text, "v= \t")
	problem = `has a "v", a "=" or a blank too many`
	core, tail := text, ""
	if i := strings.IndexFunc(text, func(r rune) bool { return r != '.' && (r < '0' || r > '9') }); i >= 0 {
		core, tail = text[:i], text[i:]
	}
	numbers := strings.Split(core, ".")
	for i, n := range numbers {
		if numbers[i] = trimZeros(n); numbers[i] != n {
			problem = "has a number with a leading zero"
		}
	}
	pre, build, hasBuild := strings.Cut(tail, "+")
	if pre != "" && pre[0] != '-' {
		pre, problem = "-"+pre, "has no hyphen before its prerelease"
	}
	strict = strings.Join(numbers, ".") + strictPrerelease(pre, &problem)
	if hasBuild {
		strict += "+" + build
	}
	return strict, problem
}

// strictPrerelease takes leading zeros from the numbers of a prerelease.
func strictPrerelease(pre string, problem *string) string {
	hyphen, list := "", pre
	if pre != "" {
		hyphen, list = pre[:1], pre[1:]
	}
	ids := strings.Split(list, ".")
	for i, id := range ids {
		if len(id) > 1 && isNumeric(id) && id[0] == '0' {
			ids[i], *problem = trimZeros(id), "has a number with a leading zero"
		}
	}
	return hyphen + strings.Join(ids, ".")
}

func trimZeros(n string) string {
	if bare := strings.TrimLeft(n, "0"); bare != "" || n == "" {
		return bare
	}
	return "0"
}

func rangeError(text, problem string) *Error {
	e := &Error{Text: shorten(text), kind: ErrRange, Problem: problem}
	if len(text) > MaxRangeLength {
		return e
	}
	if hasLongNumber(text) {
		e.Problem = fmt.Sprintf("has a number above %d", uint64(MaxNumber))
	}
	strict := tightenRange(text)
	if _, problem := readRange(strict, false); problem == "" {
		e.Instead = strict
	}
	return e
}

// tightenRange writes a constraint that other dialects or npm's loose mode read
// as this package would. It is a guess: whether it can be read is to be seen.
func tightenRange(text string) string {
	text = strings.NewReplacer(",", " ", "=>", ">=", "=<", "<=", "==", "=").Replace(text)
	var parts []string
	for part := range strings.SplitSeq(text, "||") {
		words := strings.Fields(part)
		for i, w := range words {
			words[i] = tightenWord(w)
		}
		parts = append(parts, strings.Join(words, " "))
	}
	return strings.Join(parts, " || ")
}

func tightenWord(word string) string {
	sign, rest := cutSign(word)
	bare := strings.TrimLeft(rest, "v=")
	if _, ok := parsePartial(bare); ok || word == "-" {
		return sign + bare
	}
	strict, _ := tightenPartial(bare)
	return sign + strict
}
