package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/cenkalti/backoff/v5"

	"github.com/skillet-run/skillet/host/agents/event"
	"github.com/skillet-run/skillet/host/agents/llm/budget"
	"github.com/skillet-run/skillet/host/base/trace"
	"github.com/skillet-run/skillet/plugins/provider"
)

// Generate asks models until one answers: the best first, each again as often as its
// failures make sense to try again, then the next one where that helps.
//
// When Emit is set, all it was handed together is the text of the answer, or, when
// Generate fails, the beginning of one. After the first piece of text no other model
// is asked any more; the same one is, and what it says again is not handed out again.
// When it says something else, the failure that broke off its first answer is
// returned. An answer that is checked before it counts, by a schema or by Accept, is
// handed out in one piece. An error of Emit ends everything and is returned.
//
// The Answer of an error has the attempts and what they cost, and nothing else. Errors
// are [fault.Error]s that wrap [ErrInvalid], [ErrNoModel], [ErrUnfit],
// [budget.ErrExhausted], the [*provider.Error] of the last attempt, or what ended
// ctx.
func (r *Router) Generate(ctx context.Context, a Ask) (Answer, error) {
	f, err := check(a)
	if err != nil {
		return Answer{}, fmt.Errorf("ask a model: %w", err)
	}
	c, err := r.choose(ctx, a)
	if err != nil {
		return Answer{}, fmt.Errorf("ask a model: %w", err)
	}
	j := &job{r: r, ask: a, form: f, target: c.target, lease: a.Lease, gate: &gate{emit: a.Emit, held: f != nil || a.Accept != nil}}
	if j.lease == nil {
		j.lease = r.budget.Host()
	}
	ctx, span := trace.Start(ctx, "model", trace.String("purpose", a.Purpose), trace.String("tier", string(a.Tier)))
	ans, err := j.run(ctx, c)
	span.Set(trace.String("model", ans.Provider+"/"+ans.Model), trace.Int("input_tokens", int64(ans.Usage.InputTokens)), trace.Int("output_tokens", int64(ans.Usage.OutputTokens)))
	span.End(err)
	r.saving.want()
	if err != nil && ctx.Err() == nil {
		j.tell(event.ModelFailed, err.Error())
	}
	return ans, err
}

// A Failure is the data of the events model.fallback and model.failed.
type Failure struct {
	Tier     Tier      `json:"tier,omitempty"`
	Model    string    `json:"model,omitempty"` // that was named
	Purpose  string    `json:"purpose,omitempty"`
	Step     string    `json:"step,omitempty"`
	Attempts []Attempt `json:"attempts"`
}

func (j *job) tell(t event.Type, text string) {
	e := event.Event{Type: t, Task: j.ask.Task, Text: line(text)}
	if j.ask.Agent != "" {
		e.Actor = "agent:" + j.ask.Agent
	}
	e.Data, _ = json.Marshal(Failure{j.target.tier, j.target.named, j.ask.Purpose, j.ask.Step, j.attempts}) // it always can be
	j.r.tell(e)
}

// check refuses what no model can answer.
func check(a Ask) (*form, error) {
	r := a.Request
	for _, row := range []struct {
		bad  bool
		what string
	}{
		{len(r.Messages) == 0, "request without a message"},
		{r.MaxTokens < 0 || r.MaxTokens > maxTokens, fmt.Sprintf("max_tokens %d: 0 to 2^30", r.MaxTokens)},
		{r.Thinking < 0 || r.Thinking > maxTokens, fmt.Sprintf("thinking %d: 0 to 2^30 tokens", r.Thinking)},
		{r.Temperature != nil && !(*r.Temperature >= 0 && *r.Temperature <= 2), "temperature: 0 to 2"},
	} {
		if row.bad {
			return nil, fault.Errorf(fault.KindUsage, "%w %s", ErrInvalid, row.what)
		}
	}
	return formOf(r.Schema)
}

// A job is one Ask on its way through the models.
type job struct {
	r        *Router
	ask      Ask
	form     *form
	target   target
	lease    *budget.Lease
	gate     *gate
	attempts []Attempt
	spent    int64 // millionths of a dollar
}

// exclusions say which of the models that are left failures so far rule out.
type exclusions struct {
	context   int      // a model needs more than this
	providers []string // these do not let us in
}

func (h exclusions) stop(c Candidate) bool {
	known := c.model.ContextTokens
	return h.context > 0 && known > 0 && known <= h.context || slices.Contains(h.providers, c.ref.Provider)
}

// run asks the candidates one after the other.
func (j *job) run(ctx context.Context, c choice) (Answer, error) {
	chain := c.chain()
	if len(chain) == 0 {
		return Answer{}, fmt.Errorf("ask a model: %w", c.none())
	}
	var h exclusions
	var failed *failure
	for asked := 0; len(chain) > 0 && asked < j.r.settings.MaxModels; asked++ {
		resp, cached, f := j.answer(ctx, chain[0], len(chain) > 1)
		if f == nil {
			return j.done(chain[0], resp, cached), nil
		}
		failed = f
		if j.gate.committed() || !j.goOn(&h, chain[0], f) {
			break
		}
		chain = slices.DeleteFunc(slices.Clone(chain[1:]), h.stop)
	}
	return Answer{Attempts: j.attempts, USD: float64(j.spent) / 1e6}, j.report(failed)
}

// goOn reports whether another model may help, and notes which cannot.
func (j *job) goOn(h *exclusions, c Candidate, f *failure) bool {
	switch remedyOf(f.class, j.r.settings).next {
	case nextNone:
		return false
	case nextLarger:
		h.context = max(c.model.ContextTokens, c.input, 1)
	case nextOther:
		h.providers = append(h.providers, c.ref.Provider)
	}
	j.r.log.Info("a model did not answer", "model", c.ref.String(), "class", f.class, "err", line(f.Error()))
	return true
}

func (j *job) done(c Candidate, resp provider.Response, cached bool) Answer {
	if resp.Model == "" {
		resp.Model = c.ref.Model
	}
	if len(j.attempts) > 0 && j.attempts[0].ref() != c.ref {
		first := j.attempts[0]
		j.tell(event.ModelFallback, fmt.Sprintf("%s answers instead of %s: %s", c.ref, first.ref(), first.Message))
	}
	return Answer{Response: resp, Provider: c.ref.Provider, USD: float64(j.spent) / 1e6, Cached: cached, Attempts: j.attempts}
}

func (a Attempt) ref() Ref { return Ref{a.Provider, a.Model} }

// answer is a kept answer of a model, or a new one that was checked.
func (j *job) answer(ctx context.Context, c Candidate, more bool) (resp provider.Response, cached bool, f *failure) {
	key := j.r.cache.key(j.ask, c.ref)
	resp, cached = j.r.cache.get(ctx, key)
	if cached {
		j.r.usage.count(j.use(c), Usage{Cached: 1})
	} else if resp, f = j.fitting(ctx, c, more); f != nil {
		return resp, false, f
	}
	if j.ask.Accept != nil {
		if err := j.ask.Accept(resp); err != nil {
			return resp, false, j.unfit(fmt.Errorf("not accepted: %w", err))
		}
	}
	if err := j.gate.finish(resp.Text); err != nil {
		return resp, false, &failure{class: provider.ClassCancelled, cause: err}
	}
	if !cached {
		if err := j.r.cache.put(context.WithoutCancel(ctx), key, resp); err != nil {
			j.r.log.Warn("an answer is not kept", "err", err)
		}
	}
	return resp, cached, nil
}

// unfit marks the last attempt as one whose answer was not good enough.
func (j *job) unfit(err error) *failure {
	if n := len(j.attempts); n > 0 && j.attempts[n-1].Class == "" {
		j.attempts[n-1].Class, j.attempts[n-1].Message = ClassUnfit, line(err.Error())
	}
	return &failure{class: ClassUnfit, cause: err}
}

// fitting is an answer that says something and fits its schema, if need be after one
// chance to correct it.
func (j *job) fitting(ctx context.Context, c Candidate, more bool) (provider.Response, *failure) {
	req := j.form.ask(j.ask.Request, c.model)
	resp, f := j.retried(ctx, c, req, more)
	if f != nil {
		return resp, f
	}
	text, err := j.examine(resp)
	if err != nil && j.form != nil && resp.Finish == provider.FinishStop && resp.Text != "" {
		j.unfit(err)
		if resp, f = j.retried(ctx, c, repair(req, resp, err), more); f != nil {
			return resp, f
		}
		text, err = j.examine(resp)
	}
	var held *failure
	switch {
	case errors.As(err, &held):
		return resp, held
	case err != nil:
		return resp, j.unfit(err)
	}
	resp.Text = text
	return resp, nil
}

// examine returns the text of an answer, or what is wrong with it.
func (j *job) examine(resp provider.Response) (string, error) {
	if strings.TrimSpace(resp.Text) == "" && len(resp.Calls) == 0 {
		if resp.Finish == provider.FinishFilter {
			return "", fail(provider.ClassRefused, "the provider held the answer back")
		}
		return "", errors.New("the answer is empty")
	}
	return j.form.check(resp)
}

// shortWait is how long a provider that has too many requests is waited for when
// another model could be asked.
const shortWait = 2 * time.Second

// retried asks one model, and again after failures that go away. more says that
// there are other models.
func (j *job) retried(ctx context.Context, c Candidate, req provider.Request, more bool) (provider.Response, *failure) {
	pauses := &backoff.ExponentialBackOff{InitialInterval: 250 * time.Millisecond, RandomizationFactor: 0.5, Multiplier: 2, MaxInterval: 5 * time.Second}
	pauses.Reset()
	var broke *failure
	for n := 0; ; n++ {
		j.gate.begin()
		resp, err := j.attempt(ctx, c, req)
		if err == nil && j.gate.attempt > 1 && j.gate.committed() { // it went on where another broke off
			err = j.rejoin(resp)
		}
		if err == nil {
			return resp, nil
		}
		if errors.Is(err, errDiverged) && broke != nil {
			return resp, broke
		}
		broke = failureOf(ctx, ctx, err)
		wait, ok := j.again(broke, n, pauses.NextBackOff(), more)
		if !ok {
			return resp, broke
		}
		if err := pause(ctx, wait); err != nil {
			return resp, failureOf(ctx, ctx, err)
		}
	}
}

// rejoin checks that an answer begins with what the caller has.
func (j *job) rejoin(resp provider.Response) error {
	if !strings.HasPrefix(resp.Text, j.gate.sent.String()) {
		return errDiverged
	}
	return nil
}

// again says how long to wait before a model is asked again, if it is.
func (j *job) again(f *failure, made int, pause time.Duration, more bool) (time.Duration, bool) {
	if made >= remedyOf(f.class, j.r.settings).again || j.gate.failed != nil {
		return 0, false
	}
	if f.class != provider.ClassRateLimited {
		return pause, true
	}
	most := j.r.settings.MaxWait
	if more && !j.gate.committed() {
		most = min(most, shortWait)
	}
	wait := max(f.retryAfter, pause)
	return wait, wait <= most
}

// A work asks a model once.
type work func(ctx context.Context) (provider.Response, error)

// A try is one attempt.
type try struct {
	*job
	c     Candidate
	req   provider.Request
	input int // tokens of the question, corrected
	made  bool
	real  int // tokens that it took, as far as is known
	took  time.Duration
}

// attempt asks a model once: what it may cost is reserved, its turn has come, it is
// loaded, and it answers in time.
func (j *job) attempt(ctx context.Context, c Candidate, req provider.Request) (provider.Response, error) {
	t := &try{job: j, c: c, req: req, input: corrected(sizeOf(req), j.r.history.get(ctx, c.ref).ratio())}
	return t.paid(t.paced(t.loaded(t.called)))(ctx)
}

// paid reserves what an attempt may cost, and settles what it did.
func (t *try) paid(next work) work {
	return func(ctx context.Context) (provider.Response, error) {
		c := t.c
		c.input = t.input
		may := cost(c.model, t.input, c.answerRoom(t.req))
		lease := t.lease
		if c.free() {
			lease = lease.WithoutPeriods()
		}
		res, err := lease.Reserve(ctx, may)
		if err != nil {
			f := failureOf(ctx, ctx, err)
			if f.class != ClassBudget && f.class != provider.ClassCancelled {
				f = &failure{class: classHost, cause: err}
			}
			t.note(provider.Usage{}, budget.Amount{}, f)
			return provider.Response{}, f
		}
		resp, err := next(ctx)
		u, did := t.bill(resp, err)
		settle := res.Release
		if did != (budget.Amount{}) {
			settle = func(ctx context.Context) error { return res.Settle(ctx, did) }
		}
		if failed := settle(ctx); failed != nil {
			t.r.log.Error("what a call cost is not in the budget", "model", c.ref.String(), "cost", did.String(), "err", failed)
		}
		var f *failure
		if err != nil {
			f = failureOf(ctx, ctx, err)
		}
		t.note(u, did, f)
		resp.Usage = u
		return resp, err
	}
}

// bill is what an attempt took. Of one that broke off it is the question and the
// pieces that came; of one of which nothing came, nothing is known.
func (t *try) bill(resp provider.Response, err error) (provider.Usage, budget.Amount) {
	var u provider.Usage
	switch {
	case err == nil:
		u = usageOf(resp, t.input)
	case t.made && t.gate.seen > 0:
		u = provider.Usage{InputTokens: t.input, OutputTokens: (t.gate.seen + bytesPerToken - 1) / bytesPerToken, Estimated: true}
	}
	return u, cost(t.c.model, u.InputTokens, u.OutputTokens)
}

// note keeps how an attempt ended.
func (t *try) note(u provider.Usage, did budget.Amount, f *failure) {
	a := Attempt{Provider: t.c.ref.Provider, Model: t.c.ref.Model, Usage: u, USD: did.USD(), Took: t.took}
	if f != nil {
		a.Class, a.Message = f.class, line(f.Error())
	}
	t.attempts = append(t.attempts, a)
	t.spent += did.MicroUSD
	if !t.made {
		return
	}
	s := Usage{
		Calls: 1, InputTokens: int64(u.InputTokens), OutputTokens: int64(u.OutputTokens), ThinkingTokens: int64(u.ThinkingTokens),
		MicroUSD: did.MicroUSD, TookMS: t.took.Milliseconds(),
	}
	if f != nil {
		s.Failed = 1
	}
	if u.Estimated {
		s.Estimated = 1
	}
	t.r.usage.count(t.use(t.c), s)
}

// use are the words that what is used is kept with.
func (j *job) use(c Candidate) Use {
	return Use{Provider: c.ref.Provider, Model: c.ref.Model, Tier: j.target.tier, Task: j.ask.Task, Agent: j.ask.Agent, Purpose: j.ask.Purpose}
}

// paced waits for a turn at the provider.
func (t *try) paced(next work) work {
	return func(ctx context.Context) (provider.Response, error) {
		rest := t.r.history.get(ctx, t.c.ref).rest(time.Now())
		done, err := t.r.limiters.enter(ctx, t.c.ref.Provider, rest, int(min(t.c.MayCost.Tokens, math.MaxInt32)))
		if err != nil {
			return provider.Response{}, err
		}
		resp, err := next(ctx)
		done(t.real)
		return resp, err
	}
}

// loaded has the model loaded, if it is one of this machine.
func (t *try) loaded(next work) work {
	return func(ctx context.Context) (provider.Response, error) {
		release, err := t.r.pool.acquire(ctx, t.c.ref, t.c.managed())
		if err != nil {
			return provider.Response{}, err
		}
		resp, err := next(ctx)
		var pe *provider.Error
		release(errors.As(err, &pe) && pe.Class == provider.ClassUnavailable)
		return resp, err
	}
}

// called asks the model, and learns from how it went.
func (t *try) called(outer context.Context) (provider.Response, error) {
	if wait := t.r.history.enter(outer, t.c.ref); wait > 0 {
		return provider.Response{}, fail(provider.ClassUnavailable, "it failed %d times in a row and is not asked for %s", openAfter, wait.Round(time.Second))
	}
	ctx, cancel := context.WithTimeout(outer, t.r.settings.timeout(t.c.ref.Provider, t.target.tier))
	defer cancel()
	t.made = true
	start := time.Now()
	resp, err := t.generate(ctx)
	t.took = time.Since(start)
	o := outcome{took: t.took, estimated: sizeOf(t.req)}
	if err == nil {
		t.real = resp.Usage.InputTokens + resp.Usage.OutputTokens
		if !resp.Usage.Estimated {
			o.real = resp.Usage.InputTokens
		}
	} else if !errors.Is(err, errDiverged) && t.gate.failed == nil {
		f := failureOf(outer, ctx, err)
		o.class, o.message, o.retryAfter, err = f.class, f.Error(), f.retryAfter, f
	} else {
		o.class = provider.ClassCancelled
	}
	t.r.history.leave(outer, t.c.ref, o)
	return resp, err
}

// generate asks the provider. Pieces are asked for only when the caller wants them.
func (t *try) generate(ctx context.Context) (provider.Response, error) {
	p, err := t.r.catalog.providers.Provider(ctx, t.c.ref.Provider)
	if err != nil {
		return provider.Response{}, err
	}
	var emit func(provider.Delta) error
	if t.gate.emit != nil {
		emit = t.gate.pass
	}
	req := t.req
	req.Messages = unsealed(req.Messages, t.c.ref.Provider)
	resp, err := p.Generate(ctx, req, emit)
	switch { // whatever the provider made of it
	case t.gate.failed != nil:
		err = &failure{class: provider.ClassCancelled, cause: t.gate.failed}
	case t.gate.diverged:
		err = errDiverged
	}
	if err == nil {
		resp.Opaque, err = sealed(t.c.ref.Provider, resp.Opaque)
	}
	return resp, err
}
