// Package page makes pages of what happened, each one file that needs no network and no script.
//
// What skills and models wrote is shown as text: it is escaped, and characters that would
// move or hide others are replaced.
package page

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/skillet-run/skillet/host/app/work"
)

// Policy is what a browser lets the page do: nothing but to have its own style.
const Policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

//go:embed *.html
var files embed.FS

// pages are read when one is written: most commands write none.
var pages = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"policy": func() string { return Policy },
		"shown":  func(v any) string { return work.Shown(fmt.Sprint(v)) },
		"short":  short,
		"raw":    func(b []byte) string { return work.Shown(short(string(b))) },
		"at":     at,
		"took":   took,
		"ms": func(ms float64) string {
			return time.Duration(ms * float64(time.Millisecond)).Round(10 * time.Microsecond).String()
		},
		"usd": func(micro int64) string { return fmt.Sprintf("%.4f USD", float64(micro)/1e6) },
	}).ParseFS(files, "*.html"))
})

// Task writes the page of a task.
func Task(w io.Writer, t work.TaskDetails) error {
	return write(w, "task.html", t)
}

// Run writes the page of a run.
func Run(w io.Writer, t work.CallDetails) error {
	return write(w, "run.html", t)
}

func write(w io.Writer, name string, of any) error {
	if err := pages().ExecuteTemplate(w, name, of); err != nil {
		return fmt.Errorf("make a page: %w", err)
	}
	return nil
}

// preview is how many characters of a text are shown.
const preview = 4000

func short(s string) string {
	if r := []rune(s); len(r) > preview {
		return strings.TrimSpace(string(r[:preview])) + " …"
	}
	return s
}

func at(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05.000 UTC")
}

func took(s work.Step) string {
	if s.StartedAt.IsZero() || s.FinishedAt.IsZero() {
		return ""
	}
	return s.FinishedAt.Sub(s.StartedAt).Round(time.Millisecond).String()
}
