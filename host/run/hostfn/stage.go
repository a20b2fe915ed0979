package hostfn

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/engine/jail"
	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/capability"
)

// A Stage stands in for the machine, so that a call can be tried out with grants that reach nothing real. With
// one in [Settings], no socket is opened whatever is granted, no file is opened outside of the workspace, and no
// other skill or model is asked; the store, the secrets and the notifier are what [Settings] say, as without.
// Grants and policies are asked as they always are.
type Stage struct {
	// Web answers requests, each hop of a redirect by itself, with the header that is sent. If nil, every
	// request fails. It must not keep the request.
	Web http.RoundTripper
}

// exchange is what carries requests: the network, or what stands in for it.
func (s Settings) exchange() http.RoundTripper {
	if s.Stage == nil {
		return s.network()
	}
	if s.Stage.Web == nil {
		return noNetwork{}
	}
	return s.Stage.Web
}

// network is a transport of its own, so that no connection is shared between skills, with no proxy, no cookies,
// and a dialer that checks addresses. Nothing is dialled.
func (s Settings) network() *http.Transport {
	return &http.Transport{
		Proxy:                  nil,
		DialContext:            newDialer(s.Resolver).DialContext,
		TLSClientConfig:        &tls.Config{RootCAs: s.RootCAs, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2:      true,
		MaxResponseHeaderBytes: MaxHeaderBytes,
		TLSHandshakeTimeout:    tlsTimeout,
		IdleConnTimeout:        idleTimeout,
		MaxIdleConns:           4,
	}
}

// noNetwork refuses every request.
type noNetwork struct{}

func (noNetwork) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("no network")}
}

// roots are the directories and files that the call may open.
func (s Settings) roots() []jail.Root {
	var all []jail.Root
	for _, c := range s.Granted.All() {
		if base := s.onStage(c.Base()); base != "" {
			all = append(all, jail.Root{Path: base, Write: c.Action() == capability.FSWrite})
		}
	}
	return fewest(all)
}

// onStage is the part of a tree that the call may open: on a stage, what of it is in the workspace; "" for
// nothing.
func (s Settings) onStage(base string) string {
	switch {
	case s.Stage == nil || base == "":
		return base
	case s.Workspace == "":
		return ""
	case below(base, s.Workspace):
		return base
	case below(s.Workspace, base):
		return s.Workspace
	}
	return ""
}

// WriteState makes contents the state of a skill that has none yet, of a schema version; 0 means 1.
func WriteState(ctx context.Context, kv store.KV, p policies.Principal, schema int, contents map[string][]byte) error {
	fill(&schema, 1)
	s := &state{kv: kv, scope: scope(p), schema: schema}
	if s.scope == "" {
		return errNobody
	}
	a := account{Schema: schema}
	for _, key := range slices.Sorted(maps.Keys(contents)) {
		if err := checkKey(key); err != nil {
			return fmt.Errorf("write the state of %s: key %q: %w", p.Skill, key, err)
		}
		if n := len(contents[key]); n > MaxValue {
			return fmt.Errorf("write the state of %s: key %q: %w", p.Skill, key, failf(KindLimit, "value of %d bytes; at most %d", n, MaxValue))
		}
		b := stored{data: contents[key]}.pack()
		if _, err := kv.Put(ctx, s.values()+key, b, store.MustNotExist); err != nil {
			return fmt.Errorf("write the state of %s: key %q: %w", p.Skill, key, err)
		}
		a.Bytes += s.cost(s.values()+key, b)
	}
	if _, err := s.write(ctx, a, store.MustNotExist); err != nil {
		return fmt.Errorf("write the state of %s: %w", p.Skill, err)
	}
	return nil
}

// ReadState returns what a skill keeps, without what has expired.
func ReadState(ctx context.Context, kv store.KV, p policies.Principal) (map[string][]byte, error) {
	s := &state{kv: kv, scope: scope(p)}
	if s.scope == "" {
		return nil, errNobody
	}
	a, _, err := s.read(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the state of %s: %w", p.Skill, err)
	}
	s.generation = a.Generation
	entries, err := kv.List(ctx, s.values())
	if err != nil {
		return nil, fmt.Errorf("read the state of %s: %w", p.Skill, err)
	}
	contents := map[string][]byte{}
	for _, x := range entries {
		if v, ok := unpack(x.Value); ok && !v.expired() {
			contents[strings.TrimPrefix(x.Key, s.values())] = v.data
		}
	}
	return contents, nil
}

// errNobody means that a principal can have no state.
var errNobody = errors.New("nobody can have that state")
