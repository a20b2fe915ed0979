package builtin_test

import (
	"encoding/json"
	"testing"
)

type file struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

const goodManifest = `{"name":"word-count","version":"0.1.0","description":"Counts words","type":"code_inline","command":"qjs","args":["main.js"],
"dependencies":{"qjs":"*"},"tools":[{"name":"count","description":"Counts the words of a text.","input_schema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false},"output_schema":{"type":"object"}}]}`

const goodScript = `/**
 * Counts the words of a text.
 * @param {{text: string}} input
 */
export function count({ text }) {
	return { words: text.split(/\s+/).filter((w) => w !== "").length };
}
`

const goodCases = `[{"name":"counts","tool":"count","input":{"text":"a b"},"expect":{"words":2}}]`

func goodFiles() map[string]string {
	return map[string]string{"skill.json": goodManifest, "main.js": goodScript, "tests/cases.json": goodCases, "README.md": "# word-count\n"}
}

func packageOf(t *testing.T, files map[string]string) string {
	t.Helper()
	a := struct {
		Files     []file `json:"files"`
		Rationale string `json:"rationale"`
	}{Rationale: "Words are counted often."}
	for name, content := range files {
		a.Files = append(a.Files, file{name, content})
	}
	b, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func goodPackage(t *testing.T) string { return packageOf(t, goodFiles()) }
