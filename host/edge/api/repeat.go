package api

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/edge/repeat"
)

// keyHeader is the header by which a client names a request that it may send again, and
// repeatedHeader that of answers which were given before.
const (
	keyHeader      = "Idempotency-Key"
	repeatedHeader = "Idempotency-Replayed"
)

// answers keep what requests with a key were answered.
type answers = repeat.Store[given]

// given is the answer to a request.
type given struct {
	status int
	header map[string][]string
	body   []byte
	long   bool // the body was too long to be kept
}

// answered is what is kept of the answer to a request.
func answered(got *recorder) given {
	g := given{status: got.status, header: got.header, body: got.body.Bytes()}
	if len(g.body) > repeat.MaxAnswer {
		g.body, g.long = nil, true
	}
	return g
}

// notBegun reports whether a status says that nothing was done, so that the same request may
// be made again.
func notBegun(status int) bool {
	return slices.Contains([]int{0, http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusInsufficientStorage}, status)
}

// request is a [huma.Context] to be embedded, whose method Context needs the name.
type request = interface{ huma.Context }

// A recorder is a request whose body was read, and whose answer is written to memory.
type recorder struct {
	request
	ctx    context.Context
	in     io.Reader
	status int
	header map[string][]string
	body   bytes.Buffer
}

func (r *recorder) Context() context.Context           { return r.ctx }
func (r *recorder) BodyReader() io.Reader              { return r.in }
func (r *recorder) BodyWriter() io.Writer              { return &r.body }
func (r *recorder) SetStatus(code int)                 { r.status = code }
func (r *recorder) Status() int                        { return r.status }
func (r *recorder) SetHeader(name, value string)       { r.header[name] = []string{value} }
func (r *recorder) AppendHeader(name, value string)    { r.header[name] = append(r.header[name], value) }
func (r *recorder) SetReadDeadline(at time.Time) error { return nil }

// repeated answers a request that has a key and was made before with its first answer. A
// request with a key goes on when its client has gone, since that will ask again.
func (a *API) repeated(ctx huma.Context, next func(huma.Context)) {
	key, given := "", false
	ctx.EachHeader(func(name, value string) {
		if !given && name == keyHeader {
			key, given = value, true
		}
	})
	if !given {
		next(ctx)
		return
	}
	if !repeat.KeyForm().MatchString(key) {
		writeTo(ctx, problemOf(fault.Errorf(fault.KindUsage, "%s is not 1 to 200 characters of ASCII without spaces", keyHeader)))
		return
	}
	body, err := readBody(ctx)
	if err != nil || int64(len(body)) > ctx.Operation().MaxBodyBytes { // the parser says so
		next(&partBody{ctx, io.MultiReader(bytes.NewReader(body), failing{cmp.Or(err, io.EOF)})})
		return
	}
	k := repeat.Key{Owner: sha256.Sum256([]byte(ctx.Header("Authorization"))), Key: key}
	sum := requestSum(ctx, body)
	v, first := a.answers.Begin(k, sum)
	if !first {
		a.again(ctx, v, sum)
		return
	}
	own, cancel := context.WithCancel(context.WithoutCancel(ctx.Context()))
	defer cancel()
	defer context.AfterFunc(a.running, cancel)()
	r := &recorder{request: ctx, ctx: own, in: bytes.NewReader(body), header: map[string][]string{}}
	end := sync.OnceFunc(func() {
		g := answered(r)
		a.answers.End(v, g, len(g.body), !notBegun(g.status))
	})
	defer end()
	next(r)
	end()
	replay(ctx, r.status, r.header, r.body.Bytes())
}

// readTime is how long the body of a request may take to arrive.
const readTime = 5 * time.Second

func readBody(ctx huma.Context) ([]byte, error) {
	_ = ctx.SetReadDeadline(time.Now().Add(readTime)) // where there is none, there is none
	defer func() { _ = ctx.SetReadDeadline(time.Time{}) }()
	return io.ReadAll(io.LimitReader(ctx.BodyReader(), ctx.Operation().MaxBodyBytes+1))
}

func requestSum(ctx huma.Context, body []byte) [32]byte {
	u := ctx.URL()
	return sha256.Sum256(append([]byte(ctx.Method()+" "+u.RequestURI()+"\n"+ctx.Header("Content-Type")+"\n"), body...))
}

// again answers a request that was made before, and waits for it while it runs.
func (a *API) again(ctx huma.Context, v *repeat.Kept[given], request [32]byte) {
	if v.Request != request {
		p := problemOf(fault.Errorf(fault.KindUsage, "the %s was that of another request", keyHeader).WithHint("use a new one for each request"))
		p.Status, p.Title = http.StatusUnprocessableEntity, http.StatusText(http.StatusUnprocessableEntity)
		writeTo(ctx, p)
		return
	}
	select {
	case <-v.Done():
	case <-ctx.Context().Done():
		return
	}
	switch g := v.Value(); {
	case notBegun(g.status):
		writeTo(ctx, problemOf(fault.Errorf(fault.KindLimit, "the same request was turned away").WithRetryAfter(overloadWait)))
	case g.long:
		writeTo(ctx, problemOf(fault.Errorf(fault.KindConflict, "the request was answered before, and the answer was too long to be kept")))
	default:
		ctx.SetHeader(repeatedHeader, "true")
		replay(ctx, g.status, g.header, g.body)
	}
}

func replay(ctx huma.Context, status int, header map[string][]string, body []byte) {
	for name, values := range header {
		for _, value := range values {
			ctx.AppendHeader(name, value)
		}
	}
	ctx.SetStatus(status)
	_, _ = ctx.BodyWriter().Write(body) // who has gone asks again
}

// partBody is a request whose body was read in part.
type partBody struct {
	request
	in io.Reader
}

func (r *partBody) BodyReader() io.Reader { return r.in }

// failing is the end of a body.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// EndCalls cancels requests that go on although their clients have gone.
func (a *API) EndCalls() { a.stop() }

// keyParam documents the header of a key.
func keyParam() *huma.Param {
	return &huma.Param{
		Name: keyHeader, In: "header", Schema: &huma.Schema{Type: huma.TypeString, Pattern: repeat.KeyForm().String()},
		Description: "Names this request: sent again with the same key and body, by the same token, it is not carried out again but answered as the first time, " +
			"also while that still runs. The key with another request is 422. The last 1,000 keys of a token are known for an hour, as long as the service runs.",
	}
}
