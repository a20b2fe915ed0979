package api

import (
	"bytes"
	"cmp"
	"container/list"
	"context"
	"crypto/sha256"
	"io"
	"net/http"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/skillet-run/skillet/host/base/fault"
)

// keyHeader is the header by which a client names a request that it may send again, and
// repeatedHeader that of answers which were given before.
const (
	keyHeader      = "Idempotency-Key"
	repeatedHeader = "Idempotency-Replayed"
)

var keyForm = regexp.MustCompile(`^[\x21-\x7e]{1,200}$`)

// What is kept of answers: of each token and in all.
const (
	maxAnswers      = 1000
	maxAnswersInAll = 10_000
	maxAnswer       = 1 << 20
	maxAnswerBytes  = 64 << 20
)

// answers keep what requests with a key were answered, so that the same request again is
// answered with that. They are of this process. They are safe for concurrent use.
type answers struct {
	life time.Duration
	mu   sync.Mutex
	all  map[answerKey]*list.Element
	ages list.List // of *kept, the oldest first
	of   map[[32]byte]int
	size int
}

// An answerKey is a key of a token, by the hash of its secret.
type answerKey struct {
	owner [32]byte
	key   string
}

// kept is a request, and its answer when done is closed.
type kept struct {
	key     answerKey
	request [32]byte // the hash of all of it
	until   time.Time
	done    chan struct{}
	status  int
	header  map[string][]string
	body    []byte
	long    bool // the body was too long to be kept
}

func newAnswers(life time.Duration) *answers {
	return &answers{life: life, all: map[answerKey]*list.Element{}, of: map[[32]byte]int{}}
}

// begin returns what is kept for a key; first is true for a request that was not there before.
func (s *answers) begin(k answerKey, request [32]byte) (_ *kept, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.expire(now)
	if e := s.all[k]; e != nil {
		return e.Value.(*kept), false
	}
	if s.of[k.owner] >= maxAnswers {
		s.dropOldest(func(o *kept) bool { return o.key.owner == k.owner })
	}
	for len(s.all) >= maxAnswersInAll || s.size > maxAnswerBytes {
		if !s.dropOldest(func(*kept) bool { return true }) {
			break
		}
	}
	v := &kept{key: k, request: request, until: now.Add(s.life), done: make(chan struct{})}
	s.all[k] = s.ages.PushBack(v)
	s.of[k.owner]++
	return v, true
}

// expire forgets answers that were kept for their time. The oldest ends first.
func (s *answers) expire(now time.Time) {
	for e := s.ages.Front(); e != nil && now.After(e.Value.(*kept).until); {
		next := e.Next()
		if e.Value.(*kept).ended() {
			s.drop(e)
		}
		e = next
	}
}

// dropOldest forgets the oldest answer of some, if there is one. A request that still runs is
// not forgotten.
func (s *answers) dropOldest(some func(*kept) bool) bool {
	for e := s.ages.Front(); e != nil; e = e.Next() {
		if o := e.Value.(*kept); o.ended() && some(o) {
			s.drop(e)
			return true
		}
	}
	return false
}

// end keeps the answer of a request, or forgets the request when nothing came of it.
func (s *answers) end(k *kept, got *recorder) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k.status, k.header, k.body = got.status, got.header, got.body.Bytes()
	if len(k.body) > maxAnswer {
		k.body, k.long = nil, true
	}
	s.size += len(k.body)
	if notBegun(got.status) {
		s.drop(s.all[k.key])
	}
	close(k.done)
}

// notBegun reports whether a status says that nothing was done, so that the same request may
// be made again.
func notBegun(status int) bool {
	return slices.Contains([]int{0, http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusInsufficientStorage}, status)
}

func (s *answers) drop(e *list.Element) {
	o := s.ages.Remove(e).(*kept)
	delete(s.all, o.key)
	s.size -= len(o.body)
	if s.of[o.key.owner]--; s.of[o.key.owner] == 0 {
		delete(s.of, o.key.owner)
	}
}

func (k *kept) ended() bool {
	select {
	case <-k.done:
		return true
	default:
		return false
	}
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
	if !keyForm.MatchString(key) {
		writeTo(ctx, problemOf(fault.Errorf(fault.KindUsage, "%s is not 1 to 200 characters of ASCII without spaces", keyHeader)))
		return
	}
	body, err := readBody(ctx)
	if err != nil || int64(len(body)) > ctx.Operation().MaxBodyBytes { // the parser says so
		next(&partBody{ctx, io.MultiReader(bytes.NewReader(body), failing{cmp.Or(err, io.EOF)})})
		return
	}
	k := answerKey{sha256.Sum256([]byte(ctx.Header("Authorization"))), key}
	sum := requestSum(ctx, body)
	v, first := a.answers.begin(k, sum)
	if !first {
		a.again(ctx, v, sum)
		return
	}
	own, cancel := context.WithCancel(context.WithoutCancel(ctx.Context()))
	defer cancel()
	defer context.AfterFunc(a.running, cancel)()
	r := &recorder{request: ctx, ctx: own, in: bytes.NewReader(body), header: map[string][]string{}}
	end := sync.OnceFunc(func() { a.answers.end(v, r) })
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
func (a *API) again(ctx huma.Context, v *kept, request [32]byte) {
	if v.request != request {
		p := problemOf(fault.Errorf(fault.KindUsage, "the %s was that of another request", keyHeader).WithHint("use a new one for each request"))
		p.Status, p.Title = http.StatusUnprocessableEntity, http.StatusText(http.StatusUnprocessableEntity)
		writeTo(ctx, p)
		return
	}
	select {
	case <-v.done:
	case <-ctx.Context().Done():
		return
	}
	switch {
	case notBegun(v.status):
		writeTo(ctx, problemOf(fault.Errorf(fault.KindLimit, "the same request was turned away").WithRetryAfter(overloadWait)))
	case v.long:
		writeTo(ctx, problemOf(fault.Errorf(fault.KindConflict, "the request was answered before, and the answer was too long to be kept")))
	default:
		ctx.SetHeader(repeatedHeader, "true")
		replay(ctx, v.status, v.header, v.body)
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
		Name: keyHeader, In: "header", Schema: &huma.Schema{Type: huma.TypeString, Pattern: keyForm.String()},
		Description: "Names this request: sent again with the same key and body, by the same token, it is not carried out again but answered as the first time, " +
			"also while that still runs. The key with another request is 422. The last 1,000 keys of a token are known for an hour, as long as the service runs.",
	}
}
