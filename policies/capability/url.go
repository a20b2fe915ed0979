package capability

import (
	"net/url"
	"strings"
	"unicode/utf8"
)

// parseURLPattern reads "METHODS URL" or "URL", which means GET.
func parseURLPattern(text string) (list string, s site, path string, f *fault) {
	list, address, found := strings.Cut(text, " ")
	if !found {
		list, address = "GET", text
	}
	if trimmed := strings.TrimSpace(address); trimmed != address {
		return "", site{}, "", faultf(list+" "+trimmed, "one space stands between method and URL")
	}
	if list, f = parseMethods(list); f != nil {
		if f.fix != "" {
			f.fix += " " + address
		}
		return "", site{}, "", f
	}
	if s, path, f = readPattern(address); f != nil && f.fix != "" {
		f.fix = list + " " + f.fix
	}
	return list, s, path, f
}

// readPattern reads the URL of a pattern. The fix of its fault is a whole URL.
func readPattern(address string) (site, string, *fault) {
	u, f := readURL(address)
	if f != nil {
		return site{}, "", f
	}
	s, f := readSite(u, true)
	switch {
	case f != nil:
		return site{}, "", f
	case u.RawQuery != "" || u.ForceQuery || strings.Contains(address, "#"):
		return site{}, "", faultf(s.String()+u.EscapedPath(), "a pattern has no query and no fragment; a query in a request is allowed with its path")
	}
	path, f := readPathPattern(u.EscapedPath())
	if f != nil && f.fix != "" {
		f.fix = s.String() + f.fix
	}
	return s, path, f
}

// readURL parses a URL with the parser that will also send it, after refusing
// what other parsers read differently.
func readURL(address string) (*url.URL, *fault) {
	if strings.Contains(address, `\`) {
		return nil, faultf(strings.ReplaceAll(address, `\`, "/"), "the URL holds a backslash")
	}
	if !utf8.ValidString(address) || strings.ContainsFunc(address, isControl) {
		return nil, faultf("", "the URL holds a control character or is not valid UTF-8")
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, faultf("", "%s", reasonOf(err))
	}
	if u.Scheme == "" {
		return nil, faultf(withScheme(address), "the URL has no scheme; write https:// or http:// and a host")
	}
	return u, nil
}

// withScheme completes an address that begins with what looks like a domain.
func withScheme(address string) string {
	address = strings.TrimPrefix(address, "//")
	host, _, _ := strings.Cut(address, "/")
	if !strings.Contains(host, ".") {
		return ""
	}
	return "https://" + address
}

// reasonOf returns what a *url.Error says without the URL, which may hold a
// password.
func reasonOf(err error) string {
	if e, ok := err.(*url.Error); ok {
		return e.Err.Error()
	}
	return "not a URL"
}

func isControl(r rune) bool { return r < 0x20 || r >= 0x7f && r < 0xa0 }

// readPathPattern checks the path of a pattern; a "*" or "**" at its end makes
// it a prefix, of which only the part up to the last slash is complete.
func readPathPattern(escaped string) (string, *fault) {
	prefix, starred := strings.CutSuffix(escaped, "*")
	prefix = strings.TrimSuffix(prefix, "*")
	if !starred {
		prefix = escaped
	}
	if strings.Contains(prefix, "*") {
		return "", faultf("", `"*" may stand only at the end of a path; write a literal one as %%2A`)
	}
	if prefix == "" {
		prefix = "/"
	}
	clean, f := cleanPath(prefix, starred)
	if f != nil {
		return "", f
	}
	if starred {
		return clean + "*", nil
	}
	return clean, nil
}

// cleanPath checks the escaped path of a pattern and brings its escapes into
// canonical form.
func cleanPath(escaped string, isPrefix bool) (string, *fault) {
	path, f := normalizeEscapes(escaped)
	if f != nil {
		return "", f
	}
	if f := checkClimb(path); f != nil {
		return "", f
	}
	whole, part := path, ""
	if isPrefix {
		cut := strings.LastIndexByte(path, '/') + 1
		whole, part = path[:cut], path[cut:]
	}
	if tidy := dropEmpty(whole); tidy != whole {
		return "", faultf(tidy+part, "the path holds an empty or . segment")
	}
	return path, nil
}

// readPath returns the canonical path of a request's URL.
func readPath(u *url.URL) (string, *fault) {
	escaped := u.EscapedPath()
	if escaped == "" {
		return "/", nil
	}
	path, f := normalizeEscapes(escaped)
	if f != nil {
		return "", f
	}
	if f := checkClimb(path); f != nil {
		return "", f
	}
	return dropEmpty(path), nil
}

// dropEmpty takes out empty segments and single dots; a slash at the end
// stays.
func dropEmpty(path string) string {
	if !strings.Contains(path, "//") && !strings.Contains(path, "/.") {
		return path
	}
	var out strings.Builder
	for segment := range strings.SplitSeq(path, "/") {
		if segment != "" && segment != "." {
			out.WriteString("/" + segment)
		}
	}
	if strings.HasSuffix(path, "/") || strings.HasSuffix(path, "/.") || out.Len() == 0 {
		out.WriteByte('/')
	}
	return out.String()
}

// checkClimb refuses a path in which some reader could find a ".." segment:
// written plainly, escaped once or several times, behind an escaped slash or
// backslash, or with parameters or spaces after it.
func checkClimb(path string) *fault {
	const rounds = 4
	for range rounds {
		if climbs(path) {
			return faultf("", `the path climbs with ".."; write it resolved`)
		}
		plain := unescapeLoosely(path)
		if plain == path {
			return nil
		}
		path = plain
	}
	return faultf("", "the path is escaped more than %d times over", rounds-1)
}

// unescapeLoosely decodes every escape that is one and leaves the rest, as
// lenient servers do.
func unescapeLoosely(path string) string {
	if !strings.Contains(path, "%") {
		return path
	}
	out := make([]byte, 0, len(path))
	for i := 0; i < len(path); i++ {
		if path[i] == '%' && i+2 < len(path) && isHex(path[i+1]) && isHex(path[i+2]) {
			out = append(out, unhex(path[i+1])<<4|unhex(path[i+2]))
			i += 2
			continue
		}
		out = append(out, path[i])
	}
	return string(out)
}

func climbs(path string) bool {
	for segment := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '/' || r == '\\' }) {
		name, _, _ := strings.Cut(segment, ";")
		if strings.TrimRight(name, " ") == ".." {
			return true
		}
	}
	return false
}

// normalizeEscapes returns a path in which exactly the characters that need an
// escape have one, in upper case (RFC 3986, 6.2.2). A star is escaped: in a
// pattern a bare one is a wildcard.
func normalizeEscapes(path string) (string, *fault) {
	if !needsEscapes(path) {
		return path, nil
	}
	plain, err := url.PathUnescape(path)
	if err != nil {
		return "", faultf("", "%s", err)
	}
	if !utf8.ValidString(plain) || strings.ContainsFunc(plain, isControl) {
		return "", faultf("", "the path holds an escaped control character or is not UTF-8")
	}
	var out strings.Builder
	for i := 0; i < len(path); i++ {
		b, escaped := path[i], path[i] == '%'
		if escaped {
			b = unhex(path[i+1])<<4 | unhex(path[i+2])
			i += 2
		}
		writePathByte(&out, b, escaped)
	}
	return out.String(), nil
}

func needsEscapes(path string) bool {
	for i := range len(path) {
		if !isUnreserved(path[i]) && path[i] != '/' {
			return true
		}
	}
	return false
}

// writePathByte writes one byte of a path. A reserved character keeps the form
// it came in, because escaping it may change what it means to the server.
func writePathByte(out *strings.Builder, b byte, escaped bool) {
	bare := isUnreserved(b) || !escaped && strings.IndexByte("/!$&'()+,;=:@", b) >= 0
	if bare {
		out.WriteByte(b)
		return
	}
	const digits = "0123456789ABCDEF"
	out.Write([]byte{'%', digits[b>>4], digits[b&15]})
}

// isUnreserved follows RFC 3986, 2.3.
func isUnreserved(b byte) bool {
	return isAlnum(b) || strings.IndexByte("-._~", b) >= 0
}

func isHex(b byte) bool {
	return '0' <= b && b <= '9' || 'a' <= b && b <= 'f' || 'A' <= b && b <= 'F'
}

func unhex(b byte) byte {
	switch {
	case b <= '9':
		return b - '0'
	case b <= 'F':
		return b - 'A' + 10
	default:
		return b - 'a' + 10
	}
}
