// Package api is the edge for programs: it serves the application layer over HTTP, with an
// OpenAPI document that is made from its handlers.
//
// A handler parses a request, calls one method of a service and prints its result. Who may
// use a route is said in the table of routes, by the rights of tokens; everything else is
// decided by the services, who are told who asks. Errors are problems of RFC 9457 that carry
// the kind of failure and what can be done about it.
package api

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"net/http"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/app/admit"
	"github.com/skillet-run/skillet/host/app/code"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/app/work"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/edge/repeat"
)

// Services are what the edge serves. All are needed.
type Services struct {
	Admit  *admit.Service
	Invoke *invoke.Service
	Code   *code.Service
	Govern govern.Services
	Work   *work.Service
	// Explain says what an error means to a caller. Ready says why no request can be
	// answered now; nil for no reason.
	Explain func(error) *fault.Error
	Ready   func(context.Context) error
}

// Settings are what can be chosen about the edge. The zero value has what is usual.
type Settings struct {
	// Version is that of the program.
	Version string
	// Common is what a command has to have in common with the service to be done by it, as
	// upkeep.Common.Digest has it; empty for a service that does no commands.
	Common string
	// Heartbeat is how often a stream of events says that it is alive; 0 for 15 seconds.
	Heartbeat time.Duration
	// PlanLife is how long a plan can be committed after it was made; 0 for 15 minutes.
	PlanLife time.Duration
	// AnswerLife is how long the answer to a request with a key is kept; 0 for an hour.
	AnswerLife time.Duration
	// Limits bound what is asked for.
	Limits Limits
}

// An API is the edge. It is safe for concurrent use.
type API struct {
	s       Services
	set     Settings
	log     hclog.Logger
	mux     *http.ServeMux
	huma    huma.API
	plans   *plans
	limits  *limits
	answers *answers
	running context.Context // ends when requests whose clients have gone are to end
	stop    context.CancelFunc
	rules   map[string][]govern.Right // by the ID of the operation
	meter   *meter
	verify  sync.Mutex // held while the audit log is verified

	began   time.Time
	closing chan struct{} // closed when no more requests are taken in
	ended   chan struct{} // closed when streams are to end
	end     func()
}

// MaxBody is the largest body of a request, in bytes, where a route does not say otherwise,
// and MaxInput that of a call of a tool.
const (
	MaxBody  = 1 << 20
	MaxInput = 8 << 20
)

// New makes an API.
func New(log hclog.Logger, s Services, set Settings) *API {
	set.Heartbeat = cmp.Or(set.Heartbeat, 15*time.Second)
	set.PlanLife = cmp.Or(set.PlanLife, 15*time.Minute)
	set.AnswerLife = cmp.Or(set.AnswerLife, time.Hour)
	limits := newLimits(set.Limits)
	a := &API{
		s: s, set: set, log: log, mux: http.NewServeMux(), plans: newPlans(set.PlanLife), limits: limits, answers: repeat.New[given](set.AnswerLife),
		rules: map[string][]govern.Right{}, meter: newMeter(set.Version, limits), closing: make(chan struct{}), ended: make(chan struct{}), began: time.Now().UTC(),
	}
	a.end = sync.OnceFunc(func() { close(a.ended) })
	a.running, a.stop = context.WithCancel(context.Background())
	a.huma = humago.New(a.mux, a.config())
	a.huma.OpenAPI().OnAddOperation = append(a.huma.OpenAPI().OnAddOperation, document)
	for _, routes := range []func(*API){health, commands, skills, search, changes, calls, scripts, runs, proposals, grants, policy, tasks, memories, figures, samples, auditLog, plain, metrics, allEvents} {
		routes(a)
	}
	a.mux.HandleFunc("/", a.noRoute)
	return a
}

// Handler serves the API. host reports whether a request may name the host that it names, as a browser that
// was led here by another name would.
func (a *API) Handler(host func(*http.Request) bool) http.Handler {
	cross := http.NewCrossOriginProtection()
	cross.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		write(w, problemOf(fault.Errorf(fault.KindDenied, "the request comes from a page of another origin")))
	}))
	inner := cross.Handler(a.mux)
	return a.watch(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		if !host(r) {
			p := problemOf(fault.Errorf(fault.KindDenied, "no host is served by the name %q", r.Host))
			p.Status, p.Title = http.StatusMisdirectedRequest, http.StatusText(http.StatusMisdirectedRequest)
			write(w, p)
			return
		}
		inner.ServeHTTP(w, r)
	}))
}

// Document is the OpenAPI document.
func (a *API) Document() ([]byte, error) { return json.MarshalIndent(a.huma.OpenAPI(), "", "  ") }

// EndStreams ends the streams of events, which would go on otherwise when a server ends.
// Who follows one connects again.
func (a *API) EndStreams() { a.end() }

const schemas = "#/components/schemas/"

func (a *API) config() huma.Config {
	c := huma.DefaultConfig("Skillet", cmp.Or(a.set.Version, "devel"))
	c.Info.Description = "Runs untrusted skills that can do nothing they were not granted."
	c.Info.License = &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"}
	c.Components.Schemas = huma.NewMapRegistry(schemas, schemaName)
	c.Components.SecuritySchemes = map[string]*huma.SecurityScheme{"token": {
		Type: "http", Scheme: "bearer", Description: "The secret of a token that a person made at the machine of the service.",
	}}
	c.OpenAPIPath, c.DocsPath, c.SchemasPath = "/v1/openapi", "", ""
	c.CreateHooks, c.RejectUnknownQueryParameters = nil, true
	c.Servers = []*huma.Server{{URL: "/", Description: "The service that has this document."}}
	json := huma.Format{Marshal: marshal, Unmarshal: unmarshal}
	c.Formats = map[string]huma.Format{"application/json": json, "json": json, CommandType: {Marshal: huma.DefaultJSONFormat.Marshal, Unmarshal: unmarshal}}
	c.Transformers = []huma.Transformer{problems}
	return c
}

// schemaName names a type by its package, of which several have types of one name.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	pkg := path.Base(t.PkgPath())
	if t.Name() == "" || pkg == "." || pkg == "api" {
		return name
	}
	pkg = strings.ToUpper(pkg[:1]) + pkg[1:]
	if strings.HasPrefix(name, pkg) {
		return name
	}
	return pkg + name
}

// A route is a row of the table of routes.
type route struct {
	// id is the name of the operation, in words joined by "-"; tag groups it.
	method, path, id, tag, summary string
	// rights are those of which a token needs one. Without any, nobody needs a token.
	rights []govern.Right
	// status is that of a success; 0 for 200.
	status int
	// class says who waits at overload; that of requests that look at something is low.
	class class
	// repeatable lets a request with a key be sent again.
	repeatable bool
	// tagged adds an ETag to the answer. matches is what an If-Match of a change is compared
	// with; empty for a route that takes none. planned is a change for which that was done when
	// it was planned.
	tagged, planned bool
	matches         string
	// paced bounds how often it is asked for, where nobody needs a token.
	paced bool
	// body is how long the body of a request may be; 0 for [MaxBody].
	body int64
	// resource is where it is written how clients are let in; empty for nowhere.
	resource string
}

// challenge says to who is not let in how that is done.
func (r route) challenge() string {
	if r.resource == "" {
		return `Bearer realm="skillet"`
	}
	return `Bearer realm="skillet", resource_metadata=` + strconv.Quote(r.resource)
}

func needs(any ...govern.Right) []govern.Right { return any }

// refusals are the statuses that any operation may answer with beside its own. They are
// documented on all of them, here.
var refusals = map[int]string{
	http.StatusBadRequest:            "The request cannot be read, or breaks a rule.",
	http.StatusUnauthorized:          "No token was shown, or one that is not known or has expired.",
	http.StatusForbidden:             "The token has no right to this, or a policy forbids it.",
	http.StatusNotFound:              "What is named was not found.",
	http.StatusConflict:              "It is already so, somebody changed it first, or a person has to agree.",
	http.StatusRequestEntityTooLarge: "The body is too long.",
	http.StatusUnsupportedMediaType:  "The body is not JSON.",
	http.StatusUnprocessableEntity:   "The request does not fit its schema, or bytes are not what they should be.",
	http.StatusTooManyRequests:       "A limit was reached; Retry-After says when to try again, where that is known.",
	http.StatusInternalServerError:   "The host failed.",
	http.StatusServiceUnavailable:    "The service is not ready, is about to end, or does not reach a registry or a server that it needs.",
	http.StatusInsufficientStorage:   "The disk takes no more, and nothing was changed.",
}

func (a *API) operation(r route) huma.Operation {
	op := huma.Operation{
		OperationID: r.id, Method: r.method, Path: r.path, Summary: r.summary, Tags: []string{r.tag}, Description: r.summary + ".",
		DefaultStatus: cmp.Or(r.status, http.StatusOK), MaxBodyBytes: cmp.Or(r.body, MaxBody), Responses: map[string]*huma.Response{},
	}
	schema := a.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[Problem](), true, "Problem")
	for status, meaning := range refusals {
		if len(r.rights) == 0 && (status == http.StatusUnauthorized || status == http.StatusForbidden) {
			continue
		}
		op.Responses[strconv.Itoa(status)] = &huma.Response{
			Description: meaning, Content: map[string]*huma.MediaType{problemType: {Schema: schema}},
		}
	}
	a.rules[r.id] = r.rights
	if r.paced {
		op.Middlewares = huma.Middlewares{a.paced}
	}
	if len(r.rights) > 0 {
		op.Security = []map[string][]string{{"token": {}}}
		op.Middlewares = huma.Middlewares{a.admitted(r)}
	}
	op.Middlewares = append(op.Middlewares, refuseEmpty)
	a.conditions(&op, r, schema)
	if r.repeatable {
		op.Parameters = append(op.Parameters, keyParam())
		op.Middlewares = append(op.Middlewares, a.repeated)
	}
	return op
}

// answer is what a handler returns.
type answer[T any] struct {
	Status int
	Body   T
}

// add adds a route whose result is the whole body of the answer.
func add[I, T any](a *API, r route, do func(context.Context, govern.Pass, *I) (T, error)) {
	huma.Register(a.huma, a.operation(r), func(ctx context.Context, in *I) (*answer[T], error) {
		v, err := do(ctx, passOf(ctx), in)
		if err != nil {
			a.noteDenied(ctx, err)
			return nil, unmet(a.problem(err), err, seenBy(ctx) != nil)
		}
		noteVersion(ctx, v)
		return &answer[T]{cmp.Or(r.status, http.StatusOK), v}, nil
	})
}

// A file is an answer that is not JSON of the document.
type file struct {
	Type string `header:"Content-Type"`
	// Policy is what a browser lets a page do; empty for what is not a page.
	Policy string `header:"Content-Security-Policy"`
	Body   []byte
}

// addFile adds a route that answers with bytes of one of some media types.
func addFile[I any](a *API, r route, types []string, do func(context.Context, govern.Pass, *I) (*file, error)) {
	op := a.operation(r)
	op.Responses["200"] = &huma.Response{Description: "What was asked for.", Content: map[string]*huma.MediaType{}}
	for _, t := range types {
		op.Responses["200"].Content[t] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	}
	huma.Register(a.huma, op, func(ctx context.Context, in *I) (*file, error) {
		f, err := do(ctx, passOf(ctx), in)
		if err != nil {
			a.noteDenied(ctx, err)
			return nil, a.problem(err)
		}
		return f, nil
	})
}

// Window says which part of a list is wanted.
type Window struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"How many there are at most."`
	Cursor string `query:"cursor" pattern:"^[0-9]{1,9}$" doc:"Where to go on: next of the answer before."`
}

func (w Window) from() int {
	n, _ := strconv.Atoi(w.Cursor) // the pattern was checked
	return n
}

// most is how many of a list have to be known for the window, and that more follow.
func (w Window) most() int { return w.from() + w.Limit + 1 }

// A Page is a part of a list.
type Page[T any] struct {
	Items []T `json:"items" nullable:"false"`
	// Next is the cursor of what follows; empty at the end.
	Next string `json:"next,omitempty" doc:"The cursor of what follows; missing at the end."`
}

func page[T any](w Window, all []T, err error) (Page[T], error) {
	from := min(w.from(), len(all))
	to := min(from+w.Limit, len(all))
	p := Page[T]{Items: append([]T{}, all[from:to]...)}
	if to < len(all) {
		p.Next = strconv.Itoa(to)
	}
	return p, err
}

// noRoute answers what no route is for.
func (a *API) noRoute(w http.ResponseWriter, r *http.Request) {
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := a.mux.Handler(other); pattern != "/" {
			allowed = append(allowed, method)
		}
	}
	p := problemOf(fault.Errorf(fault.KindNotFound, "nothing is at %s", r.URL.Path).WithHint("/v1/openapi.json lists the routes"))
	if len(allowed) > 0 {
		p = problemOf(fault.Errorf(fault.KindUsage, "%s cannot be had by %s", r.URL.Path, r.Method).WithHint("it can by %s", strings.Join(allowed, ", ")))
		p.Status, p.Title = http.StatusMethodNotAllowed, http.StatusText(http.StatusMethodNotAllowed)
		w.Header().Set("Allow", strings.Join(allowed, ", "))
	}
	write(w, p)
}

// document says of an operation that was added what the parser does not know: its tag, and
// that values of parameters are not empty.
func document(o *huma.OpenAPI, op *huma.Operation) {
	for _, name := range op.Tags {
		if !slices.ContainsFunc(o.Tags, func(t *huma.Tag) bool { return t.Name == name }) {
			o.Tags = append(o.Tags, &huma.Tag{Name: name})
		}
	}
	one := 1
	for _, p := range op.Parameters {
		s := p.Schema
		if s.Type == huma.TypeArray {
			s = s.Items
		}
		if p.In == "query" && s.Type == huma.TypeString {
			s.MinLength = &one
		}
	}
}

// refuseEmpty refuses an empty value of a parameter, which would be read as none at all.
func refuseEmpty(ctx huma.Context, next func(huma.Context)) {
	u := ctx.URL()
	if u.RawQuery != "" {
		query := u.Query()
		for _, p := range ctx.Operation().Parameters {
			if values, given := query[p.Name]; p.In == "query" && given && slices.Contains(values, "") {
				e := fault.Errorf(fault.KindUsage, "the parameter %s is empty", p.Name).WithHint("leave it out, or give it a value")
				pr := problemOf(e)
				pr.Status, pr.Title = http.StatusUnprocessableEntity, http.StatusText(http.StatusUnprocessableEntity)
				writeTo(ctx, pr)
				return
			}
		}
	}
	next(ctx)
}

type passKey struct{}

// passOf says who was let in; the zero value is nobody.
func passOf(ctx context.Context) govern.Pass {
	p, _ := ctx.Value(passKey{}).(govern.Pass)
	return p
}

// admitted lets in who shows a token with one of the rights of a route, as far as the limits
// have room. Refusals are put on record.
func (a *API) admitted(r route) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		p, over, err := a.identify(ctx)
		if err == nil && over == nil {
			err = p.May(r.rights...)
			if err == nil {
				ctx = huma.WithValue(ctx, passKey{}, p)
				a.bounded(huma.WithValue(ctx, routeKey{}, routeOf(ctx)), r, p, next)
				return
			}
			over = a.limits.pace(p.Name())
		}
		if over != nil {
			a.turnAway(ctx, over)
			return
		}
		pr := a.problem(err)
		if errors.Is(err, govern.ErrNotAdmitted) {
			pr.Status, pr.Title = http.StatusUnauthorized, http.StatusText(http.StatusUnauthorized)
			pr.headers.Set("WWW-Authenticate", r.challenge())
		}
		a.refused(ctx.Context(), p, routeOf(ctx), err)
		a.log.Warn("refused", "operation", ctx.Operation().OperationID, "status", pr.Status, "who", p.Name(), "from", ctx.RemoteAddr(), "why", pr.Detail)
		writeTo(ctx, pr)
	}
}

// identify finds out who asks, unless too many ask who are let in nowhere.
func (a *API) identify(ctx huma.Context) (p govern.Pass, over *refusal, err error) {
	secret := ctx.Header("Authorization")
	_, here := local(ctx.Context())
	here = here && secret == ""
	sum := sha256.Sum256([]byte(secret))
	if !here {
		over = a.limits.paceStranger(sum)
	}
	if over != nil {
		return p, over, nil
	}
	p, err = a.pass(ctx)
	stranger := errors.Is(err, govern.ErrNotAdmitted)
	if here && stranger { // it takes a look at the processes to know
		over = a.limits.paceStranger(sum)
	}
	if stranger || err == nil && !here {
		a.limits.settle(sum, !stranger)
	}
	return p, over, err
}

type routeKey struct{}

func routeOf(ctx huma.Context) string { return ctx.Method() + " " + ctx.URL().Path }

// noteDenied puts on record that somebody who was let in asked for what they may not have.
func (a *API) noteDenied(ctx context.Context, err error) {
	p, route := passOf(ctx), ctx.Value(routeKey{})
	if route == nil || p.By() == nil {
		return
	}
	switch {
	case errors.Is(err, work.ErrOthers):
		err = fault.Wrap(fault.KindDenied, work.ErrOthers) // which its text does not tell
	case a.problem(err).Status != http.StatusForbidden:
		return
	}
	a.refused(ctx, p, route.(string), err)
}

// refused puts a refused request on record.
func (a *API) refused(ctx context.Context, p govern.Pass, route string, why error) {
	if fault.AsError(why) != nil && fault.AsError(why).Kind == fault.KindInternal { // nothing is known of who asks
		return
	}
	if err := a.s.Govern.Tokens.Refused(ctx, p, route, why); err != nil {
		a.log.Error("a refused request is not on record", "route", route, "err", err)
	}
}

// pass is who shows the token in a request, or who is at the other end of the local socket
// when none is shown.
func (a *API) pass(ctx huma.Context) (govern.Pass, error) {
	if p, ok := local(ctx.Context()); ok && ctx.Header("Authorization") == "" {
		return a.s.Govern.Tokens.AdmitLocal(ctx.Context(), p)
	}
	scheme, secret, _ := strings.Cut(ctx.Header("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		secret = ""
	}
	return a.s.Govern.Tokens.Admit(ctx.Context(), strings.TrimSpace(secret))
}
