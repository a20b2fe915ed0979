package agentgrpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/skillet-run/skillet/plugins/agent"
	"github.com/skillet-run/skillet/plugins/agent/agentpb"
	"github.com/skillet-run/skillet/plugins/provider/providerpb"
	"github.com/skillet-run/skillet/plugins/wire"
)

// Client is an agent that is served at the other end of a connection.
//
// The host that Plan and Run are given is asked only while they run, and when they
// return, none of its methods is running any more.
type Client struct {
	remote agentpb.AgentClient
	linger time.Duration // how long a stream may stay open behind its last message
}

// NewClient returns the agent served at the other end of a connection.
func NewClient(conn grpc.ClientConnInterface) *Client {
	return &Client{agentpb.NewAgentClient(conn), questionTime}
}

// Info implements agent.Agent.
func (c *Client) Info(ctx context.Context) (agent.Info, error) {
	ctx, cancel := context.WithTimeout(ctx, questionTime)
	defer cancel()
	p, err := c.remote.Info(ctx, &providerpb.Empty{}, wire.CallOptions()...)
	return decodeInfo(p), received(ctx, err)
}

// Health implements agent.Agent.
func (c *Client) Health(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, questionTime)
	defer cancel()
	_, err := c.remote.Health(ctx, &providerpb.Empty{}, wire.CallOptions()...)
	return received(ctx, err)
}

// Plan implements agent.Agent.
func (c *Client) Plan(ctx context.Context, t agent.Task, h agent.Host) (agent.Plan, error) {
	last, err := c.converse(ctx, c.remote.Plan, t, h)
	if err != nil {
		return agent.Plan{}, fmt.Errorf("plan task %s: %w", t.ID, err)
	}
	p, ok := last.GetMessage().(*agentpb.AgentMessage_Plan)
	if !ok {
		return agent.Plan{}, fmt.Errorf("plan task %s: %w", t.ID, errNoAnswer)
	}
	return decodePlan(p.Plan)
}

// Run implements agent.Agent.
func (c *Client) Run(ctx context.Context, t agent.Task, h agent.Host) (agent.Report, error) {
	last, err := c.converse(ctx, c.remote.Run, t, h)
	if err != nil {
		return agent.Report{}, fmt.Errorf("run task %s: %w", t.ID, err)
	}
	r, ok := last.GetMessage().(*agentpb.AgentMessage_Report)
	if !ok {
		return agent.Report{}, fmt.Errorf("run task %s: %w", t.ID, errNoAnswer)
	}
	return decodeReport(r.Report), nil
}

var (
	errNoAnswer = errors.New("the agent broke the contract: it ended with something else than what was asked for")
	errMore     = errors.New("the agent broke the contract: it goes on after the end")
	errOpen     = errors.New("the agent broke the contract: it does not end after the end")
	errOrder    = errors.New("the agent broke the contract: its questions are not counted from 1")
	errEmpty    = errors.New("the agent broke the contract: it sent a message without content")
)

type (
	toAgent   = grpc.BidiStreamingClient[agentpb.HostMessage, agentpb.AgentMessage]
	openAgent = func(context.Context, ...grpc.CallOption) (toAgent, error)
)

// converse sends a task, answers what is asked, and returns the last message.
func (c *Client) converse(ctx context.Context, open openAgent, t agent.Task, h agent.Host) (*agentpb.AgentMessage, error) {
	task := &agentpb.HostMessage{Message: &agentpb.HostMessage_Task{Task: encodeTask(t)}}
	if err := wire.Fits("the task", task); err != nil {
		return nil, err
	}
	inner, cancel := context.WithCancel(ctx)
	s := session{host: h, waiting: map[uint64]context.CancelFunc{}}
	defer s.working.Wait() // after cancel: no method of the host runs on
	defer cancel()
	var err error
	if s.stream, err = open(inner, wire.CallOptions()...); err == nil {
		err = s.send(task)
	}
	if err != nil && !errors.Is(err, io.EOF) { // which Recv explains
		return nil, received(ctx, err)
	}
	last, err := s.serve(inner)
	if err == nil {
		err = s.finish(c.linger, cancel)
	}
	if errors.Is(err, io.EOF) {
		err = errNoAnswer
	}
	return last, received(ctx, err)
}

// session is one conversation, on the side of the host.
type session struct {
	host    agent.Host
	stream  toAgent
	working sync.WaitGroup
	last    uint64 // question

	sending sync.Mutex
	mu      sync.Mutex
	waiting map[uint64]context.CancelFunc
}

func (s *session) send(m *agentpb.HostMessage) error {
	s.sending.Lock()
	defer s.sending.Unlock()
	return s.stream.Send(m)
}

// serve reads until the last message.
func (s *session) serve(ctx context.Context) (*agentpb.AgentMessage, error) {
	for {
		m, err := s.stream.Recv()
		if err != nil {
			return nil, err
		}
		switch m := m.GetMessage().(type) {
		case *agentpb.AgentMessage_Question:
			if err := s.begin(ctx, m.Question); err != nil {
				return nil, err
			}
		case *agentpb.AgentMessage_Cancel:
			s.end(m.Cancel)
		case nil:
			return nil, errEmpty
		default:
			return &agentpb.AgentMessage{Message: m}, nil
		}
	}
}

// finish makes sure that nothing follows the last message, and that the stream
// ends. What is still being asked is not wanted any more.
func (s *session) finish(linger time.Duration, cancel context.CancelFunc) error {
	waiting := time.AfterFunc(linger, cancel)
	_, err := s.stream.Recv()
	late := !waiting.Stop()
	switch {
	case err == nil:
		return errMore
	case errors.Is(err, io.EOF):
		return nil
	case late:
		return errOpen
	}
	return err
}

// begin has a question answered in a goroutine of its own, as long as there are
// not too many.
func (s *session) begin(ctx context.Context, q *agentpb.Question) error {
	if s.last++; q.GetId() != s.last {
		return errOrder
	}
	ctx, cancel := context.WithCancel(ctx)
	if !s.admit(q.GetId(), cancel) {
		cancel()
		busy := &agentpb.Failure{Kind: failRefused, Message: fmt.Sprintf("%d questions wait for their answers already", MaxQuestions)}
		return s.reply(&agentpb.Answer{Id: q.GetId(), Answer: &agentpb.Answer_Failure{Failure: busy}})
	}
	s.working.Go(func() {
		a := answerTo(ctx, s.host, q)
		a.Id = q.GetId()
		s.end(q.GetId()) // before the agent can know, and asks the next
		_ = s.reply(a)   // the loop that reads says why it cannot be sent
	})
	return nil
}

func (s *session) admit(id uint64, cancel context.CancelFunc) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) >= MaxQuestions {
		return false
	}
	s.waiting[id] = cancel
	return true
}

// end ends a question, if it is still asked.
func (s *session) end(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cancel, ok := s.waiting[id]; ok {
		cancel()
		delete(s.waiting, id)
	}
}

// reply sends an answer, or that it is too large.
func (s *session) reply(a *agentpb.Answer) error {
	m := &agentpb.HostMessage{Message: &agentpb.HostMessage_Answer{Answer: a}}
	if err := wire.Fits("the answer", m); err != nil {
		a.Answer = &agentpb.Answer_Failure{Failure: encodeFailure(err)}
	}
	if err := s.send(m); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}
