package mcp

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// extSkills is the extension by which clients read skills as folders of files.
const extSkills = "io.modelcontextprotocol/skills"

// complete is the type of a result that waits for nothing.
const complete = "complete"

// A cached is what a client may keep of a result.
type cached struct {
	TTLMs      int    `json:"ttlMs"`
	CacheScope string `json:"cacheScope"`
}

type listSkillsParams struct {
	sdk.ParamsBase
	Cursor string `json:"cursor,omitempty"`
}

type listSkillsResult struct {
	sdk.ResultBase
	cached
	ResultType string       `json:"resultType"`
	Skills     []skillEntry `json:"skills"`
	NextCursor string       `json:"nextCursor,omitempty"`
}

type getSkillParams struct {
	sdk.ParamsBase
	URI string `json:"uri"`
}

type getSkillResult struct {
	sdk.ResultBase
	cached
	ResultType string     `json:"resultType"`
	Skill      skillEntry `json:"skill"`
}

type readDirectoryParams struct {
	sdk.ParamsBase
	URI    string `json:"uri"`
	Cursor string `json:"cursor,omitempty"`
}

type readDirectoryResult struct {
	sdk.ResultBase
	ResultType string          `json:"resultType"`
	Resources  []*sdk.Resource `json:"resources"`
}

// serveSkills adds what the extension demands of a server.
func (s *tokenServer) serveSkills() {
	s.server.AddResourceTemplate(&sdk.ResourceTemplate{
		Name: "skill files", URITemplate: "skill://{skill}/{+file}", Description: "The files of an installed skill; SKILL.md says what it is for.",
	}, s.readFile)
	method(s, "skills/list", s.listSkills)
	method(s, "skills/get", s.getSkill)
	method(s, "resources/directory/read", s.readDirectory)
}

// method adds a method that the protocol itself does not have. Its parameters are never nil.
func method[P interface {
	*T
	sdk.Params
}, R sdk.Result, T any](s *tokenServer, name string, do func(context.Context, P) (R, error)) {
	err := sdk.AddReceivingCustomMethod(s.server, name, func(ctx context.Context, _ *sdk.ServerSession, p P) (R, error) {
		if p == nil {
			p = new(T)
		}
		return do(ctx, p)
	})
	if err != nil {
		panic(err) // the name is one of the protocol
	}
}

// skillsPage is how many skills are told at once.
const skillsPage = 20

// listSkills answers with a page of the skills that a token sees, by name.
func (s *tokenServer) listSkills(_ context.Context, p *listSkillsParams) (*listSkillsResult, error) {
	out := &listSkillsResult{cached: cached{cacheMS, "private"}, ResultType: complete, Skills: []skillEntry{}}
	for _, f := range s.folders() {
		if f.entry.URI <= p.Cursor || !f.isListed() {
			continue
		}
		if len(out.Skills) == skillsPage {
			out.NextCursor = out.Skills[skillsPage-1].URI
			break
		}
		out.Skills = append(out.Skills, f.entry)
	}
	return out, nil
}

// folders are the skills that are shown, by their URIs.
func (s *tokenServer) folders() []*folder {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*folder
	for _, f := range s.shown.folders {
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b *folder) int { return strings.Compare(a.entry.URI, b.entry.URI) })
	return all
}

func (s *tokenServer) getSkill(_ context.Context, p *getSkillParams) (*getSkillResult, error) {
	f := s.folderAt(p.URI)
	if f == nil || f.entry.URI != p.URI {
		return nil, invalid("no skill is served at %q", p.URI)
	}
	return &getSkillResult{cached: cached{cacheMS, "private"}, ResultType: complete, Skill: f.entry}, nil
}

// folderAt is the skill that a URI is in; nil for none that is shown.
func (s *tokenServer) folderAt(uri string) *folder {
	rest, _ := strings.CutPrefix(uri, root(""))
	skill, _, _ := strings.Cut(rest, "/")
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown.folders[uriOf(skill, manifests.FileSkillMD)]
}

// readDirectory answers with what is in a directory of a skill. It is one page: so many files
// as a skill has fit.
func (s *tokenServer) readDirectory(_ context.Context, p *readDirectoryParams) (*readDirectoryResult, error) {
	f := s.folderAt(p.URI)
	if f == nil {
		return nil, invalid("%q is not a directory", p.URI)
	}
	all, ok := f.children(p.URI)
	if !ok || p.Cursor != "" {
		return nil, invalid("%q is not a directory, or has no such page", p.URI)
	}
	out := &readDirectoryResult{ResultType: complete, Resources: []*sdk.Resource{}}
	for _, c := range all {
		r := &sdk.Resource{URI: c.uri, Name: c.name, MIMEType: "inode/directory"}
		if c.file != nil {
			r.MIMEType, r.Size = mimeOf(c.name, nil), c.file.Size
		}
		out.Resources = append(out.Resources, r)
	}
	return out, nil
}

// readFile answers with a file of a skill. What is not in the list of its files is not found,
// however it is written.
func (s *tokenServer) readFile(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	uri := r.Params.URI
	f := s.folderAt(uri)
	if f == nil {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	at, ok := f.paths[uri]
	if !ok {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	content, err := s.fileOf(ctx, f, at)
	if err != nil {
		return nil, err
	}
	c := &sdk.ResourceContents{URI: uri, MIMEType: mimeOf(at, content)}
	if utf8.Valid(content) {
		c.Text = string(content)
	} else {
		c.Blob = content
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{c}}, nil
}

// fileOf reads a file of the version that is shown.
func (s *tokenServer) fileOf(ctx context.Context, f *folder, at string) ([]byte, error) {
	if at == manifests.FileSkillMD && f.made != nil {
		return f.made, nil
	}
	t, err := s.e.s.Invoke.Find(ctx, s.pass().By(), invoke.Address{Ref: f.ref}, nil)
	if err != nil {
		return nil, s.wrong(err)
	}
	content, err := t.Package().Read(at)
	if err != nil || t.Package().Digest() != f.digest {
		return nil, sdk.ResourceNotFoundError(uriOf(f.ref.Name, at))
	}
	return content, nil
}

// addFolder shows a skill as a folder. What stays is not made again.
func (o offer) addFolder(p *bundle.Package, old offer) {
	uri := uriOf(p.Manifest().Name, manifests.FileSkillMD)
	if f := old.folders[uri]; f != nil && f.digest == p.Digest() {
		o.folders[uri] = f
	} else if f, ok := newFolder(p); ok {
		o.folders[uri] = f
	}
}

// showFolders brings the resources of a server to what is shown now.
func (s *tokenServer) showFolders(old, now offer) {
	for uri, f := range now.folders {
		if before := old.folders[uri]; before != f {
			s.server.AddResource(&sdk.Resource{URI: uri, Name: f.ref.Name, Description: f.description, MIMEType: mimeOf(uri, nil)}, s.readFile)
		}
	}
	s.server.RemoveResources(missing(old.folders, now.folders)...)
}
