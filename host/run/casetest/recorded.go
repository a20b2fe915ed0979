package casetest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/host/run/recording"
	"github.com/skillet-run/skillet/manifests/testcase"
	"github.com/skillet-run/skillet/policies/capability"
)

// Recorded makes a test case of a recorded call: a mock for each call of a host
// function, in sequence, and what the tool answered as what is expected. What the
// function files of WASI opened in the workspace is read with read, after the call,
// and put into the workspace of the case. The recording must have the values of
// secrets struck out already; the case gets made-up ones. The error says what cannot
// be made a case.
func Recorded(name string, r *recording.Recording, read func(path string) ([]byte, error)) (testcase.Case, error) {
	m := maker{r: r, c: testcase.Case{Name: name, Tool: r.Tool, Grants: r.Grants, Config: r.Config, MockOrder: testcase.OrderSequence, Seed: r.Seed}}
	m.input()
	for _, e := range r.Events {
		if err := m.event(e, read); err != nil {
			return m.c, fmt.Errorf("make a case of the call: %w", err)
		}
	}
	m.outcome()
	m.secrets()
	if len(m.c.Mocks) == 0 {
		m.c.MockOrder = ""
	}
	return m.inWorkspace()
}

// A maker makes a case.
type maker struct {
	r *recording.Recording
	c testcase.Case
}

func (m *maker) input() {
	in := []byte(m.r.Input)
	switch {
	case len(in) == 0:
	case json.Valid(in) && utf8.Valid(in):
		m.c.Input = in
	default:
		m.c.InputText, m.c.InputBase64 = asText(in)
	}
}

// asText is bytes as a text, or else for base64.
func asText(b []byte) (*string, *[]byte) {
	if !utf8.Valid(b) {
		return nil, &b
	}
	text := string(b)
	return &text, nil
}

func (m *maker) event(e recording.Event, read func(path string) ([]byte, error)) error {
	switch {
	case e.Call != nil:
		return m.call(*e.Call)
	case e.Clock != nil && e.Clock.ID == "realtime" && m.c.Clock.IsZero():
		m.c.Clock = time.Unix(0, e.Clock.Now).UTC().Add(-time.Millisecond) // it moves before it is read
	case e.File != nil && e.File.Op == "open" && e.File.Result.Errno == "" && !e.File.Result.Directory:
		return m.file(e.File.Path, read)
	}
	return nil
}

// file puts a file that was opened into the workspace.
func (m *maker) file(name string, read func(path string) ([]byte, error)) error {
	local, ok := strings.CutPrefix(name, m.r.Workspace+"/")
	if !ok || m.r.Workspace == "" {
		return fault.Errorf(fault.KindUsage, "the tool opened %s, and the files of a case are those of its workspace", name).WithHint("name the directory with %s", fault.SetField(fault.FieldWorkspace))
	}
	if _, ok := m.c.Files[local]; ok || local != path.Clean(local) {
		return nil
	}
	b, err := read(name)
	if err != nil {
		return nil // it was made and removed by the call: the case does so too
	}
	if m.c.Files == nil {
		m.c.Files = map[string]testcase.Content{}
	}
	var content testcase.Content
	content.Text, content.Base64 = asText(b)
	m.c.Files[local] = content
	return nil
}

// call mocks a call. One that was denied is denied again; one that the case has all for
// is made again.
func (m *maker) call(c recording.Call) error {
	told := hostfn.Answer{Meta: json.RawMessage(c.Answer)}.Failure()
	switch {
	case told != nil && told.Kind == hostfn.KindDenied && c.Name == "http_request":
		return m.refused(c)
	case told != nil && told.Kind == hostfn.KindDenied:
		return nil
	case c.Name == "http_request":
		return m.request(c, told)
	case c.Name == "notify":
		return m.notify(c)
	}
	x := testcase.Mock{Call: c.Name, Request: asPattern(c.Request), Body: textPattern(c.Body)}
	if told != nil {
		x.Error = failureOf(told)
	} else {
		x.Respond = &testcase.Answer{Meta: json.RawMessage(c.Answer), Payload: payload(c.AnswerBody)}
	}
	m.c.Mocks = append(m.c.Mocks, x)
	return nil
}

func failureOf(f *hostfn.Failure) *testcase.Failure {
	return &testcase.Failure{Kind: string(f.Kind), Message: f.Message}
}

// asPattern is JSON as a pattern of itself: what looks like a matcher in it is none.
func asPattern(raw []byte) json.RawMessage {
	if len(raw) == 0 {
		return nil
	}
	if bytes.Contains(raw, []byte(`"$`)) {
		return fmt.Appendf(nil, `{"$exact":%s}`, raw)
	}
	return bytes.Clone(raw)
}

// textPattern is a text as a pattern of itself; nil, which fits everything, for bytes
// that are none.
func textPattern(b []byte) json.RawMessage {
	if len(b) == 0 || !utf8.Valid(b) {
		return nil
	}
	raw, err := json.Marshal(string(b))
	if err != nil { // a string cannot fail
		return nil
	}
	return raw
}

func payload(b []byte) (p testcase.Payload) {
	if len(b) > 0 {
		p.Body, p.Base64 = asText(b)
	}
	return p
}

// request mocks an exchange. Of one that was redirected only the ends are known: the
// first answer leads to the last.
func (m *maker) request(c recording.Call, told *hostfn.Failure) error {
	var ask struct {
		Method string `json:"method"`
		URL    string `json:"url"`
	}
	var answer struct {
		Status  int         `json:"status"`
		Headers http.Header `json:"headers"`
		URL     string      `json:"url"`
	}
	if err := json.Unmarshal(c.Request, &ask); err != nil {
		return fmt.Errorf("read a request: %w", err)
	}
	x := testcase.Mock{HTTP: &testcase.HTTPRequest{Method: strings.ToUpper(ask.Method), URL: textPattern([]byte(canonical(ask.URL))), Body: textPattern(c.Body)}}
	if told != nil {
		x.Error = failureOf(told)
		m.c.Mocks = append(m.c.Mocks, x)
		return nil
	}
	if err := json.Unmarshal(c.Answer, &answer); err != nil {
		return fmt.Errorf("read an answer: %w", err)
	}
	if answer.URL != canonical(ask.URL) {
		first := x
		first.Respond = &testcase.Answer{Status: http.StatusFound, Headers: map[string]testcase.Values{"Location": {answer.URL}}}
		m.c.Mocks = append(m.c.Mocks, first)
		x.HTTP = &testcase.HTTPRequest{URL: textPattern([]byte(answer.URL))}
		if first.HTTP.Method == http.MethodHead {
			x.HTTP.Method = http.MethodHead
		}
	}
	x.Respond = &testcase.Answer{Status: answer.Status, Headers: map[string]testcase.Values{}, Payload: payload(c.AnswerBody)}
	for name, values := range answer.Headers {
		x.Respond.Headers[name] = values
	}
	m.c.Mocks = append(m.c.Mocks, x)
	return nil
}

// refused mocks an exchange that was granted and led to where it was not: the first
// answer leads there again.
func (m *maker) refused(c recording.Call) error {
	var ask struct {
		Method string `json:"method"`
		URL    string `json:"url"`
	}
	if err := json.Unmarshal(c.Request, &ask); err != nil {
		return fmt.Errorf("read a request: %w", err)
	}
	granted, err := capability.ParseSet(m.r.Grants...)
	if err != nil {
		return err
	}
	if _, ok := granted.Allows(capability.Request{Action: capability.HTTP, Method: ask.Method, Resource: ask.URL}); !ok {
		return nil
	}
	for _, d := range m.r.Outcome.Denials {
		_, to, ok := strings.Cut(d.Request, " ")
		if !ok || !strings.HasPrefix(d.Request, "http:") || to == canonical(ask.URL) {
			continue
		}
		m.c.Mocks = append(m.c.Mocks, testcase.Mock{
			HTTP:    &testcase.HTTPRequest{Method: strings.ToUpper(ask.Method), URL: textPattern([]byte(canonical(ask.URL))), Body: textPattern(c.Body)},
			Respond: &testcase.Answer{Status: http.StatusFound, Headers: map[string]testcase.Values{"Location": {to}}},
		})
		return nil
	}
	return nil
}

// notify expects a notification.
func (m *maker) notify(c recording.Call) error {
	var ask struct {
		Title string `json:"title"`
	}
	if err := json.Unmarshal(c.Request, &ask); err != nil {
		return fmt.Errorf("read a notification: %w", err)
	}
	m.c.Notifications = append(m.c.Notifications, testcase.Notification{Title: textPattern([]byte(ask.Title)), Text: textPattern(c.Body)})
	return nil
}

// outcome expects what came of the call.
func (m *maker) outcome() {
	o := m.r.Outcome
	for _, d := range o.Denials {
		m.c.Denials = append(m.c.Denials, d.Request)
	}
	out := []byte(o.Output)
	switch {
	case !o.OK:
		m.failure()
	case json.Valid(out) && utf8.Valid(out):
		m.c.ExpectExact = asPattern(out)
	case utf8.Valid(out):
		raw, err := json.Marshal(string(out))
		if err == nil {
			m.c.ExpectText = raw
		}
	default:
		m.c.ExpectBase64 = &out
	}
}

func (m *maker) failure() {
	o := m.r.Outcome
	if m.c.ErrorKind = o.Ending.Kind; m.c.ErrorKind == "" && o.Error != nil {
		m.c.ErrorKind = string(o.Error.Kind)
	}
	if o.Ending.Kind != "" {
		m.c.ErrorMessage = textPattern([]byte(o.Ending.Message))
	}
}

// secrets makes up a value for each secret that the skill may use.
func (m *maker) secrets() {
	for _, g := range m.r.Grants {
		name, ok := strings.CutPrefix(g, "secret:")
		if !ok || strings.Contains(name, "*") {
			continue
		}
		if m.c.Secrets == nil {
			m.c.Secrets = map[string]string{}
		}
		m.c.Secrets[name] = "made-up-" + base64.RawURLEncoding.EncodeToString([]byte(name))
	}
}

// inWorkspace puts the placeholder in the place of the workspace.
func (m *maker) inWorkspace() (testcase.Case, error) {
	if strings.Count(m.r.Workspace, "/") < 2 { // too short to tell it from other texts
		return m.c, nil
	}
	b, err := testcase.Encode(m.c)
	if err != nil {
		return m.c, err
	}
	var c testcase.Case
	err = json.Unmarshal(bytes.ReplaceAll(b, []byte(m.r.Workspace), []byte(testcase.Workspace)), &c)
	return c, err
}
