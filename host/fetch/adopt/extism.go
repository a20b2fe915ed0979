package adopt

import (
	"bytes"
	"context"
	_ "embed" // for the schema
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/policies/limit"
)

//go:embed extism.schema.json
var extismSchema string

var extismForm = sync.OnceValue(func() *manifests.Form { return manifests.NewForm(extismSchema) })

// IsExtism reports whether a path has the name of an Extism manifest: that of any
// JSON or TOML file which is not our own manifest.
func IsExtism(path string) bool {
	ext := strings.ToLower(filepath.Ext(path))
	return (ext == ".json" || ext == ".toml") && filepath.Base(path) != manifests.FileJSON
}

// A Get fetches the module at an address, of at most [bundle.MaxFileBytes]. digest
// is what it must have; empty when nobody said.
type Get func(ctx context.Context, address string, digest manifests.Digest) ([]byte, error)

// A Plugin is an Extism plug-in as a package.
type Plugin struct {
	Package *bundle.Package
	// Notes say what of the manifest is not honoured, or not as it was written, a
	// line each, for the person who decides.
	Notes []string
}

// extism is the manifest of an Extism plug-in
// (https://extism.org/docs/concepts/manifest).
type extism struct {
	Wasm         []extismModule     `json:"wasm"`
	Memory       extismMemory       `json:"memory"`
	Config       map[string]*string `json:"config"`
	AllowedHosts []string           `json:"allowed_hosts"`
	AllowedPaths map[string]string  `json:"allowed_paths"` // path here to path in the guest; "ro:" before it for reading alone
	TimeoutMS    int                `json:"timeout_ms"`
}

type extismModule struct {
	Path    string            `json:"path"`
	URL     string            `json:"url"`
	Data    string            `json:"data"` // base64
	Hash    string            `json:"hash"` // SHA-256, hexadecimal
	Name    string            `json:"name"`
	Method  string            `json:"method"`
	Headers map[string]string `json:"headers"`
}

type extismMemory struct {
	MaxPages             int  `json:"max_pages"`
	MaxHTTPResponseBytes *int `json:"max_http_response_bytes"`
	MaxVarBytes          *int `json:"max_var_bytes"`
}

// Extism reads the Extism manifest at a path, finds its module, and makes a
// package of them that asks for what the manifest allows. Relative paths are
// those of files beside the manifest. Errors are [fault.Error]s: of
// [fault.KindUsage] for a file that is not such a manifest, or one this host cannot
// honour, and of [fault.KindVerification] for a module that is not the one it means.
func Extism(ctx context.Context, path string, get Get) (*Plugin, error) {
	if strings.EqualFold(filepath.Ext(path), ".toml") {
		return nil, fault.Errorf(fault.KindUsage, "Extism manifests are read in JSON, not in TOML").WithHint("write the same manifest as a .json file")
	}
	b, err := readFile(path, manifests.MaxBytes)
	if err != nil {
		return nil, err
	}
	e, err := parseExtism(b)
	if err != nil {
		return nil, err
	}
	wasm, err := e.module(ctx, filepath.Dir(path), get)
	if err != nil {
		return nil, err
	}
	return e.plugin(pluginName(path), path, wasm)
}

// pluginName is a name for the plug-in at a path: that of the file, or of its
// directory when every manifest is called so.
func pluginName(path string) string {
	name := skillName(stem(path))
	if name != "" && name != "manifest" {
		return name
	}
	abs, err := filepath.Abs(path)
	if dir := skillName(filepath.Base(filepath.Dir(abs))); err == nil && dir != "" {
		return dir
	}
	return "extism-plugin"
}

// parseExtism reads a manifest.
func parseExtism(data []byte) (extism, error) {
	fail := func(errs manifests.Errors) error {
		return fault.Errorf(fault.KindUsage, "not an Extism manifest: %w", errs).
			WithHint("see https://extism.org/docs/concepts/manifest; a skill's own manifest is called skill.json, and lies in a directory that is named instead")
	}
	docs, errs := extismForm().ReadEach(data, manifests.FileJSON)
	switch {
	case len(errs) > 0:
		return extism{}, fail(errs)
	case len(docs) != 1 || bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")):
		return extism{}, fail(manifests.Errors{{Message: "is a list", Suggestion: "write one object"}})
	}
	var e extism
	if err := json.Unmarshal(docs[0].JSON(), &e); err != nil {
		return extism{}, fail(manifests.Errors{docs[0].DecodeProblem(err)})
	}
	if errs := e.check(docs[0]); len(errs) > 0 {
		return extism{}, fail(errs)
	}
	return e, nil
}

// check refuses what has no meaning in any host.
func (e extism) check(doc manifests.Document) (errs manifests.Errors) {
	for i, w := range e.Wasm {
		at := manifests.IndexPath("wasm", i)
		n := 0
		for _, source := range []string{w.Path, w.URL, w.Data} {
			if source != "" {
				n++
			}
		}
		if n != 1 {
			errs = append(errs, doc.Problem(at, "write one of them", "has %d of path, url and data", n))
		}
	}
	return errs
}

// module finds the only module, and makes sure that it is the one that is meant.
func (e extism) module(ctx context.Context, dir string, get Get) ([]byte, error) {
	if len(e.Wasm) > 1 {
		var names []string
		for i, w := range e.Wasm {
			name := w.Name
			if name == "" {
				name = fmt.Sprint("number ", i+1)
			}
			names = append(names, name)
		}
		return nil, fault.Errorf(fault.KindUsage, "the manifest links %d modules (%s), and a skill is one module: linked modules could read each other's memory, which no limit and no snapshot of one of them sees", len(e.Wasm), strings.Join(names, ", ")).
			WithHint("merge them into one, for example with wasm-merge of Binaryen, and name that in the manifest")
	}
	w := e.Wasm[0]
	if len(w.Headers) > 0 || w.Method != "" && !strings.EqualFold(w.Method, "GET") {
		return nil, fault.Errorf(fault.KindUsage, "the module is fetched with headers, or with a method other than GET, and this host sends neither").
			WithHint("download it, and write \"path\" instead of \"url\"")
	}
	wasm, err := w.bytes(ctx, dir, get)
	if err != nil {
		return nil, err
	}
	if want := w.digest(); want != "" && want != manifests.DigestOf(wasm) {
		return nil, fault.Errorf(fault.KindVerification, "the module is not the one that the manifest means: its digest is %s, and not %s", manifests.DigestOf(wasm).Short(), want.Short()).
			WithHint("get the module again, or ask who made the manifest")
	}
	return wasm, nil
}

func (w extismModule) digest() manifests.Digest {
	if w.Hash == "" {
		return ""
	}
	return manifests.Digest("sha256:" + strings.ToLower(w.Hash))
}

func (w extismModule) bytes(ctx context.Context, dir string, get Get) ([]byte, error) {
	switch {
	case w.URL != "":
		if get == nil {
			return nil, fault.Errorf(fault.KindUsage, "the module is at %s, and nothing is fetched here", w.URL).WithHint("download it, and write \"path\" instead of \"url\"")
		}
		return get(ctx, w.URL, w.digest())
	case w.Data != "":
		b, err := base64.StdEncoding.DecodeString(w.Data)
		if err != nil {
			return nil, fault.Errorf(fault.KindUsage, "the data of the module is not base64: %w", err).WithHint("write the bytes of the module in base64, or \"path\" and the name of its file")
		}
		return b, nil
	}
	at := filepath.FromSlash(w.Path)
	if !filepath.IsAbs(at) {
		at = filepath.Join(dir, at)
	}
	b, err := readFile(at, bundle.MaxFileBytes)
	if err != nil {
		return nil, fault.Errorf(fault.KindNotFound, "read the module: %w", err).WithHint("\"path\" is relative to the manifest")
	}
	return b, nil
}

// plugin makes the package.
func (e extism) plugin(name, label string, wasm []byte) (*Plugin, error) {
	tools, err := toolsOf(wasm, "the module")
	if err != nil {
		return nil, err
	}
	p := &Plugin{}
	m := manifests.Manifest{
		Name: name, Version: version, Description: "the Extism plug-in of " + filepath.Base(label),
		Type: manifests.KindCodeInline, Command: modulePath, Tools: tools, Config: e.config(),
	}
	p.limits(&m, e)
	var portless []string
	for _, h := range e.AllowedHosts {
		if p.host(&m, h) && hostAlone(h) == h {
			portless = append(portless, h)
		}
	}
	if len(portless) > 0 {
		p.note("allowed_hosts %s: on ports 80 and 443 alone, where Extism allows any port; write the port in the manifest, as in %q", strings.Join(portless, ", "), portless[0]+":8080")
	}
	for _, from := range slices.Sorted(maps.Keys(e.AllowedPaths)) {
		p.path(&m, from, e.AllowedPaths[from])
	}
	p.Package, err = pack(m, wasm)
	return p, err
}

func (e extism) config() map[string]string {
	all := map[string]string{}
	for k, v := range e.Config {
		if v != nil {
			all[k] = *v
		}
	}
	return all
}

func (p *Plugin) note(format string, args ...any) {
	p.Notes = append(p.Notes, fmt.Sprintf(format, args...))
}

// pagesPerMB is how many pages of a module's memory, of 64 KiB, one MB has.
const pagesPerMB = 16

// limits bound the plug-in as its manifest does, in our units.
func (p *Plugin) limits(m *manifests.Manifest, e extism) {
	l := &m.Security.ResourceLimits
	if n := e.Memory.MaxPages; n > 0 {
		l.MaxMemoryMB = min((n+pagesPerMB-1)/pagesPerMB, int(limit.Memory.Number(limit.Memory.Ceiling())))
		if l.MaxMemoryMB*pagesPerMB != n {
			p.note("memory.max_pages %d: limited to %d MB, which is %d pages", n, l.MaxMemoryMB, l.MaxMemoryMB*pagesPerMB)
		}
	}
	if n := e.TimeoutMS; n > 0 {
		most := limit.Time.Number(limit.Time.Ceiling())
		l.MaxExecutionTime = min(float64(n)/1000, most)
		if float64(n) > most*1000 {
			p.note("timeout_ms %d: limited to %g seconds", n, most)
		}
	}
	if n := e.Memory.MaxHTTPResponseBytes; n != nil {
		p.note("memory.max_http_response_bytes %d: not honoured; the setting http_max_mb of this host bounds responses", *n)
	}
	if n := e.Memory.MaxVarBytes; n != nil {
		p.note("memory.max_var_bytes %d: not honoured; variables have 1 MB in all", *n)
	}
}

// host asks for a host: for any request to it, over TLS or not. It reports whether
// that can be asked for.
func (p *Plugin) host(m *manifests.Manifest, host string) bool {
	asked := []manifests.NetworkPermission{}
	for _, scheme := range []string{"https", "http"} {
		n := manifests.NetworkPermission{URL: scheme + "://" + host + "/*", Methods: []string{"*"}, Reason: "allowed_hosts of its Extism manifest names " + host}
		if u, err := url.Parse(n.URL); err != nil || u.Hostname() != strings.Trim(hostAlone(host), "[]") || !acceptable(n) {
			p.note("allowed_hosts %q: not honoured; hosts are granted by name, or as *.example.com: `skillet permission grant %s 'http:GET https://HOST/*'`", host, m.Name)
			return false
		}
		asked = append(asked, n)
	}
	if strings.HasPrefix(host, "*.") {
		p.note("allowed_hosts %q: the star stands for one label, so not for a.b%s", host, host[1:])
	}
	m.Security.Permissions.Network = append(m.Security.Permissions.Network, asked...)
	return true
}

// hostAlone is a host without a port.
func hostAlone(text string) string {
	if host, _, err := net.SplitHostPort(text); err == nil {
		return host
	}
	return text
}

// acceptable reports whether a manifest can ask for n.
func acceptable(n manifests.NetworkPermission) bool {
	m := manifests.Manifest{Security: manifests.Security{Permissions: manifests.Permissions{Network: []manifests.NetworkPermission{n}}}}
	_, err := m.Requests("")
	return err == nil
}

// path asks for files, if the guest sees them where they are.
func (p *Plugin) path(m *manifests.Manifest, from, to string) {
	from, readOnly := strings.CutPrefix(from, "ro:")
	if path.Clean(from) != path.Clean(to) {
		p.note("allowed_paths %q: not honoured; the plug-in would see it as %q, and here files have the paths they have on this machine", from, to)
		return
	}
	ask := manifests.PathPermission{Path: from, Reason: "allowed_paths of its Extism manifest names it"}
	perms := manifests.Permissions{FileRead: []manifests.PathPermission{ask}}
	if _, err := (&manifests.Manifest{Security: manifests.Security{Permissions: perms}}).Requests("/workspace"); err != nil || strings.Contains(from, "*") {
		p.note("allowed_paths %q: not honoured; it is not a path that can be granted", from)
		return
	}
	ps := &m.Security.Permissions
	ps.FileRead = append(ps.FileRead, ask)
	if !readOnly {
		ps.FileWrite = append(ps.FileWrite, ask)
	}
}
