package llm

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/plugins/provider"
)

// embedBatch is how many texts a provider is sent at once.
const embedBatch = 64

// embedTries is how often a batch is tried.
const embedTries = 3

// An Embedder makes vectors with one model, always the same: those of two models
// cannot be compared, so no other one stands in for it. It fits host/agents/memory. It is
// safe for concurrent use.
type Embedder struct {
	r     *Router
	entry entry
}

// Embedder finds a model that makes vectors, by its name as in [Settings]; an empty
// name means the first there is on this machine, if need be a last resort, and else
// the first elsewhere. The error is [ErrNoModel] when there is none.
func (r *Router) Embedder(ctx context.Context, model string) (*Embedder, error) {
	entries, err := r.catalog.entries(ctx)
	if err != nil {
		return nil, fmt.Errorf("find an embedding model: %w", err)
	}
	usable := func(e entry) bool {
		named := model == "" || slices.Contains(resolve(model, entries), e.ref)
		return named && e.model.Embeddings && e.model.Dimensions > 0 && (e.local || !r.settings.LocalOnly)
	}
	last := resolveAll(r.settings.LastResort, entries)
	for _, wanted := range []func(entry) bool{
		func(e entry) bool { return e.local && !slices.Contains(last, e.ref) },
		func(e entry) bool { return e.local },
		func(entry) bool { return true },
	} {
		if i := slices.IndexFunc(entries, func(e entry) bool { return wanted(e) && usable(e) }); i >= 0 {
			return &Embedder{r, entries[i]}, nil
		}
	}
	e := fault.Errorf(fault.KindNotFound, "find an embedding model: %w", ErrNoModel)
	if model != "" {
		e = fault.Errorf(fault.KindNotFound, "find embedding model %s: %w", model, ErrNoModel)
	}
	return nil, e.WithHint("%s shows the models that make embeddings; with models.local_only only those on this machine count", fault.List(fault.Providers))
}

// Embed makes a vector of each text, with the model that [Router.Embedder] finds for
// no name.
func (r *Router) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	e, err := r.Embedder(ctx, "")
	if err != nil {
		return nil, err
	}
	return e.Embed(ctx, texts)
}

// Name is "provider/model".
func (e *Embedder) Name() string { return e.entry.ref.String() }

// Dimensions is how many components each vector has.
func (e *Embedder) Dimensions() int { return e.entry.model.Dimensions }

// Embed returns one vector for each text, in order. What it costs counts for the day
// and the month.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, 0, len(texts))
	for batch := range slices.Chunk(texts, embedBatch) {
		some, err := e.retried(ctx, batch)
		if err != nil {
			return nil, fmt.Errorf("embed %d texts with %s: %w", len(texts), e.Name(), err)
		}
		vectors = append(vectors, some...)
	}
	e.r.saving.want()
	return vectors, nil
}

func (e *Embedder) retried(ctx context.Context, texts []string) ([][]float32, error) {
	j := &job{r: e.r, ask: Ask{Purpose: "embed"}, lease: e.r.budget.Host(), gate: &gate{}}
	for n := 1; ; n++ {
		vectors, err := e.once(ctx, j, texts)
		if err == nil {
			return vectors, nil
		}
		f := failureOf(ctx, ctx, err)
		wait := max(f.retryAfter, time.Duration(n)*250*time.Millisecond)
		if !remedyOf(f.class, e.r.settings).temp || n == embedTries || wait > e.r.settings.MaxWait {
			return nil, f
		}
		if err := pause(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// once is one attempt: paid, paced and loaded as one of Generate is.
func (e *Embedder) once(ctx context.Context, j *job, texts []string) (vectors [][]float32, err error) {
	req := provider.Request{}
	for _, text := range texts {
		req.Messages = append(req.Messages, provider.Message{Text: text})
	}
	c := Candidate{entry: e.entry}
	c.model.OutputTokens = 1 // there is no answer to pay for
	t := &try{job: j, c: c, req: req, input: sizeOf(req)}
	t.c.MayCost = cost(c.model, t.input, 0)
	_, err = t.paid(t.paced(t.loaded(func(ctx context.Context) (provider.Response, error) {
		resp, err := e.ask(ctx, t, texts)
		vectors = resp.Vectors
		return provider.Response{Usage: resp.Usage}, err
	})))(ctx)
	return vectors, err
}

func (e *Embedder) ask(outer context.Context, t *try, texts []string) (provider.EmbedResponse, error) {
	ctx, cancel := context.WithTimeout(outer, e.r.settings.timeout(e.entry.ref.Provider, Balanced))
	defer cancel()
	t.made = true
	start := time.Now()
	p, err := e.r.catalog.providers.Provider(ctx, e.entry.ref.Provider)
	var resp provider.EmbedResponse
	if err == nil {
		resp, err = p.Embed(ctx, provider.EmbedRequest{Model: e.entry.ref.Model, Texts: texts})
	}
	t.took = time.Since(start)
	if err == nil {
		err = e.check(resp, len(texts))
	}
	o := outcome{took: t.took}
	if err != nil {
		f := failureOf(outer, ctx, err)
		o.class, o.message, o.retryAfter, err = f.class, f.Error(), f.retryAfter, f
	}
	e.r.history.leave(outer, e.entry.ref, o)
	return resp, err
}

// check refuses vectors that cannot be used.
func (e *Embedder) check(resp provider.EmbedResponse, texts int) error {
	if len(resp.Vectors) != texts {
		return fail(provider.ClassInternal, "%d vectors for %d texts", len(resp.Vectors), texts)
	}
	for _, v := range resp.Vectors {
		if len(v) != e.Dimensions() {
			return fail(provider.ClassInternal, "a vector of %d components, not %d", len(v), e.Dimensions())
		}
	}
	return nil
}
