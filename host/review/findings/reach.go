package findings

import (
	"bytes"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/review/findings/script"
	"github.com/skillet-run/skillet/host/review/findings/words"
	"github.com/skillet-run/skillet/internal/lazyregexp"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies/capability"
)

var reachRules = []Rule{
	{
		ID: "SK201", Title: "address that the skill does not ask for", Severity: Warn,
		What: "A literal of a script has a URL, or is the name of a host, and no permission in the manifest covers it. Methods are not compared. Identifiers that only look like addresses, such as the names of XML namespaces and schemas, are left alone, and so is what stands in comments.",
		Why:  "The request would be refused. So either the manifest does not say what the skill is for, or somebody hopes for wider grants later.",
		Do:   "Ask for the address in security.permissions.network, with the reason, or take it out.",
	},
	{
		ID: "SK202", Title: "address in the module that the skill does not ask for", Severity: Info,
		What: "The data segments of the module have a URL that no permission in the manifest covers.",
		Why:  "Modules are full of addresses that are never asked for, such as those of documentation in error messages. It is one of the few things about a module that can be read.",
		Do:   "See whether there is one that does not belong.",
	},
	{
		ID: "SK203", Title: "path that the skill does not ask for", Severity: Warn,
		What: "A literal of a script is an absolute path of a file system, or one that starts with ~, and no permission in the manifest covers it.",
		Why:  "The file cannot be opened. The manifest does not say what the skill is for, or the script was written for somewhere else.",
		Do:   "Ask for it in security.permissions.file_read or file_write, with the reason, or take it out.",
	},
	{
		ID: "SK204", Title: "place where credentials are kept", Severity: Warn,
		What: "A script or the data of a module names a file in which credentials are commonly kept, such as ~/.ssh/id_rsa, ~/.aws/credentials or /etc/shadow, and no permission in the manifest covers it.",
		Why:  "There is hardly an honest use for it in a skill: secrets are asked for by name, and the host puts them where they belong.",
		Do:   "Take it out. Ask for a secret in security.permissions.secrets.",
	},
	{
		ID: "SK205", Title: "address within the host's own network", Severity: Warn,
		What: "A script or the data of a module has the URL of a loopback, private or link-local address, or of a cloud's metadata service, and no permission in the manifest covers it.",
		Why:  "From there, requests reach what is not meant for strangers: credentials of the machine, and services without a password.",
		Do:   "Take it out, or ask for exactly that address, with the reason.",
	},
}

// A reach knows what a manifest asks for.
type reach struct{ asked capability.Set }

// workspace stands for the directory that relative paths of a manifest are in.
const workspace = "/workspace"

func newReach(m *manifests.Manifest) reach {
	asks, err := m.Requests(workspace)
	if err != nil { // then it asks for nothing that can be given
		return reach{}
	}
	var all []capability.Capability
	for _, a := range asks {
		all = append(all, a.Capability)
	}
	return reach{capability.NewSet(all...)}
}

// coversURL reports whether an address, or one that begins with it, is asked
// for with some method.
func (r reach) coversURL(address string) bool {
	for _, c := range r.asked.All() {
		e, ok := c.Endpoint()
		if !ok {
			continue
		}
		method, _, _ := strings.Cut(strings.Replace(e.Method, "*", "GET", 1), ",")
		if c.Allows(capability.Request{Action: capability.HTTP, Method: method, Resource: address}) {
			return true
		}
		base, err := url.Parse(address)
		if err != nil {
			continue
		}
		// A base to which the rest of the path is added later.
		prefix := strings.TrimSuffix(base.EscapedPath(), "/")
		base.Path, base.RawPath, base.RawQuery, base.Fragment = strings.TrimSuffix(e.Path, "*"), "", "", ""
		if strings.HasPrefix(e.Path, prefix) && c.Allows(capability.Request{Action: capability.HTTP, Method: method, Resource: base.String()}) {
			return true
		}
	}
	return false
}

// coversPath reports whether a file, or something below it, is asked for.
func (r reach) coversPath(path string) bool {
	path = strings.TrimRight(path, "/")
	for _, action := range capability.ActionsWith(capability.ShapePath) {
		if _, ok := r.asked.Allows(capability.Request{Action: action, Resource: path}); ok {
			return true
		}
	}
	return slices.ContainsFunc(r.asked.All(), func(c capability.Capability) bool {
		return path != "" && (c.Base() == path || strings.HasPrefix(c.Base(), path+"/"))
	})
}

// An address is a URL found in a text.
type address struct {
	start, end int // in the text
	scheme     string
	host       string // in lower case, without port; an IP address without brackets
	text       string
}

var addressPattern = lazyregexp.New(`(?i)\b(https?|wss?|ftp)://(?:[a-z0-9._~%!$&'()*+,;=:-]*@)?(\[[0-9a-f:.]+\]|[a-z0-9][a-z0-9.-]*)(:[0-9]{1,5})?([/?#][a-z0-9._~%!$&'()*+,;=:@/?#-]*)?`)

// maxAddresses is how many addresses of a package are looked at.
const maxAddresses = 20_000

// addresses are the URLs in a text. Of a package, no more than maxAddresses
// places are looked at.
func (s *scan) addresses(text []byte) []address {
	var all []address
	for at := 0; ; {
		i := bytes.Index(text[at:], []byte("://"))
		if i < 0 {
			return all
		}
		if s.looked++; s.looked > maxAddresses {
			s.about("SK001", s.manifestFile(), fmt.Sprintf("there are more than %d addresses, and the others were not looked at", maxAddresses))
			return all
		}
		from, to := max(at, at+i-5), min(len(text), at+i+700)
		if m := addressPattern().FindSubmatchIndex(text[from:to]); m != nil {
			part := func(n int) string { return string(text[from+m[2*n] : from+m[2*n+1]]) }
			a := address{start: from + m[0], end: from + m[1], scheme: strings.ToLower(part(1)), host: strings.ToLower(strings.Trim(part(2), "[].")), text: part(0)}
			if a.isHost() {
				all = append(all, a)
			}
		}
		at += i + 3
	}
}

// isHost reports whether the host can be one: an address, localhost, or a name
// with a dot and a last label of letters.
func (a address) isHost() bool {
	if _, err := netip.ParseAddr(a.host); err == nil || a.host == "localhost" {
		return true
	}
	i := strings.LastIndexByte(a.host, '.')
	return i > 0 && len(a.host)-i > 2 && strings.Trim(a.host[i+1:], "abcdefghijklmnopqrstuvwxyz-0123456789") == "" && a.host[i+1] >= 'a'
}

// isInternal reports whether the host is of the host's own network.
func (a address) isInternal() bool {
	if a.host == "localhost" || strings.HasSuffix(a.host, ".localhost") || a.host == "metadata.google.internal" || a.host == "100.100.100.200" {
		return true
	}
	ip, err := netip.ParseAddr(a.host)
	return err == nil && (ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast() || ip.IsUnspecified() || ip.Unmap().IsLoopback())
}

// isName reports whether the address names something and is not asked for: XML
// namespaces, schemas and licences.
func (a address) isName() bool {
	return slices.Contains([]string{"www.w3.org", "w3.org", "json-schema.org", "schemas.xmlsoap.org", "schemas.openxmlformats.org", "schemas.microsoft.com", "purl.org", "xmlns.com", "ns.adobe.com", "schema.org", "spdx.org", "openoffice.org"}, a.host)
}

// literal looks at a literal of a script.
func (r reach) literal(in *reading, t script.Token) {
	at, n := t.Start, t.End-t.Start
	if in.is(0, "from", "import") || in.is(0, "(") && in.is(1, "require", "import") && !strings.Contains(t.Text, "://") {
		return // the name of a module
	}
	found := in.addresses([]byte(t.Text))
	for _, a := range found {
		if i := bytes.Index(in.file.data[t.Start:t.End], []byte(a.text)); i >= 0 {
			at, n = t.Start+i, len(a.text)
		}
		r.address(in.scan, "SK201", in.file, a, at, n)
	}
	at, n = t.Start, t.End-t.Start
	if len(found) == 0 && isHostName(t.Text) && !(address{host: host(t.Text)}).isName() && !r.coversURL("https://"+t.Text) && !r.coversURL("http://"+t.Text) {
		in.add("SK201", in.file, at, n, fmt.Sprintf("the host %s is not asked for", t.Text))
	}
	r.checkPath(in, t)
}

// address looks at an address somewhere in a file. It reports whether it is one that
// is not asked for.
func (r reach) address(s *scan, rule string, f *file, a address, at, n int) bool {
	switch {
	case a.isName() || r.coversURL(a.text):
		return false
	case a.isInternal():
		s.add("SK205", f, at, n, fmt.Sprintf("%s://%s is within the host's own network, and not asked for", a.scheme, a.host))
	default:
		s.add(rule, f, at, n, fmt.Sprintf("%s://%s is not asked for", a.scheme, a.host))
	}
	return true
}

// endings are the top-level domains of which a text without a scheme is taken
// for the name of a host. Those that are also endings of files are left out.
var endings = strings.Fields("com org net io dev app ai cloud info biz me xyz site online top club shop live icu cc ru cn de uk fr eu us tk ml ga")

var hostName = lazyregexp.New(`^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+([a-z]{2,20})(?::[0-9]{2,5})?(?:/[\w./%-]*)?$`)

// isHostName reports whether all of a text is the name of a host, with a port
// and a path or without.
func isHostName(text string) bool {
	m := hostName().FindStringSubmatch(text)
	return len(text) < 300 && m != nil && slices.Contains(endings, m[1]) && !strings.HasPrefix(text, "this.")
}

// host is the host at the beginning of a text.
func host(text string) string {
	host, _, _ := strings.Cut(text, "/")
	host, _, _ = strings.Cut(host, ":")
	return host
}

// rootPath fits absolute paths of file systems, which begin with one of these
// directories, and not those of URLs.
var rootPath = lazyregexp.New(`^(?:/(?:etc|home|root|usr|var|tmp|proc|sys|dev|opt|mnt|srv|Users|private|Volumes|run|boot|lib|bin|sbin)(?:/[^\s"'<>|]*)?|~/[^\s"'<>|]+|[A-Za-z]:\\[^\s"'<>|]+)$`)

// checkPath looks at a literal that is a path.
func (r reach) checkPath(in *reading, t script.Token) {
	at, n := t.Start, t.End-t.Start
	if secret := credentials(t.Text); secret != "" {
		if !r.coversPath(t.Text) {
			in.add("SK204", in.file, at, n, fmt.Sprintf("%s is a place where credentials are kept, and not asked for", secret))
		}
		return
	}
	if len(t.Text) < 300 && rootPath().MatchString(t.Text) && t.Text != "/dev/null" && !r.coversPath(t.Text) {
		in.add("SK203", in.file, at, n, fmt.Sprintf("%s is not asked for", t.Text))
	}
}

// credentialPaths are parts of the paths of files with credentials, in lower case.
var credentialPaths = []string{
	".ssh/", "id_rsa", "id_ed25519", ".aws/credentials", ".netrc", ".npmrc", ".pypirc", ".docker/config.json", ".kube/config",
	".git-credentials", ".gnupg/", "/etc/shadow", "/etc/sudoers", "/proc/self/environ", "/proc/1/environ", ".config/gcloud", ".azure/accesstokens",
	".config/gh/hosts.yml", "library/keychains", "default/login data", "wallet.dat", ".bash_history", ".zsh_history", ".skillet/",
	"/var/run/secrets/kubernetes.io", "application_default_credentials.json",
}

var credentialWords = words.New(credentialPaths)

// credentials returns the part of a path that says that credentials are kept
// there; empty for none.
func credentials(path string) string {
	found := ""
	if len(path) < 300 {
		credentialWords.Each([]byte(path), func(word, _ int) { found = credentialPaths[word] })
	}
	return found
}
