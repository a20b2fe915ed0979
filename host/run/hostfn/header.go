package hostfn

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/redact"
	"github.com/skillet-run/skillet/policies/capability"
)

// hopByHop are the fields that belong to one connection (RFC 9110, section 7.6.1) or that say where and
// how a message is sent. A guest may not set them, and does not see those of a response.
func hopByHop() []string {
	return []string{
		"Host", "Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Expect",
		"Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Http2-Settings", "Via", "Forwarded",
	}
}

// forbidden reports whether a guest may not set a field.
func forbidden(name string) bool {
	return slices.Contains(hopByHop(), name) || strings.HasPrefix(name, "Proxy-") || strings.HasPrefix(name, "X-Forwarded-")
}

// implied are fields the host always works out itself. What a guest sets there is the same or wrong, and
// many HTTP libraries set them, so they are left out and not refused.
func implied(name string) bool { return name == "Content-Length" || name == "Accept-Encoding" }

// harmless reports whether a field goes along when a redirect leads to another host. Everything else might
// be a credential.
func harmless(name string) bool {
	return slices.Contains([]string{"Accept", "Accept-Language", "Content-Type", "User-Agent"}, name)
}

// checkHeader refuses header fields that a guest may not set or that cannot be sent, and brings the others
// into canonical form.
func (r *outgoing) checkHeader() error {
	clean := http.Header{}
	count, size := 0, 0
	for k, vs := range r.header {
		name := http.CanonicalHeaderKey(k)
		if forbidden(name) {
			return failf(KindInvalid, "header %q cannot be set by a skill", name)
		}
		for _, v := range vs {
			if !validHeader(k, v) {
				return failf(KindInvalid, "header %q has a name or value that cannot be sent", name)
			}
			count, size = count+1, size+len(k)+len(v)
			if !implied(name) {
				clean[name] = append(clean[name], v)
			}
		}
	}
	if count > MaxHeaders || size > MaxHeaderBytes {
		return failf(KindLimit, "%d header fields of %d bytes; at most %d of %d", count, size, MaxHeaders, MaxHeaderBytes)
	}
	r.header = clean
	return nil
}

// safeHeader returns what a guest sees of a response's header: no cookies and nothing about the connection.
func safeHeader(h http.Header) http.Header {
	out := h.Clone()
	for k := range out {
		if forbidden(k) && k != "Via" || strings.HasPrefix(k, "Set-Cookie") {
			out.Del(k)
		}
	}
	return out
}

// inject adds the secrets that belong to a request's URL. It is asked anew for every hop. A secret that
// is not granted is recorded as refused, and the request goes without; so it does, with a line in the log,
// when there is no such secret.
func (e *Env) inject(ctx context.Context, r outgoing, h http.Header) error {
	for _, in := range e.s.Injections {
		if !in.matches(r) {
			continue
		}
		_, err := e.permit(capability.Request{Action: capability.Secret, Resource: in.Secret}, 0)
		if err != nil {
			continue
		}
		value, ok, err := e.credential(ctx, in.Secret, r, "")
		if err != nil {
			return err
		}
		if !ok {
			e.hostLine("warn", "the secret "+in.Secret+" is not stored; the request goes without it")
			continue
		}
		if !validHeader(in.Header, in.Prefix+value) {
			return failf(KindIO, "the secret %s cannot be sent as a header", in.Secret)
		}
		for _, part := range credentialsIn(in.Header, in.Prefix+value) {
			e.redact.add(part)
		}
		e.redact.add(value)
		h.Set(in.Header, in.Prefix+value)
	}
	return nil
}

// credential is what goes with a request: the token of a login, or the value of a secret.
// refused is a token that the server did not take.
func (e *Env) credential(ctx context.Context, name string, r outgoing, refused string) (value string, ok bool, err error) {
	logins, there := e.s.Secrets.(LoginSource)
	if !there {
		return e.secret(ctx, name)
	}
	value, ok, err = logins.Token(ctx, name, r.to.URL(), refused)
	switch {
	case errors.Is(err, ErrLogin):
		return "", false, failf(KindLogin, "%s", err).because(err)
	case err != nil && ok:
		return "", false, failf(KindIO, "the secret %s cannot be used: %s", name, err).because(err)
	case err != nil:
		return "", false, secretFailure(name, err)
	case !ok:
		return e.secret(ctx, name)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.lent == nil {
		e.lent = map[string]string{}
	}
	e.lent[name] = value
	return value, true, nil
}

// renewed reports whether there is another token for a request that a server answered with
// 401, in the place of that of a login that went with it.
func (e *Env) renewed(ctx context.Context, r outgoing) (bool, error) {
	for _, in := range e.s.Injections {
		e.mu.Lock()
		refused := e.lent[in.Secret]
		e.mu.Unlock()
		if refused == "" || !in.matches(r) {
			continue
		}
		value, ok, err := e.credential(ctx, in.Secret, r, refused)
		return ok && value != refused, err
	}
	return false, nil
}

// credentialsIn returns what a server takes out of a header field for the credential itself, and may answer without
// the rest: what stands behind the name of a scheme, the parts of Basic, the values of cookies.
func credentialsIn(field, value string) (list []string) {
	if strings.EqualFold(field, "Cookie") {
		for _, pair := range strings.Split(value, ";") {
			if _, v, ok := strings.Cut(pair, "="); ok {
				list = append(list, strings.Trim(v, ` "`))
			}
		}
		return list
	}
	scheme, token, ok := strings.Cut(strings.TrimSpace(value), " ")
	if !ok {
		return nil
	}
	token = strings.TrimSpace(token)
	list = append(list, token)
	if strings.EqualFold(scheme, "Basic") {
		list = append(list, basicParts(token)...)
	}
	return list
}

// basicParts returns what is secret in the token of Basic (RFC 7617): the pair, the password, and the name where it is
// what counts, because there is no password worth the name.
func basicParts(token string) []string {
	pair, err := base64.StdEncoding.DecodeString(token)
	if err != nil {
		return nil
	}
	name, password, _ := strings.Cut(string(pair), ":")
	if len(password) < redact.Shortest || password == "x-oauth-basic" {
		return []string{string(pair), name}
	}
	return []string{string(pair), password}
}

// matches reports whether a request's URL is one the secret is for.
func (in Injection) matches(r outgoing) bool {
	c, err := capability.Parse(string(capability.HTTP) + ":* " + in.URL)
	return err == nil && in.Header != "" && c.Allows(r.request())
}

// secret returns a secret's value, without the line end that many files and pipes leave behind it.
func (e *Env) secret(ctx context.Context, name string) (value string, ok bool, err error) {
	if e.s.Secrets == nil {
		return "", false, nil
	}
	if ok, err = e.s.Secrets.Has(ctx, name); err != nil || !ok {
		return "", false, secretFailure(name, err)
	}
	b, err := e.s.Secrets.Get(ctx, name)
	if err != nil {
		return "", false, secretFailure(name, err)
	}
	value = strings.TrimRight(string(b), "\r\n")
	return value, value != "", nil
}

// secretFailure says that a secret cannot be had, and to the guest no more.
func secretFailure(name string, err error) error {
	if err == nil {
		return nil
	}
	return failf(KindIO, "the secret %s cannot be read", name).because(err)
}

func secretFunctions() []function {
	return []function{{name: "secret_exists", example: `{"name":"github"}`, run: secretExists}}
}

// secretExists says whether a secret is stored, and nothing of its value.
func secretExists(ctx context.Context, e *Env, meta, _ []byte) (any, []byte, error) {
	var ask struct {
		Name string `json:"name"`
	}
	if err := decode(meta, &ask); err != nil {
		return nil, nil, err
	}
	if _, err := e.permit(capability.Request{Action: capability.Secret, Resource: ask.Name}, 0); err != nil {
		return nil, nil, err
	}
	var answer struct {
		Exists bool `json:"exists"`
	}
	if e.s.Secrets == nil {
		return answer, nil, nil
	}
	ok, err := e.s.Secrets.Has(ctx, ask.Name)
	answer.Exists = ok
	return answer, nil, secretFailure(ask.Name, err)
}
