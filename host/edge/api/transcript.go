package api

import (
	"bytes"
	"context"
	"io"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/skillet-run/skillet/host/app/govern"
	pages "github.com/skillet-run/skillet/host/edge/page"
)

// Form says in which form a transcript is wanted.
type Form struct {
	Accept string `header:"Accept" doc:"text/html for a page; otherwise it is JSON."`
}

func (f *Form) isPage() bool { return strings.Contains(f.Accept, "text/html") }

// details adds a route of all that is known of something, which has two forms: JSON, and a page
// that needs no network.
func details[T, I any, P interface {
	*I
	isPage() bool
}](a *API, r route, find func(context.Context, govern.Pass, P) (T, error), page func(io.Writer, T) error) {
	op := a.operation(r)
	op.Responses["200"] = &huma.Response{Description: "What is known of it.", Content: map[string]*huma.MediaType{
		"application/json": {Schema: a.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[T](), true, "Details")},
		"text/html":        {Schema: &huma.Schema{Type: huma.TypeString}},
	}}
	huma.Register(a.huma, op, func(ctx context.Context, in *I) (*file, error) {
		d, err := find(ctx, passOf(ctx), in)
		if err != nil {
			a.noteDenied(ctx, err)
			return nil, a.problem(err)
		}
		var b bytes.Buffer
		f := &file{Type: "application/json"}
		if P(in).isPage() {
			f.Type, f.Policy, err = "text/html; charset=utf-8", pages.Policy+"; sandbox", page(&b, d)
		} else {
			err = marshal(&b, d)
		}
		if err != nil {
			return nil, a.problem(err)
		}
		f.Body = b.Bytes()
		return f, nil
	})
}
