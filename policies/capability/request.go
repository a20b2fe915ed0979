package capability

import (
	"fmt"
	"net/netip"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Request is one concrete thing a guest tries. Its resource is literal: a star
// in it is a star. The zero value is allowed by nothing.
type Request struct {
	Action Action
	// Method is the HTTP method, for HTTP only; "" means GET.
	Method string
	// Resource is an absolute, cleaned path for an action with [ShapePath], an
	// absolute URL for HTTP, and a name for one with [ShapeName]. The other actions
	// have none; what stands there is shown in String and decides nothing.
	Resource string
}

// Endpoint is where an HTTP request goes, in canonical form.
type Endpoint struct {
	Method string // upper case
	Scheme string // "http" or "https"
	Host   string // lower-case name, or IP address without brackets
	Port   int    // 1 to 65535; the scheme's own when the URL names none
	Path   string // escaped, beginning with "/"; without query
}

// URL returns the endpoint's URL.
func (e Endpoint) URL() string {
	return site{scheme: e.Scheme, host: e.Host, port: uint16(e.Port)}.String() + e.Path
}

// Addr returns the IP address the host is written as; it is false when the host
// is a name or a pattern.
func (e Endpoint) Addr() (netip.Addr, bool) {
	addr, err := netip.ParseAddr(e.Host)
	return addr, err == nil
}

// IsAddress reports whether the host is written as an IP address.
func (e Endpoint) IsAddress() bool {
	_, ok := e.Addr()
	return ok
}

// target is a request after reading.
type target struct {
	action   Action
	method   string
	site     site
	resource string
}

func (r Request) target() (target, *fault) {
	k := lookup(r.Action)
	if k == nil {
		return target{}, faultf("", "unknown action %s", quote(string(r.Action)))
	}
	t := target{action: r.Action}
	switch k.Shape {
	case ShapePath:
		t.resource = r.Resource
		return t, checkRequestPath(r.Resource)
	case ShapeURL:
		return t.readURL(r)
	case ShapeName:
		t.resource = r.Resource
		return t, checkName(r.Resource)
	default:
		return t, nil
	}
}

func (t target) readURL(r Request) (target, *fault) {
	t.method = strings.ToUpper(r.Method)
	if t.method == "" {
		t.method = "GET"
	}
	if f := checkMethod(t.method); f != nil {
		return target{}, f
	}
	u, f := readURL(r.Resource)
	if f != nil {
		return target{}, f
	}
	if t.site, f = readSite(u, false); f != nil {
		return target{}, f
	}
	t.resource, f = readPath(u)
	return t, f
}

// checkRequestPath refuses a path that is not absolute and clean, and one that
// cannot be shown to a person or means something else on another system.
func checkRequestPath(p string) *fault {
	switch {
	case p == "" || p[0] != '/':
		return faultf("", "the path is not absolute")
	case path.Clean(p) != p:
		return faultf("", "the path is not clean")
	case strings.Contains(p, `\`) || !utf8.ValidString(p) || strings.ContainsFunc(p, isControl):
		return faultf("", "the path holds a backslash or a control character, or is not valid UTF-8")
	}
	return nil
}

// Canonical returns the request as it is checked and logged: the method in
// upper case, the URL with its host, port and escapes in one spelling and
// without query and fragment. The error is a *ParseError and says why nothing
// allows the request.
func (r Request) Canonical() (Request, error) {
	t, f := r.target()
	if f != nil {
		return Request{}, &ParseError{What: "request", Text: r.String(), Message: f.message}
	}
	return t.request(r), nil
}

func (t target) request(r Request) Request {
	if t.action != HTTP {
		return Request{Action: t.action, Resource: r.Resource}
	}
	return Request{Action: HTTP, Method: t.method, Resource: t.site.String() + t.resource}
}

// Endpoint returns where an HTTP request goes. The error is a *ParseError, also
// for a request of another action.
func (r Request) Endpoint() (Endpoint, error) {
	t, f := r.target()
	if f == nil && t.action != HTTP {
		f = faultf("", "it is not an http request")
	}
	if f != nil {
		return Endpoint{}, &ParseError{What: "request", Text: r.String(), Message: f.message}
	}
	return Endpoint{Method: t.method, Scheme: t.site.scheme, Host: t.site.host, Port: int(t.site.port), Path: t.resource}, nil
}

// Capability returns the narrowest capability that allows the request: what a
// person would have to grant. The error is a *ParseError: for a request that
// nothing allows, and for one whose resource no capability can name alone, such
// as a file with a star in its name.
func (r Request) Capability() (Capability, error) {
	t, f := r.target()
	if f == nil {
		f = t.checkLiteral()
	}
	if f != nil {
		return Capability{}, &ParseError{What: "request", Text: r.String(), Message: f.message}
	}
	return Parse(t.text())
}

// checkLiteral refuses a resource that would be read as a pattern. A star in a
// URL has been escaped and a name holds none.
func (t target) checkLiteral() *fault {
	if t.action != HTTP && strings.Contains(t.resource, "*") {
		return faultf("", `no capability can name a file with "*" in its path alone; grant its directory`)
	}
	return nil
}

func (t target) text() string {
	switch {
	case t.action == HTTP:
		return string(HTTP) + ":" + t.method + " " + t.site.String() + t.resource
	case t.resource != "":
		return string(t.action) + ":" + t.resource
	default:
		return string(t.action)
	}
}

// String returns the request in one printable line, such as
// "http:GET https://evil.example/x": canonical when it can be, otherwise as it
// came, in both cases without query, fragment and user information, which may
// hold secrets.
func (r Request) String() string {
	if t, f := r.target(); f == nil {
		r = t.request(r)
	} else if r.Action == HTTP {
		r.Resource = withoutSecrets(r.Resource)
	}
	line := string(r.Action)
	switch {
	case r.Action == HTTP && r.Method != "":
		line += ":" + r.Method + " " + r.Resource
	case r.Resource != "":
		line += ":" + r.Resource
	}
	return printable(line)
}

// withoutSecrets cuts query, fragment and user information out of a text that
// need not be a URL.
func withoutSecrets(address string) string {
	if end := strings.IndexAny(address, "?#"); end >= 0 {
		address = address[:end]
	}
	if at := strings.LastIndexByte(address, '@'); at >= 0 {
		scheme, _, found := strings.Cut(address[:at], "//")
		if !found {
			return address[at:]
		}
		return scheme + "//" + address[at+1:]
	}
	return address
}

// printable escapes what a terminal would not show as itself.
func printable(line string) string {
	var out strings.Builder
	for _, r := range line {
		if unicode.IsPrint(r) {
			out.WriteRune(r)
		} else {
			fmt.Fprintf(&out, `\u{%x}`, r)
		}
	}
	return out.String()
}
