package manifests

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// readYAML reads one YAML 1.2 document of the JSON schema (YAML 1.2.2, section
// 10.2): maps with text keys, lists, text, plain numbers, booleans and null.
// Anchors, aliases, merge keys and tags of other types are problems: they make
// a short document long, or mean different things to different readers.
func readYAML(data []byte) (*node, *Problem) {
	if !utf8.Valid(data) {
		return nil, invalidUTF8(data)
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	if err := dec.Decode(&doc); err != nil {
		return nil, yamlProblem(err)
	}
	var more yaml.Node
	if err := dec.Decode(&more); err == nil {
		return nil, &Problem{Line: more.Line, Message: "holds a second document", Suggestion: "remove everything from the second --- on"}
	} else if !errors.Is(err, io.EOF) {
		return nil, yamlProblem(err)
	}
	if len(doc.Content) != 1 {
		return nil, &Problem{Message: "is empty"}
	}
	return fromYAML(doc.Content[0], 0)
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// yamlProblem turns an error of the YAML library, whose text is all it has,
// into a problem.
func yamlProblem(err error) *Problem {
	if errors.Is(err, io.EOF) {
		return &Problem{Message: "is empty"}
	}
	text := err.Error()
	p := &Problem{}
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		p.Line, _ = strconv.Atoi(m[1]) // no number: line 0, not known
		text = text[len(m[0]):]
	}
	p.Message = "is not YAML: " + text
	return p
}

func fromYAML(y *yaml.Node, depth int) (*node, *Problem) {
	n := &node{line: y.Line}
	if y.Anchor != "" || y.Kind == yaml.AliasNode {
		return nil, &Problem{Line: y.Line, Message: "anchors and aliases are not accepted", Suggestion: "write the value out"}
	}
	if y.Kind != yaml.ScalarNode && depth >= MaxDepth {
		return nil, tooDeep(y.Line)
	}
	switch {
	case y.Kind == yaml.MappingNode && y.ShortTag() == "!!map":
		return n, n.fillMap(y, depth)
	case y.Kind == yaml.SequenceNode && y.ShortTag() == "!!seq":
		return n, n.fillList(y, depth)
	case y.Kind == yaml.ScalarNode:
		return n, n.fillScalar(y)
	}
	return nil, &Problem{Line: y.Line, Message: fmt.Sprintf("the tag %s is not accepted", y.Tag), Suggestion: "remove it"}
}

func (n *node) fillMap(y *yaml.Node, depth int) *Problem {
	n.kind = objectNode
	seen := map[string]int{}
	for i := 0; i+1 < len(y.Content); i += 2 {
		key := y.Content[i]
		if p := checkYAMLKey(key); p != nil {
			return p
		}
		v, p := fromYAML(y.Content[i+1], depth+1)
		if p != nil {
			return p.under(keyStep(key.Value))
		}
		if p := n.add(seen, field{key.Value, key.Line, v}); p != nil {
			return p
		}
	}
	return nil
}

func checkYAMLKey(key *yaml.Node) *Problem {
	switch {
	case key.ShortTag() == "!!merge":
		return &Problem{Line: key.Line, Message: "merge keys (<<) are not accepted", Suggestion: "write the fields out"}
	case key.Anchor != "" || key.Kind == yaml.AliasNode:
		return &Problem{Line: key.Line, Message: "anchors and aliases are not accepted", Suggestion: "write the key out"}
	case key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str":
		return &Problem{Line: key.Line, Message: fmt.Sprintf("the key %q is not text", key.Value), Suggestion: "put it in quotes"}
	}
	return nil
}

func (n *node) fillList(y *yaml.Node, depth int) *Problem {
	n.kind = listNode
	for i, item := range y.Content {
		v, p := fromYAML(item, depth+1)
		if p != nil {
			return p.under(indexStep(i))
		}
		n.items = append(n.items, v)
	}
	return nil
}

// fillScalar reads a scalar. A date is text, as in JSON.
func (n *node) fillScalar(y *yaml.Node) *Problem {
	switch y.ShortTag() {
	case "!!str", "!!timestamp":
		n.scalar = y.Value
	case "!!null":
		n.scalar = nil
	case "!!bool":
		return n.fillBool(y)
	case "!!int", "!!float":
		return n.fillNumber(y)
	default:
		return &Problem{Line: y.Line, Message: fmt.Sprintf("the tag %s is not accepted", y.Tag), Suggestion: "remove it"}
	}
	return nil
}

func (n *node) fillBool(y *yaml.Node) *Problem {
	n.scalar = strings.EqualFold(y.Value, "true")
	if n.scalar == false && !strings.EqualFold(y.Value, "false") {
		return &Problem{Line: y.Line, Message: fmt.Sprintf("%q is neither true nor false", y.Value), Suggestion: "write true or false"}
	}
	return nil
}

// fillNumber accepts numbers as JSON writes them. 010, 0x10, 1_000 and .inf
// mean different things to different readers.
func (n *node) fillNumber(y *yaml.Node) *Problem {
	if strings.Trim(y.Value[:min(1, len(y.Value))], "-0123456789") != "" || !json.Valid([]byte(y.Value)) {
		return &Problem{
			Line:       y.Line,
			Message:    fmt.Sprintf("the number %s is not written plainly", y.Value),
			Suggestion: "write decimal digits, such as 10 or 2.5, or put text in quotes",
		}
	}
	if p := checkNumber(y.Value); p != nil {
		p.Line = y.Line
		return p
	}
	n.scalar = json.Number(y.Value)
	return nil
}
