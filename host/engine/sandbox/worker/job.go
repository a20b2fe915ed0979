package worker

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// A Job is work behind the same walls that is neither compiling nor running a
// module: reading what a stranger wrote with a library that was not made for it.
type Job struct {
	// Argument is the only argument of the process. Its main knows by it that it has
	// to call [Serve].
	Argument string
	// MemoryBytes bounds the data of the process.
	MemoryBytes uint64
	// Time is how long the job may take, and how much processor time.
	Time time.Duration
	// OutputBytes is how long its output may be.
	OutputBytes int
}

// Work is what a process does for a [Job]. It has no files: what it has to look at
// besides its input it asks for, from any goroutine.
type Work func(input []byte, ask func(question []byte) []byte) (output []byte)

// Serve is the whole life of a process that does a [Job]. It returns its exit code.
func Serve(work Work) int { return serve(work, nil) }

// Do has a process of its own do a job, and ends it. answer is called for what the
// process asks, one question after another; an error of it ends the job, and Do
// returns it. A question is believed no more than the input.
//
// Errors: [ErrDied] for a job that crashed, took too much memory or too long;
// [ErrProtocol]; ctx's error; [ErrClosed].
func (p *Pool) Do(ctx context.Context, j Job, input []byte, answer func(question []byte) ([]byte, error)) ([]byte, error) {
	select {
	case p.turns <- struct{}{}:
		defer func() { <-p.turns }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	proc, err := p.start(j.Argument)
	if err != nil {
		return nil, err
	}
	defer p.drop(proc)
	timed, cancel := context.WithTimeout(ctx, j.Time)
	defer cancel()
	defer context.AfterFunc(timed, proc.kill)()
	output, err := proc.do(j, input, answer)
	switch {
	case err == nil:
		return output, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case timed.Err() != nil:
		return nil, fmt.Errorf("%w: it took longer than %s", ErrDied, j.Time)
	}
	return nil, err
}

// do bounds the process, and answers it until it is done.
func (p *process) do(j Job, input []byte, answer func([]byte) ([]byte, error)) ([]byte, error) {
	err := p.setUp(setup{Memory: j.MemoryBytes, CPU: uint64(j.Time/time.Second) + 1})
	if err != nil {
		return nil, p.explain(err)
	}
	p.next++
	if err := p.wire.send(kindJob, p.next, &job{input}); err != nil {
		return nil, p.explain(err)
	}
	for {
		f, err := p.wire.receive(max(j.OutputBytes, smallBody) + smallBody)
		if err != nil {
			return nil, p.explain(err)
		}
		if f.kind == kindDone && f.call == p.next {
			var d jobDone
			if err := decode(f.body, &d); err != nil {
				return nil, p.explain(err)
			}
			return d.Output, nil
		}
		if err := p.answer(f, answer); err != nil {
			return nil, err
		}
	}
}

// answer answers one question.
func (p *process) answer(f frame, answer func([]byte) ([]byte, error)) error {
	if f.kind != kindQuestion || f.call != p.next || len(f.body) > smallBody {
		return p.explain(fmt.Errorf("%w: kind %d of call %d within a job", errMalformed, f.kind, f.call))
	}
	var q jobQuestion
	if err := decode(f.body, &q); err != nil {
		return p.explain(err)
	}
	text, err := answer(q.Text)
	if err != nil {
		return err
	}
	if err := p.wire.send(kindAnswer, p.next, &jobAnswer{text}); err != nil {
		return p.explain(err)
	}
	return nil
}

// do does a job.
func (c *child) do(j *job) error {
	if c.work == nil {
		return fmt.Errorf("%w: a job for a process that does none", errMalformed)
	}
	var mu sync.Mutex
	output := c.work(j.Input, func(text []byte) []byte {
		mu.Lock()
		defer mu.Unlock()
		var r jobAnswer
		c.ask(kindQuestion, &jobQuestion{text}, kindAnswer, &r)
		return r.Text
	})
	return c.reply(kindDone, &jobDone{output})
}
