package agentgrpc

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/skillet-run/skillet/plugins/agent"
	"github.com/skillet-run/skillet/plugins/agent/agentpb"
	"github.com/skillet-run/skillet/plugins/provider"
	"github.com/skillet-run/skillet/plugins/provider/providergrpc"
	"github.com/skillet-run/skillet/plugins/provider/providerpb"
	"github.com/skillet-run/skillet/plugins/wire"
)

// Register makes a server answer for an agent. The context of a call ends when its
// caller does not wait any more.
func Register(s grpc.ServiceRegistrar, a agent.Agent) {
	agentpb.RegisterAgentServer(s, &server{agent: a})
}

type server struct {
	agentpb.UnimplementedAgentServer
	agent agent.Agent
}

// Info answers for agent.Agent.
func (s *server) Info(ctx context.Context, _ *providerpb.Empty) (*agentpb.AgentInfo, error) {
	info, err := s.agent.Info(ctx)
	return encodeInfo(info), sent(err)
}

// Health answers for agent.Agent.
func (s *server) Health(ctx context.Context, _ *providerpb.Empty) (*providerpb.Empty, error) {
	return &providerpb.Empty{}, sent(s.agent.Health(ctx))
}

type fromAgent = grpc.BidiStreamingServer[agentpb.HostMessage, agentpb.AgentMessage]

// Plan answers for agent.Agent.
func (s *server) Plan(stream fromAgent) error {
	return serve(stream, func(ctx context.Context, t agent.Task, h agent.Host) (*agentpb.AgentMessage, error) {
		p, err := s.agent.Plan(ctx, t, h)
		return &agentpb.AgentMessage{Message: &agentpb.AgentMessage_Plan{Plan: encodePlan(p)}}, err
	})
}

// Run answers for agent.Agent.
func (s *server) Run(stream fromAgent) error {
	return serve(stream, func(ctx context.Context, t agent.Task, h agent.Host) (*agentpb.AgentMessage, error) {
		r, err := s.agent.Run(ctx, t, h)
		return &agentpb.AgentMessage{Message: &agentpb.AgentMessage_Report{Report: encodeReport(r)}}, err
	})
}

// serve has an agent work on the task that a stream begins with, and sends what
// it ends with.
func serve(stream fromAgent, act func(context.Context, agent.Task, agent.Host) (*agentpb.AgentMessage, error)) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	t, err := decodeTask(first.GetTask())
	if err != nil {
		return status.Error(codes.InvalidArgument, "the task: "+err.Error())
	}
	ctx, cancel := context.WithCancelCause(stream.Context())
	defer cancel(nil)
	h := &remoteHost{stream: stream, slots: make(chan struct{}, MaxQuestions), pending: map[uint64]chan *agentpb.Answer{}}
	go func() { cancel(h.receive()) }()
	last, err := act(ctx, t, h)
	h.close()
	if err == nil {
		err = wire.Fits("what the agent ended with", last)
	}
	if err != nil {
		return sent(err)
	}
	return stream.Send(last)
}

// remoteHost is the host of one conversation, on the side of the agent.
type remoteHost struct {
	stream fromAgent
	slots  chan struct{}

	sending sync.Mutex // questions are sent in the order of their numbers
	last    uint64
	over    bool

	mu      sync.Mutex
	pending map[uint64]chan *agentpb.Answer
}

// receive hands out answers until there are no more.
func (h *remoteHost) receive() error {
	for {
		m, err := h.stream.Recv()
		if err != nil {
			return err
		}
		if waiting := h.taken(m.GetAnswer().GetId()); waiting != nil {
			waiting <- m.GetAnswer() // it has room for one
		}
	}
}

// taken is who waits for the answer to a question, and does not any more; nil for
// nobody.
func (h *remoteHost) taken(id uint64) chan *agentpb.Answer {
	h.mu.Lock()
	defer h.mu.Unlock()
	waiting := h.pending[id]
	delete(h.pending, id)
	return waiting
}

func (h *remoteHost) await(id uint64) chan *agentpb.Answer {
	h.mu.Lock()
	defer h.mu.Unlock()
	waiting := make(chan *agentpb.Answer, 1)
	h.pending[id] = waiting
	return waiting
}

// close ends the conversation: nothing can be asked any more.
func (h *remoteHost) close() {
	h.sending.Lock()
	defer h.sending.Unlock()
	h.over = true
}

// ask asks a question and waits for its answer, or until nobody wants it.
func (h *remoteHost) ask(ctx context.Context, q *agentpb.Question) (*agentpb.Answer, error) {
	select {
	case h.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-h.stream.Context().Done():
		return nil, h.stream.Context().Err()
	}
	defer func() { <-h.slots }()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	waiting, err := h.send(q)
	if err != nil {
		return nil, err
	}
	select {
	case a := <-waiting:
		return a, failureOf(a)
	case <-ctx.Done():
		return nil, h.giveUp(ctx, q.GetId(), waiting)
	case <-h.stream.Context().Done():
		return nil, h.stream.Context().Err()
	}
}

func failureOf(a *agentpb.Answer) error {
	if f := a.GetFailure(); f != nil {
		return decodeFailure(f)
	}
	return nil
}

// giveUp tells the host that a question is not wanted any more, and waits until it
// has let go of it, so that its place is free.
func (h *remoteHost) giveUp(ctx context.Context, id uint64, waiting chan *agentpb.Answer) error {
	h.sending.Lock()
	if !h.over {
		// That it cannot be sent ends the stream, for which the select waits.
		_ = h.stream.Send(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_Cancel{Cancel: id}})
	}
	h.sending.Unlock()
	select {
	case <-waiting:
	case <-h.stream.Context().Done():
	}
	return ctx.Err()
}

func (h *remoteHost) send(q *agentpb.Question) (chan *agentpb.Answer, error) {
	h.sending.Lock()
	defer h.sending.Unlock()
	if h.over {
		return nil, agent.ErrEnded
	}
	q.Id = h.last + 1
	m := &agentpb.AgentMessage{Message: &agentpb.AgentMessage_Question{Question: q}}
	if err := wire.Fits("the question", m); err != nil {
		return nil, err
	}
	h.last++
	waiting := h.await(q.Id)
	if err := h.stream.Send(m); err != nil {
		return nil, fmt.Errorf("ask the host: %w", err)
	}
	return waiting, nil
}

// Think implements agent.Host.
func (h *remoteHost) Think(ctx context.Context, t agent.Thought) (provider.Response, error) {
	a, err := h.ask(ctx, &agentpb.Question{Question: &agentpb.Question_Think{Think: encodeThought(t)}})
	if err != nil {
		return provider.Response{}, err
	}
	if a.GetThought() == nil {
		return provider.Response{}, errOther
	}
	return providergrpc.DecodeResponse(a.GetThought())
}

// errOther is an answer to another question than was asked.
var errOther = errors.New("the host broke the contract: its answer is of another kind than the question")

// Call implements agent.Host.
func (h *remoteHost) Call(ctx context.Context, c agent.Call) (agent.ToolResult, error) {
	a, err := h.ask(ctx, &agentpb.Question{Question: &agentpb.Question_Call{Call: encodeCall(c)}})
	if err != nil {
		return agent.ToolResult{}, err
	}
	if a.GetResult() == nil {
		return agent.ToolResult{}, errOther
	}
	return decodeResult(a.GetResult()), nil
}

// Calls implements agent.Parallel. A host that is not parallel makes them one
// after the other.
func (h *remoteHost) Calls(ctx context.Context, calls []agent.Call) ([]agent.ToolResult, error) {
	var all []agent.ToolResult
	for len(calls) > 0 {
		n := min(len(calls), MaxQuestions)
		q := &agentpb.AgentCalls{Calls: wire.Each(calls[:n], encodeCall)}
		a, err := h.ask(ctx, &agentpb.Question{Question: &agentpb.Question_Calls{Calls: q}})
		if err != nil {
			return nil, err
		}
		got := a.GetResults().GetResults()
		if len(got) != n {
			return nil, errOther
		}
		all = append(all, wire.Each(got, decodeResult)...)
		calls = calls[n:]
	}
	return all, nil
}

// Recall implements agent.Host.
func (h *remoteHost) Recall(ctx context.Context, query string, limit int) ([]agent.Passage, error) {
	a, err := h.ask(ctx, &agentpb.Question{Question: &agentpb.Question_Recall{Recall: &agentpb.Recall{Query: wire.Text(query), Limit: int64(limit)}}})
	return wire.Each(a.GetPassages().GetPassages(), decodePassage), err
}

// Remember implements agent.Host.
func (h *remoteHost) Remember(ctx context.Context, m agent.Memory) error {
	_, err := h.ask(ctx, &agentpb.Question{Question: &agentpb.Question_Remember{Remember: encodeMemory(m)}})
	return err
}

// Progress implements agent.Host.
func (h *remoteHost) Progress(ctx context.Context, p agent.Progress) error {
	_, err := h.ask(ctx, &agentpb.Question{Question: &agentpb.Question_Progress{Progress: &agentpb.AgentProgress{Message: wire.Text(p.Message), Percent: p.Percent}}})
	return err
}

// Propose implements agent.Host.
func (h *remoteHost) Propose(ctx context.Context, s agent.Skill) (string, error) {
	a, err := h.ask(ctx, &agentpb.Question{Question: &agentpb.Question_Propose{Propose: encodeSkill(s)}})
	if err != nil {
		return "", err
	}
	return a.GetProposal(), nil
}
