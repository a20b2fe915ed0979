// Package main is the skill pdf: it reads the text and the properties of PDF
// files, inside the sandbox. It knows how objects are stored and how text is put
// on a page, and refuses to know how pages look: nothing is drawn, and no image
// is decoded.
package main

import (
	"errors"

	skill "github.com/skillet-run/skillet/sdk/go"
)

// Bounds of the output in characters.
const (
	defaultChars = 1_000_000
	mostChars    = 4_000_000
)

// source says where the bytes of a file come from: exactly one of DataBase64
// and Path.
type source struct {
	DataBase64 []byte `json:"data_base64"`
	Path       string `json:"path"`
	Password   string `json:"password"`
}

// textRequest is the input of pdf_to_text.
type textRequest struct {
	source
	Pages    string `json:"pages"`
	Output   string `json:"output"`
	MaxChars int    `json:"max_chars"`
}

// textReply is the output of pdf_to_text.
type textReply struct {
	Pages     []pageText `json:"pages,omitempty"`
	Text      *string    `json:"text,omitempty"`
	PageCount int        `json:"page_count"`
	Truncated bool       `json:"truncated"`
	Warnings  []string   `json:"warnings,omitempty"`
}

func pdfToText(in textRequest) (textReply, error) {
	if err := in.check(); err != nil {
		return textReply{}, err
	}
	data, err := in.bytes()
	if err != nil {
		return textReply{}, err
	}
	x, err := readText(data, &in)
	if err != nil {
		return textReply{}, err
	}
	return in.reply(&x), nil
}

// readText extracts the text of a file. When objects were not where the file
// says, it repairs the file and extracts again.
func readText(data []byte, in *textRequest) (extraction, error) {
	w := &work{left: maxWork}
	doc, err := open(data, in.Password, w)
	if err != nil {
		return extraction{}, refuse(err, in.Password)
	}
	x, err := doc.extract(in.Pages, in.limit())
	if doc.objects.damaged() && w.left > 0 {
		if repaired, failed := repair(data, in.Password, w); failed == nil {
			x, err = repaired.extract(in.Pages, in.limit())
		}
	}
	if err != nil {
		return extraction{}, skill.Errorf(skill.Invalid, "%w", err)
	}
	return x, nil
}

func (r *textRequest) check() error {
	switch r.Output {
	case "", "both", "text", "pages":
	default:
		return skill.Errorf(skill.Invalid, "output: %q is none of both, text, pages", r.Output)
	}
	if r.MaxChars < 0 || r.MaxChars > mostChars {
		return skill.Errorf(skill.Invalid, "max_chars: %d is not between 0 (the default, %d) and %d", r.MaxChars, defaultChars, mostChars)
	}
	return nil
}

func (r *textRequest) limit() int {
	if r.MaxChars == 0 {
		return defaultChars
	}
	return r.MaxChars
}

func (r *textRequest) reply(x *extraction) textReply {
	reply := textReply{PageCount: x.pageCount, Truncated: x.truncated, Warnings: x.warnings}
	if r.Output != "text" {
		reply.Pages = x.pages
	}
	if r.Output != "pages" {
		text := x.text()
		reply.Text = &text
	}
	return reply
}

// refuse says why a file was not opened, with the kind of error.
func refuse(err error, password string) error {
	switch {
	case errors.Is(err, errWork):
		return skill.Errorf(skill.Limit, "open the file: %w", err)
	case errors.Is(err, errPassword) && password == "":
		return skill.Errorf(skill.Invalid, "open the file: %w; give its password in \"password\"", errEncrypted)
	}
	return skill.Errorf(skill.Invalid, "open the file: %w", err)
}

func (s *source) bytes() ([]byte, error) {
	switch {
	case s.Path != "" && s.DataBase64 != nil:
		return nil, skill.Errorf(skill.Invalid, "data_base64 and path: give one of them, not both")
	case s.Path != "":
		return readFile(s.Path)
	case s.DataBase64 != nil:
		return s.DataBase64, nil
	}
	return nil, skill.Errorf(skill.Invalid, "data_base64 or path: one of them is needed")
}

// readChunk is how many bytes of a file are read at a time.
const readChunk = 1 << 20

// readFile reads a file in pieces into one slice of its size: memory is what
// bounds the files this skill can read.
func readFile(path string) ([]byte, error) {
	var data []byte
	for {
		chunk, err := skill.ReadFileAt(path, int64(len(data)), readChunk)
		if err != nil {
			return nil, err
		}
		if data == nil {
			data = make([]byte, 0, chunk.Size)
		}
		data = append(data, chunk.Data...)
		if !chunk.Truncated || len(chunk.Data) == 0 {
			return data, nil
		}
	}
}

func main() {}
