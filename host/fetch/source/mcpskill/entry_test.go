package mcpskill

import (
	"encoding/json"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// Whatever a server announces, what is read is in the skill, once, and within bounds.
func FuzzEntry(f *testing.F) {
	const digest = `"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"`
	f.Add(`{"uri":"skill://a/SKILL.md","frontmatter":{"name":"a"},"resources":[{"uri":"skill://a/SKILL.md","digest":` + digest + `,"size":0},{"uri":"skill://a/b%20c/d","digest":` + digest + `,"size":1}]}`)
	f.Add(`{"uri":"x:///a/SKILL.md","frontmatter":{"name":"a"},"resources":[{"uri":"x:///a/../SKILL.md","digest":` + digest + `,"size":1e3}]}`)
	f.Add(`{"uri":"skill://a/SKILL.md","frontmatter":{"name":"a"},"resources":"dynamic"}`)
	f.Fuzz(func(t *testing.T, text string) {
		var e entry
		if json.Unmarshal([]byte(text), &e) != nil {
			return
		}
		m, err := e.manifest()
		if err != nil {
			if m != nil || len(err.Error()) > 4000 && len(text) < 1000 {
				t.Errorf("%q: %v, %v", text, m, err)
			}
			return
		}
		seen, total := map[string]bool{}, int64(0)
		for _, file := range m.files {
			if !filepath.IsLocal(file.path) || path.Clean(file.path) != file.path || seen[file.path] || file.size < 0 || strings.Contains(file.path, `\`) {
				t.Errorf("%q: the file %+v", text, file)
			}
			seen[file.path] = true
			total += file.size
		}
		if !seen["SKILL.md"] || len(m.files) > MaxFiles || total > MaxBytes || total != m.total {
			t.Errorf("%q: %+v", text, m)
		}
	})
}
