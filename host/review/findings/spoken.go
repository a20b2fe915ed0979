package findings

import (
	"bytes"
	"encoding/json"
	"iter"
	"slices"
)

// decodedTexts are the texts of the manifest as a program gets them, when they do not
// stand there like that: with escapes read, and lines put together.
func (s *scan) decodedTexts() []passage {
	f := s.manifestFile()
	if f.role != roleManifest || len(f.data) == 0 {
		return nil
	}
	if bytes.HasPrefix(bytes.TrimSpace(f.data), []byte("{")) {
		return escapedTexts(f)
	}
	return foldedTexts(f, s.values)
}

// escapedTexts are the strings of a JSON document that hold escapes.
func escapedTexts(f *file) []passage {
	var all []passage
	for part := range jsonStrings(f.data) {
		raw := f.data[part.from:part.to]
		var text string
		if bytes.IndexByte(raw, '\\') < 0 || json.Unmarshal(raw, &text) != nil {
			continue
		}
		all = append(all, passage{file: f, text: []byte(text), at: part.from, n: len(raw)})
	}
	return all
}

// foldedTexts are the strings of a manifest that do not stand in its YAML as
// they are. They are placed at their first word that does.
func foldedTexts(f *file, manifest []byte) []passage {
	var all []passage
	for part := range jsonStrings(manifest) {
		var text string
		if json.Unmarshal(manifest[part.from:part.to], &text) != nil || bytes.Contains(f.data, []byte(text)) {
			continue
		}
		p := passage{file: f, text: []byte(text)}
		for word := range bytes.FieldsSeq(p.text) {
			if at := bytes.Index(f.data, word); at >= 0 && len(word) > 3 {
				p.at, p.n = at, len(word)
				break
			}
		}
		all = append(all, p)
	}
	return all
}

// jsonStrings yields where the strings of a JSON document stand, quotes
// included.
func jsonStrings(doc []byte) iter.Seq[part] {
	return func(yield func(part) bool) {
		for i := 0; i < len(doc); i++ {
			if doc[i] != '"' {
				continue
			}
			from := i
			for i++; i < len(doc) && doc[i] != '"'; i++ {
				if doc[i] == '\\' {
					i++
				}
			}
			if i >= len(doc) || !yield(part{from: from, to: i + 1}) {
				return
			}
		}
	}
}

// descriptions are the texts a model or a person reads before anything is run.
func (s *scan) descriptions() []passage {
	f := s.manifestFile()
	if f.role == roleManifest {
		return slices.Concat([]passage{f.whole()}, s.decodedTexts())
	}
	front := frontMatter(f.data)
	return []passage{{file: f, text: front, n: len(front), verbatim: true}}
}

// frontMatter is the beginning of a SKILL.md up to its second line of hyphens.
func frontMatter(data []byte) []byte {
	const line = "\n---"
	if i := bytes.Index(data[min(len(data), 3):], []byte(line)); i >= 0 {
		return data[:i+3+len(line)]
	}
	return data
}
