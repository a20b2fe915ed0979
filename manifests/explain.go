package manifests

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

const (
	// maxProblems is how many problems of one value are told.
	maxProblems = 20
	// maxLeaves is how many are looked at to tell them in order.
	maxLeaves = 1000
)

// explain says in plain words why v did not fit its schema. v may be nil when
// the value is not at hand; then steps into lists are told as members. hint,
// when it is not nil, may improve a problem of which it knows more.
func explain(err *jsonschema.ValidationError, v any, hint func(leaf *jsonschema.ValidationError, name string, p *Problem)) Errors {
	var errs Errors
	found := leaves(err, nil)
	for _, leaf := range found[:min(len(found), maxLeaves)] {
		path := instancePath(leaf.InstanceLocation, v)
		if _, ok := leaf.ErrorKind.(*kind.PropertyNames); ok {
			path = "" // the library overwrites the location of these
		}
		for _, p := range tell(leaf) {
			if hint != nil {
				hint(leaf, p.Path, &p)
			}
			p.Path = join(path, p.Path)
			errs = append(errs, p)
		}
	}
	slices.SortStableFunc(errs, func(a, b Problem) int { return strings.Compare(a.Path, b.Path) })
	errs = slices.CompactFunc(errs, func(a, b Problem) bool { return a == b })
	if len(errs) > maxProblems {
		rest := len(errs) - maxProblems + max(0, len(found)-maxLeaves)
		errs = append(errs[:maxProblems], Problem{Message: fmt.Sprintf("and %d more problems", rest)})
	}
	return errs
}

// leaves appends the errors that say what is wrong. The ones above them only
// say which keyword led there, except that of alternatives none fits.
func leaves(err *jsonschema.ValidationError, to []*jsonschema.ValidationError) []*jsonschema.ValidationError {
	switch err.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf, *kind.PropertyNames, *kind.Contains:
		return append(to, err)
	}
	if len(err.Causes) == 0 {
		return append(to, err)
	}
	for _, cause := range err.Causes {
		to = leaves(cause, to)
	}
	return to
}

// instancePath writes the location of a value as a path.
func instancePath(steps []string, v any) string {
	path := ""
	for _, step := range steps {
		switch at := v.(type) {
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(at) {
				return join(path, keyStep(step))
			}
			path, v = join(path, indexStep(i)), at[i]
		case map[string]any:
			path, v = join(path, keyStep(step)), at[step]
		default:
			path = join(path, keyStep(step))
		}
	}
	return path
}

// tell says what a leaf error means. Paths are relative to its location.
func tell(err *jsonschema.ValidationError) []Problem {
	switch k := err.ErrorKind.(type) {
	case *kind.Required:
		return tellEach(k.Missing, "is missing")
	case *kind.AdditionalProperties:
		return tellEach(k.Properties, "unknown field")
	case *kind.PropertyNames:
		return []Problem{{Message: fmt.Sprintf("the name %s is not accepted", show(k.Property)), Suggestion: tellInner(err.Causes)}}
	case *kind.DependentRequired:
		return tellEach(k.Missing, fmt.Sprintf("is missing; %s needs it", k.Prop))
	case *kind.AnyOf:
		return []Problem{{Message: "fits none of the forms allowed", Suggestion: tellInner(err.Causes)}}
	case *kind.OneOf:
		return []Problem{tellOneOf(k, err.Causes)}
	case *kind.Enum:
		return []Problem{tellEnum(k)}
	}
	return []Problem{{Message: tellPlain(err.ErrorKind)}}
}

func tellEach(names []string, what string) []Problem {
	all := make([]Problem, len(names))
	for i, name := range names {
		all[i] = Problem{Path: keyStep(name), Message: what}
	}
	return all
}

// tellInner tells the first few of several causes on one line.
func tellInner(causes []*jsonschema.ValidationError) string {
	var texts []string
	for _, cause := range causes {
		for _, leaf := range leaves(cause, nil) {
			for _, p := range tell(leaf) {
				texts = append(texts, p.String())
			}
		}
	}
	slices.Sort(texts)
	texts = slices.Compact(texts)
	if len(texts) > 3 {
		texts = append(texts[:3], "...")
	}
	return strings.Join(texts, ", or ")
}

func tellOneOf(k *kind.OneOf, causes []*jsonschema.ValidationError) Problem {
	if len(k.Subschemas) > 0 {
		return Problem{Message: "fits more than one of the forms allowed", Suggestion: "it must fit exactly one"}
	}
	return Problem{Message: "fits none of the forms allowed", Suggestion: tellInner(causes)}
}

func tellEnum(k *kind.Enum) Problem {
	var words, values []string
	for _, v := range k.Want {
		if text, ok := v.(string); ok {
			words = append(words, text)
		}
		values = append(values, show(v))
	}
	p := Problem{Message: fmt.Sprintf("has %s, wants %s", show(k.Got), oneOf(values))}
	if got, ok := k.Got.(string); ok {
		p.Suggestion = didYouMean(got, words)
	}
	return p
}

// tellPlain tells the kinds that need no more than their own figures.
func tellPlain(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return fmt.Sprintf("wants %s, has %s", typesInWords(k.Want), typeInWords(k.Got))
	case *kind.Const:
		return fmt.Sprintf("has %s, wants %s", show(k.Got), show(k.Want))
	case *kind.Pattern:
		return fmt.Sprintf("has %s, which does not match %s", show(k.Got), k.Want)
	case *kind.Format:
		if large := (*PatternSizeError)(nil); errors.As(k.Err, &large) {
			return fmt.Sprintf("has %s: %v", show(k.Got), large)
		}
		return fmt.Sprintf("has %s, which is not a valid %s", show(k.Got), k.Want)
	case *kind.MinLength:
		return fmt.Sprintf("has %s, wants at least %d", count(k.Got, "character"), k.Want)
	case *kind.MaxLength:
		return fmt.Sprintf("has %s, wants at most %d", count(k.Got, "character"), k.Want)
	case *kind.MinItems:
		return fmt.Sprintf("has %s, wants at least %d", count(k.Got, "item"), k.Want)
	case *kind.MaxItems:
		return fmt.Sprintf("has %s, wants at most %d", count(k.Got, "item"), k.Want)
	case *kind.UniqueItems:
		return fmt.Sprintf("has the same value at [%d] and [%d]", k.Duplicates[0], k.Duplicates[1])
	case *kind.Minimum:
		return fmt.Sprintf("has %s, wants at least %s", figure(k.Got), figure(k.Want))
	case *kind.Maximum:
		return fmt.Sprintf("has %s, wants at most %s", figure(k.Got), figure(k.Want))
	case *kind.ExclusiveMinimum:
		return fmt.Sprintf("has %s, wants more than %s", figure(k.Got), figure(k.Want))
	case *kind.ExclusiveMaximum:
		return fmt.Sprintf("has %s, wants less than %s", figure(k.Got), figure(k.Want))
	}
	return (&jsonschema.ValidationError{ErrorKind: k}).DetailedOutput().Error.String()
}

// typeInWords says the name of a JSON type for people.
func typeInWords(t string) string {
	words := map[string]string{
		"null": "nothing (null)", "boolean": "true or false", "number": "a number",
		"integer": "a whole number", "string": "text", "array": "a list", "object": "an object",
	}
	if w, ok := words[t]; ok {
		return w
	}
	return t
}

func typesInWords(types []string) string {
	words := make([]string, len(types))
	for i, t := range types {
		words[i] = typeInWords(t)
	}
	return strings.Join(words, " or ")
}

// oneOf joins the values a field may have.
func oneOf(values []string) string {
	const most = 12
	if len(values) > most {
		values = append(slices.Clone(values[:most]), "...")
	}
	if len(values) == 1 {
		return values[0]
	}
	return "one of " + strings.Join(values, ", ")
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// figure writes a number of a schema the way people do.
func figure(r *big.Rat) string {
	if r.IsInt() {
		return show(json.Number(r.Num().String()))
	}
	f, _ := r.Float64() // for people: the nearest float will do
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// show writes a value as JSON, shortened, without control characters.
func show(v any) string {
	const most = 60
	if text, ok := v.(string); ok {
		return strconv.Quote(shorten(text, most))
	}
	b, err := json.Marshal(v)
	if err != nil {
		return "a value"
	}
	return shorten(string(b), most)
}

// shorten cuts text after n characters.
func shorten(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i] + "..."
		}
		n--
	}
	return text
}
