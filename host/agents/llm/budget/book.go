package budget

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/agents/event"
	"github.com/skillet-run/skillet/host/base/store"
)

const (
	periodKey = "budget/period"
	taskKey   = "budget/task/"

	dayAccount   = "day"
	monthAccount = "month"
	taskAccount  = "task"
)

// A book is one entry of the store: accounts, and what is reserved of them.
type book struct {
	Accounts map[string]*account `json:"accounts"`
	Held     map[string]holding  `json:"held,omitempty"`
	// Changed is when it was last written, in Unix milliseconds.
	Changed int64 `json:"changed"`

	ledger *Ledger
	now    time.Time
	found  bool // it is in the store
	dirty  bool // it has to be written
	notes  []event.Event
}

// An account is one budget.
type account struct {
	// Limit is what the budget has; of the day and the month, what the settings say.
	Limit Amount `json:"limit"`
	Used  Amount `json:"used"`
	// Overrun is what calls cost beyond what was reserved for them.
	Overrun Amount `json:"overrun,omitzero"`
	// Period is the day or month that Used belongs to; empty for tasks.
	Period string `json:"period,omitempty"`
	// Alerted and Exhausted say that it was published.
	Alerted   bool `json:"alerted,omitempty"`
	Exhausted bool `json:"exhausted,omitempty"`
}

// A holding is one reservation.
type holding struct {
	Amount
	// Accounts are those it counts for.
	Accounts []string `json:"accounts"`
	// Until is when it ends by itself, in Unix milliseconds.
	Until int64 `json:"until"`
}

// A scope is an entry of the store with the accounts in it that a lease counts for.
type scope struct {
	key      string
	accounts []string
	task     string // for messages
}

// scopes are all entries a lease counts in, in the order of reserving.
func (s *Lease) scopes() []scope {
	period := scope{periodKey, []string{dayAccount, monthAccount}, s.task}
	var all []scope
	if s.task != "" {
		all = append(all, scope{s.key(), s.accounts, s.task})
	}
	if s.alone {
		return all
	}
	return append(all, period)
}

// changeTries is how often a change is tried that other processes get in the way of.
const changeTries = 200

// change reads a book, has fn change it and writes it when fn says that it is
// dirty, also when fn returns an error. fn may be called several times.
func (l *Ledger) change(ctx context.Context, key string, fn func(*book) error) error {
	turn := l.turn(key)
	turn.Lock()
	defer turn.Unlock()
	for try := range changeTries {
		b, revision, err := l.read(ctx, key)
		if err != nil {
			return err
		}
		refused := fn(b)
		if !b.dirty {
			return refused
		}
		err = l.write(ctx, key, b, revision)
		switch {
		case err == nil:
			l.tell(ctx, b.notes)
			return refused
		case !errors.Is(err, store.ErrConflict):
			return err
		}
		time.Sleep(rand.N(time.Duration(try+1) * 100 * time.Microsecond)) // others are at it, too
	}
	return fmt.Errorf("change %s: %w", key, store.ErrConflict)
}

func (l *Ledger) turn(key string) *sync.Mutex {
	h := fnv.New32a()
	h.Write([]byte(key))
	return &l.turns[h.Sum32()%uint32(len(l.turns))]
}

// read returns the book of a key as it is now: without what has run out, and with
// the day and month that it is.
func (l *Ledger) read(ctx context.Context, key string) (*book, uint64, error) {
	b := &book{ledger: l, now: time.Now().UTC()}
	e, err := l.kv.Get(ctx, key)
	revision := e.Revision
	switch {
	case errors.Is(err, store.ErrNotFound):
		revision = store.MustNotExist
	case err != nil:
		return nil, 0, err
	default:
		b.found = true
		if err := json.Unmarshal(e.Value, b); err != nil {
			return nil, 0, fmt.Errorf("read %s: %w: %w", key, store.ErrDamaged, err)
		}
	}
	if b.Accounts == nil {
		b.Accounts = map[string]*account{}
	}
	b.expire()
	if key == periodKey {
		b.roll(dayAccount, time.DateOnly, l.settings.Day)
		b.roll(monthAccount, "2006-01", l.settings.Month)
	}
	return b, revision, nil
}

func (l *Ledger) write(ctx context.Context, key string, b *book, revision uint64) error {
	b.Changed = b.now.UnixMilli()
	v, err := json.Marshal(b)
	if err != nil {
		return err
	}
	_, err = l.kv.Put(ctx, key, v, revision)
	return err
}

func (l *Ledger) tell(ctx context.Context, notes []event.Event) {
	for _, e := range notes {
		if l.bus != nil {
			l.bus.Tell(ctx, e)
		}
	}
}

// expire gives back what was reserved by those who did not come back.
func (b *book) expire() {
	for id, h := range b.Held {
		if h.Until <= b.now.UnixMilli() {
			delete(b.Held, id)
		}
	}
}

// roll begins a period anew when it is over.
func (b *book) roll(name, layout string, limit Amount) {
	a := b.Accounts[name]
	if period := b.now.Format(layout); a == nil || a.Period != period {
		a = &account{Period: period}
		b.Accounts[name] = a
	}
	a.Limit = limit
}

// held returns the sum of the open reservations of an account.
func (b *book) held(name string) Amount {
	var sum Amount
	for _, h := range b.Held {
		if slices.Contains(h.Accounts, name) {
			sum = sum.plus(h.Amount)
		}
	}
	return sum
}

// reserve keeps an amount in all accounts of a place, or refuses.
func (b *book) reserve(p scope, id string, a Amount) error {
	for _, name := range p.accounts {
		acc := b.Accounts[name]
		if acc == nil {
			return fmt.Errorf("budget of %s: %w", budgetName(name, p.task), ErrNotFound)
		}
		if err := b.fits(p, name, acc, a); err != nil {
			return err
		}
	}
	if b.Held == nil {
		b.Held = map[string]holding{}
	}
	b.Held[id] = holding{a, p.accounts, b.now.Add(b.ledger.settings.Lease).UnixMilli()}
	b.dirty = true
	return nil
}

// fits refuses what an account does not have. What costs nothing of a kind is never
// refused for it: a model that is free is still there when the money is gone.
func (b *book) fits(p scope, name string, acc *account, a Amount) error {
	held := b.held(name)
	for _, k := range kinds() {
		limit, used, asked := k.of(acc.Limit), k.of(acc.Used)+k.of(held), k.of(a)
		if limit <= 0 || asked == 0 || used+asked <= limit {
			continue
		}
		r := &Refusal{
			Budget: budgetName(name, p.task), Part: partOf(name), Unit: k.unit, Limit: limit, Used: k.of(acc.Used), Held: k.of(held),
			Asked: asked, Left: max(limit-used, 0), Resets: b.resets(name), Setting: setting(name, k.unit),
		}
		if !acc.Exhausted {
			acc.Exhausted, b.dirty = true, true
			b.note(event.BudgetExhausted, p.task, name, acc)
		}
		return r.error()
	}
	return nil
}

// settle ends a reservation and counts what was used. One that has run out
// meanwhile counts all the same.
func (b *book) settle(p scope, id string, reserved, used Amount, counts bool) {
	if _, ok := b.Held[id]; !ok && !counts {
		return
	}
	delete(b.Held, id)
	b.dirty = true
	for _, name := range p.accounts {
		acc := b.Accounts[name]
		if acc == nil { // the task was removed meanwhile
			continue
		}
		acc.Used = acc.Used.plus(used)
		acc.Overrun = acc.Overrun.plus(used.minus(reserved).floor())
		if !acc.Alerted && b.alarming(acc) {
			acc.Alerted = true
			b.note(event.BudgetAlert, p.task, name, acc)
		}
	}
	if !b.found && p.key != periodKey { // do not make the budget of a removed task again
		b.dirty = false
	}
}

func (b *book) alarming(acc *account) bool {
	part := b.ledger.settings.Alert
	return part < 1 && slices.ContainsFunc(kinds(), func(k kind) bool {
		limit := k.of(acc.Limit)
		return limit > 0 && float64(k.of(acc.Used)) >= part*float64(limit)
	})
}

// note keeps an event until the book is written.
func (b *book) note(t event.Type, taskID, name string, acc *account) {
	data, err := json.Marshal(b.standing(taskID, name, acc))
	if err != nil {
		return // of numbers and strings: it cannot be
	}
	if name == dayAccount || name == monthAccount {
		taskID = ""
	}
	text := fmt.Sprintf("the budget of %s: %s of %s used", budgetName(name, taskID), acc.Used, acc.Limit)
	b.notes = append(b.notes, event.Event{Type: t, Task: taskID, Text: text, Data: data})
}

// resets is when an account begins anew; the zero time for never.
func (b *book) resets(name string) time.Time {
	y, m, d := b.now.Date()
	switch name {
	case dayAccount:
		return time.Date(y, m, d+1, 0, 0, 0, 0, time.UTC)
	case monthAccount:
		return time.Date(y, m+1, 1, 0, 0, 0, 0, time.UTC)
	}
	return time.Time{}
}

// A kind is one of the two things that are counted.
type kind struct {
	unit string
	of   func(Amount) int64
}

func kinds() []kind {
	return []kind{
		{"tokens", func(a Amount) int64 { return a.Tokens }},
		{"usd", func(a Amount) int64 { return a.MicroUSD }},
	}
}

// budgetName says whose an account is.
func budgetName(name, taskID string) string {
	switch part := partOf(name); {
	case part != "":
		return part + " of task " + taskID
	case name == taskAccount:
		return "task " + taskID
	}
	return name
}

// partOf is the part of a task that an account is of; empty when it is of more.
func partOf(name string) string {
	part, ok := strings.CutPrefix(name, taskAccount+"/")
	if !ok {
		return ""
	}
	return part
}

// setting is what raises the limit of an account.
func setting(name, unit string) string {
	if strings.HasPrefix(name, taskAccount) {
		name = taskAccount
	}
	return "budget." + name + "." + unit
}

// A Refusal says which budget does not have what was asked for. Its numbers are
// tokens, or millionths of a US dollar when Unit is "usd".
type Refusal struct {
	// Budget is "day", "month", "task T1" or "research of task T1".
	Budget string `json:"budget"`
	// Part is the part of a task whose own budget it is, such as "research"; empty for the
	// budgets of a whole task, a day and a month.
	Part  string `json:"part,omitempty"`
	Unit  string `json:"unit"` // "tokens" or "usd"
	Limit int64  `json:"limit"`
	Used  int64  `json:"used"`
	// Held is what calls that are under way have reserved.
	Held  int64 `json:"held"`
	Asked int64 `json:"asked"`
	Left  int64 `json:"left"`
	// Resets is when the budget begins anew; the zero time for never.
	Resets time.Time `json:"resets,omitzero"`
	// Setting is the one that raises the limit.
	Setting string `json:"setting"`
}

// Error implements error.
func (r *Refusal) Error() string {
	text := fmt.Sprintf("the budget of %s has %s of %s left", r.Budget, quantity(r.Left, r.Unit), quantity(r.Limit, r.Unit))
	if r.Held > 0 {
		text += fmt.Sprintf(" (%s reserved by calls under way)", quantity(r.Held, r.Unit))
	}
	if debt := r.Used - r.Limit; debt > 0 {
		text += fmt.Sprintf(" and a debt of %s", quantity(debt, r.Unit))
	}
	return fmt.Sprintf("%s, and %s may be needed", text, quantity(r.Asked, r.Unit))
}

// Unwrap makes it [ErrExhausted].
func (r *Refusal) Unwrap() error { return ErrExhausted }

// error is the refusal for a person, with the way out.
func (r *Refusal) error() error {
	e := fault.Errorf(fault.KindLimit, "%w", r)
	if r.Resets.IsZero() {
		return e.WithHint("give the task more, or raise %s for the next ones: %s", r.Setting, fault.SetSetting(r.Setting, ""))
	}
	return e.WithHint("it is renewed at %s; %s raises it", r.Resets.Format(time.RFC3339), fault.SetSetting(r.Setting, "")).
		WithRetryAfter(time.Until(r.Resets))
}

func quantity(n int64, unit string) string {
	if unit == "usd" {
		return fmt.Sprintf("$%.6g", float64(n)/1e6)
	}
	return fmt.Sprintf("%d tokens", n)
}

// String is for people: "1200 tokens, $0.25".
func (a Amount) String() string {
	if a.MicroUSD == 0 {
		return quantity(a.Tokens, "tokens")
	}
	return quantity(a.Tokens, "tokens") + ", " + quantity(a.MicroUSD, "usd")
}

// A Status says how much of a budget is used and left.
type Status struct {
	// Budget is "day", "month", "task T1" or "research of task T1".
	Budget string `json:"budget"`
	// Limit has zero or less where there is none.
	Limit Amount `json:"limit,omitzero"`
	Used  Amount `json:"used"`
	// Held is reserved by calls that are under way.
	Held Amount `json:"held"`
	// Left is what can be reserved now; [Unlimited] where there is no limit.
	Left Amount `json:"left"`
	// Debt is what was used beyond the limit, and Overrun what calls cost beyond
	// what was reserved for them.
	Debt    Amount `json:"debt,omitzero"`
	Overrun Amount `json:"overrun,omitzero"`
	// Resets is when it begins anew; the zero time for never.
	Resets time.Time `json:"resets,omitzero"`
}

func (b *book) standing(taskID, name string, acc *account) Status {
	held := b.held(name)
	s := Status{
		Budget: budgetName(name, taskID), Limit: acc.Limit, Used: acc.Used, Held: held, Overrun: acc.Overrun,
		Left: Amount{Unlimited, Unlimited}, Resets: b.resets(name),
	}
	if acc.Limit.Tokens > 0 {
		s.Left.Tokens = max(acc.Limit.Tokens-acc.Used.Tokens-held.Tokens, 0)
		s.Debt.Tokens = max(acc.Used.Tokens-acc.Limit.Tokens, 0)
	}
	if acc.Limit.MicroUSD > 0 {
		s.Left.MicroUSD = max(acc.Limit.MicroUSD-acc.Used.MicroUSD-held.MicroUSD, 0)
		s.Debt.MicroUSD = max(acc.Used.MicroUSD-acc.Limit.MicroUSD, 0)
	}
	return s
}

// Statuses are those of every budget that bounds the lease: the innermost first,
// the day and the month last.
func (s *Lease) Statuses(ctx context.Context) ([]Status, error) {
	var all []Status
	for _, p := range s.scopes() {
		b, _, err := s.ledger.read(ctx, p.key)
		if err != nil {
			return nil, fmt.Errorf("read budget: %w", err)
		}
		for i := range p.accounts {
			name := p.accounts[i]
			if p.key != periodKey {
				name = p.accounts[len(p.accounts)-1-i]
			}
			acc := b.Accounts[name]
			if acc == nil {
				return nil, fmt.Errorf("read budget of %s: %w", budgetName(name, s.task), ErrNotFound)
			}
			all = append(all, b.standing(s.task, name, acc))
		}
	}
	return all, nil
}

// Used is what was used of the innermost budget of the lease; of one that belongs
// to no task, of the day.
func (s *Lease) Used(ctx context.Context) (Amount, error) {
	all, err := s.Statuses(ctx)
	if err != nil {
		return Amount{}, err
	}
	if len(all) == 0 {
		return Amount{}, nil
	}
	return all[0].Used, nil
}

// Left is what can be reserved now: the least that any of the budgets has.
func (s *Lease) Left(ctx context.Context) (Amount, error) {
	all, err := s.Statuses(ctx)
	left := Amount{Unlimited, Unlimited}
	for _, st := range all {
		left = Amount{min(left.Tokens, st.Left.Tokens), min(left.MicroUSD, st.Left.MicroUSD)}
	}
	if err != nil {
		left = Amount{}
	}
	return left, err
}

// A TaskUse is what a task used.
type TaskUse struct {
	Task    string    `json:"task"`
	Limit   Amount    `json:"limit,omitzero"`
	Used    Amount    `json:"used"`
	Changed time.Time `json:"changed"`
}

// Tasks lists the tasks that have a budget, those that used theirs last first.
func (l *Ledger) Tasks(ctx context.Context) ([]TaskUse, error) {
	entries, err := l.kv.List(ctx, taskKey)
	if err != nil {
		return nil, fmt.Errorf("list budgets: %w", err)
	}
	var all []TaskUse
	for _, e := range entries {
		var b book
		if err := json.Unmarshal(e.Value, &b); err != nil || b.Accounts[taskAccount] == nil {
			return nil, fmt.Errorf("list budgets: %s: %w", e.Key, store.ErrDamaged)
		}
		a := b.Accounts[taskAccount]
		all = append(all, TaskUse{strings.TrimPrefix(e.Key, taskKey), a.Limit, a.Used, time.UnixMilli(b.Changed).UTC()})
	}
	slices.SortFunc(all, func(a, b TaskUse) int {
		return cmp.Or(b.Changed.Compare(a.Changed), strings.Compare(a.Task, b.Task))
	})
	return all, nil
}

// inUse reports whether a book was changed since a time, or has something reserved.
func (b *book) inUse(since time.Time) bool {
	b.expire()
	return b.Changed >= since.UnixMilli() || len(b.Held) > 0
}

// Prune removes the budgets of tasks that used nothing since a time, and returns
// how many. What they used stays counted for its day and month.
func (l *Ledger) Prune(ctx context.Context, before time.Time) (removed int, err error) {
	entries, err := l.kv.List(ctx, taskKey)
	for _, e := range entries {
		var b book
		b.now = time.Now()
		if json.Unmarshal(e.Value, &b) == nil && b.inUse(before) {
			continue
		}
		switch gone := l.kv.Delete(ctx, e.Key, e.Revision); {
		case gone == nil:
			removed++
		case !errors.Is(gone, store.ErrConflict) && !errors.Is(gone, store.ErrNotFound):
			err = errors.Join(err, gone)
		}
	}
	if err != nil {
		return removed, fmt.Errorf("prune budgets: %w", err)
	}
	return removed, nil
}
