package govern

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/journal"
)

// A Refusal is a request of the service that was refused because of who asked.
type Refusal struct {
	// Token is the name of the token that was shown; empty for one that is not known, or none.
	Token string `json:"token,omitempty"`
	// Route is what was asked for: a method and a path.
	Route  string `json:"route"`
	Reason string `json:"reason"`
	// More is how many refusals of the same token came before this one and are not on record
	// one by one.
	More int `json:"more,omitempty"`
}

// KindRefused is the kind of a [Refusal]'s entry in the audit log, and NobodyActor its actor
// when no token was known.
const (
	KindRefused = "refused"
	NobodyActor = "nobody"
)

// Of each token, and of all requests without one that is known, so many refusals are on
// record at once and one more each time; those beyond are counted.
const (
	refusalBurst = 100
	refusalEvery = 10 * time.Second
	maxText      = 300
)

// refusals bound how many refusals are put on record.
type refusals struct {
	mu    sync.Mutex
	byWho map[string]*refused // by actor: as many as tokens, which are bounded, and one
}

type refused struct {
	pace *rate.Limiter
	left Refusal // the last one that is counted only
	more int
}

// take returns how many came before this refusal that were not put on record; ok is false when this
// one is counted, too.
func (r *refusals) take(who string, f Refusal) (more int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byWho == nil {
		r.byWho = map[string]*refused{}
	}
	of := r.byWho[who]
	if of == nil {
		of = &refused{pace: rate.NewLimiter(rate.Every(refusalEvery), refusalBurst)}
		r.byWho[who] = of
	}
	if !of.pace.Allow() {
		of.more, of.left = of.more+1, f
		return 0, false
	}
	more, of.more = of.more, 0
	return more, true
}

// counted returns those that are counted only, and forgets them.
func (r *refusals) counted() map[string]Refusal {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := map[string]Refusal{}
	for who, of := range r.byWho {
		if of.more > 0 {
			of.left.More = of.more - 1
			all[who] = of.left
			of.more = 0
		}
	}
	return all
}

// Refused puts a refused request on record, with who asked and why it was refused. It is not
// for requests that were not refused.
func (s *Tokens) Refused(ctx context.Context, p Pass, route string, why error) error {
	if why == nil {
		return fault.Errorf(fault.KindDenied, "nothing was refused")
	}
	who := NobodyActor
	if p.by != nil {
		who = p.by.Actor()
	}
	r := Refusal{Token: p.Name(), Route: clip(route), Reason: clip(why.Error())}
	more, ok := s.refusals.take(who, r)
	if !ok {
		return nil
	}
	r.More = more
	return s.p.recordRefusal(ctx, who, r)
}

// clip is the beginning of a text that whoever asks may have made.
func clip(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), maxText)], "")
}

// FlushRefusals puts on record how many refusals were counted and are on record nowhere yet.
// It is for the end of the service.
func (s *Tokens) FlushRefusals(ctx context.Context, by approval.Principal) error {
	if err := approval.CheckPrincipal(by); err != nil {
		return err
	}
	for who, r := range s.refusals.counted() {
		if err := s.p.recordRefusal(ctx, who, r); err != nil {
			return err
		}
	}
	return nil
}

func (p *Parts) recordRefusal(ctx context.Context, who string, r Refusal) error {
	_, err := p.Calls.Append(context.WithoutCancel(ctx), journal.Record{Kind: KindRefused, Actor: who, Data: r})
	return err
}

// refusedEvent reads an entry that is a refusal.
func refusedEvent(e journal.Entry) (Event, error) {
	var r Refusal
	if err := json.Unmarshal(e.Data, &r); err != nil {
		return Event{}, fmt.Errorf("read refusal %d of the audit log: %w", e.Seq, err)
	}
	return Event{Time: e.Time, Kind: e.Kind, Actor: e.Actor, Subject: r.Token, Refused: &r}, nil
}
