package manifests_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/manifests"
)

const skillMD = `---
name: pdf-processing
description: Extract text from PDF files. Use when working with them.
license: Apache-2.0
compatibility: Requires poppler
metadata:
  author: example-org
  version: 1.0
allowed-tools: Bash(git:*) Read
---
# PDF processing

Open the file.
---
Not front matter.
`

func TestParseSkillMD(t *testing.T) {
	t.Parallel()
	want := &manifests.AgentSkill{
		AllowedTools:  []string{"Bash(git:*)", "Read"},
		Compatibility: "Requires poppler",
		Metadata:      map[string]string{"author": "example-org", "version": "1.0"},
	}
	for name, text := range map[string]string{
		"line feeds":        skillMD,
		"carriage returns":  strings.ReplaceAll(skillMD, "\n", "\r\n"),
		"byte order mark":   "\ufeff" + skillMD,
		"no last line feed": strings.TrimSuffix(skillMD, "\n"),
	} {
		m, err := manifests.ParseSkillMD([]byte(text), "SKILL.md")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if m.Name != "pdf-processing" || m.Version != "1.0.0" || m.Author != "example-org" || m.License != "Apache-2.0" || m.Type != manifests.KindConversation {
			t.Errorf("%s: %+v", name, m)
		}
		if m.Prompt != "# PDF processing\n\nOpen the file.\n---\nNot front matter." {
			t.Errorf("%s: prompt %q", name, m.Prompt)
		}
		if !reflect.DeepEqual(m.AgentSkill, want) {
			t.Errorf("%s: %+v", name, m.AgentSkill)
		}
	}
}

func TestSkillMDNeverApprovesItself(t *testing.T) {
	t.Parallel()
	m, err := manifests.ParseSkillMD([]byte(skillMD), "SKILL.md")
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Unsupported(); len(got) > 0 {
		t.Errorf("refused: %v", got)
	}
	if asked, err := m.Requests("/w"); err != nil || len(asked) != 0 {
		t.Errorf("asks for %v, %v", asked, err)
	}
}

func TestSkillMDForms(t *testing.T) {
	t.Parallel()
	const head = "---\nname: demo\ndescription: d\n"
	for text, ok := range map[string]bool{
		head + "---\nDo it.":                                                  true,
		head + "allowed-tools: [a, b]\n---\nDo it.":                           true,
		head + "metadata: {version: newest}\n---\nDo":                         true,
		head + "license: 5\n---\nDo it.":                                      false,
		head + "metadata: none\n---\nDo it.":                                  false,
		head + "allowed-tools: [5]\n---\nDo it.":                              false,
		head + "---":                                                          false,
		head + "---\n  \n":                                                    false,
		head + "compatibility: " + strings.Repeat("x", 501) + "\n---\nDo it.": false,
		head + "license: \"a\\e[2J\"\n---\nDo it.":                            false,
		head + "---\nDo \x1b[2J it.":                                          false,
		"---\nname: &a demo\ndescription: *a\n---\nDo it.":                    false,
		"---\n- name\n---\nDo it.":                                            false,
		"---\nname: demo\n---\nDo it.":                                        false,
		"----\nname: demo\n----\nDo it.":                                      false,
		"":                                                                    false,
	} {
		if m, err := manifests.ParseSkillMD([]byte(text), "SKILL.md"); (err == nil) != ok {
			t.Errorf("%q: %+v, %v", text, m, err)
		}
	}
}

// Fields that other hosts have added are told, and nothing follows from them but
// the version.
func TestSkillMDOthers(t *testing.T) {
	t.Parallel()
	m, err := manifests.ParseSkillMD([]byte("---\nname: demo\ndescription: d\nversion: 1.2.0\nmodel: fast\ncredentials: [A]\nmetadata: {old: true, needs: [a, b]}\n---\nDo it."), "SKILL.md")
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(m.AgentSkill.Others, " "); got != "version model credentials" || m.Version != "1.2.0" || m.Model != "" {
		t.Errorf("%s, %s, %q", got, m.Version, m.Model)
	}
	if got := m.AgentSkill.Metadata; got["old"] != "true" || got["needs"] != `["a","b"]` {
		t.Errorf("%v", got)
	}
	if m, err = manifests.ParseSkillMD([]byte("---\nname: demo\ndescription: d\nversion: 2.0.0\nmetadata: {version: 1.2.0}\n---\nDo it."), "SKILL.md"); err != nil || m.Version != "1.2.0" {
		t.Errorf("%+v, %v", m, err)
	}
	for _, bad := range []string{"\u202efield: x", "\"a\\eb\": x"} {
		if _, err := manifests.ParseSkillMD([]byte("---\nname: demo\ndescription: d\n"+bad+"\n---\nDo it."), "SKILL.md"); err == nil {
			t.Errorf("%q is a field", bad)
		}
	}
}
