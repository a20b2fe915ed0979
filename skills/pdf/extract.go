package main

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// pageText is the text of one page.
type pageText struct {
	// Number counts from 1.
	Number int `json:"number"`
	// Text has one line per line of the page, words separated by one space.
	Text string `json:"text"`
}

// extraction is the text of a document as far as it was read.
type extraction struct {
	pages     []pageText
	pageCount int
	truncated bool
	warnings  []string
}

// pageSeparator stands between the pages in the text of a document.
const pageSeparator = "\n\n"

// extract reads the text of the selected pages, up to maxChars characters.
func (d *document) extract(selection string, maxChars int) (extraction, error) {
	pages := d.pages()
	spans, err := parsePages(selection, len(pages))
	if err != nil {
		return extraction{}, err
	}
	x := extraction{pageCount: len(pages)}
	if d.mended {
		x.warnings = append(x.warnings, "the file is damaged and was mended; pages may be missing or out of order")
	}
	var findings findings
	for _, s := range spans {
		for n := s.first; n <= s.last && !x.truncated; n++ {
			text := d.pageText(n, pages[n-1], &findings)
			maxChars = x.add(pageText{n, text}, maxChars)
			d.checkWork(&x, n)
		}
	}
	x.truncated = x.truncated || len(findings.clipped) > 0
	x.warnings = append(x.warnings, findings.warnings()...)
	return x, nil
}

// add appends a page and returns how many characters may follow.
func (x *extraction) add(p pageText, maxChars int) int {
	n := utf8.RuneCountInString(p.Text)
	if n > maxChars {
		p.Text = cut(p.Text, maxChars)
		x.truncated = true
		x.warnings = append(x.warnings, fmt.Sprintf("stopped in page %d: max_chars reached; ask for the following pages with \"pages\"", p.Number))
	}
	x.pages = append(x.pages, p)
	return maxChars - n
}

// cut returns the first n characters of s.
func cut(s string, n int) string {
	for at := range s {
		if n == 0 {
			return s[:at]
		}
		n--
	}
	return s
}

func (d *document) checkWork(x *extraction, page int) {
	if d.work.left > 0 || x.truncated {
		return
	}
	x.truncated = true
	x.warnings = append(x.warnings, fmt.Sprintf("stopped in page %d: %v; ask for the following pages with \"pages\"", page, errWork))
}

// text joins the pages.
func (x *extraction) text() string {
	var b strings.Builder
	for _, p := range x.pages {
		if p.Text == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(pageSeparator)
		}
		b.WriteString(p.Text)
	}
	return b.String()
}

// pageText reads one page. A page that cannot be read is empty and a finding.
func (d *document) pageText(number int, p page, f *findings) (text string) {
	var out layout
	d.filters.clipped = false
	err := d.render(p, &out)
	text = out.text()
	f.note(number, &out, err)
	if d.filters.clipped {
		f.clipped = append(f.clipped, number)
	}
	return text
}

// render runs the content of a page and what its annotations look like.
func (d *document) render(p page, out *layout) (err error) {
	defer damage(&err)
	i := newInterpreter(d, out)
	i.run(d.content(p.entries["Contents"]), &resources{entries: d.dict(p.resources)})
	for _, o := range d.array(p.entries["Annots"]) {
		if d.work.spend(1) && !d.isLink(o) {
			d.annotation(out, d.dict(o))
		}
	}
	return nil
}

// content joins the content streams of a page; tokens do not cross from one to
// the next.
func (d *document) content(o object) []byte {
	parts := d.array(o)
	switch len(parts) {
	case 0:
		return d.stream(o)
	case 1:
		return d.stream(parts[0])
	}
	var data []byte
	for _, part := range parts {
		if len(data) > maxStream || d.work.left <= 0 {
			break
		}
		data = append(append(data, d.stream(part)...), '\n')
	}
	return data
}

// isLink looks into the bytes of an annotation that is not parsed yet for what
// most of them are. Some files have thousands of links and no other annotation,
// and parsing them would take a third of the time.
func (d *document) isLink(o object) bool {
	data := d.objects.raw(objectNumber(o))
	return bytes.Contains(data, []byte("/Subtype/Link")) || bytes.Contains(data, []byte("/Subtype /Link"))
}

// Flags of annotations that are not shown (ISO 32000-1, table 165).
const annotationHidden, annotationNoView = 1 << 1, 1 << 5

// annotation reads the appearance of a form field or a note on the page.
func (d *document) annotation(out *layout, entries dict) {
	if d.integer(entries["F"], 0)&(annotationHidden|annotationNoView) != 0 || d.name(entries["Subtype"]) == "Popup" {
		return
	}
	form := d.dict(entries["AP"])["N"]
	if _, ok := d.resolve(form).(dict); ok {
		form = d.dict(form)[d.name(entries["AS"])]
	}
	rect := d.array(entries["Rect"])
	if len(rect) != 4 || form == nil {
		return
	}
	x, _ := d.number(rect[0])
	y, _ := d.number(rect[1])
	i := newInterpreter(d, out)
	i.draw(form, matrix{1, 0, 0, 1, x, y})
}

// findings are the pages about which there is something to say.
type findings struct {
	empty, garbled, damaged, clipped []int
}

// note keeps what was found on a page. Half of the glyphs without text are too
// many to be ornaments.
func (f *findings) note(number int, out *layout, err error) {
	switch {
	case errors.Is(err, errDamaged):
		f.damaged = append(f.damaged, number)
	case out.glyphs == 0:
		f.empty = append(f.empty, number)
	case out.unmapped*2 > out.glyphs:
		f.garbled = append(f.garbled, number)
	}
}

// warnings puts the findings in words.
func (f *findings) warnings() []string {
	var lines []string
	for _, kind := range []struct {
		pages []int
		say   string
	}{
		{f.empty, "no text; a scanned or drawn page needs character recognition"},
		{f.garbled, "most glyphs say not which characters they are; the text is incomplete"},
		{f.damaged, "the content is damaged; the text is incomplete"},
		{f.clipped, fmt.Sprintf("the content is longer than %d MiB and was cut; the text is incomplete", maxStream>>20)},
	} {
		if len(kind.pages) > 0 {
			lines = append(lines, pageList(kind.pages)+": "+kind.say)
		}
	}
	return lines
}

// pageList writes page numbers as "page 3" or "pages 1-4, 9".
func pageList(pages []int) string {
	slices.Sort(pages)
	var parts []string
	for i := 0; i < len(pages); {
		j := i
		for j+1 < len(pages) && pages[j+1] == pages[j]+1 {
			j++
		}
		part := strconv.Itoa(pages[i])
		if j > i {
			part += "-" + strconv.Itoa(pages[j])
		}
		parts = append(parts, part)
		i = j + 1
	}
	word := "page "
	if len(pages) > 1 {
		word = "pages "
	}
	return word + strings.Join(parts, ", ")
}
