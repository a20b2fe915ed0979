// Package budget bounds what models may cost: tokens and money, for a day, a
// month, a task, and the agents within a task.
//
// A caller reserves before a call what it may cost at most, and settles after it
// with what it did cost. A reservation counts against every budget above it at
// once, so that callers at the same time, also in other processes with the same
// store, never get more than there is together. What a process that died had
// reserved is given back when the lease of the reservation has run out.
//
// A call that cost more than was reserved is counted with what it cost. A budget
// that is used beyond its limit is in debt, and refuses whatever costs more of
// that, until it begins anew or is raised.
//
// Days and months are those of UTC. What a call cost counts for the day on which
// it is settled.
//
// The package refuses to know models, prices and who asks: it counts two numbers.
//
// # Key layout
//
//	budget/period      JSON: the accounts "day" and "month", and what is reserved
//	budget/task/$id    JSON: the accounts "task" and "task/$agent...", and what is reserved
//
// Each is changed as a whole by compare-and-set. A reservation of a task is written
// to the task's entry and then to that of the periods; it is settled the other way
// round. A process that dies between the two leaves a reservation in one of them,
// which ends with its lease.
package budget

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/agents/event"
	"github.com/skillet-run/skillet/host/base/store"
)

// Errors a caller may test for. They come wrapped.
var (
	// ErrExhausted: a budget does not have what was asked for. The error is also a
	// [*Refusal], and a task.Error of kind "limit".
	ErrExhausted = errors.New("budget exhausted")
	// ErrSettled: the reservation was settled or released before.
	ErrSettled = errors.New("settled before")
	// ErrInvalid: a name or an amount breaks a rule, which the message names.
	ErrInvalid = errors.New("invalid")
	// ErrNotFound: there is no budget of that task, or it was removed.
	ErrNotFound = errors.New("no such budget")
)

// Unlimited is what is left where there is no limit.
const Unlimited = math.MaxInt64

// An Amount is what calls of models cost. As a limit, zero or less of one of the
// two means that there is none.
type Amount struct {
	// Tokens counts those of questions and answers together.
	Tokens int64 `json:"tokens,omitempty"`
	// MicroUSD is money, in millionths of a US dollar.
	MicroUSD int64 `json:"micro_usd,omitempty"`
}

// MicroUSD turns dollars into millionths of one, rounded up.
func MicroUSD(usd float64) int64 {
	micro := math.Ceil(usd*1e6 - 1e-6)
	if !(micro > 0) { // also for what is not a number
		return 0
	}
	return int64(min(micro, 1<<53))
}

// USD is the money in dollars.
func (a Amount) USD() float64 { return float64(a.MicroUSD) / 1e6 }

func (a Amount) plus(b Amount) Amount  { return Amount{a.Tokens + b.Tokens, a.MicroUSD + b.MicroUSD} }
func (a Amount) minus(b Amount) Amount { return Amount{a.Tokens - b.Tokens, a.MicroUSD - b.MicroUSD} }

// floor is a with what is negative as zero.
func (a Amount) floor() Amount { return Amount{max(a.Tokens, 0), max(a.MicroUSD, 0)} }

// maxAmount bounds what one call can cost, so that sums do not overflow.
const maxAmount = 1 << 53

func (a Amount) check() error {
	if min(a.Tokens, a.MicroUSD) < 0 || max(a.Tokens, a.MicroUSD) > maxAmount {
		return fmt.Errorf("%w amount of %d tokens and %d micro-USD: each is from 0 to 2^53", ErrInvalid, a.Tokens, a.MicroUSD)
	}
	return nil
}

// Defaults of zero fields of [Settings].
const (
	DefaultAlert = 0.8
	DefaultLease = 15 * time.Minute
)

// Settings say how much there is. The zero value limits nothing.
type Settings struct {
	// Day and Month bound all calls together.
	Day, Month Amount
	// Task bounds a task that is not given an amount of its own.
	Task Amount
	// Alert is the part of a limit at which an alert is published, once for each
	// day, month or task; zero means 0.8, and 1 or more means no alert.
	Alert float64
	// Lease is how long a reservation counts that is neither settled nor released;
	// zero means 15 minutes. It must be longer than any call takes.
	Lease time.Duration
}

func (s Settings) orDefault() Settings {
	if s.Alert <= 0 {
		s.Alert = DefaultAlert
	}
	if s.Lease <= 0 {
		s.Lease = DefaultLease
	}
	return s
}

// A Ledger keeps budgets. It is safe for concurrent use, also by several processes
// with one store.
type Ledger struct {
	log      hclog.Logger
	kv       store.KV
	bus      *event.Bus
	settings Settings
	// turns are locks, one for each group of entries of the store, so that writers of
	// this process take turns instead of failing each other's compare-and-swap.
	turns [64]sync.Mutex
}

// Open makes a Ledger on a store. Nobody is told of alerts when bus is nil.
func Open(log hclog.Logger, kv store.KV, bus *event.Bus, s Settings) *Ledger {
	return &Ledger{log: log, kv: kv, bus: bus, settings: s.orDefault()}
}

// A Lease is what may be used of a budget and all those above it. It is a name for
// what is in the store and can be copied.
type Lease struct {
	ledger *Ledger
	// task is empty for the lease of what belongs to no task.
	task string
	// accounts are those of the task that count, from the outermost.
	accounts []string
	// alone leaves the day and the month out.
	alone bool
}

// maxName bounds names of tasks and agents, in bytes.
const maxName = 128

func checkName(what, name string) error {
	control := func(r rune) bool { return r < ' ' || r == 0x7f || r == '/' }
	if name == "" || len(name) > maxName || strings.ContainsFunc(name, control) {
		return fmt.Errorf("%w %s %q: 1 to %d bytes without slashes and control characters", ErrInvalid, what, name, maxName)
	}
	return nil
}

// Host is the lease of calls that belong to no task: only the day and the month
// bound them.
func (l *Ledger) Host() *Lease { return &Lease{ledger: l} }

// Task is the lease of a task. The first time, it makes a budget of that amount,
// in which zero means what [Settings].Task says; a budget that is there stays as it
// is, with what was used of it, until [Lease.Raise] changes it.
func (l *Ledger) Task(ctx context.Context, id string, limit Amount) (*Lease, error) {
	if err := errors.Join(checkName("task", id), limit.check()); err != nil {
		return nil, fmt.Errorf("open budget of task: %w", err)
	}
	if limit.Tokens == 0 {
		limit.Tokens = l.settings.Task.Tokens
	}
	if limit.MicroUSD == 0 {
		limit.MicroUSD = l.settings.Task.MicroUSD
	}
	lease := &Lease{ledger: l, task: id, accounts: []string{taskAccount}}
	return lease, lease.open(ctx, limit, true)
}

// Sub is the lease of an agent within a task, or within another agent: a budget of
// that amount, in which zero sets no limit of its own. The budgets above it bound
// it too. As for [Ledger.Task], a budget that is there stays as it is.
func (s *Lease) Sub(ctx context.Context, name string, limit Amount) (*Lease, error) {
	if err := errors.Join(checkName("agent", name), limit.check()); err != nil {
		return nil, fmt.Errorf("open budget of agent: %w", err)
	}
	if s.task == "" {
		return nil, fmt.Errorf("open budget of agent %s: %w lease: it belongs to no task", name, ErrInvalid)
	}
	above := s.accounts[len(s.accounts)-1]
	sub := &Lease{ledger: s.ledger, task: s.task, accounts: append(s.accounts[:len(s.accounts):len(s.accounts)], above+"/"+name), alone: s.alone}
	return sub, sub.open(ctx, limit, false)
}

// maxAccounts is how many agents of one task have a budget.
const maxAccounts = 1000

func (s *Lease) open(ctx context.Context, limit Amount, create bool) error {
	last := s.accounts[len(s.accounts)-1]
	err := s.ledger.change(ctx, s.key(), func(b *book) error {
		switch {
		case !create && !b.found:
			return ErrNotFound
		case b.Accounts[last] != nil:
			return nil
		case len(b.Accounts) >= maxAccounts:
			return fmt.Errorf("%w: the task has budgets for %d agents", ErrInvalid, maxAccounts)
		}
		b.Accounts[last] = &account{Limit: limit}
		b.dirty = true
		return nil
	})
	if err != nil {
		return fmt.Errorf("open budget %s: %w", s.Name(), err)
	}
	return nil
}

// WithoutPeriods is the lease for calls that cost nothing: the task and its agents bound
// them, and the day and the month know nothing of them.
func (s *Lease) WithoutPeriods() *Lease {
	own := *s
	own.alone = true
	return &own
}

// Name says whose budget it is: "task T1", "research of task T1"; empty when it
// belongs to no task.
func (s *Lease) Name() string {
	if s.task == "" {
		return ""
	}
	return budgetName(s.accounts[len(s.accounts)-1], s.task)
}

// TaskID is the task that the lease belongs to; empty for none.
func (s *Lease) TaskID() string { return s.task }

func (s *Lease) key() string { return taskKey + s.task }

// Raise gives a task or an agent more. A limit that is not set stays unset.
func (s *Lease) Raise(ctx context.Context, by Amount) error {
	if err := by.check(); err != nil {
		return fmt.Errorf("raise budget: %w", err)
	}
	if s.task == "" {
		return fmt.Errorf("raise budget: %w lease: it belongs to no task; the day and the month are bounded by settings", ErrInvalid)
	}
	err := s.ledger.change(ctx, s.key(), func(b *book) error {
		a := b.Accounts[s.accounts[len(s.accounts)-1]]
		if a == nil {
			return ErrNotFound
		}
		if a.Limit.Tokens > 0 {
			a.Limit.Tokens += by.Tokens
		}
		if a.Limit.MicroUSD > 0 {
			a.Limit.MicroUSD += by.MicroUSD
		}
		a.Alerted, a.Exhausted, b.dirty = false, false, true
		return nil
	})
	if err != nil {
		return fmt.Errorf("raise budget of %s: %w", s.Name(), err)
	}
	return nil
}

// A Reservation is what a call may cost, kept for it until it is settled or
// released, or its lease has run out.
type Reservation struct {
	lease  *Lease
	id     string
	amount Amount

	mu   sync.Mutex
	over bool
}

// Reserve keeps an amount for a call. The error is [ErrExhausted] when a budget
// does not have as much.
func (s *Lease) Reserve(ctx context.Context, a Amount) (*Reservation, error) {
	if err := a.check(); err != nil {
		return nil, fmt.Errorf("reserve: %w", err)
	}
	r := &Reservation{lease: s, id: rand.Text(), amount: a}
	for i, p := range s.scopes() {
		if err := s.ledger.change(ctx, p.key, func(b *book) error { return b.reserve(p, r.id, a) }); err != nil {
			if i > 0 {
				r.settle(ctx, s.scopes()[:i], Amount{}, false)
			}
			return nil, fmt.Errorf("reserve %s: %w", a, err)
		}
	}
	return r, nil
}

// Amount is what is reserved.
func (r *Reservation) Amount() Amount { return r.amount }

// Settle ends the reservation with what the call did cost, which counts also when
// it is more than was reserved. It works after ctx has ended.
func (r *Reservation) Settle(ctx context.Context, used Amount) error {
	if err := used.check(); err != nil {
		return fmt.Errorf("settle: %w", err)
	}
	return r.end(ctx, used, true)
}

// Release ends the reservation of a call that did cost nothing. It works after ctx
// has ended.
func (r *Reservation) Release(ctx context.Context) error { return r.end(ctx, Amount{}, false) }

func (r *Reservation) end(ctx context.Context, used Amount, counts bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return fmt.Errorf("settle reservation: %w", ErrSettled)
	}
	r.over = true
	return r.settle(ctx, r.lease.scopes(), used, counts)
}

// settle ends the reservation in some places, the last of them first.
func (r *Reservation) settle(ctx context.Context, places []scope, used Amount, counts bool) error {
	ctx = context.WithoutCancel(ctx)
	var errs []error
	for i := range places {
		p := places[len(places)-1-i]
		errs = append(errs, r.lease.ledger.change(ctx, p.key, func(b *book) error {
			b.settle(p, r.id, r.amount, used, counts)
			return nil
		}))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("settle %s: %w", used, err)
	}
	return nil
}
