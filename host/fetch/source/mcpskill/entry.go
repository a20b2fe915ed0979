package mcpskill

import (
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/skillet-run/skillet/host/fetch/source/transfer"
	"github.com/skillet-run/skillet/manifests"
)

type listParams struct {
	sdk.ParamsBase
	Cursor string `json:"cursor,omitempty"`
}

type listResult struct {
	sdk.ResultBase
	Skills     []entry `json:"skills"`
	NextCursor string  `json:"nextCursor"`
}

type getParams struct {
	sdk.ParamsBase
	URI string `json:"uri"`
}

type getResult struct {
	sdk.ResultBase
	Skill entry `json:"skill"`
}

// An entry is a skill as a server announces it.
type entry struct {
	URI         string         `json:"uri"`
	Frontmatter map[string]any `json:"frontmatter"`
	// Resources are the files, or the text "dynamic".
	Resources json.RawMessage `json:"resources"`
}

func (e entry) name() string {
	name, _ := e.Frontmatter["name"].(string)
	return name
}

// folder is the name of the folder of the skill, by its address.
func (e entry) folder() string { return lastOf(strings.TrimSuffix(e.URI, "/"+manifests.FileSkillMD)) }

func urisOf(all []entry) string {
	var uris []string
	for _, e := range all {
		uris = append(uris, e.URI)
	}
	return strings.Join(uris, ", ")
}

// addressOf is the URI of the SKILL.md that a text means, and whether the text is a name.
func addressOf(skill string) (uri string, isName bool) {
	if strings.Contains(skill, "://") {
		return skill, false
	}
	return "skill://" + skill + "/" + manifests.FileSkillMD, !strings.Contains(skill, "/")
}

// A file is one that a server announced.
type file struct {
	uri, path string
	digest    manifests.Digest
	size      int64
}

// verify demands that bytes are those of the file.
func (f file) verify(b []byte) error {
	if got := manifests.DigestOf(b); int64(len(b)) != f.size || got != f.digest {
		return fmt.Errorf("%w: %s has %d bytes and the digest %s; announced were %d and %s", transfer.ErrTampered, f.uri, len(b), got.Short(), f.size, f.digest.Short())
	}
	return nil
}

// A manifest is what a server announced of a skill, after it was looked at.
type manifest struct {
	front map[string]any
	files []file
	total int64 // bytes
}

func nonsense(format string, args ...any) error {
	return fmt.Errorf("%w: %s", transfer.ErrProtocol, fmt.Sprintf(format, args...))
}

// manifest looks at an entry: whether it announces all that is read, and nothing beside the
// skill.
func (e entry) manifest() (*manifest, error) {
	root, ok := strings.CutSuffix(e.URI, "/"+manifests.FileSkillMD)
	if !ok || e.name() == "" || e.folder() != e.name() {
		return nil, nonsense("the skill at %q calls itself %q", shortened(e.URI), shortened(e.name()))
	}
	if string(e.Resources) == `"dynamic"` {
		return nil, nonsense("%s is made anew each time, so that nobody can approve its files", e.URI)
	}
	var announced []struct {
		URI    string `json:"uri"`
		Digest string `json:"digest"`
		Size   *int64 `json:"size"`
	}
	if err := json.Unmarshal(e.Resources, &announced); err != nil || len(announced) == 0 {
		return nil, nonsense("%s announces no list of its files", e.URI)
	}
	if len(announced) > MaxFiles {
		return nil, fmt.Errorf("%w: %s has %d files, at most %d are accepted", transfer.ErrTooLarge, e.URI, len(announced), MaxFiles)
	}
	m := &manifest{front: e.Frontmatter}
	for _, a := range announced {
		if a.Size == nil || *a.Size < 0 {
			return nil, nonsense("%s has no size", shortened(a.URI))
		}
		at, err := pathIn(root, a.URI)
		if err != nil {
			return nil, err
		}
		digest, err := manifests.ParseDigest(a.Digest)
		if err != nil {
			return nil, nonsense("%s: %v", shortened(a.URI), err)
		}
		if slices.ContainsFunc(m.files, func(f file) bool { return f.path == at }) {
			return nil, nonsense("%s is announced twice", shortened(a.URI))
		}
		if m.total += *a.Size; *a.Size > MaxBytes || m.total > MaxBytes {
			return nil, fmt.Errorf("%w: %s has more than %d bytes", transfer.ErrTooLarge, e.URI, MaxBytes)
		}
		m.files = append(m.files, file{a.URI, at, digest, *a.Size})
	}
	if !slices.ContainsFunc(m.files, func(f file) bool { return f.uri == e.URI }) {
		return nil, nonsense("%s is not among the files that it announces", e.URI)
	}
	return m, nil
}

// lastOf is the last step of the path of a URI.
func lastOf(uri string) string {
	name, err := url.PathUnescape(uri[strings.LastIndex(uri, "/")+1:])
	if err != nil {
		return ""
	}
	return name
}

// pathIn is the path of a file in the skill at root.
func pathIn(root, uri string) (string, error) {
	rest, ok := strings.CutPrefix(uri, root+"/")
	if !ok || strings.ContainsAny(uri, "?#") {
		return "", nonsense("%s is not a file of %s", shortened(uri), shortened(root))
	}
	steps := strings.Split(rest, "/")
	for i, s := range steps {
		name, err := url.PathUnescape(s)
		if err != nil || name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\\\x00") {
			return "", nonsense("%s leaves the skill, or is not the address of a file", shortened(uri))
		}
		steps[i] = name
	}
	return strings.Join(steps, "/"), nil
}

// shortened is a text of a server that is named in an error.
func shortened(text string) string {
	if len(text) > 200 {
		return strings.ToValidUTF8(text[:200], "") + "..."
	}
	return text
}

// check demands that SKILL.md says what the server announced of it.
func (m *manifest) check(files map[string][]byte) error {
	front, err := manifests.FrontMatter(files[manifests.FileSkillMD])
	if err != nil {
		return err
	}
	var said map[string]any
	if err := json.Unmarshal(front, &said); err != nil {
		return err
	}
	if !reflect.DeepEqual(said, m.front) {
		return fmt.Errorf("%w: its SKILL.md says something else at its top than the server announced", transfer.ErrTampered)
	}
	return nil
}
