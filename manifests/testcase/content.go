package testcase

import (
	"bytes"
	"encoding/json"
)

// A Content is bytes as a case gives them: a text, or an object with one of text,
// base64, json and file.
type Content struct {
	Text   *string         `json:"text,omitempty"`
	Base64 *[]byte         `json:"base64,omitempty"`
	JSON   json.RawMessage `json:"json,omitempty"`
	File   string          `json:"file,omitempty"` // path in the package
}

// TextContent is a text as a Content.
func TextContent(text string) Content { return Content{Text: &text} }

// UnmarshalJSON takes a JSON string for the text alone.
func (c *Content) UnmarshalJSON(b []byte) error {
	*c = Content{}
	if bytes.HasPrefix(b, []byte(`"`)) {
		return json.Unmarshal(b, &c.Text)
	}
	type plain Content
	return json.Unmarshal(b, (*plain)(c))
}

// MarshalJSON writes a text as a JSON string.
func (c Content) MarshalJSON() ([]byte, error) {
	if c.Text != nil {
		return json.Marshal(*c.Text)
	}
	type plain Content
	return json.Marshal(plain(c))
}

// Bytes returns the content, reading it from the package with read if it is a file
// there.
func (c Content) Bytes(read func(path string) ([]byte, error)) ([]byte, error) {
	switch {
	case c.File != "":
		return read(c.File)
	case c.Base64 != nil:
		return *c.Base64, nil
	case c.JSON != nil:
		return c.JSON, nil
	case c.Text != nil:
		return []byte(*c.Text), nil
	}
	return nil, nil
}
