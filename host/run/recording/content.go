package recording

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Bytes are bytes that stand in a recording as text where they are text.
type Bytes []byte

// IsZero reports whether there are none.
func (b Bytes) IsZero() bool { return len(b) == 0 }

type bytesForm struct {
	Text   *string `json:"text,omitempty"`
	Base64 *string `json:"base64,omitempty"`
}

// MarshalJSON writes {"text":…} or {"base64":…}.
func (b Bytes) MarshalJSON() ([]byte, error) {
	var f bytesForm
	if text := string(b); utf8.ValidString(text) {
		f.Text = &text
	} else {
		text = base64.StdEncoding.EncodeToString(b)
		f.Base64 = &text
	}
	return plainly(f)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (b *Bytes) UnmarshalJSON(text []byte) error {
	var f bytesForm
	if err := strictly(text, &f); err != nil {
		return err
	}
	switch {
	case f.Text != nil && f.Base64 == nil:
		*b = Bytes(*f.Text)
		return nil
	case f.Text == nil && f.Base64 != nil:
		decoded, err := base64.StdEncoding.Strict().DecodeString(*f.Base64)
		*b = decoded
		return err
	}
	return errors.New("bytes are an object with one member, text or base64")
}

// Meta is request or response data of a host function, byte for byte.
type Meta []byte

const (
	metaText   = "text:"
	metaBase64 = "base64:"
)

// MarshalJSON writes the object as it is, or a string.
func (m Meta) MarshalJSON() ([]byte, error) {
	switch {
	case isPlainObject(m):
		return m, nil
	case utf8.Valid(m):
		return plainly(metaText + string(m))
	}
	return plainly(metaBase64 + base64.StdEncoding.EncodeToString(m))
}

// isPlainObject reports whether data can stand in a recording as it is and be
// read again with every byte the same.
func isPlainObject(m []byte) bool {
	if len(m) == 0 || m[0] != '{' || !utf8.Valid(m) {
		return false
	}
	var compact bytes.Buffer
	return json.Compact(&compact, m) == nil && bytes.Equal(compact.Bytes(), m)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (m *Meta) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '{' {
		var compact bytes.Buffer
		err := json.Compact(&compact, text)
		*m = compact.Bytes()
		return err
	}
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	if plain, ok := strings.CutPrefix(s, metaText); ok {
		*m = Meta(plain)
		return nil
	}
	encoded, ok := strings.CutPrefix(s, metaBase64)
	if !ok {
		return fmt.Errorf("data of a host function is an object, or a string that begins with %q or %q", metaText, metaBase64)
	}
	decoded, err := base64.StdEncoding.Strict().DecodeString(encoded)
	*m = decoded
	return err
}

// plainly encodes without the escapes that are for HTML: they would change data
// that has to stay as it is.
func plainly(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// strictly decodes one value, without members that nobody knows.
func strictly(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if d.More() {
		return errors.New("something follows the end")
	}
	return nil
}
