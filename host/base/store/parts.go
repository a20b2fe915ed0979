package store

import (
	"encoding/json"
	"errors"
	"strings"
)

// A Part is what an engine keeps a key for.
type Part int

// The parts. PartFinished are the jobs that a queue remembers as done, and PartIndex
// is what it finds its jobs by.
const (
	PartOther Part = iota
	PartKV
	PartJob
	PartDeadJob
	PartFinished
	PartIndex
	PartEvent
	PartLock
)

// PartOf says what a key of an engine is kept for, and its name there: the key of a
// [KV], or the name of the queue, log or lock.
func PartOf(key string) (Part, string) {
	kind, rest, _ := strings.Cut(key, sep)
	name, rest, _ := strings.Cut(rest, sep)
	switch kind {
	case "k":
		return PartKV, name
	case "l":
		return PartEvent, name
	case "x":
		return PartLock, name
	case "q":
		part, _, _ := strings.Cut(rest, sep)
		switch part {
		case "j":
			return PartJob, name
		case "d":
			return PartDeadJob, name
		case "f":
			return PartFinished, name
		}
		return PartIndex, name
	}
	return PartOther, name
}

// Reindex makes the keys anew by which queues find their jobs. It is for a state of
// which a part is lost: a job that is there and not in the index would never be
// handed out. A job that is dead is not waiting as well.
func Reindex(tx Tx) error {
	var stale []string
	jobs := map[string][]byte{}
	for it, err := range tx.Scan("q"+sep, "") {
		if err != nil {
			return err
		}
		parts := strings.SplitN(it.Key, sep, 4)
		if len(parts) < 4 {
			continue
		}
		switch parts[2] {
		case "r", "g":
			stale = append(stale, it.Key)
		case "j", "f":
			jobs[it.Key] = it.Value
		}
	}
	if err := deleteAll(tx, stale); err != nil {
		return err
	}
	for key, value := range jobs {
		if err := reindex(tx, key, value); err != nil {
			return err
		}
	}
	return nil
}

func reindex(tx Tx, key string, value []byte) error {
	parts := strings.SplitN(key, sep, 4)
	q, id := queue{name: parts[1]}, parts[3]
	if parts[2] == "f" {
		return tx.Set(q.key("g", string(value), id), nil)
	}
	if _, err := tx.Get(q.key("d", id)); !errors.Is(err, ErrNotFound) {
		return errors.Join(err, tx.Delete(key))
	}
	var h jobHeader
	if _, err := unpack(value, &h); err != nil {
		return err
	}
	return tx.Set(q.readyKey(id, h), nil)
}

// HighestNumber is the highest number that an item shows to have been given out by
// [Tx]; 0 for none.
func HighestNumber(it Item) uint64 {
	switch part, _ := PartOf(it.Key); part {
	case PartKV:
		if e, err := readEntry("", it.Value); err == nil {
			return e.Revision
		}
	case PartEvent:
		if n, err := parseNumber(it.Key[max(0, len(it.Key)-8):]); err == nil {
			return n
		}
	case PartJob:
		var h jobHeader
		if _, err := unpack(it.Value, &h); err == nil {
			return h.Claim
		}
	case PartLock:
		var l lockRecord
		if json.Unmarshal(it.Value, &l) == nil {
			return l.Fence
		}
	}
	return 0
}
