package code

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/manifests"
)

// What is kept of runs, under "code/". A run is written when it first calls a tool that may
// change something, or waits, or has a key: until then nothing happened that could be done
// twice.
//
//	code/run/ID         -> JSON: the head
//	code/text/ID/PART   -> the script, a NUL byte, and its data
//	code/step/ID/NUMBER -> JSON: a call, before it is made and after
//	code/long/ID/NUMBER/PART -> an answer that is too long for its step
//	code/end/ID/PART    -> JSON: what is answered when the request comes again
//	code/same/HASH      -> the ID of a run that has not ended, by what is asked and by whom
//	code/key/HASH       -> JSON: the ID of a run, by the key of a request and by whom
//	code/kept/ID        -> JSON: a run that has ended, of any kind, see kept.go
//	code/tape/ID        -> JSON: what it did
const (
	runKey  = "code/run/"
	textKey = "code/text/"
	stepKey = "code/step/"
	longKey = "code/long/"
	endKey  = "code/end/"
	sameKey = "code/same/"
	keyKey  = "code/key/"
)

// maxPart is the longest part of what is kept in parts, and maxInline the longest answer that is kept in its
// step, in bytes.
const (
	maxPart   = 448 << 10
	maxInline = 256 << 10
)

// A head is what is known of a run.
type head struct {
	ID    string `json:"id"`
	Owner string `json:"owner"`
	// Sum is the hash of what was asked, and by whom.
	Sum      string `json:"sum"`
	Key      string `json:"key,omitempty"` // the hash of the key and of whom
	Language string `json:"language"`
	// Engine is the interpreter, and Digest that of its package.
	Engine string           `json:"engine"`
	Digest manifests.Digest `json:"digest"`
	Given  bool             `json:"given,omitempty"` // it has data
	// Seed decides its randomness, and Began when its time begins.
	Seed  uint64    `json:"seed"`
	Began time.Time `json:"began"`
	State Status    `json:"state"`
	// At is when it was written last.
	At time.Time `json:"at"`
}

// A step is a call of a tool.
type step struct {
	Number int    `json:"number"`
	Skill  string `json:"skill"`
	Tool   string `json:"tool"`
	// Input is the hash of the input as the script wrote it.
	Input string `json:"input"`
	// Shown is the input, when it is short.
	Shown json.RawMessage `json:"shown,omitempty"`
	// Again says that it may be made again: the tool changes nothing, or nothing more.
	Again bool `json:"again,omitempty"`
	// Tries is how often it was begun.
	Tries int `json:"tries,omitempty"`
	// Done is set when it has ended. One that is not was begun, or waits.
	Done     bool       `json:"done,omitempty"`
	Proposal string     `json:"proposal,omitempty"` // that it waits for
	Why      string     `json:"why,omitempty"`      // it waits
	RunID    task.RunID `json:"run_id,omitempty"`
	// Answer is what the script was told; Parts is in how many parts it is kept when it is long.
	Answer json.RawMessage `json:"answer,omitempty"`
	Parts  int             `json:"parts,omitempty"`
	Kind   string          `json:"kind,omitempty"` // of the error that the script was told
	Told   string          `json:"told,omitempty"` // and its words
	Error  *fault.Error    `json:"error,omitempty"`
	Fuel   uint64          `json:"fuel,omitempty"`
	// Version and Digest are those of the package that was called; empty when none was.
	Version  string           `json:"version,omitempty"`
	Digest   manifests.Digest `json:"digest,omitempty"`
	revision uint64           // of what is in the store; 0 when it is not there
	body     []byte           // the input as the script wrote it, as long as that is kept
	asked    string           // the tool as the script named it
}

// A run is a script that is run or waits.
type run struct {
	s        *Service
	head     head
	revision uint64
	code     string
	data     json.RawMessage
	steps    []*step
	taped    int  // bytes of what it did, see kept.go
	durable  bool // it is in the store
	lock     store.Lock
	lost     context.Context // ends when another has taken the run over
	lose     context.CancelFunc
}

func newRun(s *Service) *run {
	r := &run{s: s}
	r.lost, r.lose = context.WithCancel(context.Background())
	return r
}

// errLost ends a script whose run another process has taken over.
var errLost = errors.New("the run was taken over by another process")

// sumOf is the hash of a request and of whom it is.
func sumOf(by approval.Principal, parts ...string) string {
	h := sha256.New()
	for _, p := range append([]string{by.Actor()}, parts...) {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// canonical is JSON however it is written.
func canonical(data json.RawMessage) string {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if d.Decode(&v) == nil {
		if b, err := json.Marshal(v); err == nil {
			return string(b)
		}
	}
	return string(data)
}

// open finds the run that a request goes on with, or begins one, and holds it.
func (s *Service) open(ctx context.Context, by approval.Principal, req Request) (*run, error) {
	l, _ := languageOf(req.Language)
	sum := sumOf(by, l.name, req.Code, canonical(req.Data))
	if req.Run != "" {
		r, err := s.load(ctx, req.Run)
		if errors.Is(err, store.ErrNotFound) || err == nil && r.head.Owner != by.Actor() {
			return nil, missing(req.Run)
		}
		if err == nil && req.Code != "" && r.head.Sum != sum {
			err = fault.Errorf(fault.KindConflict, "the run %s is of another script", req.Run).WithHint("leave the script out to go on with it")
		}
		return s.held(ctx, r, err)
	}
	r := newRun(s)
	r.head, r.code, r.data = newHead(by, req, sum), req.Code, req.Data
	if req.Key != "" {
		return s.keyed(ctx, by, req, r)
	}
	e, err := s.parts.Store.KV().Get(ctx, sameKey+sum)
	if errors.Is(err, store.ErrNotFound) {
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	same, err := s.load(ctx, string(e.Value))
	if errors.Is(err, store.ErrNotFound) { // it was removed
		return r, ignore(s.parts.Store.KV().Delete(ctx, e.Key, e.Revision), store.ErrNotFound, store.ErrConflict)
	}
	return s.held(ctx, same, err)
}

// keyed is the run of a request with a key.
func (s *Service) keyed(ctx context.Context, by approval.Principal, req Request, r *run) (*run, error) {
	kv := s.parts.Store.KV()
	r.head.Key = sumOf(by, "key", req.Key)
	e, err := kv.Get(ctx, keyKey+r.head.Key)
	if errors.Is(err, store.ErrNotFound) {
		if err := r.name(ctx); !errors.Is(err, store.ErrConflict) {
			return r, err
		}
		if err := s.remove(ctx, r.head.ID); err != nil { // another was first
			return nil, err
		}
		e, err = kv.Get(ctx, keyKey+r.head.Key)
	}
	if err != nil {
		return nil, err
	}
	var known struct{ ID, Sum string }
	if err := json.Unmarshal(e.Value, &known); err != nil {
		return nil, fmt.Errorf("read %s: %w: %w", e.Key, store.ErrDamaged, err)
	}
	if known.Sum != r.head.Sum {
		return nil, fault.Errorf(fault.KindConflict, "the key was that of another script").WithHint("use a new one for each request")
	}
	first, err := s.load(ctx, known.ID)
	if errors.Is(err, store.ErrNotFound) {
		err = missing(known.ID)
	}
	return s.held(ctx, first, err)
}

// name writes a run that has a key; the error is [store.ErrConflict] when the key is that of
// another run.
func (r *run) name(ctx context.Context) error {
	named, err := json.Marshal(struct{ ID, Sum string }{r.head.ID, r.head.Sum})
	if err == nil {
		err = r.write(ctx)
	}
	if err == nil {
		_, err = r.s.parts.Store.KV().Put(ctx, keyKey+r.head.Key, named, store.MustNotExist)
	}
	if err != nil {
		r.close(ctx)
	}
	return err
}

func missing(id string) error {
	return fault.Errorf(fault.KindNotFound, "the run %s of a script is not known", clip(id, 100)).WithHint("runs that have ended or wait are kept for some days")
}

// load reads a run.
func (s *Service) load(ctx context.Context, id string) (*run, error) {
	kv := s.parts.Store.KV()
	r := newRun(s)
	r.durable = true
	if len(id) > 100 || strings.ContainsFunc(id, func(c rune) bool { return c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'f') }) {
		return nil, missing(id)
	}
	e, err := kv.Get(ctx, runKey+id)
	if err != nil {
		return nil, err
	}
	r.revision = e.Revision
	if err := json.Unmarshal(e.Value, &r.head); err != nil {
		return nil, fmt.Errorf("read %s: %w: %w", e.Key, store.ErrDamaged, err)
	}
	return r, nil
}

// held locks a run that was loaded, and reads the rest of it.
func (s *Service) held(ctx context.Context, r *run, err error) (*run, error) {
	if err != nil {
		return nil, err
	}
	if err := r.hold(ctx); err != nil {
		return nil, err
	}
	again, err := s.load(ctx, r.head.ID) // what its holder before left
	if err == nil {
		r.head, r.revision = again.head, again.revision
		err = r.read(ctx)
	}
	if err != nil {
		r.close(ctx)
		return nil, err
	}
	return r, nil
}

func (r *run) read(ctx context.Context) error {
	text, err := r.s.parts.read(ctx, textKey+r.head.ID+"/")
	if err != nil {
		return err
	}
	code, data, _ := bytes.Cut(text, []byte{0})
	if r.code = string(code); r.head.Given {
		r.data = data
	}
	entries, err := r.s.parts.Store.KV().List(ctx, stepKey+r.head.ID+"/")
	for i, e := range entries {
		st := &step{revision: e.Revision}
		if json.Unmarshal(e.Value, st) != nil || st.Number != i+1 {
			return fmt.Errorf("read %s: %w", e.Key, store.ErrDamaged)
		}
		if st.Parts > 0 {
			if st.Answer, err = r.s.parts.read(ctx, fmt.Sprintf("%s%s/%06d/", longKey, r.head.ID, st.Number)); err != nil {
				return err
			}
		}
		r.steps = append(r.steps, st)
	}
	return err
}

// read puts together what is kept in parts.
func (p Parts) read(ctx context.Context, prefix string) ([]byte, error) {
	entries, err := p.Store.KV().List(ctx, prefix)
	var all []byte
	for _, e := range entries {
		all = append(all, e.Value...)
	}
	return all, err
}

// write keeps bytes in parts, and returns how many.
func (p Parts) write(ctx context.Context, prefix string, b []byte) (n int, err error) {
	for ; len(b) > 0 || n == 0; n++ {
		part := b[:min(len(b), maxPart)]
		if _, err := p.Store.KV().Put(ctx, fmt.Sprintf("%s%03d", prefix, n), part, store.AnyRevision); err != nil {
			return n, err
		}
		b = b[len(part):]
	}
	return n, nil
}

// hold keeps others from the run, until it is closed.
func (r *run) hold(ctx context.Context) error {
	lock, err := r.s.parts.Store.Locks().Acquire(ctx, "code/"+r.head.ID, r.head.Owner, r.s.set.Lease)
	if errors.Is(err, store.ErrHeld) {
		return fault.Errorf(fault.KindConflict, "the script is being run already").WithHint("ask again when it has ended").WithRetryAfter(time.Second)
	}
	if err != nil {
		return err
	}
	r.lock = lock
	own := context.WithoutCancel(ctx)
	go func() {
		tick := time.NewTicker(r.s.set.Lease / 3)
		defer tick.Stop()
		for {
			select {
			case <-r.lost.Done():
				return
			case <-tick.C:
			}
			if err := lock.Renew(own); errors.Is(err, store.ErrStale) {
				r.lose()
			}
		}
	}()
	return nil
}

// close lets others have the run.
func (r *run) close(ctx context.Context) {
	r.lose()
	if r.lock == nil {
		return
	}
	if err := r.lock.Release(context.WithoutCancel(ctx)); err != nil && !errors.Is(err, store.ErrStale) {
		r.s.log.Warn("the run of a script was not let go", "run", r.head.ID, "err", err)
	}
	r.lock = nil
}

// write writes a run that was in memory alone: first its script, last what names it.
func (r *run) write(ctx context.Context) error {
	if r.durable {
		return nil
	}
	if err := r.hold(ctx); err != nil {
		return err
	}
	text := append(append([]byte(r.code), 0), r.data...)
	if _, err := r.s.parts.write(ctx, textKey+r.head.ID+"/", text); err != nil {
		return err
	}
	if err := r.save(ctx, running); err != nil {
		return err
	}
	if r.head.Key == "" {
		_, err := r.s.parts.Store.KV().Put(ctx, sameKey+r.head.Sum, []byte(r.head.ID), store.MustNotExist)
		if errors.Is(err, store.ErrConflict) {
			return errors.Join(fault.Errorf(fault.KindConflict, "the same script with the same data is being run already").
				WithHint("give the request a key of its own to run it beside that"), r.s.remove(ctx, r.head.ID))
		}
		if err != nil {
			return err
		}
	}
	r.durable = true
	return nil
}

// save writes the head.
func (r *run) save(ctx context.Context, state Status) error {
	r.head.State, r.head.At = state, time.Now().UTC()
	b, err := json.Marshal(r.head)
	if err == nil {
		r.revision, err = r.s.parts.Store.KV().Put(ctx, runKey+r.head.ID, b, r.revision)
	}
	return err
}

// keep writes a step, and those before it that were in memory alone.
func (r *run) keep(ctx context.Context, st *step) error {
	if err := r.write(ctx); err != nil {
		return err
	}
	for _, before := range r.steps {
		if before.Number >= st.Number {
			break
		}
		if before.revision == 0 {
			if err := r.put(ctx, before); err != nil {
				return err
			}
		}
	}
	return r.put(ctx, st)
}

func (r *run) put(ctx context.Context, st *step) error {
	k := *st
	if len(k.Answer) > maxInline {
		n, err := r.s.parts.write(ctx, fmt.Sprintf("%s%s/%06d/", longKey, r.head.ID, k.Number), k.Answer)
		if err != nil {
			return err
		}
		k.Parts, k.Answer = n, nil
	}
	b, err := json.Marshal(k)
	if err == nil {
		st.revision, err = r.s.parts.Store.KV().Put(ctx, fmt.Sprintf("%s%s/%06d", stepKey, r.head.ID, k.Number), b, st.revision)
	}
	return err
}

// finish writes how a run stands. One that has ended is only kept to be answered again.
func (r *run) finish(ctx context.Context, res Result) error {
	ctx = context.WithoutCancel(ctx)
	if res.Status == Done || res.Status == Failed {
		if err := r.s.keep(ctx, r, res); err != nil { // what was done is done all the same
			r.s.log.Warn("what a script did is not kept, and no skill can be made of it", "run", r.head.ID, "err", err)
		}
	}
	if !r.durable {
		return nil
	}
	b, err := json.Marshal(res)
	if err == nil {
		err = r.s.forget(ctx, endKey+r.head.ID+"/")
	}
	if err == nil {
		_, err = r.s.parts.write(ctx, endKey+r.head.ID+"/", b)
	}
	if err == nil {
		err = r.save(ctx, res.Status)
	}
	if err != nil || res.Status != Done && res.Status != Failed {
		return err
	}
	if r.head.Key == "" {
		err = ignore(r.s.parts.Store.KV().Delete(ctx, sameKey+r.head.Sum, store.AnyRevision), store.ErrNotFound)
	}
	return errors.Join(err, r.s.forget(ctx, stepKey+r.head.ID+"/", longKey+r.head.ID+"/"))
}

// end is what a run was answered that has ended or waits.
func (r *run) end(ctx context.Context) (res Result, err error) {
	b, err := r.s.parts.read(ctx, endKey+r.head.ID+"/")
	if err == nil {
		if err = json.Unmarshal(b, &res); err != nil {
			err = fmt.Errorf("read %s: %w: %w", endKey+r.head.ID, store.ErrDamaged, err)
		}
	}
	return res, err
}

// remove removes all that is kept of a run.
func (s *Service) remove(ctx context.Context, id string) error {
	return errors.Join(s.forget(ctx, textKey+id+"/", stepKey+id+"/", longKey+id+"/", endKey+id+"/"),
		ignore(s.parts.Store.KV().Delete(ctx, runKey+id, store.AnyRevision), store.ErrNotFound))
}

func (s *Service) forget(ctx context.Context, prefixes ...string) error {
	var errs []error
	for _, p := range prefixes {
		entries, err := s.parts.Store.KV().List(ctx, p)
		errs = append(errs, err)
		for _, e := range entries {
			errs = append(errs, ignore(s.parts.Store.KV().Delete(ctx, e.Key, store.AnyRevision), store.ErrNotFound))
		}
	}
	return errors.Join(errs...)
}

// ignore is err unless it is one of some.
func ignore(err error, some ...error) error {
	for _, e := range some {
		if errors.Is(err, e) {
			return nil
		}
	}
	return err
}

// sweepEvery is how often runs are looked for that are old.
const sweepEvery = time.Hour

// sweep removes runs that were kept for their time.
func (s *Service) sweep(ctx context.Context) {
	now, last := time.Now(), s.swept.Load()
	if now.Sub(time.Unix(0, last)) < sweepEvery || !s.swept.CompareAndSwap(last, now.UnixNano()) {
		return
	}
	entries, err := s.parts.Store.KV().List(ctx, runKey)
	for _, e := range entries {
		var h head
		if json.Unmarshal(e.Value, &h) != nil || now.Sub(h.At) < s.set.Keep {
			continue
		}
		err = errors.Join(err, s.remove(ctx, h.ID))
		if h.Key != "" {
			err = errors.Join(err, ignore(s.parts.Store.KV().Delete(ctx, keyKey+h.Key, store.AnyRevision), store.ErrNotFound))
		} else if same, getErr := s.parts.Store.KV().Get(ctx, sameKey+h.Sum); getErr == nil && string(same.Value) == h.ID {
			err = errors.Join(err, ignore(s.parts.Store.KV().Delete(ctx, same.Key, same.Revision), store.ErrNotFound, store.ErrConflict))
		}
	}
	if err != nil && ctx.Err() == nil {
		s.log.Warn("old runs of scripts were not removed", "err", err)
	}
}
