package main

import (
	"bytes"
	"encoding/base64"
	"mime"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	skill "github.com/skillet-run/skillet/sdk/go"
)

// form is how the body of a response is to be returned.
type form int

const (
	auto   form = iota // as text if it is text, else in base64
	asText             // as text, with U+FFFD for what is none
	asBase64
)

func bodyForm(option string) (form, error) {
	forms := map[string]form{"": auto, "auto": auto, "text": asText, "base64": asBase64}
	f, ok := forms[option]
	if !ok {
		return auto, skill.Errorf(skill.Invalid, "body: must be auto, text or base64, not %q", option)
	}
	return f, nil
}

func newHead(r skill.Response) headOutput {
	headers := r.Headers
	if headers == nil {
		headers = map[string][]string{}
	}
	return headOutput{
		Status:      r.Status,
		OK:          r.Status >= 200 && r.Status < 300,
		URL:         r.URL,
		ContentType: header(headers, "Content-Type"),
		Headers:     headers,
	}
}

// header returns the first value of a header field, in whatever case its name
// is written.
func header(headers map[string][]string, name string) string {
	for key, values := range headers {
		if strings.EqualFold(key, name) && len(values) > 0 {
			return values[0]
		}
	}
	return ""
}

func newOutput(r skill.Response, f form) getOutput {
	out := getOutput{headOutput: newHead(r), Bytes: len(r.Body), Truncated: r.Truncated}
	text, ok := decode(r.Body, out.ContentType, r.Truncated)
	switch {
	case f == asBase64, f == auto && !ok:
		encoded := base64.StdEncoding.EncodeToString(r.Body)
		out.Base64 = &encoded
	default:
		out.Text = &text
	}
	return out
}

// decode returns the body as text, and whether it is text: of a known character
// set, valid in it, and not declared to be something else.
func decode(body []byte, contentType string, truncated bool) (string, bool) {
	media, charset := mediaType(contentType)
	if table := charsetTable(charset); table != nil {
		text, err := table.NewDecoder().Bytes(body)
		return string(text), err == nil && isText(media)
	}
	body = bytes.TrimPrefix(body, []byte("\ufeff"))
	if truncated {
		body = body[:len(body)-cutRune(body)]
	}
	known := charset == "" || charset == "utf-8" || charset == "utf8" || charset == "us-ascii"
	valid := utf8.Valid(body) && bytes.IndexByte(body, 0) < 0
	return strings.ToValidUTF8(string(body), "\ufffd"), known && valid && isText(media)
}

func mediaType(contentType string) (media, charset string) {
	media, parameters, err := mime.ParseMediaType(contentType)
	if err != nil && media == "" {
		media, _, _ = strings.Cut(strings.ToLower(contentType), ";")
	}
	return strings.TrimSpace(media), strings.ToLower(parameters["charset"])
}

// isText says whether a media type is one of text; an unknown one may be.
func isText(media string) bool {
	main, sub, _ := strings.Cut(media, "/")
	switch main {
	case "image", "audio", "video", "font":
		return sub == "svg+xml"
	case "application":
		return isTextSubtype(sub)
	default:
		return true
	}
}

func isTextSubtype(sub string) bool {
	for _, suffix := range []string{"json", "xml", "yaml", "javascript", "ecmascript", "x-www-form-urlencoded", "toml", "graphql", "sql", "ndjson"} {
		if strings.HasSuffix(sub, suffix) {
			return true
		}
	}
	return false
}

// charsetTable returns the table of a single-byte character set. Latin 1 is
// read as its superset Windows 1252, as the WHATWG Encoding Standard has it.
func charsetTable(name string) *charmap.Charmap {
	tables := map[string]*charmap.Charmap{
		"iso-8859-1": charmap.Windows1252, "latin1": charmap.Windows1252, "windows-1252": charmap.Windows1252,
		"iso-8859-2": charmap.ISO8859_2, "windows-1250": charmap.Windows1250,
		"iso-8859-15": charmap.ISO8859_15, "windows-1251": charmap.Windows1251, "koi8-r": charmap.KOI8R,
	}
	return tables[name]
}

// cutRune returns how many bytes at the end of data begin a character without
// ending it.
func cutRune(data []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(data); n++ {
		tail := data[len(data)-n:]
		if utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}
