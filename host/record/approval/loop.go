package approval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies/capability"
)

// A Loop lets a script make a call more than once although policies ask about what it does:
// the same script, byte for byte, of the same caller, and the same tool of the same package. It
// grants nothing.
type Loop struct {
	// For are patterns that the input of a call must fit, all of them; none for the input of
	// the proposal alone.
	For []Pattern `json:"for,omitempty"`
	// MaxUses is how many calls may be made, and Uses how many were.
	MaxUses int `json:"max_uses"`
	Uses    int `json:"uses"`
	// ExpiresAt is when it ends.
	ExpiresAt time.Time `json:"expires_at"`
	// Set is what may be done although Policies, and no others, ask about it.
	Set      capability.Set `json:"set"`
	Policies []string       `json:"policies"`
	// Last is the call that was counted last, see [Script].
	Last string `json:"last,omitempty"`
}

// Live reports whether another call may be made at the given time.
func (l Loop) Live(now time.Time) bool { return l.Uses < l.MaxUses && now.Before(l.ExpiresAt) }

// Words say for which calls it holds: "at most 50 times where n is "*", until 2030-01-31 12:00:00".
func (l Loop) Words() string {
	of := "with this input"
	if len(l.For) == 1 && l.For[0] == (Pattern{".", "*"}) {
		of = "with any input"
	} else if len(l.For) > 0 {
		of = Grant{For: l.For}.Words()
	}
	return fmt.Sprintf("at most %d times %s, until %s", l.MaxUses, of, l.ExpiresAt.Local().Format(time.DateTime))
}

// Bounds of loops.
const (
	// MaxLoop is for how many calls of a script a person may decide at a time.
	MaxLoop = 10_000
	// usualLoop is how long that holds when nothing is said.
	usualLoop = 24 * time.Hour
)

// loopsKey is the prefix of the keys that say which proposals are of a loop.
const loopsKey = leasesKey + "loop/"

// loopKey is the prefix of the keys of loops of which the call is one.
func (c ToolCall) loopKey() string {
	s := c.Script
	id := manifests.DigestOf(fmt.Appendf(nil, "%s\n%q\n%q\n%s\n%q", c.Digest, c.Tool, s.Language, s.Digest, s.Actor))
	return loopsKey + id.Hex() + "/"
}

// loopGiven, loopUsed and loopEnded are the data of the changes of these names.
type (
	loopGiven struct {
		ID   string `json:"id"` // of the proposal
		Loop Loop   `json:"loop"`
	}
	loopUsed struct {
		ID string `json:"id"`
		// Uses is the count after this use, and Last names it.
		Uses int    `json:"uses"`
		Last string `json:"last,omitempty"`
	}
	loopEnded struct {
		ID string `json:"id"`
	}
)

// LendLoop is the change that lets the script of p make calls like that of p.
func (h Human) LendLoop(p Proposal, l Loop) (ledger.Change, error) {
	if err := h.Check(); err != nil {
		return ledger.Change{}, err
	}
	return ledger.NewChange(kindLooped, loopGiven{p.ID, l})
}

// Lifts is what a loop of a call would let a script do although policies ask: what they asked
// about, wherever that was granted to the skill.
func (d *Store) Lifts(ctx context.Context, p Proposal) (capability.Set, error) {
	gs, err := d.Grants(ctx, p.Call.Digest)
	if err != nil {
		return capability.Set{}, err
	}
	now, asked := time.Now(), p.Capabilities()
	wide := asked.All()
	for _, g := range gs {
		if !g.Live(now) {
			continue
		}
		for _, c := range asked.All() {
			wide = append(wide, sameAction(c, g.Capability)...)
		}
	}
	return capability.NewSet(wide...), nil
}

// sameAction is the part of what was granted that is of the action, and the methods, of c.
func sameAction(c, granted capability.Capability) []capability.Capability {
	if c.Action() != granted.Action() {
		return nil
	}
	if c.Action() != capability.HTTP {
		return []capability.Capability{granted}
	}
	methods, _, _ := strings.Cut(c.Resource(), " ")
	_, address, _ := strings.Cut(granted.Resource(), " ")
	all, err := capability.Parse(string(capability.HTTP) + ":" + methods + " " + address)
	if err != nil {
		return nil
	}
	return capability.NewSet(all).Intersect(capability.NewSet(granted)).All()
}

// newLoop is the loop with the given terms of the call of p.
func (d *Store) newLoop(ctx context.Context, p Proposal, t Terms) (l Loop, err error) {
	switch now := time.Now(); {
	case p.Call == nil || p.Call.Script == nil:
		return l, fault.Errorf(fault.KindUsage, "approve proposal %s: it is not a call of a script, and can be made once", p.ID).
			WithHint("approve it without saying how often, and until when")
	case t.Run != "" || t.Session != "":
		return l, fault.Errorf(fault.KindUsage, "approve proposal %s: calls of a script are bounded by how many they are and by a time", p.ID).
			WithHint("leave out %s", fault.OmitField(fault.FieldScope))
	case t.MaxUses > MaxLoop:
		return l, fault.Errorf(fault.KindUsage, "approve proposal %s: %d calls are too many for one decision", p.ID, t.MaxUses).WithHint("give at most %d", MaxLoop)
	case !t.ExpiresAt.IsZero() && !t.ExpiresAt.After(now):
		return l, fault.Errorf(fault.KindUsage, "approve proposal %s: that time has passed", p.ID)
	default:
		l = Loop{For: t.For, MaxUses: max(t.MaxUses, 1), ExpiresAt: t.ExpiresAt}
		if l.ExpiresAt.IsZero() {
			l.ExpiresAt = now.Add(usualLoop).UTC().Truncate(time.Second)
		}
	}
	if err = t.check(); err != nil {
		return l, err
	}
	for _, a := range p.Requested {
		l.Policies = append(l.Policies, a.Policies...)
	}
	slices.Sort(l.Policies)
	l.Policies = slices.Compact(l.Policies)
	l.Set, err = d.Lifts(ctx, p)
	return l, err
}

// ApproveLoop lets the script of a proposal make calls like that of the proposal. Without a
// number in the terms it is one, without patterns the input of the proposal alone, and without
// an end it is a day.
func (d *Store) ApproveLoop(ctx context.Context, h Human, p Proposal, t Terms, notes string) (Proposal, error) {
	return d.enact(ctx, h, p, notes, func(ctx context.Context, now Proposal) (ledger.Change, string, error) {
		l, err := d.newLoop(ctx, now, t)
		if err != nil {
			return ledger.Change{}, "", err
		}
		c, err := h.LendLoop(now, l)
		return c, fmt.Sprintf("%s, %s by the script %s of %s", now.Digest, l.Words(), now.Call.Script.Digest.Short(), now.Call.Script.Actor), err
	})
}

// takeLoop counts a call of a script against a loop that a person approved. There is one among
// approved if any is.
func (d *Store) takeLoop(ctx context.Context, c ToolCall, approved map[string]bool) (CallApproval, error) {
	var ids []string
	for key := range approved {
		if id, ok := strings.CutPrefix(key, c.loopKey()); ok {
			ids = append(ids, id)
		}
	}
	if _, ok, err := d.loopOf(ctx, c, ids); err != nil || !ok {
		return CallApproval{}, err
	}
	var p Proposal
	err := d.ledger.Commit(ctx, func(ctx context.Context) (ledger.Decision, error) {
		var ok bool
		var err error
		if p, ok, err = d.loopOf(ctx, c, ids); err != nil {
			return ledger.Decision{}, err
		}
		if !ok { // another call was the last
			p.Loop = nil
			return ledger.Decision{}, errSpent
		}
		if p.Loop.Last != "" && p.Loop.Last == c.Script.Once {
			return ledger.Decision{}, errSpent
		}
		n := p.Loop.Uses + 1
		change, err := ledger.NewChange(kindLoopUsed, loopUsed{p.ID, n, c.Script.Once})
		return ledger.Decision{
			Kind: "use", Actor: "skill:" + c.Skill, Subject: c.Skill, Changes: []ledger.Change{change},
			Note: fmt.Sprintf("call %d of %d of proposal %s, for %s", n, p.Loop.MaxUses, p.ID, c.Script.Actor),
		}, err
	})
	if err != nil && !errors.Is(err, errSpent) || p.Loop == nil {
		return CallApproval{}, ignoring(err, errSpent)
	}
	return CallApproval{p.ID, p.Loop.Set, append([]string{}, p.Loop.Policies...)}, nil // of no policies, none is lifted
}

func ignoring(err, one error) error {
	if errors.Is(err, one) {
		return nil
	}
	return err
}

// loopOf finds, among proposals, the one whose loop the call is a part of now. A call that was
// counted already is, too.
func (d *Store) loopOf(ctx context.Context, c ToolCall, ids []string) (Proposal, bool, error) {
	now := time.Now()
	var found []Proposal
	for _, id := range ids {
		p, err := get[Proposal](ctx, d.kv, "proposal/"+id)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return p, false, err
		}
		l := p.Loop
		if p.Status != StatusApplied || l == nil || p.Call.loopKey() != c.loopKey() {
			continue
		}
		counted := l.Last != "" && l.Last == c.Script.Once && now.Before(l.ExpiresAt)
		if (counted || l.Live(now)) && p.covers(c) {
			found = append(found, p)
		}
	}
	if len(found) == 0 {
		return Proposal{}, false, nil
	}
	return slices.MinFunc(found, func(a, b Proposal) int {
		return cmp.Or(a.Loop.ExpiresAt.Compare(b.Loop.ExpiresAt), strings.Compare(a.ID, b.ID))
	}), true, nil
}

// covers reports whether the loop of p is for the input of a call.
func (p Proposal) covers(c ToolCall) bool {
	if len(p.Loop.For) == 0 {
		return p.Call.Input == c.Input
	}
	return fits(p.Loop.For, c.input)
}

// endedLoop is the change that ends the loop of p.
func endedLoop(p Proposal) (ledger.Change, error) {
	return ledger.NewChange(kindLoopEnded, loopEnded{p.ID})
}

func applyLooped(ctx context.Context, kv store.KV, _ ledger.Stamp, g loopGiven) error {
	return changeLoop(ctx, kv, g.ID, func(p *Proposal) error {
		p.Loop = &g.Loop
		_, err := kv.Put(ctx, p.Call.loopKey()+p.ID, []byte("{}"), store.AnyRevision)
		return err
	})
}

func applyLoopUsed(ctx context.Context, kv store.KV, _ ledger.Stamp, u loopUsed) error {
	return changeLoop(ctx, kv, u.ID, func(p *Proposal) error {
		if p.Loop != nil {
			p.Loop.Uses, p.Loop.Last = u.Uses, u.Last
		}
		return nil
	})
}

func applyLoopEnded(ctx context.Context, kv store.KV, _ ledger.Stamp, e loopEnded) error {
	return changeLoop(ctx, kv, e.ID, func(p *Proposal) error { return ledger.Drop(ctx, kv, p.Call.loopKey()+p.ID) })
}

// changeLoop changes the proposal of a loop, of which the loop is a part.
func changeLoop(ctx context.Context, kv store.KV, id string, change func(*Proposal) error) error {
	p, err := get[Proposal](ctx, kv, "proposal/"+id)
	if err != nil {
		return err
	}
	if p.Call == nil || p.Call.Script == nil {
		return fmt.Errorf("proposal %s is not a call of a script: %w", id, store.ErrDamaged)
	}
	if err := change(&p); err != nil {
		return err
	}
	return put(ctx, kv, "proposal/"+id, p)
}
