package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/skillet-run/skillet/host/app/admit"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/edge/api"
	"github.com/skillet-run/skillet/manifests"
)

// installFiles installs a package of files, as a person at the machine.
func (h *home) installFiles(files map[string]string) {
	h.t.Helper()
	dir := h.t.TempDir()
	for name, text := range files {
		at := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, []byte(text), 0o600)); err != nil {
			h.t.Fatal(err)
		}
	}
	plan, err := h.h.Admit().Plan(h.t.Context(), ada, admit.Install{Package: dir, Terms: admit.Terms{Accepted: []admit.Flag{admit.AllowUnsigned}}})
	if err == nil {
		_, err = h.h.Admit().Commit(h.t.Context(), ada, plan, admit.Shown)
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

// forms is a folder of the Agent Skills specification.
var forms = map[string]string{
	"SKILL.md":                    "---\nname: forms\ndescription: Fills forms.\nlicense: MIT\nmetadata: {version: \"1.2.0\", odd: [1, true, null]}\nsince: 2025-01-02\n---\n\n# Forms\n\nRead references/a b.md.\n",
	"references/a b.md":           "a guide\r\n",
	"references/deep/er/notes.md": "notes",
	"scripts/fill.py":             "print('filled')\n",
	"picture.png":                 "\x89PNG\r\n\x1a\n\xff",
}

type byURI struct {
	sdk.ParamsBase
	URI    string `json:"uri,omitempty"`
	Cursor string `json:"cursor,omitempty"`
}

type entry struct {
	URI         string         `json:"uri"`
	Frontmatter map[string]any `json:"frontmatter"`
	Resources   []struct {
		URI    string `json:"uri"`
		Digest string `json:"digest"`
		Size   int    `json:"size"`
	} `json:"resources"`
}

type skillsAnswer struct {
	sdk.ResultBase
	ResultType string          `json:"resultType"`
	TTLMs      *int            `json:"ttlMs"`
	CacheScope string          `json:"cacheScope"`
	NextCursor string          `json:"nextCursor"`
	Skills     []entry         `json:"skills"`
	Skill      entry           `json:"skill"`
	Resources  []*sdk.Resource `json:"resources"`
}

var extensionMethods = []string{"skills/list", "skills/get", "resources/directory/read"}

// skillsClient connects a client that knows the extension.
func (h *home) skillsClient(url, token, era string, o *sdk.ClientOptions) (*sdk.ClientSession, func(method string, p *byURI) (*skillsAnswer, error)) {
	h.t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, o)
	for _, m := range extensionMethods {
		if err := sdk.AddSendingCustomMethod[*byURI, *skillsAnswer](client, m); err != nil {
			h.t.Fatal(err)
		}
	}
	cs := h.connect(client, url, token, era)
	return cs, func(method string, p *byURI) (*skillsAnswer, error) {
		return sdk.CallCustomMethod[*byURI, *skillsAnswer](h.t.Context(), cs, method, p)
	}
}

// A client gets what is installed as folders, with the digests of the very bytes that it
// reads, in both eras.
func TestSkillsAsFolders(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.installFiles(forms)
	h.install(say, echo("again", "any", "number"))
	h.install(greet, nil)
	url, token := h.serve(), h.token("a", govern.RoleAgent)
	for _, era := range eras {
		cs, ask := h.skillsClient(url, token, era, nil)
		if got := asJSON(cs.InitializeResult().Capabilities.Extensions); got != `{"io.modelcontextprotocol/skills":{"directoryRead":true},"io.modelcontextprotocol/tasks":{}}` {
			t.Errorf("%s: %s", era, got)
		}
		all, err := ask("skills/list", nil)
		if err != nil || all.ResultType != "complete" || all.TTLMs == nil || all.CacheScope != "private" || len(all.Skills) != 3 {
			t.Fatalf("%s: %s %v", era, asJSON(all), err)
		}
		for _, e := range all.Skills {
			one, err := ask("skills/get", &byURI{URI: e.URI})
			if err != nil || !reflect.DeepEqual(one.Skill, e) {
				t.Errorf("%s: %s alone is %s, %v", era, e.URI, asJSON(one), err)
			}
			for _, r := range e.Resources {
				if b := h.read(cs, r.URI); len(b) != r.Size || string(manifests.DigestOf(b)) != r.Digest {
					t.Errorf("%s: %s has %d bytes and the digest %s, want %d, %s", era, r.URI, len(b), manifests.DigestOf(b), r.Size, r.Digest)
				}
			}
			front, err := manifests.FrontMatter(h.read(cs, e.URI))
			var said map[string]any
			if err = errors.Join(err, json.Unmarshal(front, &said)); err != nil || !reflect.DeepEqual(said, e.Frontmatter) {
				t.Errorf("%s: %s says %s, and %s is told; %v", era, e.URI, front, asJSON(e.Frontmatter), err)
			}
		}
		if got := asJSON(all.Skills[0].Frontmatter); got != `{"description":"Fills forms.","license":"MIT","metadata":{"odd":[1,true,null],"version":"1.2.0"},"name":"forms","since":"2025-01-02"}` {
			t.Errorf("%s: %s", era, got)
		}
		for uri, want := range map[string]string{
			"skill://forms":                    "SKILL.md picture.png references/ scripts/",
			"skill://forms/references":         "a b.md deep/",
			"skill://forms/references/deep":    "er/",
			"skill://forms/references/deep/er": "notes.md",
			"skill://greet":                    "SKILL.md skill.json",
		} {
			in, err := ask("resources/directory/read", &byURI{URI: uri})
			if got := listing(in); err != nil || got != want {
				t.Errorf("%s: in %s: %s, want %s; %v", era, uri, got, want, err)
			}
		}
		if text := string(h.read(cs, "skill://greet/SKILL.md")); !strings.Contains(text, "Greet {name}.") {
			t.Errorf("%s: a prompt: %s", era, text)
		}
		rs, err := cs.ListResources(t.Context(), nil)
		if err != nil || len(rs.Resources) != 3 || rs.Resources[0].Name != "forms" || rs.Resources[0].Description != "Fills forms." {
			t.Errorf("%s: resources: %s %v", era, asJSON(rs), err)
		}
	}
}

// read reads a resource.
func (h *home) read(cs *sdk.ClientSession, uri string) []byte {
	h.t.Helper()
	r, err := cs.ReadResource(h.t.Context(), &sdk.ReadResourceParams{URI: uri})
	if err != nil || len(r.Contents) != 1 {
		h.t.Fatalf("read %s: %s %v", uri, asJSON(r), err)
	}
	if r.Contents[0].Blob != nil {
		return r.Contents[0].Blob
	}
	return []byte(r.Contents[0].Text)
}

// listing is what is in a directory, directories with a slash.
func listing(a *skillsAnswer) string {
	var all []string
	for _, r := range a.Resources {
		name := r.Name
		if r.MIMEType == "inode/directory" {
			name += "/"
		}
		all = append(all, name)
	}
	return strings.Join(all, " ")
}

// What is not a file of a skill that the token sees is not there.
func TestNothingBesideSkills(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.installFiles(forms)
	h.install(say, echo("again", "any", "number"))
	url := h.serve()
	cs, ask := h.skillsClient(url, h.token("one", govern.RoleCaller, "say:any"), "2026-07-28", nil)
	all, err := ask("skills/list", nil)
	if err != nil || len(all.Skills) != 1 || all.Skills[0].URI != "skill://say/SKILL.md" {
		t.Fatalf("%s %v", asJSON(all), err)
	}
	unseen := []string{
		"skill://forms/SKILL.md", "skill://forms/scripts/fill.py", "skill://say/", "skill://say", "skill://say/none.md", "skill://SAY/SKILL.md", "skill://say/skill%2Ejson",
		"skill://say/../forms/SKILL.md", "skill://say/..%2fforms%2fSKILL.md", "skill://say/%2e%2e/forms/SKILL.md", "skill://say//skill.json", "skill://say/./skill.json",
		"skill://say/../../../../etc/passwd", "skill:///etc/passwd", "file:///etc/passwd", "skill://say@evil/SKILL.md", "skill://say/SKILL.md?x", "skill://say/SKILL.md#x", "skill://",
	}
	for _, uri := range unseen {
		_, read := cs.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
		_, get := ask("skills/get", &byURI{URI: uri})
		_, in := ask("resources/directory/read", &byURI{URI: uri})
		for what, err := range map[string]error{"read": read, "get": get, "list": in} {
			if what == "list" && uri == "skill://say" {
				continue
			}
			if e := (*jsonrpc.Error)(nil); !errors.As(err, &e) || e.Code != jsonrpc.CodeInvalidParams {
				t.Errorf("%s %q: %v", what, uri, err)
			}
		}
	}
	if _, err := ask("resources/directory/read", &byURI{URI: "skill://say/SKILL.md"}); err == nil {
		t.Error("a file is read as a directory")
	}
	if _, err := h.h.Admit().Disable(t.Context(), ada, admit.EnableRequest{Skill: "say", Reason: "a test"}); err != nil {
		t.Fatal(err)
	}
	if all, err := ask("skills/list", nil); err != nil || len(all.Skills) != 0 {
		t.Errorf("disabled: %s %v", asJSON(all), err)
	}
	if _, err := cs.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "skill://say/SKILL.md"}); err == nil {
		t.Error("a disabled skill is read")
	}
}

// A list of many comes in pages, each skill once; a client that waits for changes is told.
func TestManySkills(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	told := make(chan struct{}, 1000)
	_, ask := h.skillsClient(h.serve(), h.token("a", govern.RoleAgent), "2026-07-28", &sdk.ClientOptions{
		ResourceListChangedHandler: func(context.Context, *sdk.ResourceListChangedRequest) { told <- struct{}{} },
	})
	want := map[string]bool{}
	for i := range 21 {
		name := fmt.Sprintf("greet-%d", i)
		h.install(strings.Replace(greet, `"greet"`, `"`+name+`"`, 1), nil)
		want["skill://"+name+"/SKILL.md"] = true
	}
	<-told
	cursor, pages := "", []int{}
	for more := true; more; more = cursor != "" {
		page, err := ask("skills/list", &byURI{Cursor: cursor})
		if err != nil || len(page.Skills) == 0 {
			t.Fatalf("after %q: %s %v", cursor, asJSON(page), err)
		}
		for _, e := range page.Skills {
			if !want[e.URI] {
				t.Errorf("%s comes twice, or is not installed", e.URI)
			}
			delete(want, e.URI)
		}
		cursor, pages = page.NextCursor, append(pages, len(page.Skills))
	}
	if len(want) > 0 || !slices.Equal(pages, []int{20, 1}) {
		t.Errorf("pages of %v; these did not come: %v", pages, slices.Collect(maps.Keys(want)))
	}
}

// What has more than every client accepts is not in the list; who names it gets it.
func TestLargeSkills(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	many := maps.Clone(forms)
	for i := range 512 - len(forms) {
		many[fmt.Sprintf("assets/%d.txt", i)] = "x"
	}
	h.installFiles(many)
	more := maps.Clone(many)
	more["SKILL.md"] = strings.Replace(forms["SKILL.md"], "name: forms", "name: more-forms", 1)
	more["assets/one-more.txt"] = "x"
	h.installFiles(more)
	h.installFiles(map[string]string{
		"SKILL.md":          strings.Replace(forms["SKILL.md"], "name: forms", "name: large-forms", 1),
		"assets/zeroes.bin": string(bytes.Repeat([]byte{0}, 16<<20)),
	})
	_, ask := h.skillsClient(h.serve(), h.token("a", govern.RoleAgent), "2026-07-28", nil)
	all, err := ask("skills/list", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all.Skills {
		if e.URI != "skill://forms/SKILL.md" || len(e.Resources) != 512 {
			t.Errorf("%s with %d files is listed", e.URI, len(e.Resources))
		}
	}
	for _, name := range []string{"more-forms", "large-forms"} {
		if one, err := ask("skills/get", &byURI{URI: "skill://" + name + "/SKILL.md"}); err != nil || one.Skill.Frontmatter["name"] != name {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The suite's scenarios of the extension pass, with as many checks as they have: against a
// server without it they pass too, with one.
func TestConformanceOfFolders(t *testing.T) {
	h := newHome(t)
	h.installFiles(forms)
	h.install(say, echo("again", "any", "number"))
	h.install(greet, nil)
	address := h.behind(h.edge.Handler(api.PassOf))
	for scenario, want := range map[string]int{"sep-2640-skills-enumeration": 32, "sep-2640-skills-directory": 7, "sep-2640-skills-manifest": 6} {
		passed := 0
		for _, c := range h.scenario(address, scenario, "2026-07-28") {
			if c.Status == "SUCCESS" {
				passed++
			} else {
				t.Errorf("%s: %s: %s %s", scenario, c.ID, c.Status, c.Message)
			}
		}
		if t.Logf("proof: %s: %d checks pass", scenario, passed); passed < want {
			t.Errorf("%s: %d checks pass, want %d", scenario, passed, want)
		}
	}
}
