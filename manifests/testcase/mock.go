package testcase

import (
	"bytes"
	"encoding/json"
)

// A Mock answers a call of the skill in place of what is real. It has either HTTP
// or Call, and either Respond or Error.
type Mock struct {
	// HTTP is the request it answers.
	HTTP *HTTPRequest `json:"http,omitempty"`
	// Call is the host function it answers, such as "skill_call", and Request and
	// Body are patterns of what that is called with; empty ones fit everything.
	Call    string          `json:"call,omitempty"`
	Request json.RawMessage `json:"request,omitempty"`
	Body    json.RawMessage `json:"body,omitempty"`

	Respond *Answer  `json:"respond,omitempty"`
	Error   *Failure `json:"error,omitempty"`
	// Times is how often it answers, no less and no more; 0 means once in a
	// sequence, and otherwise once or more.
	Times int `json:"times,omitempty"`
	// Optional lets the case pass when it was not asked.
	Optional bool `json:"optional,omitempty"`
}

// An HTTPRequest is what a request has to be. URL, Headers, Body and JSON are
// patterns; empty ones fit everything. Method is GET when it is empty.
type HTTPRequest struct {
	Method  string                     `json:"method,omitempty"`
	URL     json.RawMessage            `json:"url"`
	Headers map[string]json.RawMessage `json:"headers,omitempty"`
	Body    json.RawMessage            `json:"body,omitempty"`
	JSON    json.RawMessage            `json:"json,omitempty"`
}

// An Answer is what a mock answers. Status and Headers are of HTTP; Meta is the
// answer's data of another function, an object.
type Answer struct {
	Status  int               `json:"status,omitempty"` // 0 means 200
	Headers map[string]Values `json:"headers,omitempty"`
	Meta    json.RawMessage   `json:"meta,omitempty"`
	Payload
}

// A Payload is the body of an answer: at most one of its fields is set.
type Payload struct {
	Body   *string         `json:"body,omitempty"`
	JSON   json.RawMessage `json:"json,omitempty"`
	Base64 *[]byte         `json:"base64,omitempty"`
	File   string          `json:"file,omitempty"` // path in the package
}

// Bytes returns the body, reading it from the package with read if it is a file
// there.
func (p Payload) Bytes(read func(path string) ([]byte, error)) ([]byte, error) {
	return Content{Text: p.Body, Base64: p.Base64, JSON: p.JSON, File: p.File}.Bytes(read)
}

// A Failure is how a mock fails: as the host would tell the skill.
type Failure struct {
	// Kind is one of denied, not_found, invalid, limit, io, timeout, conflict and
	// failed.
	Kind    string `json:"kind"`
	Message string `json:"message,omitempty"`
}

// Values are those of one header field: a text, or a list of them.
type Values []string

// UnmarshalJSON takes a text for a list of one.
func (v *Values) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(b, []byte(`"`)) {
		*v = Values{""}
		return json.Unmarshal(b, &(*v)[0])
	}
	return json.Unmarshal(b, (*[]string)(v))
}

// MarshalJSON writes a list of one as a text.
func (v Values) MarshalJSON() ([]byte, error) {
	if len(v) == 1 {
		return json.Marshal(v[0])
	}
	return json.Marshal([]string(v))
}

// A Reply is what the web server of a case answers for one path.
type Reply struct {
	Status  int               `json:"status,omitempty"` // 0 means 200
	Headers map[string]Values `json:"headers,omitempty"`
	Payload
}
