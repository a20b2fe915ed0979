package config

import (
	"fmt"
	"net"
	"path"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/internal/lazyregexp"
)

// registriesKey is the setting that is a list.
const registriesKey = "registries"

// A Registry is one place that short names of skills are looked for in.
type Registry struct {
	// Name is what people call it.
	Name string `koanf:"name" json:"name"`
	// URL is oci://HOST[:PORT][/PREFIX]: the skill csv is the repository
	// PREFIX/csv.
	URL string `koanf:"url" json:"url"`
	// Names are the patterns of the skills it serves, with * for any
	// characters; empty for every skill that no other registry names.
	Names []string `koanf:"names" json:"names,omitempty"`
	// Mirrors are URLs like the one above, asked before it, in order.
	Mirrors []string `koanf:"mirrors" json:"mirrors,omitempty"`
	// Redirects are the HOST[:PORT]s it may redirect requests to, besides
	// public addresses over HTTPS.
	Redirects []string `koanf:"redirects" json:"redirects,omitempty"`
	// PlainHTTP says that it and its mirrors are reached without TLS, or never without.
	// nil has registries on this machine asked whether they speak TLS, and all others
	// reached with it.
	PlainHTTP *bool `koanf:"plain_http" json:"plain_http,omitempty"`
}

// String is name=url, as `skillet config list` shows it.
func (r Registry) String() string { return r.Name + "=" + r.URL }

var (
	registryName = lazyregexp.New(`^[a-z0-9]+([._-][a-z0-9]+)*$`)
	registryURL  = lazyregexp.New(`^oci://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*/?$`)
	namePattern  = lazyregexp.New(`^[a-z0-9*-]+$`)
)

// checkRegistries refuses what cannot be meant, saying which entry it is.
func checkRegistries(rs []Registry, source string) error {
	seen := map[string]bool{}
	for i, r := range rs {
		refuse := func(hint, format string, args ...any) error {
			return fault.Errorf(fault.KindUsage, "setting registries[%d]%s: %s", i, from(source), fmt.Sprintf(format, args...)).WithHint("%s", hint)
		}
		switch {
		case !registryName().MatchString(r.Name):
			return refuse("give each registry a name of lower-case letters and digits", "the name is %q", r.Name)
		case seen[r.Name]:
			return refuse("give each registry a name of its own", "the name %s is there twice", r.Name)
		case !registryURL().MatchString(r.URL):
			return refuse("it must be oci://HOST[:PORT][/PREFIX]", "the url is %q", r.URL)
		}
		for _, m := range r.Mirrors {
			if !registryURL().MatchString(m) {
				return refuse("it must be oci://HOST[:PORT][/PREFIX]", "the mirror is %q", m)
			}
		}
		for _, n := range r.Names {
			if _, err := path.Match(n, ""); err != nil || !namePattern().MatchString(n) {
				return refuse("it must be a name such as csv, or a pattern such as acme-*", "the name pattern is %q", n)
			}
		}
		if j := slices.IndexFunc(r.Redirects, func(h string) bool { return !isHost(h) }); j >= 0 {
			return refuse("it must be HOST or HOST:PORT", "the redirect is %q", r.Redirects[j])
		}
		seen[r.Name] = true
	}
	return nil
}

func isHost(text string) bool {
	host := text
	if h, _, err := net.SplitHostPort(text); err == nil {
		host = h
	}
	return host != "" && !strings.ContainsAny(text, "/@ ")
}
