package hostfn

import (
	"errors"
	"fmt"
	"net/netip"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/engine/jail"
	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/capability"
)

const (
	maxDenials = 100  // different refusals kept of one call
	maxUses    = 256  // different uses kept of one call
	maxRest    = 64   // grants by which further uses are counted
	maxAllowed = 1024 // decisions remembered within one call
)

// Use is something granted that the guest did.
type Use struct {
	// Request is what was done: "fs.read:/data/a.csv". It is empty for what was
	// done beyond the number of requests that are kept, which is counted by
	// Capability alone; and that is empty too where there are too many.
	Request string
	// Capability is the grant that allowed it.
	Capability string
	// Count is how often; at least 1.
	Count int
}

// permit checks one request: first the grants, then the policies. The error is a *DeniedError, which has
// been recorded. bytes is how much is to be written or sent, 0 when that is not known.
func (e *Env) permit(r capability.Request, bytes int64) (capability.Capability, error) {
	now := e.present()
	by, ok := e.remembered(now, r, bytes)
	if !ok {
		var d policies.Decision
		by, d, ok = e.judge(r, bytes)
		if !ok {
			return by, e.deny(r, by != capability.Capability{}, d)
		}
		e.remember(now, r, by, bytes)
	}
	e.use(r, by)
	return by, nil
}

// judge asks grants and policies without recording anything. by is the zero value when nothing grants r. A policy
// may look at the grant, so where one grant does not do another may: the answer is that of the best.
func (e *Env) judge(r capability.Request, bytes int64) (by capability.Capability, d policies.Decision, ok bool) {
	granted := e.present().Granted
	by, ok = granted.Allows(r)
	if !ok {
		return by, d, false
	}
	d = e.decide(r, by.String(), bytes)
	if d.Effect != policies.Ask {
		return by, d, d.Effect == policies.Allow
	}
	for _, c := range granted.All() {
		if c == by || !c.Allows(r) {
			continue
		}
		if other := e.decide(r, c.String(), bytes); other.Effect == policies.Allow {
			return c, other, true
		}
	}
	return by, d, false
}

// decide asks the policies about a request as if it were granted.
func (e *Env) decide(r capability.Request, grant string, bytes int64) policies.Decision {
	return e.decideAt(r, grant, bytes, netip.Addr{})
}

// decideAt is decide for a request whose host was found at an address.
func (e *Env) decideAt(r capability.Request, grant string, bytes int64, at netip.Addr) policies.Decision {
	now := e.present()
	switch {
	case now.Ended != "":
		return policies.Decision{Effect: policies.Deny, Reason: now.Ended}
	case now.Policies == nil:
		return policies.Decision{Effect: policies.Deny, Reason: "no policies are loaded"}
	}
	if d, ok := e.guard.forbids(r); ok {
		return d
	}
	_, approved := e.s.Approved.Allows(r)
	return e.s.Lifted.Decide(now.Policies, policies.Query{
		Phase: policies.PhaseCall, Principal: e.s.Principal, Request: r, Address: at,
		Granted: true, GrantedBy: grant, Approved: approved, Bytes: bytes, Home: e.s.Home, Call: e.s.Call,
	}, r)
}

// remembered returns the grant by which the same request was allowed before, as long as what decides is the same.
// How many bytes are written may matter to a policy, so such requests are not kept.
func (e *Env) remembered(now *Authority, r capability.Request, bytes int64) (capability.Capability, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.decided != now {
		return capability.Capability{}, false
	}
	by, ok := e.allowed[r]
	return by, ok && bytes == 0
}

// remember keeps a decision that was made by now. Those made by anything else are dropped.
func (e *Env) remember(now *Authority, r capability.Request, by capability.Capability, bytes int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.decided != now {
		e.decided = now
		clear(e.allowed)
	}
	if e.allowed == nil {
		e.allowed = map[capability.Request]capability.Capability{}
	}
	if bytes == 0 && len(e.allowed) < maxAllowed {
		e.allowed[r] = by
	}
}

// Allows reports whether a request would be allowed, without recording anything. The caller of the
// sandbox asks it for the capabilities clock and random, whose functions are not in this package.
func (e *Env) Allows(r capability.Request) bool {
	now := e.present()
	if _, ok := e.remembered(now, r, 0); ok {
		return true
	}
	_, _, ok := e.judge(r, 0)
	return ok
}

// deny records a refusal and returns it. granted says that it was a policy's, which is then d.
func (e *Env) deny(r capability.Request, granted bool, d policies.Decision) error {
	den := task.Denial{Request: r.String(), Count: 1}
	if c, err := r.Capability(); err == nil {
		den.Capability = c.String()
	}
	if !granted {
		d = e.decide(r, den.Capability, 0) // would a grant help?
	}
	beyond, way := "", fault.Hint{}
	if e.s.Beyond != nil && !granted {
		beyond, way = e.s.Beyond(r)
	}
	switch {
	case beyond != "":
		den.Reason = beyond
		den.Hinted(way)
	case granted && d.Effect == policies.Ask && e.wouldDo(r, den.Capability):
		den.Policies, den.Reason = d.Policies, d.Reason
		e.offer(&den, r, den.Capability)
	case granted || d.Effect != policies.Allow:
		den.Policies, den.Reason = d.Policies, d.Reason
		if granted {
			e.markAsk(&den, r, d)
		}
	case den.Capability == "":
		den.Reason = "no capability can allow it" + whyNot(r)
	default:
		den.Reason = "the skill was not granted " + den.Capability
		e.offer(&den, r, den.Capability)
	}
	return e.record(den)
}

// markAsk says of the refusal of something granted when a person can lift it by approving the call.
func (e *Env) markAsk(den *task.Denial, r capability.Request, d policies.Decision) {
	if den.Asks = d.Effect == policies.Ask && den.Capability != ""; den.Asks && e.s.Principal.Origin == policies.OriginPath {
		den.Hinted(hint(e.s.Principal, grantFor(r, den.Capability)))
	}
}

// wouldDo reports whether granting a capability would allow a request.
func (e *Env) wouldDo(r capability.Request, narrowest string) bool {
	return narrowest != "" && e.decide(r, narrowest, 0).Effect == policies.Allow
}

// whyNot says why a request has no capability, for example because its URL climbs.
func whyNot(r capability.Request) string {
	_, err := r.Capability()
	var p *capability.ParseError
	if errors.As(err, &p) {
		return ": " + p.Message
	}
	return ""
}

// offer puts what would grant a request into a denial, see [Offer].
func (e *Env) offer(den *task.Denial, r capability.Request, narrowest string) {
	Offer(den, e.present().Policies, policies.Query{Principal: e.s.Principal, Home: e.s.Home}, grantFor(r, narrowest))
}

// Offer puts what would grant a capability into a denial or, where policies would refuse the grant,
// says so: a grant is asked about as what a package wants when it is installed. who has the
// skill and the home.
func Offer(den *task.Denial, set *policies.Set, who policies.Query, grant string) {
	c, err := capability.Parse(grant)
	if err == nil && set != nil && who.Principal.Origin != policies.OriginPath {
		who.Phase, who.Capability = policies.PhaseInstall, c
		if d := set.Decide(who); d.Effect == policies.Deny {
			den.Policies = append(slices.Clone(den.Policies), d.Policies...)
			den.Reason += ", and may not be given it: " + d.Reason
			return
		}
	}
	den.Hinted(hint(who.Principal, grant))
}

// hint says how to grant a capability.
func hint(p policies.Principal, grant string) fault.Hint {
	if p.Origin == policies.OriginPath {
		return fault.Hintf("run it again with %s", fault.SetField(fault.FieldAllow, grant))
	}
	return fault.Hintf("%s", fault.Grant(p.Skill, grant))
}

// grantFor is the capability that a person is offered for a request: of a site all paths.
func grantFor(r capability.Request, narrowest string) string {
	if end, err := r.Endpoint(); err == nil {
		end.Path = "/*"
		return string(capability.HTTP) + ":" + end.Method + " " + end.URL()
	}
	return narrowest
}

// record keeps a denial, once for the same request, and returns it as an error.
func (e *Env) record(den task.Denial) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	i := slices.IndexFunc(e.denials, func(d task.Denial) bool {
		return d.Request == den.Request && d.Reason == den.Reason
	})
	switch {
	case i >= 0:
		e.denials[i].Count++
	case len(e.denials) < maxDenials:
		e.denials = append(e.denials, den)
	}
	return &DeniedError{Denial: den}
}

// use counts something that was allowed.
func (e *Env) use(r capability.Request, by capability.Capability) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if i, ok := e.used[r]; ok {
		e.uses[i].Count++
	} else if len(e.uses) < maxUses {
		if e.used == nil {
			e.used = map[capability.Request]int{}
		}
		e.used[r] = len(e.uses)
		e.uses = append(e.uses, Use{Request: r.String(), Capability: by.String(), Count: 1})
	} else {
		e.rest = addUse(e.rest, Use{Capability: by.String(), Count: 1}, maxRest)
	}
}

// addUse counts a use among at most n; what is more is counted without saying
// what it was.
func addUse(all []Use, u Use, n int) []Use {
	i := slices.IndexFunc(all, func(o Use) bool { return o.Request == u.Request && o.Capability == u.Capability })
	switch {
	case i >= 0:
		all[i].Count += u.Count
		return all
	case len(all) < n || u.Request == "" && u.Capability == "":
		return append(all, u)
	}
	return addUse(all, Use{Count: u.Count}, n)
}

// Denials returns what was refused so far, in order, the same thing once with a count. At most 100
// different ones are kept.
func (e *Env) Denials() []task.Denial {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.denials)
}

// Uses returns what the guest did with its grants, in order of the first time. At most 256 different
// requests are kept; behind them stands how often each grant was used beyond
// that.
func (e *Env) Uses() []Use {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Concat(e.uses, e.rest)
}

// guard puts the file tree's questions to permit.
type guard struct{ e *Env }

// Check allows an access when the grants and policies do. Whether something exists may be asked by who
// may read or write it, and of a root by everyone, because the grant says it.
func (g guard) Check(op jail.Op, p string) error {
	read, write := fileRequest(capability.FSRead, p), fileRequest(capability.FSWrite, p)
	if op.Changes() {
		if _, err := g.e.permit(write, 0); err != nil {
			return err
		}
		return nameable(op, p)
	}
	if op == jail.Stat && (g.isRoot(p) && g.named(p) || g.onlyWrite(read, write)) {
		return nil
	}
	_, err := g.e.permit(read, 0)
	return err
}

// Decided is a number that is another one when what was allowed may not be any more.
func (g guard) Decided() uint64 { return g.e.present().Epoch }

// nameable refuses to make a name that a person would read as another one: with characters that turn the direction of
// text or are not seen. Joiners are left, without which some languages cannot be written.
func nameable(op jail.Op, p string) error {
	hides := func(r rune) bool { return unicode.Is(unicode.Cf, r) && r != '\u200c' && r != '\u200d' }
	if (op == jail.Create || op == jail.Rename) && strings.ContainsFunc(path.Base(p), hides) {
		return fmt.Errorf("%w: it holds invisible characters, or characters that change the direction of text", jail.ErrName)
	}
	return nil
}

// onlyWrite reports whether writing is allowed and reading is not granted.
func (g guard) onlyWrite(read, write capability.Request) bool {
	_, reads := g.e.present().Granted.Allows(read)
	return !reads && g.e.Allows(write)
}

// isRoot reports whether p is one of the tree's roots.
func (g guard) isRoot(p string) bool {
	return slices.ContainsFunc(g.e.roots, func(r jail.Root) bool { return r.Path == p })
}

// named reports whether a grant that still holds names p as where it begins.
func (g guard) named(p string) bool {
	now := g.e.present()
	return now.Ended == "" && slices.ContainsFunc(now.Granted.All(), func(c capability.Capability) bool { return g.e.s.onStage(c.Base()) == p })
}

// CheckReal asks only the policies: the grants name the path the person knows.
func (g guard) CheckReal(op jail.Op, p string) error {
	r := fileRequest(capability.FSRead, p)
	if op.Changes() {
		r.Action = capability.FSWrite
	}
	if d := g.e.decide(r, "", 0); d.Effect != policies.Allow {
		return g.e.deny(r, true, d)
	}
	return nil
}

// Escaped records a path that a link leads out of what is granted. Where to is for the person alone.
func (g guard) Escaped(op jail.Op, p string) {
	r := fileRequest(capability.FSRead, p)
	if op.Changes() {
		r.Action = capability.FSWrite
	}
	den := task.Denial{Request: r.String(), Count: 1, Reason: "a link in the path leads out of what is granted"}
	to, err := filepath.EvalSymlinks(p)
	if err != nil || to == p {
		g.e.record(den)
		return
	}
	den.Reason = "a link in the path leads to " + to + ", and a link is followed only inside of what is granted"
	r.Resource = filepath.ToSlash(to)
	c, err := r.Capability()
	switch d := g.e.decide(r, "", 0); {
	case err != nil:
	case d.Effect != policies.Allow:
		den.Policies, den.Reason = d.Policies, den.Reason+"; "+d.Reason
	default:
		den.Capability = c.String()
		if g.e.offer(&den, r, c.String()); !den.Way().IsZero() {
			den.Hinted(fault.Hintf("%s, and name it by that path", den.Way()))
		}
	}
	g.e.record(den)
}

// fileRequest is the request of an action on a path.
func fileRequest(a capability.Action, p string) capability.Request {
	return capability.Request{Action: a, Resource: p}
}
