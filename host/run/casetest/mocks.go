package casetest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/skillet-run/skillet/internal/nearest"

	"github.com/skillet-run/skillet/host/base/guestapi"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/manifests/testcase"
	"github.com/skillet-run/skillet/policies/capability"
)

// mocks answer what a skill asks of the world. They are a [hostfn.Tape] for the host
// functions, and an [http.RoundTripper] for requests, which they see as they would be
// sent: redirected, and with the made-up secrets added.
type mocks struct {
	list     []*mock
	sequence bool
	serve    map[string]testcase.Reply
	read     func(path string) ([]byte, error)
	allowed  func(capability.Request) bool
	path     func(string) string // of the guest, made absolute

	mu         sync.Mutex
	unanswered []string
	more       int // unanswered calls that are not listed
	problem    error
}

// A mock is one of them, compiled.
type mock struct {
	testcase.Mock
	number  int
	url     testcase.Pattern
	headers map[string]testcase.Pattern
	body    testcase.Pattern
	json    testcase.Pattern
	request testcase.Pattern
	asked   int
}

// makeMocks compiles the mocks of the case.
func (t *trial) makeMocks(context.Context) error {
	m := &mocks{
		sequence: t.c.MockOrder == testcase.OrderSequence, serve: t.c.Serve,
		read: t.read, allowed: t.allowed, path: t.absolute,
	}
	for i, x := range t.c.Mocks {
		c, err := compileMock(x)
		if err != nil {
			return fmt.Errorf("mock %d: %w", i+1, err)
		}
		c.number = i + 1
		m.list = append(m.list, c)
	}
	t.mocks = m
	return nil
}

func compileMock(x testcase.Mock) (*mock, error) {
	m := &mock{Mock: x, headers: map[string]testcase.Pattern{}}
	patterns := map[*testcase.Pattern]json.RawMessage{&m.request: x.Request, &m.body: x.Body}
	if x.HTTP != nil {
		patterns[&m.url], patterns[&m.json], patterns[&m.body] = canonicalPattern(x.HTTP.URL), x.HTTP.JSON, x.HTTP.Body
		for name, raw := range x.HTTP.Headers {
			p, err := testcase.CompilePattern(raw, testcase.Subset)
			if err != nil {
				return nil, err
			}
			m.headers[http.CanonicalHeaderKey(name)] = p
		}
	} else if _, ok := askers()[x.Call]; !ok {
		return nil, unknownCall(x.Call)
	}
	for p, raw := range patterns {
		var err error
		if *p, err = testcase.CompilePattern(raw, testcase.Subset); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func unknownCall(name string) error {
	var names []string
	for n := range askers() {
		names = append(names, n)
	}
	slices.Sort(names)
	if best, ok := nearest.Name(name, names); ok {
		return fmt.Errorf("no mock can answer %s; did you mean %s?", name, best)
	}
	return fmt.Errorf("no mock can answer %s: it can answer %s, and http", name, strings.Join(names, ", "))
}

// canonicalPattern writes the URL of a pattern as the host writes it in requests.
func canonicalPattern(raw json.RawMessage) json.RawMessage {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return raw
	}
	b, err := json.Marshal(canonical(text))
	if err != nil { // a string cannot fail
		return raw
	}
	return b
}

// canonical is a URL as the host writes it; what is none stays as it is.
func canonical(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	end, err := capability.Request{Action: capability.HTTP, Resource: text}.Endpoint()
	if err != nil {
		return text
	}
	if u.RawQuery != "" {
		return end.URL() + "?" + u.RawQuery
	}
	return end.URL()
}

// find is the mock that answers a call, which is counted; nil when none does.
func (m *mocks) find(fits func(*mock) bool) *mock {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, x := range m.list {
		switch {
		case x.spent(m.sequence):
			continue
		case fits(x):
			x.asked++
			return x
		case m.sequence && !x.Optional && !x.enough(m.sequence):
			return nil // it is this one's turn
		}
	}
	return nil
}

// spent reports whether a mock answers no more.
func (x *mock) spent(sequence bool) bool {
	most := x.Times
	if most == 0 && sequence {
		most = 1
	}
	return most > 0 && x.asked >= most
}

// enough reports whether a mock was asked as often as it has to be.
func (x *mock) enough(sequence bool) bool {
	least := max(x.Times, 1)
	if x.Optional && x.asked == 0 {
		return true
	}
	return x.asked >= least || sequence && x.spent(true)
}

// maxUnanswered is how many calls that nothing answers are listed.
const maxUnanswered = 10

// refuse notes a call that no mock answers.
func (m *mocks) refuse(what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.unanswered) == maxUnanswered {
		m.more++
		return
	}
	m.unanswered = append(m.unanswered, what)
}

// fail notes that a mock cannot answer.
func (m *mocks) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.problem == nil {
		m.problem = err
	}
}

// maxRequest bounds the body of a request; that is bounded before it comes here.
const maxRequest = 64 << 20

// RoundTrip answers a request that was granted.
func (m *mocks) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(io.LimitReader(r.Body, maxRequest)); err != nil {
			return nil, err
		}
		r.Body.Close()
	}
	x := m.find(func(x *mock) bool { return x.HTTP != nil && x.fits(r, body) })
	if x != nil {
		return m.reply(r, x)
	}
	if page, ok := m.served(r); ok {
		return page, nil
	}
	what := r.Method + " " + r.URL.String()
	m.refuse(what)
	return nil, &hostfn.Failure{Kind: hostfn.KindIO, Message: "no mock answers " + what}
}

// fits reports whether a mock answers a request.
func (x *mock) fits(r *http.Request, body []byte) bool {
	method := x.HTTP.Method
	if method == "" {
		method = http.MethodGet
	}
	if r.Method != method || x.url.MatchText("url", r.URL.String()) != nil || x.body.MatchText("body", string(body)) != nil {
		return false
	}
	if x.HTTP.JSON != nil && x.json.Match("body", body) != nil {
		return false
	}
	for name, p := range x.headers {
		if values, ok := r.Header[name]; !ok || p.MatchText(name, strings.Join(values, ", ")) != nil {
			return false
		}
	}
	return true
}

// reply is what a mock answers to a request.
func (m *mocks) reply(r *http.Request, x *mock) (*http.Response, error) {
	if x.Error != nil {
		return nil, &hostfn.Failure{Kind: hostfn.Kind(x.Error.Kind), Message: x.Error.Message}
	}
	page, err := m.page(r, x.Respond.Status, x.Respond.Headers, x.Respond.Payload)
	if err != nil {
		m.fail(fmt.Errorf("mock %d: %w", x.number, err))
	}
	return page, err
}

// served is what the server of the case answers; ok is false for another server.
func (m *mocks) served(r *http.Request) (*http.Response, bool) {
	if r.URL.Scheme+"://"+r.URL.Host != serverAddress || m.serve == nil && len(m.list) > 0 {
		return nil, false
	}
	a, ok := m.serve[r.URL.Path]
	if !ok {
		text := "404 page not found\n"
		a = testcase.Reply{Status: http.StatusNotFound, Payload: testcase.Payload{Body: &text}}
	}
	page, err := m.page(r, a.Status, a.Headers, a.Payload)
	if err != nil {
		m.fail(fmt.Errorf("serve %s: %w", r.URL.Path, err))
		return nil, false
	}
	return page, true
}

// page makes a response.
func (m *mocks) page(r *http.Request, status int, headers map[string]testcase.Values, p testcase.Payload) (*http.Response, error) {
	body, err := p.Bytes(m.read)
	if err != nil {
		return nil, err
	}
	h := http.Header{}
	for name, values := range headers {
		h[http.CanonicalHeaderKey(name)] = values
	}
	if h.Get("Content-Type") == "" && len(body) > 0 {
		h.Set("Content-Type", http.DetectContentType(body))
		if p.JSON != nil {
			h.Set("Content-Type", "application/json")
		}
	}
	if status == 0 {
		status = http.StatusOK
	}
	if r.Method == http.MethodHead {
		body = nil
	}
	return &http.Response{
		StatusCode: status, Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: r,
	}, nil
}

// HostCall answers a call of a host function, or lets it act on the stage.
func (m *mocks) HostCall(ctx context.Context, c hostfn.HostCall, act func(context.Context) hostfn.Answer) (hostfn.Answer, error) {
	ask, ok := askers()[c.Name]
	if c.Own || !ok {
		return act(ctx), nil
	}
	if !m.permitted(ask, c.Meta) {
		return act(ctx), nil // which refuses it, and keeps that
	}
	x := m.find(func(x *mock) bool {
		return x.Call == c.Name && x.request.Match("request", orEmpty(c.Meta)) == nil && x.body.MatchText("body", string(c.Body)) == nil
	})
	switch {
	case x != nil:
		return m.answer(x)
	case ask.staged:
		return act(ctx), nil
	}
	what := c.Name + " " + string(orEmpty(c.Meta))
	m.refuse(what)
	return hostfn.Refused(hostfn.KindFailed, "no mock answers "+what), nil
}

// orEmpty is request data; none at all is an empty object.
func orEmpty(meta []byte) []byte {
	if len(meta) == 0 {
		return []byte("{}")
	}
	return meta
}

// answer is what a mock answers to a call.
func (m *mocks) answer(x *mock) (hostfn.Answer, error) {
	if x.Error != nil {
		return hostfn.Refused(hostfn.Kind(x.Error.Kind), x.Error.Message), nil
	}
	body, err := x.Respond.Bytes(m.read)
	if err != nil {
		err = fmt.Errorf("mock %d: %w", x.number, err)
		m.fail(err)
		return hostfn.Answer{}, err
	}
	a := hostfn.Answer{Meta: x.Respond.Meta, Body: body}
	if a.Meta == nil {
		a.Meta = json.RawMessage("{}")
	}
	return a, nil
}

// An asker says what a host function asks grants and policies for.
type asker struct {
	action   capability.Action
	resource string // the member of the request data that names it; "" for none
	file     bool   // that is a path
	staged   bool   // without a mock it acts, on what the case has
}

// askers are the host functions that a mock can answer, requests apart.
func askers() map[string]asker {
	all := map[string]asker{}
	for _, f := range guestapi.Functions() {
		shape := f.Action.Shape()
		if f.Action != "" && shape != capability.ShapeURL {
			all[f.Name] = asker{f.Action, f.Resource, shape == capability.ShapePath, slices.Contains(staged(), f.Action)}
		}
	}
	return all
}

// staged are the actions for which a case has something: files, state, made-up
// secrets, and a list of notifications. Everything else needs a mock.
func staged() []capability.Action {
	return []capability.Action{capability.FSRead, capability.FSWrite, capability.KV, capability.Secret, capability.Notify}
}

// permitted reports whether grants and policies allow a call.
func (m *mocks) permitted(a asker, meta []byte) bool {
	r := capability.Request{Action: a.action}
	if a.resource != "" {
		var all map[string]json.RawMessage
		if json.Unmarshal(orEmpty(meta), &all) != nil || json.Unmarshal(all[a.resource], &r.Resource) != nil {
			return false
		}
	}
	if a.file {
		r.Resource = m.path(r.Resource)
	}
	return m.allowed(r)
}
