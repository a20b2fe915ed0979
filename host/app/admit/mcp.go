package admit

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/base/secret"
	"github.com/skillet-run/skillet/host/base/store/atomicfile"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/review/findings"
	"github.com/skillet-run/skillet/host/run/mcplogin"
	"github.com/skillet-run/skillet/host/run/mcpserver"
	"github.com/skillet-run/skillet/host/run/runner"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/policies/capability"
)

// ServersDir is the directory of a home with the packages of MCP servers that were added
// there, each in a directory of its name.
const ServersDir = "servers"

// An MCPServer is a server of which a package is to be made.
type MCPServer struct {
	// Name is that of the package.
	Name string
	// Command and Args start the server; or it is at URL.
	Command string
	Args    []string
	URL     string
	// Secret is a stored secret that goes to URL as a bearer token.
	Secret string
	// Secrets are stored secrets by the variables of the environment that a program gets
	// them in, and Env are other entries of it.
	Secrets, Env map[string]string
	// Read and Write are directories and files that the program may open, and Pin what it
	// is started with beside the arguments that are files.
	Read, Write, Pin []string
	Unconfined       bool
	Unusual
}

// Unusual are tools of a server that a person takes all the same: Shadows although another
// skill has a tool of the name, and Overridden although the scan found something in them that
// has no place in an honest tool.
type Unusual struct{ Shadows, Overridden []string }

// A MadeServer is the package of a server. Close it.
type MadeServer struct {
	// Name is that of the package, which lies at Path; Version is the one it has.
	Name    string `json:"skill"`
	Version string `json:"version"`
	Path    string `json:"path"`
	// Server is what the server calls itself.
	Server string `json:"server"`
	// Tools are how many tools the package has, and Set is the digest of all of them.
	Tools int              `json:"tools"`
	Set   manifests.Digest `json:"set"`
	// Odd says of tools why they are not part of the package, and Shadowing are those that
	// are not because a tool of another skill has their name.
	Odd       []string    `json:"odd"`
	Shadowing []Shadowing `json:"shadowing"`
	// Suspicious are those that are not because of what the scan found.
	Suspicious []Suspicion `json:"suspicious"`
	// Differences are those from the installed version.
	Differences []Difference `json:"differences"`
	// Same says that the package is as the installed one.
	Same bool `json:"same"`

	temporary bool
}

// A Difference is what is different of a tool from what was approved.
type Difference = mcpserver.Difference

// A Shadowing is a tool that has the name of a tool of another skill.
type Shadowing struct {
	Tool  string `json:"tool"`
	Other string `json:"other"` // SKILL:TOOL
}

// A Suspicion is what the scan found in a tool.
type Suspicion struct {
	Tool    string `json:"tool"`
	Rule    string `json:"rule"`
	Message string `json:"message"`
}

// Close removes what was made to look at.
func (m *MadeServer) Close() error {
	if !m.temporary {
		return nil
	}
	return os.RemoveAll(filepath.Dir(m.Path))
}

// MakeServer starts a server, or connects to it, asks what it offers, and makes a package
// of that in the home, or with dry somewhere that Close removes. The server gets what the
// package would ask for, because the person who asks names it; nothing is installed.
func (s *Service) MakeServer(ctx context.Context, by approval.Principal, of MCPServer, dry bool) (*MadeServer, error) {
	if err := writes(by); err != nil {
		return nil, err
	}
	if err := s.parts.CatchUp(ctx); err != nil {
		return nil, err
	}
	m, err := of.manifest()
	if err == nil && of.Secret == "" {
		err = s.withLogin(ctx, m)
	}
	if err != nil {
		return nil, err
	}
	return s.makeServer(ctx, by.(approval.Human), m, nil, of.Unusual, dry)
}

// RefreshServer makes the package of an installed server anew: what it offers now, with the
// program that is there now.
func (s *Service) RefreshServer(ctx context.Context, by approval.Principal, name string, take Unusual, dry bool) (*MadeServer, error) {
	if err := writes(by); err != nil {
		return nil, err
	}
	if err := s.parts.CatchUp(ctx); err != nil {
		return nil, err
	}
	skill, err := s.parts.Registry.Lookup(ctx, manifests.Ref{Name: name})
	if err != nil {
		return nil, err
	}
	was, err := s.parts.Registry.Manifest(ctx, skill.Digest)
	if err != nil {
		return nil, err
	}
	if !was.Type.IsMCP() {
		return nil, fault.Errorf(fault.KindUsage, "%s is not an MCP server", name)
	}
	m := *was
	server := *was.MCP
	m.MCP = &server
	if server.URL == "" {
		if server.ProgramDigest, err = mcpserver.Digest(m.Command); err != nil {
			return nil, fault.Errorf(fault.KindNotFound, "the program of %s: %w", name, err)
		}
		server.Pins = slices.Clone(server.Pins)
		for i := range server.Pins {
			if server.Pins[i].Digest, err = mcpserver.Digest(server.Pins[i].Path); err != nil {
				return nil, fault.Errorf(fault.KindNotFound, "%s is started with what is not there: %w", name, err)
			}
		}
	}
	if err := s.withLogin(ctx, &m); err != nil {
		return nil, err
	}
	take.Shadows = slices.Concat(server.Shadows, take.Shadows)
	return s.makeServer(ctx, by.(approval.Human), &m, was.Tools, take, dry)
}

// IsServer reports whether an installed skill is an MCP server that was added in this home.
func (s *Service) IsServer(ctx context.Context, by approval.Principal, name string) (bool, error) {
	if err := s.ready(ctx, by); err != nil {
		return false, err
	}
	skill, err := s.parts.Registry.Lookup(ctx, manifests.Ref{Name: name})
	if err != nil {
		return false, err
	}
	m, err := s.parts.Registry.Manifest(ctx, skill.Digest)
	return err == nil && m.Type.IsMCP() && s.serverDir(name) == skill.Source, err
}

func (s *Service) serverDir(name string) string { return filepath.Join(s.parts.Home, ServersDir, name) }

// makeServer asks a server what it offers, and writes the package. approved are the tools of
// the installed version, which were looked at.
func (s *Service) makeServer(ctx context.Context, by approval.Human, m *manifests.Manifest, approved []manifests.Tool, take Unusual, dry bool) (*MadeServer, error) {
	offer, err := s.offer(ctx, by, m)
	if err != nil {
		return nil, err
	}
	made := &MadeServer{Name: m.Name, Server: offer.Server, Odd: offer.Odd, Suspicious: []Suspicion{}, Shadowing: []Shadowing{}, Differences: []Difference{}}
	if err := s.choose(ctx, m, offer.Tools, approved, take, made); err != nil {
		return nil, err
	}
	if len(m.Tools) == 0 {
		return nil, fault.Errorf(fault.KindVerification, "the server %s offers no tool that a package can have%s", cmp.Or(offer.Server, m.Name), made.leftOut())
	}
	made.Tools, made.Set = len(m.Tools), mcpserver.SetDigest(m.Tools)
	if m.Description == "" {
		m.Description = "Tools of the MCP server " + offer.Name + "."
	}
	if err := s.versioned(ctx, m, made); err != nil {
		return nil, err
	}
	return made, s.writeServer(m, made, dry)
}

// maxServerTools is how many tools a manifest has.
const maxServerTools = 128

// choose takes of the tools of a server those that a package can have, and that nothing
// stands against.
func (s *Service) choose(ctx context.Context, m *manifests.Manifest, offered, approved []manifests.Tool, take Unusual, made *MadeServer) error {
	taken, err := s.toolNames(ctx, m.Name)
	if err != nil {
		return err
	}
	m.Tools, m.MCP.Shadows = nil, nil
	for _, t := range offered {
		other := taken[strings.ToLower(t.Name)]
		if other != "" && !slices.Contains(take.Shadows, t.Name) {
			made.Shadowing = append(made.Shadowing, Shadowing{t.Name, other})
			continue
		}
		if !slices.Contains(take.Overridden, t.Name) && len(mcpserver.Differences([]manifests.Tool{t}, approved)) > 0 {
			found, err := suspicion(ctx, t)
			if err != nil {
				return err
			}
			if found != nil {
				made.Suspicious = append(made.Suspicious, *found)
				continue
			}
		}
		if len(m.Tools) == maxServerTools {
			made.Odd = append(made.Odd, t.Name+" is one tool too many for a package")
			continue
		}
		if m.Tools = append(m.Tools, t); other != "" {
			m.MCP.Shadows = append(m.MCP.Shadows, t.Name)
		}
	}
	return nil
}

// suspicion is the first thing that the scan finds in a tool that has no place in an honest
// one; nil for nothing.
func suspicion(ctx context.Context, t manifests.Tool) (*Suspicion, error) {
	m := manifests.Manifest{
		Name: "server", Description: "A tool of a server.", Version: "1.0.0", Type: manifests.KindMCP, Tools: []manifests.Tool{t}, MCP: &manifests.MCP{URL: "https://example.com/mcp"},
	}
	content, err := json.Marshal(&m)
	if err != nil {
		return nil, err
	}
	p, err := bundle.FromFiles(map[string][]byte{"skill.json": content})
	if err != nil {
		return nil, err
	}
	report, err := findings.Scan(ctx, p)
	if err != nil {
		return nil, err
	}
	for _, f := range report.Findings {
		if f.Severity == findings.Block {
			return &Suspicion{t.Name, f.Rule, f.Message}, nil
		}
	}
	return nil, nil
}

// leftOut says which tools were left out, and why.
func (m *MadeServer) leftOut() string {
	all := slices.Clone(m.Odd)
	for _, x := range m.Shadowing {
		all = append(all, x.Tool+" has the name of "+x.Other)
	}
	for _, x := range m.Suspicious {
		all = append(all, x.Tool+": "+x.Rule+", "+x.Message)
	}
	if len(all) == 0 {
		return ""
	}
	return ": " + strings.Join(all, "; ")
}

// versioned gives the package the version behind the installed one, or the same when
// nothing is different.
func (s *Service) versioned(ctx context.Context, m *manifests.Manifest, made *MadeServer) error {
	m.Version = "1.0.0"
	skill, err := s.parts.Registry.Lookup(ctx, manifests.Ref{Name: m.Name})
	if k := fault.AsError(err); err != nil && k.Kind == fault.KindNotFound {
		made.Version = m.Version
		return nil
	}
	if err != nil {
		return err
	}
	was, err := s.parts.Registry.Manifest(ctx, skill.Digest)
	if err != nil {
		return err
	}
	if !was.Type.IsMCP() {
		return fault.Errorf(fault.KindConflict, "%s is installed, and is not an MCP server", m.Name).WithHint("give the server another name")
	}
	made.Differences = mcpserver.Differences(was.Tools, m.Tools)
	m.Version = skill.Version
	same, err := asInstalled(was, m)
	if err != nil {
		return err
	}
	if made.Same = same; !same {
		all, err := s.parts.Registry.Versions(ctx, m.Name)
		if err != nil {
			return err
		}
		for slices.ContainsFunc(all, func(k registry.Skill) bool { return k.Version == m.Version }) {
			m.Version = nextMinor(m.Version)
		}
	}
	made.Version = m.Version
	return nil
}

// asInstalled reports whether a package would be as the installed one.
func asInstalled(was, is *manifests.Manifest) (bool, error) {
	a, err := json.Marshal(was)
	if err != nil {
		return false, err
	}
	b, err := json.Marshal(is)
	return string(a) == string(b), err
}

func nextMinor(version string) string {
	var major, minor int
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil {
		return "1.0.0"
	}
	return fmt.Sprintf("%d.%d.0", major, minor+1)
}

// writeServer writes the package.
func (s *Service) writeServer(m *manifests.Manifest, made *MadeServer, dry bool) error {
	if err := m.Validate(); err != nil {
		return fault.Wrap(fault.KindVerification, err)
	}
	content, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	made.Path = s.serverDir(m.Name)
	if dry {
		dir, err := os.MkdirTemp("", "skillet-mcp-")
		if err != nil {
			return err
		}
		made.Path, made.temporary = filepath.Join(dir, m.Name), true
	}
	if err := os.MkdirAll(made.Path, 0o700); err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(made.Path, "skill.json"), append(content, '\n'))
}

// offer asks the server, with what its package asks for.
func (s *Service) offer(ctx context.Context, by approval.Human, m *manifests.Manifest) (mcpserver.Offer, error) {
	probe := *m
	probe.Version, probe.Description = "0.0.0", "Asks what the server offers."
	probe.Tools = []manifests.Tool{{Name: "offer"}}
	server := *m.MCP
	server.Shadows = nil
	probe.MCP = &server
	content, err := json.Marshal(&probe)
	if err != nil {
		return mcpserver.Offer{}, err
	}
	p, err := bundle.FromFiles(map[string][]byte{"skill.json": content})
	if err != nil {
		return mcpserver.Offer{}, fault.Wrap(fault.KindUsage, err)
	}
	asked, err := p.Manifest().Requests("")
	if err != nil {
		return mcpserver.Offer{}, fault.Wrap(fault.KindUsage, err)
	}
	var all []capability.Capability
	for _, a := range asked {
		all = append(all, a.Capability)
	}
	return s.parts.Runner.Offer(ctx, runner.Call{
		Target: runner.Target{Label: m.Name, Package: p, Origin: registry.OriginUser}, Allow: by.Allow(capability.NewSet(all...)), Caller: by.Actor(),
	})
}

// toolNames are the tools of all other active skills, by their names in lower case.
func (s *Service) toolNames(ctx context.Context, but string) (map[string]string, error) {
	all, err := s.parts.Registry.List(ctx)
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for _, k := range all {
		if !k.Active || k.Name == but {
			continue
		}
		for _, tool := range k.Tools {
			if names[strings.ToLower(tool)] == "" {
				names[strings.ToLower(tool)] = k.Name + ":" + tool
			}
		}
	}
	return names, nil
}

// shadows refuses a server with a tool that has the name of another skill's, unless its
// package says so.
func (s *Service) shadows(ctx context.Context, m *manifests.Manifest) error {
	if !m.Type.IsMCP() {
		return nil
	}
	taken, err := s.toolNames(ctx, m.Name)
	if err != nil {
		return err
	}
	for _, t := range m.Tools {
		if other := taken[strings.ToLower(t.Name)]; other != "" && !slices.Contains(m.MCP.Shadows, t.Name) {
			return fault.Errorf(fault.KindVerification, "%s:%s has the name of %s, and a model may take one for the other", m.Name, t.Name, other).
				WithHint("leave the tool out, or name it in mcp.shadows of the manifest when both are wanted")
		}
	}
	return nil
}

// manifest is the manifest of the server, without tools.
func (of MCPServer) manifest() (*manifests.Manifest, error) {
	m := &manifests.Manifest{Name: of.Name, Version: "1.0.0", Type: manifests.KindMCP, MCP: &manifests.MCP{URL: of.URL, Unconfined: of.Unconfined}, Config: of.Env}
	switch {
	case (of.URL == "") == (of.Command == ""):
		return nil, fault.Errorf(fault.KindUsage, "an MCP server is a command or an address").WithHint("give one of the two")
	case of.URL != "":
		if of.Secret != "" {
			m.Security.Permissions.Secrets = bearer(of.Secret, of.URL)
		}
		return m, nil
	}
	for _, variable := range slices.Sorted(maps.Keys(of.Secrets)) {
		m.Security.Permissions.Secrets = append(m.Security.Permissions.Secrets, manifests.SecretPermission{Name: of.Secrets[variable], Env: variable, Reason: "the server asks who calls"})
	}
	return m, of.program(m)
}

// bearer asks for a secret that goes to an address as a bearer token.
func bearer(name, address string) []manifests.SecretPermission {
	return []manifests.SecretPermission{{
		Name: name, Reason: "the server asks who calls", Inject: &manifests.Injection{URL: address, Header: "Authorization", Prefix: "Bearer "},
	}}
}

// withLogin makes the token of the login that there is for a server go with requests to it.
func (s *Service) withLogin(ctx context.Context, m *manifests.Manifest) error {
	name := mcplogin.Name(m.Name)
	if m.MCP.URL == "" || secret.CheckName(name) != nil {
		return nil
	}
	l, ok, err := s.parts.Logins.Of(ctx, name)
	if err == nil && ok && l.Server == m.MCP.URL {
		m.Security.Permissions.Secrets = bearer(name, m.MCP.URL)
	}
	return err
}

// AsksForLogin reports whether a package asks for the login at the server that it is.
func AsksForLogin(m *manifests.Manifest) bool {
	return m.Type.IsMCP() && slices.ContainsFunc(m.Security.Permissions.Secrets, func(p manifests.SecretPermission) bool { return p.Name == mcplogin.Name(m.Name) })
}

// A ServerLogin is how a login at an MCP server stands.
type ServerLogin = mcplogin.View

// login is that of a package which asks for one; nil for another.
func (s *Service) login(ctx context.Context, m *manifests.Manifest) (*ServerLogin, error) {
	if !AsksForLogin(m) {
		return nil, nil
	}
	l, ok, err := s.parts.Logins.Of(ctx, mcplogin.Name(m.Name))
	if err != nil || !ok {
		return nil, err
	}
	v := l.View()
	return &v, nil
}

// program fills in what is started.
func (of MCPServer) program(m *manifests.Manifest) (err error) {
	if base := filepath.Base(of.Command); slices.Contains([]string{"npx", "uvx", "bunx", "pnpx"}, base) {
		return fault.Errorf(fault.KindUsage, "%s downloads what it starts, each time anew, so that nobody can approve it", base).
			WithHint("install the package into a directory first, and start its program from there: node DIR/node_modules/…/index.js")
	}
	if m.Command, err = mcpserver.Resolve(of.Command); err != nil {
		var script *mcpserver.ScriptError
		if errors.As(err, &script) {
			return fault.Errorf(fault.KindUsage, "%s", script.Error()).WithHint("start it by its interpreter: node %s", script.Path)
		}
		return fault.Errorf(fault.KindNotFound, "the program of the server: %w", err)
	}
	if m.MCP.ProgramDigest, err = mcpserver.Digest(m.Command); err != nil {
		return err
	}
	pins := slices.Clone(of.Pin)
	for _, arg := range of.Args {
		if whole, ok := fileOf(arg); ok {
			arg = whole
			if !slices.ContainsFunc(of.Pin, func(dir string) bool { return within(whole, absolute(dir)) }) {
				pins = append(pins, whole)
			}
		} else if info, err := os.Stat(arg); err == nil && info.IsDir() {
			arg = absolute(arg)
		}
		m.Args = append(m.Args, arg)
	}
	for _, p := range pins {
		p = absolute(p)
		d, err := mcpserver.Digest(p)
		if err != nil {
			return fault.Errorf(fault.KindNotFound, "what the server is started with: %w", err)
		}
		m.MCP.Pins = append(m.MCP.Pins, manifests.Pin{Path: p, Digest: d})
	}
	for _, p := range of.Read {
		m.Security.Permissions.FileRead = append(m.Security.Permissions.FileRead, manifests.PathPermission{Path: absolute(p)})
	}
	for _, p := range of.Write {
		m.Security.Permissions.FileRead = append(m.Security.Permissions.FileRead, manifests.PathPermission{Path: absolute(p)})
		m.Security.Permissions.FileWrite = append(m.Security.Permissions.FileWrite, manifests.PathPermission{Path: absolute(p)})
	}
	return nil
}

// fileOf is the whole path of an argument that is a file.
func fileOf(arg string) (string, bool) {
	info, err := os.Stat(arg)
	if err != nil || !info.Mode().IsRegular() {
		return "", false
	}
	return absolute(arg), true
}

// absolute is a whole path with no links in it; one that is not there stays as it is named.
func absolute(p string) string {
	whole, err := filepath.Abs(p)
	if err != nil {
		return p
	}
	real, err := filepath.EvalSymlinks(whole)
	if errors.Is(err, fs.ErrNotExist) || err != nil {
		return whole
	}
	return real
}

func within(p, dir string) bool {
	return p == dir || strings.HasPrefix(p, dir+string(filepath.Separator))
}
