package adopt

import (
	_ "embed" // for the schema
	"encoding/json"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies/capability"
)

//go:embed wassette.schema.json
var wassetteSchema string

var wassetteForm = sync.OnceValue(func() *manifests.Form { return manifests.NewForm(wassetteSchema) })

// A Permit is one permission of a policy that can be granted here.
type Permit struct {
	Capability capability.Capability `json:"capability"`
	// From is the line of the policy, and the field, that says it.
	Line int    `json:"line"`
	From string `json:"from"`
}

// A Policy is a policy of another host, as far as a person can grant it here.
type Policy struct {
	Permits []Permit
	// Refused is what cannot be granted, each with the line and the reason.
	Refused []manifests.Problem
}

// wassette is a policy.yaml of Wassette, in the format of
// https://github.com/microsoft/policy-mcp.
type wassette struct {
	Permissions struct {
		Storage     wassetteList[wassetteFiles]   `json:"storage"`
		Network     wassetteList[wassetteAddress] `json:"network"`
		Environment wassetteList[wassetteKey]     `json:"environment"`
		Runtime     json.RawMessage               `json:"runtime"`
		Resources   json.RawMessage               `json:"resources"`
		IPC         json.RawMessage               `json:"ipc"`
	} `json:"permissions"`
}

type wassetteList[T any] struct {
	Allow []T `json:"allow"`
	Deny  []T `json:"deny"`
}

type wassetteFiles struct {
	URI    string   `json:"uri"`
	Access []string `json:"access"`
}

type wassetteAddress struct {
	Host     string `json:"host"`
	CIDR     string `json:"cidr"`
	Defaults bool   `json:"defaults"`
}

type wassetteKey struct {
	Key string `json:"key"`
}

// Wassette reads the policy.yaml of a component of Wassette: what it allows is
// what a person may grant, and what it forbids is taken out of that, whole lines
// at a time. workspace is the absolute directory that relative addresses mean.
// A file that is not such a policy is a [fault.KindUsage] error.
func Wassette(path, workspace string) (*Policy, error) {
	b, err := readFile(path, manifests.MaxBytes)
	if err != nil {
		return nil, fault.AsError(err)
	}
	return parseWassette(b, filepath.ToSlash(workspace))
}

func parseWassette(data []byte, workspace string) (*Policy, error) {
	fail := func(errs manifests.Errors) error {
		return fault.Errorf(fault.KindUsage, "not a policy of Wassette: %w", errs).
			WithHint("see https://github.com/microsoft/policy-mcp; %s grants single capabilities", fault.Grant("", ""))
	}
	docs, errs := wassetteForm().ReadEach(data, "policy.yaml")
	if len(errs) > 0 {
		return nil, fail(errs)
	}
	if len(docs) != 1 {
		return nil, fail(manifests.Errors{{Message: "is a list", Suggestion: "write one policy"}})
	}
	var w wassette
	if err := json.Unmarshal(docs[0].JSON(), &w); err != nil {
		return nil, fail(manifests.Errors{docs[0].DecodeProblem(err)})
	}
	i := importer{doc: docs[0], workspace: workspace, policy: &Policy{Permits: []Permit{}, Refused: []manifests.Problem{}}}
	i.storage(w.Permissions.Storage)
	i.network(w.Permissions.Network)
	i.environment(w.Permissions.Environment.Allow)
	i.others(w)
	return i.policy, nil
}

// An importer turns a policy into capabilities.
type importer struct {
	doc       manifests.Document
	workspace string
	policy    *Policy
}

func (i *importer) refuse(at, suggestion, format string, args ...any) {
	i.policy.Refused = append(i.policy.Refused, i.doc.Problem(at, suggestion, format, args...))
}

func (i *importer) permit(at string, c capability.Capability) {
	if slices.ContainsFunc(i.policy.Permits, func(p Permit) bool { return p.Capability == c }) {
		return
	}
	i.policy.Permits = append(i.policy.Permits, Permit{Capability: c, Line: i.doc.Problem(at, "", "").Line, From: at})
}

const (
	bySingle = "grant what is wanted with `skillet permission grant`"
	byPolicy = "grant less with `skillet permission grant`, or forbid it to all skills with a policy: `skillet help policy`"
)

func (i *importer) storage(l wassetteList[wassetteFiles]) {
	var denied []string // where files are that it forbids
	for n, d := range l.Deny {
		at := manifests.IndexPath("permissions.storage.deny", n)
		c, why := i.files(capability.FSRead, d.URI)
		if why != "" {
			denied = append(denied, "/") // it may be anywhere
			i.refuse(at, byPolicy, "%q %s, so nothing of storage.allow is granted", d.URI, why)
			continue
		}
		denied = append(denied, c.Base())
	}
	for n, a := range l.Allow {
		i.allowFiles(manifests.IndexPath("permissions.storage.allow", n), a, denied)
	}
}

func (i *importer) allowFiles(at string, a wassetteFiles, denied []string) {
	for _, access := range a.Access {
		action := map[string]capability.Action{"read": capability.FSRead, "write": capability.FSWrite}[access]
		c, why := i.files(action, a.URI)
		switch {
		case why != "":
			i.refuse(at, bySingle, "%q %s", a.URI, why)
			return
		case slices.ContainsFunc(denied, func(d string) bool { return inside(c.Base(), d) || inside(d, c.Base()) }):
			i.refuse(at, byPolicy, "%q may hold files that storage.deny names, and a grant cannot leave them out", a.URI)
			return
		}
		i.permit(at, c)
	}
}

// inside reports whether the path p is dir or below it.
func inside(p, dir string) bool {
	return p == dir || dir == "/" || strings.HasPrefix(p, dir+"/")
}

// files is the capability for an address such as fs://work/**, or why there is
// none.
func (i *importer) files(action capability.Action, uri string) (c capability.Capability, why string) {
	p, ok := strings.CutPrefix(uri, "fs://")
	if !ok {
		return c, "does not begin with fs://"
	}
	if p == "" {
		return c, "names nothing"
	}
	ask := []manifests.PathPermission{{Path: p}}
	m := manifests.Manifest{Security: manifests.Security{Permissions: manifests.Permissions{FileRead: ask}}}
	if action == capability.FSWrite {
		m.Security.Permissions = manifests.Permissions{FileWrite: ask}
	}
	rs, err := m.Requests(i.workspace)
	if err != nil {
		return c, "is not a path that can be granted"
	}
	return rs[0].Capability, ""
}

func (i *importer) network(l wassetteList[wassetteAddress]) {
	for n, a := range l.Allow {
		at := manifests.IndexPath("permissions.network.allow", n)
		switch {
		case a.CIDR != "":
			i.refuse(at, "grant hosts by their names", "%s is a range of addresses, and hosts are granted by name", a.CIDR)
		case a.Host == "":
			i.refuse(at, "grant the hosts that it needs by their names", "defaults are a list that Wassette keeps")
		default:
			i.allowHost(at, a.Host, l.Deny)
		}
	}
}

// allowHost permits all requests to a host, which may be written with a scheme.
func (i *importer) allowHost(at, text string, deny []wassetteAddress) {
	schemes, host := []string{"https", "http"}, text
	if scheme, rest, ok := strings.Cut(text, "://"); ok {
		schemes, host = []string{scheme}, strings.TrimSuffix(rest, "/")
	}
	if d := slices.IndexFunc(deny, func(d wassetteAddress) bool { return d.overlaps(host) }); d >= 0 {
		i.refuse(at, byPolicy, "%q may be among what network.deny[%d] names, and a grant cannot leave that out", text, d)
		return
	}
	var cs []capability.Capability
	for _, scheme := range schemes {
		c, err := capability.Parse("http:* " + scheme + "://" + host + "/*")
		if err != nil || !isHost(host) {
			i.refuse(at, bySingle, "%q is not a host that can be granted: a name, or *. and a name", text)
			return
		}
		cs = append(cs, c)
	}
	for _, c := range cs {
		i.permit(at, c)
	}
}

// isHost reports whether text is a host, maybe with a port, and nothing else.
func isHost(text string) bool {
	u, err := url.Parse("http://" + text + "/")
	return err == nil && u.Host == text && u.User == nil
}

// overlaps reports whether a denied address may be one of the host's. It may be
// when the denied one is a range of addresses, or not a host.
func (d wassetteAddress) overlaps(host string) bool {
	if d.Host == "" {
		return d.CIDR != "" || d.Defaults
	}
	a, b, ok := bareHost(host), bareHost(d.Host), isHost(withoutScheme(d.Host))
	return !ok || a == b || a == "" || b == "" || strings.HasSuffix(a, "."+b) || strings.HasSuffix(b, "."+a) || strings.Contains(a+b, "*")
}

// bareHost is the name of a host without scheme, port, wildcard and the dot that ends a whole name, in lower case.
func bareHost(text string) string {
	name := strings.ToLower(withoutScheme(text))
	if h, _, err := net.SplitHostPort(name); err == nil {
		name = h
	}
	return strings.TrimRight(strings.TrimLeft(name, "*."), ".")
}

func withoutScheme(text string) string {
	if _, rest, ok := strings.Cut(text, "://"); ok {
		text = rest
	}
	return strings.TrimSuffix(text, "/")
}

func (i *importer) environment(keys []wassetteKey) {
	for n, k := range keys {
		i.refuse(manifests.IndexPath("permissions.environment.allow", n),
			"keep a secret with `skillet secret set`, which the host adds to requests, or give a value with --config",
			"a skill reads no environment, so not %s either", k.Key)
	}
}

// others says what is not about files, hosts and the environment.
func (i *importer) others(w wassette) {
	for _, o := range []struct {
		at, suggestion, why string
		set                 json.RawMessage
	}{
		{"permissions.resources", "bound a skill in its manifest, with security.resource_limits, or one run with --max-memory-mb", "a limit is not a grant", w.Permissions.Resources},
		{"permissions.runtime", "every skill runs in the sandbox, without containers", "this host has no other runtimes", w.Permissions.Runtime},
		{"permissions.ipc", "a skill reaches other skills with grants such as skill:NAME", "a skill has no pipes and sockets", w.Permissions.IPC},
	} {
		if len(o.set) > 0 && string(o.set) != "null" {
			i.refuse(o.at, o.suggestion, "%s", o.why)
		}
	}
}
