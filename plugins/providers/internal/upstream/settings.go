// Package upstream is what every provider in this module has in common towards
// the server it asks: where the server is, what is sent along, how much it may
// answer, and what its failures mean. It refuses to know any server's API.
package upstream

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpproxy"

	"github.com/skillet-run/skillet/plugins/provider"
)

// Env looks up an environment variable; one that is not there is empty. In a
// plugin it is [os.Getenv], which finds nothing but what the host passed on.
type Env func(name string) string

// Variables are the names of the environment variables a provider reads, and
// what holds without them.
type Variables struct {
	// Provider is the name that begins each error.
	Provider string
	// Key, Base, Headers and Models name variables. Models is a JSON array of
	// provider.Model, Headers a JSON object of strings.
	Key, Base, Headers, Models string
	// DefaultBase is the address of the server when Base is not set.
	DefaultBase string
	// KeyOptional says that the server at the default address asks for no key. A
	// server at another address may always be without one.
	KeyOptional bool
}

// Settings say which server is asked, and how.
type Settings struct {
	Provider string
	Key      string
	Base     *url.URL
	// Custom says that Base is not the provider's own server.
	Custom bool
	// Models are what a person knows better than the built-in table.
	Models []provider.Model

	keyName string
	keyless bool
	base    string // the variable's name
	headers map[string]string
	proxy   func(*url.URL) (*url.URL, error)
	err     error
}

// Read reads settings. What is wrong with them is said by [Settings.Check], so
// that a plugin always starts and can say what is wrong.
func Read(env Env, v Variables) Settings {
	s := Settings{Provider: v.Provider, Key: strings.TrimSpace(env(v.Key)), keyName: v.Key, base: v.Base, proxy: proxies(env)}
	address := strings.TrimSpace(env(v.Base))
	s.Custom = address != ""
	if !s.Custom {
		address = v.DefaultBase
	}
	s.keyless = v.KeyOptional || s.Custom
	if s.Base, s.err = parseBase(address); s.err != nil {
		s.err = fmt.Errorf("%s: %w", v.Base, s.err)
		return s
	}
	if s.err = readJSON(env(v.Headers), v.Headers, &s.headers); s.err == nil {
		s.err = readJSON(env(v.Models), v.Models, &s.Models)
	}
	return s
}

// proxies reads the usual three variables, without the cache of net/http.
func proxies(env Env) func(*url.URL) (*url.URL, error) {
	first := func(names ...string) string {
		for _, name := range names {
			if v := env(name); v != "" {
				return v
			}
		}
		return ""
	}
	return (&httpproxy.Config{
		HTTPProxy:  first("HTTP_PROXY", "http_proxy"),
		HTTPSProxy: first("HTTPS_PROXY", "https_proxy"),
		NoProxy:    first("NO_PROXY", "no_proxy"),
	}).ProxyFunc()
}

func parseBase(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return nil, fmt.Errorf("not an address: want https://host/path")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("want http:// or https:// and a host")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("a password, a query or a fragment has no place in it")
	}
	return u, nil
}

// readJSON says nothing of the value, which may be a secret.
func readJSON(text, name string, into any) error {
	if text == "" {
		return nil
	}
	if json.Unmarshal([]byte(text), into) != nil {
		return fmt.Errorf("%s is not the JSON it should be", name)
	}
	return nil
}

// Check fails when no server can be asked with these settings: with class
// invalid when they are wrong, and with class auth when the key is missing.
func (s Settings) Check() error {
	if s.err != nil {
		return &provider.Error{Class: provider.ClassInvalid, Message: s.Provider + ": settings: " + s.err.Error()}
	}
	if s.Key == "" && !s.keyless {
		return &provider.Error{Class: provider.ClassAuth, Message: s.Provider + ": no key: set " + s.keyName}
	}
	return nil
}

// Whose says whose models are asked: own, unless the server is another.
func (s Settings) Whose(own string) string {
	if s.Custom && s.Base != nil {
		return "the models of " + s.Base.Host
	}
	return own
}

// secrets are what must never be shown, the longest first.
func (s Settings) secrets() []string {
	found := slices.Collect(maps.Values(s.headers))
	found = append(found, s.Key, url.QueryEscape(s.Key))
	found = slices.DeleteFunc(found, func(v string) bool { return len(v) < 4 })
	slices.SortFunc(found, func(a, b string) int { return len(b) - len(a) })
	return found
}

// Scrub strikes the key and the values of the configured headers out of a text.
func (s Settings) Scrub(text string) string {
	for _, secret := range s.secrets() {
		text = strings.ReplaceAll(text, secret, "[secret]")
	}
	return text
}

// header adds what a person configured to a request.
func (s Settings) header(h http.Header) {
	for name, value := range s.headers {
		h.Set(name, value)
	}
}
