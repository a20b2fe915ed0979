package api

import (
	"context"
	"net/http"

	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/work"
)

// A MemoryBody is something to be remembered.
type MemoryBody struct {
	Text   string   `json:"text" minLength:"1" maxLength:"100000"`
	Area   string   `json:"area,omitempty" maxLength:"40" doc:"Without it the one that suits the type."`
	Type   string   `json:"type,omitempty" maxLength:"40" doc:"Without it knowledge."`
	Tags   []string `json:"tags,omitempty" nullable:"false" maxItems:"100"`
	Task   string   `json:"task,omitempty" maxLength:"64" doc:"The task that it comes from."`
	Failed bool     `json:"failed,omitempty" doc:"It tells of something that did not succeed."`
}

type searchMemories struct {
	Text  string   `query:"q" required:"true" minLength:"1" maxLength:"4000" doc:"What the memories should be about."`
	Limit int      `query:"limit" minimum:"1" maximum:"100" default:"5"`
	Tags  []string `query:"tag,explode" maxItems:"20" doc:"Those that have all of these tags."`
}

// FoundMemories are what a search found.
type FoundMemories struct {
	Matches  []work.Match `json:"matches" nullable:"false"`
	Records  int          `json:"records" doc:"How many memories there are."`
	Waiting  int          `json:"waiting" doc:"How many have no embedding yet, and are found by their words only."`
	Embedder string       `json:"embedder"`
}

func memories(a *API) {
	const tag = "memories"
	all := func() *work.Memories { return a.s.Work.Memories() }
	add(a, route{method: http.MethodPost, path: "/v1/memories", id: "remember", repeatable: true, tag: tag, status: http.StatusCreated, summary: "Remembers something", rights: needs(govern.RightRemember)},
		func(ctx context.Context, p govern.Pass, in *body[MemoryBody]) (work.Record, error) {
			w := in.Body
			return all().Add(ctx, p.By(), work.MemoryDraft{Text: w.Text, Area: work.Area(w.Area), Type: work.MemoryType(w.Type), Tags: w.Tags, Task: w.Task, Failed: w.Failed})
		})
	add(a, route{method: http.MethodGet, path: "/v1/memories", id: "list-memories", tag: tag, summary: "Lists what is remembered, the latest first", rights: needs(govern.RightRecall)},
		func(ctx context.Context, p govern.Pass, in *Window) (Page[work.Record], error) {
			found, _, err := all().List(ctx, p.By(), work.Filter{}, in.most())
			return page(*in, found, err)
		})
	add(a, route{method: http.MethodGet, path: "/v1/memories/search", id: "search-memories", tag: tag, summary: "Finds memories by meaning and by words", rights: needs(govern.RightRecall)},
		func(ctx context.Context, p govern.Pass, in *searchMemories) (FoundMemories, error) {
			f, err := all().Search(ctx, p.By(), work.Query{Text: in.Text, Limit: in.Limit, Filter: work.Filter{Tags: in.Tags}})
			return FoundMemories{append([]work.Match{}, f.Matches...), f.Records, f.Waiting, f.Embedder}, err
		})
	add(a, route{method: http.MethodGet, path: "/v1/memories/stats", id: "memory-stats", tag: tag, summary: "Shows figures of what is remembered", rights: needs(govern.RightRecall)},
		func(ctx context.Context, p govern.Pass, _ *struct{}) (work.MemoryStats, error) {
			return all().Stats(ctx, p.By())
		})
}
