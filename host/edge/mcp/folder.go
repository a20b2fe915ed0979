package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// A skillEntry is a skill as a client lists it: SKILL.md, what stands at its top, and all
// files with their digests.
type skillEntry struct {
	URI         string          `json:"uri"`
	Frontmatter json.RawMessage `json:"frontmatter"`
	Resources   []skillFile     `json:"resources"`
}

// A skillFile is one file of a skill.
type skillFile struct {
	URI    string           `json:"uri"`
	Digest manifests.Digest `json:"digest"`
	Size   int64            `json:"size"` // bytes
}

// What a client is sure to accept of one skill. What has more is not listed.
const (
	maxSkillFiles = 512
	maxSkillBytes = 16 << 20
)

// A folder is an installed version as a folder of the Agent Skills specification.
type folder struct {
	ref         manifests.Ref
	digest      manifests.Digest // of the package
	description string           // as the front matter has it
	entry       skillEntry
	paths       map[string]string // by URI
	// made is a SKILL.md that the package does not have: what its manifest says to a model. It
	// is nil for packages that have one.
	made []byte
}

// root is the URI of a skill's directory.
func root(skill string) string { return "skill://" + skill }

// uriOf is the URI of a file of a skill.
func uriOf(skill, file string) string {
	var b strings.Builder
	b.WriteString(root(skill))
	for name := range strings.SplitSeq(file, "/") {
		b.WriteString("/" + url.PathEscape(name))
	}
	return b.String()
}

// newFolder is the folder of a package; ok is false for one whose SKILL.md says something
// that cannot be said in JSON as it stands there.
func newFolder(p *bundle.Package) (f *folder, ok bool) {
	m := p.Manifest()
	f = &folder{ref: manifests.Ref{Name: m.Name, Version: m.Version}, digest: p.Digest(), paths: map[string]string{}}
	files := p.Files()
	text, err := p.Read(manifests.FileSkillMD)
	if err != nil {
		text = skillMD(p)
		f.made = text
		files = append(files, bundle.File{Path: manifests.FileSkillMD, Size: int64(len(text)), Digest: manifests.DigestOf(text)})
		slices.SortFunc(files, func(a, b bundle.File) int { return strings.Compare(a.Path, b.Path) })
	}
	f.entry.URI = uriOf(m.Name, manifests.FileSkillMD)
	if f.entry.Frontmatter, err = manifests.FrontMatter(text); err != nil {
		return nil, false
	}
	var front struct{ Name, Description string }
	if err := json.Unmarshal(f.entry.Frontmatter, &front); err != nil || front.Name != m.Name || front.Description == "" {
		return nil, false
	}
	f.description = front.Description
	for _, file := range files {
		uri := uriOf(m.Name, file.Path)
		f.entry.Resources, f.paths[uri] = append(f.entry.Resources, skillFile{uri, file.Digest, file.Size}), file.Path
	}
	return f, true
}

// skillMD writes the SKILL.md of a package without one: what its manifest says to a model, and
// its README.
func skillMD(p *bundle.Package) []byte {
	m := p.Manifest()
	description := m.Description
	if description == "" {
		description = m.Name
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "---\nname: %s\ndescription: %s\nmetadata:\n  version: %s\n---\n\n", m.Name, quoted(description), quoted(m.Version))
	readme, _ := p.Read("README.md") // none is empty
	switch {
	case m.Prompt != "":
		b.WriteString(m.Prompt)
	case m.PromptTemplate != "":
		b.WriteString(m.PromptTemplate)
	case len(bytes.TrimSpace(readme)) > 0 && utf8.Valid(readme):
		b.Write(readme)
	default:
		fmt.Fprintf(&b, "# %s\n\n%s\n", m.Name, description)
		for i, t := range toolsOf(m) {
			if i == 0 {
				b.WriteString("\nIts tools:\n\n")
			}
			fmt.Fprintf(&b, "- `%s`: %s\n", nameOf(m.Name, t.Name), t.Description)
		}
	}
	return b.Bytes()
}

// quoted is a text as YAML and JSON both write it.
func quoted(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a string
	return strings.TrimSpace(b.String())
}

// isListed reports whether every client accepts as much.
func (f *folder) isListed() bool {
	total := int64(0)
	for _, file := range f.entry.Resources {
		total += file.Size
	}
	return len(f.entry.Resources) <= maxSkillFiles && total <= maxSkillBytes
}

// isFor reports whether a token sees the files of a skill: it has to do with the skill, and
// there is something in it for a model.
func isFor(p govern.Pass, m *manifests.Manifest) bool {
	return p.Sees(m.Name) && !m.Type.IsPlugin() && (m.Type.IsPrompt() || len(toolsOf(m)) > 0)
}

// A child is a file or a directory in a directory of a skill.
type child struct {
	uri, name string
	file      *skillFile // nil for a directory
}

// children are what is in a directory of the folder, by name; ok is false when there is no
// such directory.
func (f *folder) children(dir string) (all []child, ok bool) {
	for i, file := range f.entry.Resources {
		rest, in := strings.CutPrefix(file.URI, dir+"/")
		if !in {
			continue
		}
		ok = true
		step, _, nested := strings.Cut(rest, "/")
		c := child{uri: dir + "/" + step, name: path.Base(f.paths[file.URI])}
		if nested {
			c.name, _ = url.PathUnescape(step) // it was escaped here
		} else {
			c.file = &f.entry.Resources[i]
		}
		if !slices.ContainsFunc(all, func(o child) bool { return o.uri == c.uri }) {
			all = append(all, c)
		}
	}
	return all, ok
}

// mimeOf is the media type of a file.
func mimeOf(file string, content []byte) string {
	if t, ok := mimes[strings.ToLower(path.Ext(file))]; ok {
		return t
	}
	if content == nil || utf8.Valid(content) {
		return "text/plain"
	}
	return "application/octet-stream"
}

// mimes are media types by the endings of names, the same on every machine.
var mimes = map[string]string{
	".md": "text/markdown", ".txt": "text/plain", ".html": "text/html", ".csv": "text/csv", ".css": "text/css",
	".json": "application/json", ".yaml": "application/yaml", ".yml": "application/yaml", ".xml": "application/xml", ".pdf": "application/pdf",
	".py": "text/x-python", ".js": "text/javascript", ".mjs": "text/javascript", ".ts": "text/x-typescript", ".sh": "text/x-shellscript",
	".wasm": "application/wasm", ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".svg": "image/svg+xml", ".zip": "application/zip",
}
