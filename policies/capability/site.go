package capability

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// site is where a URL points: scheme, host and port, all canonical. The host is
// lower-case ASCII, an IP address without brackets, or in a pattern "*." and a
// domain.
type site struct {
	scheme string
	host   string
	port   uint16
}

func defaultPort(scheme string) uint16 {
	if scheme == "https" {
		return 443
	}
	return 80
}

// String returns scheme://host, with brackets around an IPv6 address and the
// port unless it is the scheme's own.
func (s site) String() string {
	host := s.host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if s.port != defaultPort(s.scheme) {
		host += ":" + strconv.Itoa(int(s.port))
	}
	return s.scheme + "://" + host
}

// covers reports whether every site that d names is one that s names.
func (s site) covers(d site) bool {
	return s == d || s.allows(d) && !strings.HasPrefix(d.host, "*")
}

// allows reports whether s names the literal site t.
func (s site) allows(t site) bool {
	if s.scheme != t.scheme || s.port != t.port {
		return false
	}
	domain, wild := strings.CutPrefix(s.host, "*")
	if !wild {
		return s.host == t.host
	}
	label, ok := strings.CutSuffix(t.host, domain)
	return ok && label != "" && !strings.Contains(label, ".")
}

// readSite takes the site out of a parsed URL. Wildcards are accepted in
// patterns only.
func readSite(u *url.URL, pattern bool) (site, *fault) {
	if u.Scheme != "http" && u.Scheme != "https" {
		return site{}, faultf("", "the scheme %s is not http or https", quote(u.Scheme))
	}
	switch {
	case u.Opaque != "" || u.Host == "":
		return site{}, faultf("", "the URL has no host; write one, as in %s://api.example.com/v1/*", u.Scheme)
	case u.User != nil:
		return site{}, faultf(u.Scheme+"://"+u.Host+u.EscapedPath(), "the URL holds user information; a secret is added by the host, never written in a URL")
	}
	host, f := readHost(u, pattern)
	if f != nil {
		return site{}, f
	}
	port, f := readPort(u)
	return site{scheme: u.Scheme, host: host, port: port}, f
}

func readPort(u *url.URL) (uint16, *fault) {
	text := u.Port()
	if text == "" {
		if strings.HasSuffix(u.Host, ":") {
			return 0, faultf(u.Scheme+"://"+strings.TrimSuffix(u.Host, ":")+u.EscapedPath(), "the port is empty")
		}
		return defaultPort(u.Scheme), nil
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 || text[0] == '0' {
		return 0, faultf("", "the port %s is not a number from 1 to 65535 without leading zeros", quote(text))
	}
	return uint16(n), nil
}

// readHost returns the canonical host of a URL.
func readHost(u *url.URL, pattern bool) (string, *fault) {
	host := strings.ToLower(u.Hostname())
	rest := strings.TrimPrefix(u.Host, u.Hostname()) // ":port", when there are no brackets
	switch {
	case strings.HasPrefix(u.Host, "["):
		return readIPv6(host)
	case strings.HasSuffix(host, "."):
		return "", faultf(u.Scheme+"://"+strings.TrimRight(host, ".")+rest+u.EscapedPath(), "the host ends in a dot")
	}
	domain, wild := strings.CutPrefix(host, "*.")
	if wild && pattern {
		return host, checkDomain(domain)
	}
	if strings.Contains(host, "*") {
		return "", faultf("", `"*" may stand only for the first whole label of a host, as in *.example.com`)
	}
	if endsInNumber(host) {
		return readIPv4(host)
	}
	return host, checkLabels(host)
}

// readIPv6 canonicalises an IPv6 address (RFC 5952). One that only wraps an
// IPv4 address is that address: it is where the connection would go.
func readIPv6(host string) (string, *fault) {
	addr, err := netip.ParseAddr(host)
	switch {
	case err != nil:
		return "", faultf("", "%s is not an IPv6 address", quote(host))
	case addr.Zone() != "":
		return "", faultf("", "the address %s has a zone", quote(host))
	}
	return addr.Unmap().String(), nil
}

// readIPv4 accepts dotted decimal only. Shortened, octal and hexadecimal
// spellings reach different machines depending on who reads them.
func readIPv4(host string) (string, *fault) {
	addr, err := netip.ParseAddr(host)
	if err != nil || !addr.Is4() {
		return "", faultf("", "%s looks like a number but is not an IPv4 address in dotted decimal such as 127.0.0.1", quote(host))
	}
	return addr.String(), nil
}

// endsInNumber reports whether some reader of URLs would take the host for an
// IPv4 address: its last label is decimal, or hexadecimal after 0x (WHATWG URL,
// "ends in a number checker").
func endsInNumber(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	digits := "0123456789"
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		last, digits = "0"+hex, "0123456789abcdef"
	}
	return last != "" && strings.Trim(last, digits) == ""
}

// checkDomain checks what stands behind "*." in a pattern.
func checkDomain(domain string) *fault {
	switch {
	case !strings.Contains(domain, "."):
		return faultf("", "*.%s would be every host of a top-level domain; name at least two labels, as in *.example.com", domain)
	case endsInNumber(domain):
		return faultf("", "an address takes no wildcard")
	}
	return checkLabels(domain)
}

// checkLabels accepts a host name in its ASCII form: labels of letters, digits,
// hyphens and underscores (RFC 1123, and the underscore that real zones use).
func checkLabels(host string) *fault {
	if len(host) > 253 {
		return faultf("", "the host is longer than 253 characters")
	}
	for label := range strings.SplitSeq(host, ".") {
		if f := checkLabel(host, label); f != nil {
			return f
		}
	}
	return nil
}

func checkLabel(host, label string) *fault {
	if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
		return faultf("", "%s is not a host name", quote(host))
	}
	for i := range len(label) {
		switch b := label[i]; {
		case b >= 0x80:
			return faultf("", "the host %s is not ASCII; write its xn-- form", quote(host))
		case !isAlnum(b) && b != '-' && b != '_':
			return faultf("", "%s is not a host name", quote(host))
		}
	}
	return nil
}
