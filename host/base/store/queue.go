package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// queue is a Queue of a layered store.
type queue struct {
	s    *layered
	name string
}

// jobHeader is stored before the body of a job.
type jobHeader struct {
	Priority Priority  `json:"priority"`
	Ready    time.Time `json:"ready"`   // when it may be handed out: the lease's end while it is claimed
	Attempt  int       `json:"attempt"` // claims so far
	Claim    uint64    `json:"claim"`   // number of the current claim; 0 for none
	// Of a dead job: when it was buried, and what its last holder said.
	Buried time.Time `json:"buried,omitzero"`
	Note   string    `json:"note,omitempty"`
}

func (q queue) key(part string, rest ...string) string {
	return join("q", q.name, part, strings.Join(rest, ""))
}

func (q queue) readyKey(id string, h jobHeader) string {
	return q.key("r", string(rune('0'+h.Priority)), instant(h.Ready), id)
}

func (q queue) wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s queue %q: %w", op, q.name, err)
}

func (q queue) get(r Reader, part, id string) (h jobHeader, body []byte, err error) {
	b, err := r.Get(q.key(part, id))
	if err != nil {
		return h, nil, err
	}
	body, err = unpack(b, &h)
	return h, body, err
}

// set writes the job and its place in the index; old is its header until now,
// nil for a new job.
func (q queue) set(tx Tx, id string, old *jobHeader, h jobHeader, body []byte) error {
	if old != nil {
		if err := tx.Delete(q.readyKey(id, *old)); err != nil {
			return err
		}
	}
	b, err := pack(h, body)
	if err != nil {
		return err
	}
	if err := tx.Set(q.readyKey(id, h), nil); err != nil {
		return err
	}
	return tx.Set(q.key("j", id), b)
}

// remove takes the job out of the queue.
func (q queue) remove(tx Tx, id string, h jobHeader) error {
	return deleteAll(tx, []string{q.readyKey(id, h), q.key("j", id)})
}

func (q queue) Push(ctx context.Context, j Job) error {
	err := errors.Join(checkName("queue", q.name), checkName("job ID", j.ID), checkSize("job", j.Body))
	if err == nil && j.Priority > Low {
		err = fmt.Errorf("%w priority %d of job %q", ErrInvalid, j.Priority, j.ID)
	}
	if err == nil {
		err = q.s.update(ctx, func(tx Tx) error {
			known, err := q.known(tx, j.ID)
			if err != nil || known {
				return err
			}
			h := jobHeader{Priority: j.Priority, Ready: time.Now().Add(j.After)}
			return q.set(tx, j.ID, nil, h, j.Body)
		})
	}
	return q.wrap("push to", err)
}

// known reports whether the job waits, is claimed, dead or lately finished.
func (q queue) known(r Reader, id string) (bool, error) {
	for _, part := range []string{"j", "d"} {
		_, err := r.Get(q.key(part, id))
		if !errors.Is(err, ErrNotFound) {
			return err == nil, err
		}
	}
	b, err := r.Get(q.key("f", id))
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	finished, err := parseInstant(string(b))
	return time.Since(finished) < q.s.settings.Delivery.Remember, err
}

func (q queue) Pull(ctx context.Context, wait time.Duration) (Claim, error) {
	return q.PullIf(ctx, wait, nil)
}

func (q queue) PullIf(ctx context.Context, wait time.Duration, take func(Job, []Job) bool) (Claim, error) {
	if err := checkName("queue", q.name); err != nil {
		return nil, q.wrap("pull from", err)
	}
	end := time.Now().Add(wait)
	on, err := q.s.hub.listen(q.key("r"))
	if err != nil {
		return nil, q.wrap("pull from", err)
	}
	defer q.s.hub.drop(on)
	for {
		c, next, err := q.claim(ctx, take)
		if err != nil || c != nil {
			return c.orNil(), q.wrap("pull from", err)
		}
		if !time.Now().Before(end) {
			return nil, q.wrap("pull from", ErrEmpty)
		}
		if next.IsZero() || end.Before(next) {
			next = end
		}
		if _, _, err := q.s.hub.wait(ctx, on, next); err != nil && !errors.Is(err, errTimeout) {
			return nil, q.wrap("pull from", err)
		}
	}
}

// claim leases the first ready job that is taken; nil takes any. Without one it
// returns nil and the time at which the next becomes ready, zero when there is none.
func (q queue) claim(ctx context.Context, take func(Job, []Job) bool) (c *claim, next time.Time, err error) {
	err = q.s.update(ctx, func(tx Tx) error {
		c, next = nil, time.Time{}
		takes, err := q.takes(tx, take)
		if err != nil {
			return err
		}
		for c == nil {
			id, at, err := q.first(tx, takes)
			if next = at; err != nil || id == "" {
				return err
			}
			if c, err = q.lease(tx, id); err != nil {
				return fmt.Errorf("job %q: %w", id, err)
			}
		}
		return nil
	})
	if err != nil {
		return nil, next, err
	}
	return c, next, nil
}

// takes returns what says whether a job is taken.
func (q queue) takes(r Reader, take func(Job, []Job) bool) (func(id string) (bool, error), error) {
	if take == nil {
		return func(string) (bool, error) { return true, nil }, nil
	}
	all, err := q.list(r)
	if err != nil {
		return nil, err
	}
	var claimed []Job
	for _, j := range all {
		if j.Claimed && j.Ready.After(time.Now()) {
			claimed = append(claimed, j.Job)
		}
	}
	return func(id string) (bool, error) {
		h, body, err := q.get(r, "j", id)
		return err == nil && take(Job{ID: id, Priority: h.Priority, Body: body}, claimed), err
	}, nil
}

// list returns the jobs that wait or are claimed, in order.
func (q queue) list(r Reader) (all []Queued, err error) {
	for it, err := range r.Scan(q.key("r"), "") {
		if err != nil {
			return nil, err
		}
		id := strings.TrimPrefix(it.Key, q.key("r"))
		id = id[min(9, len(id)):]
		h, body, err := q.get(r, "j", id)
		if err != nil {
			return nil, fmt.Errorf("job %q: %w", id, err)
		}
		all = append(all, Queued{Job: Job{ID: id, Priority: h.Priority, Body: body}, Attempt: h.Attempt, Ready: h.Ready, Claimed: h.Claim != 0})
	}
	return all, nil
}

func (q queue) List(ctx context.Context) (all []Queued, err error) {
	if err = checkName("queue", q.name); err == nil {
		err = q.s.view(ctx, func(r Reader) error { all, err = q.list(r); return err })
	}
	return all, q.wrap("list", err)
}

func (q queue) Remove(ctx context.Context, id string) error {
	err := errors.Join(checkName("queue", q.name), checkName("job ID", id))
	if err == nil {
		err = q.s.update(ctx, func(tx Tx) error {
			h, _, err := q.get(tx, "j", id)
			if err == nil {
				return q.remove(tx, id, h)
			}
			if !errors.Is(err, ErrNotFound) {
				return err
			}
			if _, _, err := q.get(tx, "d", id); err != nil {
				return err
			}
			return tx.Delete(q.key("d", id))
		})
	}
	return q.wrap(fmt.Sprintf("remove job %q of", id), err)
}

// first returns the most urgent ready job that is taken, or the time the next is
// ready.
func (q queue) first(r Reader, takes func(id string) (bool, error)) (id string, next time.Time, err error) {
	for p := High; p <= Low; p++ {
		prefix := q.key("r", string(rune('0'+p)))
		for it, err := range r.Scan(prefix, "") {
			if err != nil {
				return "", next, err
			}
			rest := strings.TrimPrefix(it.Key, prefix)
			at, err := parseInstant(rest[:min(8, len(rest))])
			if err != nil {
				return "", next, err
			}
			if !at.After(time.Now()) {
				if yes, err := takes(rest[8:]); yes || err != nil {
					return rest[8:], time.Time{}, err
				}
				continue
			}
			if next.IsZero() || at.Before(next) {
				next = at
			}
			break
		}
	}
	return "", next, nil
}

// lease claims the job, or buries it when it has used up its attempts: then
// the claim is nil.
func (q queue) lease(tx Tx, id string) (*claim, error) {
	old, body, err := q.get(tx, "j", id)
	if errors.Is(err, ErrNotFound) {
		return nil, fmt.Errorf("%w: it is in the index only", ErrDamaged)
	}
	if err != nil {
		return nil, err
	}
	if old.Attempt >= q.s.settings.Delivery.MaxAttempts {
		return nil, q.bury(tx, id, old, body)
	}
	h := old
	h.Attempt++
	h.Ready = time.Now().Add(q.s.settings.Delivery.Lease)
	if h.Claim, err = tx.Number(); err != nil {
		return nil, err
	}
	job := Job{ID: id, Priority: h.Priority, Body: body}
	return &claim{q: q, job: job, attempt: h.Attempt, number: h.Claim, takenOver: old.Claim != 0}, q.set(tx, id, &old, h, body)
}

func (q queue) bury(tx Tx, id string, h jobHeader, body []byte) error {
	if err := q.remove(tx, id, h); err != nil {
		return err
	}
	h.Claim, h.Buried = 0, time.Now().UTC()
	b, err := pack(h, body)
	if err != nil {
		return err
	}
	return tx.Set(q.key("d", id), b)
}

func (q queue) Dead(ctx context.Context) (all []DeadJob, err error) {
	if err := checkName("queue", q.name); err != nil {
		return nil, q.wrap("list the dead of", err)
	}
	err = q.s.view(ctx, func(r Reader) error {
		all = nil
		for it, err := range r.Scan(q.key("d"), "") {
			if err != nil {
				return err
			}
			var h jobHeader
			body, err := unpack(it.Value, &h)
			if err != nil {
				return err
			}
			job := Job{ID: strings.TrimPrefix(it.Key, q.key("d")), Priority: h.Priority, Body: body}
			all = append(all, DeadJob{Job: job, Attempt: h.Attempt, At: h.Buried, Note: h.Note})
		}
		return nil
	})
	return all, q.wrap("list the dead of", err)
}

func (q queue) Revive(ctx context.Context, id string) error {
	err := errors.Join(checkName("queue", q.name), checkName("job ID", id))
	if err == nil {
		err = q.s.update(ctx, func(tx Tx) error {
			h, body, err := q.get(tx, "d", id)
			if err != nil {
				return err
			}
			if err := tx.Delete(q.key("d", id)); err != nil {
				return err
			}
			return q.set(tx, id, nil, jobHeader{Priority: h.Priority, Ready: time.Now()}, body)
		})
	}
	return q.wrap(fmt.Sprintf("revive job %q of", id), err)
}

// claim is a Claim of a layered store.
type claim struct {
	q       queue
	job     Job
	attempt int
	number  uint64
	// takenOver says that the claim before ran out.
	takenOver bool
}

// orNil keeps a nil claim from becoming an interface that is not nil.
func (c *claim) orNil() Claim {
	if c == nil {
		return nil
	}
	return c
}

func (c *claim) Job() Job     { return c.job }
func (c *claim) Attempt() int { return c.attempt }

func (c *claim) TakenOver() bool { return c.takenOver }

// change calls fn when the claim still stands.
func (c *claim) change(ctx context.Context, op string, fn func(tx Tx, h jobHeader) error) error {
	err := c.q.s.update(ctx, func(tx Tx) error {
		h, _, err := c.q.get(tx, "j", c.job.ID)
		if errors.Is(err, ErrNotFound) || err == nil && h.Claim != c.number {
			return ErrStale
		}
		if err != nil {
			return err
		}
		return fn(tx, h)
	})
	return c.q.wrap(fmt.Sprintf("%s job %q of", op, c.job.ID), err)
}

func (c *claim) Extend(ctx context.Context) error {
	return c.change(ctx, "extend", func(tx Tx, h jobHeader) error {
		next := h
		next.Ready = time.Now().Add(c.q.s.settings.Delivery.Lease)
		return c.q.set(tx, c.job.ID, &h, next, c.job.Body)
	})
}

func (c *claim) Done(ctx context.Context) error {
	return c.change(ctx, "finish", func(tx Tx, h jobHeader) error {
		if err := c.q.remove(tx, c.job.ID, h); err != nil {
			return err
		}
		return c.q.remember(tx, c.job.ID)
	})
}

func (c *claim) Retry(ctx context.Context, after time.Duration) error {
	return c.change(ctx, "give back", func(tx Tx, h jobHeader) error {
		next := h
		next.Claim, next.Ready = 0, time.Now().Add(after)
		if h.Attempt >= c.q.s.settings.Delivery.MaxAttempts {
			return c.q.bury(tx, c.job.ID, h, c.job.Body)
		}
		return c.q.set(tx, c.job.ID, &h, next, c.job.Body)
	})
}

func (c *claim) Release(ctx context.Context, after time.Duration) error {
	return c.change(ctx, "release", func(tx Tx, h jobHeader) error {
		next := h
		next.Claim, next.Attempt, next.Ready = 0, h.Attempt-1, time.Now().Add(after)
		return c.q.set(tx, c.job.ID, &h, next, c.job.Body)
	})
}

func (c *claim) Bury(ctx context.Context, note string) error {
	return c.change(ctx, "bury", func(tx Tx, h jobHeader) error {
		h.Note = strings.ToValidUTF8(note[:min(len(note), MaxKey)], "")
		return c.q.bury(tx, c.job.ID, h, c.job.Body)
	})
}

// forgetBatch is how many IDs a finished job forgets at most: more than the
// one it adds, so that the list shrinks.
const forgetBatch = 4

// remember notes that the job is finished, and forgets some for which that was
// long ago.
func (q queue) remember(tx Tx, id string) error {
	var old []string
	limit := q.key("g", instant(time.Now().Add(-q.s.settings.Delivery.Remember)))
	for it, err := range tx.Scan(q.key("g"), "") {
		if err != nil {
			return err
		}
		if it.Key >= limit || len(old) >= 2*forgetBatch {
			break
		}
		rest := strings.TrimPrefix(it.Key, q.key("g"))
		old = append(old, it.Key, q.key("f", rest[min(8, len(rest)):]))
	}
	if err := deleteAll(tx, old); err != nil {
		return err
	}
	now := instant(time.Now())
	if err := tx.Set(q.key("g", now, id), nil); err != nil {
		return err
	}
	return tx.Set(q.key("f", id), []byte(now))
}
