package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/skillet-run/skillet/host/app/seen"
)

// A tag of an answer is the version of what is decided, where changes are made of it, a point,
// and a hash of the body: a change is compared by the first, which how long something took
// does not change, and an answer that somebody has by all of it.
const (
	tagHeader   = "ETag"
	ifMatch     = "If-Match"
	ifNoneMatch = "If-None-Match"
)

// versioned are views of which a change can say that they were shown.
type versioned interface{ Version() seen.Version }

type versionKey struct{}

// noteVersion keeps the version of an answer for its tag.
func noteVersion(ctx context.Context, answer any) {
	to, wanted := ctx.Value(versionKey{}).(*seen.Version)
	if v, has := answer.(versioned); wanted && has {
		*to = v.Version()
	}
}

// tagged answers with a tag, and with 304 to who has the same answer already.
func (a *API) tagged(ctx huma.Context, next func(huma.Context)) {
	var v seen.Version
	r := &recorder{request: ctx, ctx: context.WithValue(ctx.Context(), versionKey{}, &v), in: ctx.BodyReader(), header: map[string][]string{}}
	next(r)
	if r.status != http.StatusOK {
		replay(ctx, r.status, r.header, r.body.Bytes())
		return
	}
	sum := sha256.Sum256(r.body.Bytes())
	tag := `"` + string(v) + "." + hex.EncodeToString(sum[:16]) + `"`
	ctx.SetHeader(tagHeader, tag)
	ctx.SetHeader("Cache-Control", "private, no-cache") // kept by who has it, and asked about each time
	ctx.SetHeader("Vary", "Accept, Authorization")
	if names(ctx.Header(ifNoneMatch), tag) {
		ctx.SetStatus(http.StatusNotModified)
		return
	}
	replay(ctx, r.status, r.header, r.body.Bytes())
}

// names reports whether a header names a tag, or all of them.
func names(header, tag string) bool {
	for each := range strings.SplitSeq(header, ",") {
		each = strings.TrimPrefix(strings.TrimSpace(each), "W/")
		if each == tag || each == "*" {
			return true
		}
	}
	return false
}

type seenKey struct{}

// seenBy is what the client of a change was shown of what it changes; nil for who does not say.
func seenBy(ctx context.Context) seen.Versions {
	v, _ := ctx.Value(seenKey{}).(seen.Versions)
	return v
}

// matched reads what the client of a change was shown. A service refuses the change when that
// is not so any more.
func matched(ctx huma.Context, next func(huma.Context)) {
	header := ctx.Header(ifMatch)
	if header == "" || strings.TrimSpace(header) == "*" {
		next(ctx)
		return
	}
	vs := seen.Versions{}
	for each := range strings.SplitSeq(header, ",") {
		version, _, tag := strings.Cut(strings.TrimPrefix(strings.TrimSpace(each), `"`), ".")
		if tag && version != "" && !slices.Contains(vs, seen.Version(version)) { // a weak one is none
			vs = append(vs, seen.Version(version))
		}
	}
	next(huma.WithValue(ctx, seenKey{}, vs))
}

// unmet makes a problem of a change whose condition is not met.
func unmet(p *Problem, err error, conditional bool) *Problem {
	if conditional && errors.Is(err, seen.ErrMoved) {
		p.Status, p.Title = http.StatusPreconditionFailed, http.StatusText(http.StatusPreconditionFailed)
	}
	return p
}

// conditions documents the headers of a route that answers with tags, or compares them.
func (a *API) conditions(op *huma.Operation, r route, problem *huma.Schema) {
	text := &huma.Schema{Type: huma.TypeString}
	if r.tagged {
		tag := map[string]*huma.Param{tagHeader: {Schema: text, Description: "Names what is answered."}}
		op.Responses["200"] = &huma.Response{Description: http.StatusText(http.StatusOK), Headers: tag}
		op.Responses["304"] = &huma.Response{Description: "It is what the client has already.", Headers: tag}
		op.Parameters = append(op.Parameters, &huma.Param{Name: ifNoneMatch, In: "header", Schema: text, Description: "The ETag of an answer that the client has: if it is still the same, the answer is 304."})
		op.Middlewares = append(op.Middlewares, a.tagged)
	}
	if r.matches != "" || r.planned {
		op.Responses["412"] = &huma.Response{
			Description: "It was changed since it was shown, and nothing was done.", Content: map[string]*huma.MediaType{problemType: {Schema: problem}},
		}
	}
	if r.matches != "" {
		op.Parameters = append(op.Parameters, &huma.Param{Name: ifMatch, In: "header", Schema: text, Description: "The ETag of " + r.matches + ", as the client saw it: if somebody changed it since, the answer is 412 and nothing is done."})
		op.Middlewares = append(op.Middlewares, matched)
	}
}
