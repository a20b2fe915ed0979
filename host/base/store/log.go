package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// eventLog is a Log of a layered store.
type eventLog struct {
	s    *layered
	name string
}

// eventHeader is stored before the data of an event.
type eventHeader struct {
	Subject string    `json:"subject"`
	Time    time.Time `json:"time"`
}

// followBatch is how many events Follow reads at a time.
const followBatch = 256

func (l eventLog) prefix() string { return join("l", l.name, "") }

func (l eventLog) wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s log %q: %w", op, l.name, err)
}

func (l eventLog) Append(ctx context.Context, subject string, data []byte) (seq uint64, err error) {
	if err := errors.Join(checkName("log", l.name), checkName("subject", subject), checkSize("event", data)); err != nil {
		return 0, l.wrap("append to", err)
	}
	record, err := pack(eventHeader{Subject: subject, Time: time.Now().UTC()}, data)
	if err != nil {
		return 0, l.wrap("append to", err)
	}
	err = l.s.update(ctx, func(tx Tx) error {
		if seq, err = tx.Number(); err != nil {
			return err
		}
		return tx.Set(l.prefix()+number(seq), record)
	})
	return seq, l.wrap("append to", err)
}

func (l eventLog) Read(ctx context.Context, prefix string, after uint64, limit int) ([]Event, error) {
	events, _, err := l.read(ctx, prefix, after, limit)
	return events, err
}

// read returns events and the number up to which it looked.
func (l eventLog) read(ctx context.Context, prefix string, after uint64, limit int) (events []Event, last uint64, err error) {
	if err := checkName("log", l.name); err != nil {
		return nil, 0, l.wrap("read", err)
	}
	if after == math.MaxUint64 {
		return nil, after, nil
	}
	err = l.s.view(ctx, func(r Reader) error {
		events, last = nil, after
		for it, err := range r.Scan(l.prefix(), l.prefix()+number(after+1)) {
			if err != nil {
				return err
			}
			e, err := l.event(it)
			if err != nil {
				return err
			}
			last = e.Seq
			if strings.HasPrefix(e.Subject, prefix) {
				events = append(events, e)
			}
			if limit > 0 && len(events) == limit {
				return nil
			}
		}
		return nil
	})
	return events, last, l.wrap("read", err)
}

func (l eventLog) event(it Item) (Event, error) {
	seq, err := parseNumber(strings.TrimPrefix(it.Key, l.prefix()))
	if err != nil {
		return Event{}, err
	}
	var h eventHeader
	data, err := unpack(it.Value, &h)
	if err != nil {
		return Event{}, fmt.Errorf("event %d: %w", seq, err)
	}
	return Event{Seq: seq, Time: h.Time, Subject: h.Subject, Data: data}, nil
}

func (l eventLog) Follow(ctx context.Context, prefix string, after uint64) (<-chan Event, error) {
	err := checkName("log", l.name)
	if err == nil {
		err = l.s.usable(ctx)
	}
	if err != nil {
		return nil, l.wrap("follow", err)
	}
	on, err := l.s.hub.listen(l.prefix())
	if err != nil {
		return nil, l.wrap("follow", err)
	}
	out := make(chan Event, 16)
	if err := l.s.hub.spawn(func() { l.follow(ctx, prefix, after, on, out) }); err != nil {
		l.s.hub.drop(on)
		return nil, l.wrap("follow", err)
	}
	return out, nil
}

func (l eventLog) follow(ctx context.Context, prefix string, after uint64, on *listener, out chan<- Event) {
	defer close(out)
	defer l.s.hub.drop(on)
	for {
		events, last, err := l.read(ctx, prefix, after, followBatch)
		if err != nil {
			return
		}
		for _, e := range events {
			if !send(ctx, l.s.hub, out, e) {
				return
			}
		}
		after = last
		if len(events) == followBatch {
			continue
		}
		if _, _, err := l.s.hub.wait(ctx, on, time.Time{}); err != nil {
			return
		}
	}
}

func (l eventLog) Trim(ctx context.Context, through uint64) error {
	if err := checkName("log", l.name); err != nil {
		return l.wrap("trim", err)
	}
	for {
		more, err := l.trimSome(ctx, through)
		if err != nil || !more {
			return l.wrap("trim", err)
		}
	}
}

// trimSome removes a batch of events: an engine may bound its transactions.
func (l eventLog) trimSome(ctx context.Context, through uint64) (more bool, err error) {
	err = l.s.update(ctx, func(tx Tx) error {
		var old []string
		for it, err := range tx.Scan(l.prefix(), "") {
			if err != nil {
				return err
			}
			if it.Key > l.prefix()+number(through) || len(old) == followBatch {
				break
			}
			old = append(old, it.Key)
		}
		more = len(old) == followBatch
		return deleteAll(tx, old)
	})
	return more, err
}

func deleteAll(tx Tx, keys []string) error {
	for _, k := range keys {
		if err := tx.Delete(k); err != nil {
			return err
		}
	}
	return nil
}
