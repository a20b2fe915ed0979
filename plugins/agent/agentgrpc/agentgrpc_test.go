package agentgrpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/skillet-run/skillet/plugins/agent"
	"github.com/skillet-run/skillet/plugins/agent/agentgrpc"
	"github.com/skillet-run/skillet/plugins/agent/agentpb"
	"github.com/skillet-run/skillet/plugins/agent/agenttest"
	"github.com/skillet-run/skillet/plugins/agent/builtin"
	"github.com/skillet-run/skillet/plugins/provider"
	"github.com/skillet-run/skillet/plugins/wire"
)

// serve has a server on loopback, and returns a connection to it and the server.
func serve(t *testing.T, register func(*grpc.Server)) (*grpc.ClientConn, *grpc.Server) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(wire.ServerOptions()...)
	register(s)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn, s
}

func remote(t *testing.T, a agent.Agent) *agentgrpc.Client {
	t.Helper()
	conn, _ := serve(t, func(s *grpc.Server) { agentgrpc.Register(s, a) })
	return agentgrpc.NewClient(conn)
}

func TestConformance(t *testing.T) {
	t.Parallel()
	agenttest.Test(t, func(t *testing.T) agent.Agent { return remote(t, builtin.New(nil, "1.0.0")) }, agenttest.Settings{})
}

// acts is an agent whose Run is a function.
type acts struct {
	agent.Agent
	run  func(ctx context.Context, t agent.Task, h agent.Host) (agent.Report, error)
	plan agent.Plan
}

func (a acts) Run(ctx context.Context, t agent.Task, h agent.Host) (agent.Report, error) {
	return a.run(ctx, t, h)
}

func (a acts) Plan(context.Context, agent.Task, agent.Host) (agent.Plan, error) { return a.plan, nil }

func wholeTask() agent.Task {
	temperature := 0.5
	return agent.Task{
		ID: "t", Goal: "g", Agent: "a", SystemPrompt: "s", Tier: "fast", Iterations: 3, MaxTokens: 4, Temperature: &temperature, Thinking: 5,
		Context: []agent.Passage{{Source: "memory:1", Text: "m"}}, Tools: []provider.Tool{{Name: "n", Description: "d", InputSchema: json.RawMessage(`{}`)}},
		Agents: []agent.Info{{Name: "i", Version: "v", Description: "d"}}, Constraints: []string{"c"}, Validation: json.RawMessage(`{"x":1}`),
		Deadline: time.UnixMilli(1_800_000_000_123).UTC(),
	}
}

// TestNothingIsLost sends every field of every type there and back.
func TestNothingIsLost(t *testing.T) {
	t.Parallel()
	temperature, percent := 1.5, 40.0
	request := provider.Request{
		System: "s", Messages: []provider.Message{{Role: "assistant", Text: "t", Calls: []provider.ToolCall{{ID: "i", Name: "n", Input: json.RawMessage(`{}`)}}, Opaque: json.RawMessage(`1`)}, {Role: "tool", CallID: "i", Failed: true}},
		Tools: []provider.Tool{{Name: "n", InputSchema: json.RawMessage(`{}`)}}, Schema: json.RawMessage(`{}`), Thinking: 1, MaxTokens: 2, Temperature: &temperature, Stop: []string{"x"},
	}
	asked := []agenttest.Record{
		{Method: "think", Thought: &agent.Thought{Tier: "smart", Purpose: "p", Request: request}},
		{Method: "call", Call: &agent.Call{Tool: "n", Input: json.RawMessage(`{"a":1}`)}},
		{Method: "recall", Query: "q"},
		{Method: "remember", Memory: &agent.Memory{Area: "main", Text: "t", Tags: []string{"g"}}},
		{Method: "progress", Progress: &agent.Progress{Message: "m", Percent: &percent}},
		{Method: "propose", Skill: &agent.Skill{Files: map[string][]byte{"a": []byte("b"), "empty": {}}, Rationale: "r"}},
	}
	report := agent.Report{
		Done: true, Answer: "a", Confidence: 0.25, Decisions: []string{"d"}, NextSteps: []string{"n"}, Proposals: []string{"p"},
		Sources: []agent.Passage{{Source: "s", Text: "t"}}, Problem: "p",
	}
	plan := agent.Plan{Steps: []agent.Step{{ID: "i", Title: "t", Tool: "n", Input: json.RawMessage(`{}`), Agent: "a", Goal: "g", After: []string{"x"}, Approval: true}}, Stop: []string{"s"}, Risk: "low", Reason: "r"}
	response := provider.Response{Model: "m", Text: "t", Thinking: "k", Finish: "stop", Usage: provider.Usage{InputTokens: 1, OutputTokens: 2, ThinkingTokens: 3, CachedTokens: 4, Estimated: true}, Opaque: json.RawMessage(`{}`)}
	result := agent.ToolResult{OK: true, Text: "t", Kind: "k", Untrusted: true}
	h := &agenttest.Host{
		Model: agenttest.Script(response),
		Tool:  func(context.Context, int, agent.Call) (agent.ToolResult, error) { return result, nil },
		Notes: []agent.Passage{{Source: "memory:1", Text: "n"}, {Source: "memory:2", Text: "o"}},
	}
	client := remote(t, acts{plan: plan, run: func(ctx context.Context, task agent.Task, h agent.Host) (agent.Report, error) {
		equal(t, task, wholeTask())
		r, err := h.Think(ctx, *asked[0].Thought)
		equal(t, r, response)
		c, err2 := h.Call(ctx, *asked[1].Call)
		equal(t, c, result)
		p, err3 := h.Recall(ctx, "q", 1)
		equal(t, p, []agent.Passage{{Source: "memory:1", Text: "n"}})
		id, err4 := h.Propose(ctx, *asked[5].Skill)
		equal(t, id, "proposal-1")
		return report, errors.Join(err, err2, err3, err4, h.Remember(ctx, *asked[3].Memory), h.Progress(ctx, *asked[4].Progress))
	}})
	got, err := client.Run(t.Context(), wholeTask(), h)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, got, report)
	records := h.Records()
	equal(t, []agenttest.Record{records[0], records[1], records[2], records[4], records[5], records[3]}, asked)
	p, err := client.Plan(t.Context(), wholeTask(), h)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, p, plan)
}

func equal[T any](t *testing.T, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestErrorsKeepTheirMeaning has a host fail in each way.
func TestErrorsKeepTheirMeaning(t *testing.T) {
	t.Parallel()
	var refusal *agent.HostError
	var modelError *provider.Error
	for name, c := range map[string]struct {
		err   error
		right func(error) bool
	}{
		"cancelled": {context.Canceled, func(err error) bool { return errors.Is(err, context.Canceled) }},
		"deadline":  {context.DeadlineExceeded, func(err error) bool { return errors.Is(err, context.DeadlineExceeded) }},
		"refused":   {errors.New("the budget is used up"), func(err error) bool { return errors.As(err, &refusal) && refusal.Message == "the budget is used up" }},
		"model": {&provider.Error{Class: provider.ClassRateLimited, Message: "later", RetryAfter: 3 * time.Second}, func(err error) bool {
			return errors.As(err, &modelError) && *modelError == provider.Error{Class: provider.ClassRateLimited, Message: "later", RetryAfter: 3 * time.Second}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			client := remote(t, acts{run: func(ctx context.Context, _ agent.Task, h agent.Host) (agent.Report, error) {
				_, err := h.Think(ctx, agent.Thought{Purpose: "p"})
				if !c.right(err) {
					t.Errorf("the agent sees %v", err)
				}
				return agent.Report{Done: true}, nil
			}})
			if _, err := client.Run(t.Context(), wholeTask(), &agenttest.Host{Refuse: c.err}); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestCancellationBothWays(t *testing.T) {
	t.Parallel()
	started := make(chan struct{})
	h := &agenttest.Host{Model: func(ctx context.Context, n int, _ agent.Thought) (provider.Response, error) {
		if n == 1 {
			return agenttest.Says("second"), nil
		}
		close(started)
		<-ctx.Done() // only the agent ends this
		return provider.Response{}, ctx.Err()
	}}
	client := remote(t, acts{run: func(ctx context.Context, _ agent.Task, h agent.Host) (agent.Report, error) {
		one, cancel := context.WithCancel(ctx)
		go func() { <-started; cancel() }()
		if _, err := h.Think(one, agent.Thought{Purpose: "p"}); !errors.Is(err, context.Canceled) {
			t.Errorf("the agent sees %v", err)
		}
		r, err := h.Think(ctx, agent.Thought{Purpose: "p"})
		return agent.Report{Done: true, Answer: r.Text}, err
	}})
	if r, err := client.Run(t.Context(), wholeTask(), h); err != nil || r.Answer != "second" {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestDeadlinesReachTheAgent does without waiting for one.
func TestDeadlinesReachTheAgent(t *testing.T) {
	t.Parallel()
	client := remote(t, acts{run: func(ctx context.Context, _ agent.Task, _ agent.Host) (agent.Report, error) {
		_, ok := ctx.Deadline()
		return agent.Report{Done: ok}, nil
	}})
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	if r, err := client.Run(ctx, wholeTask(), &agenttest.Host{}); err != nil || !r.Done {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestTheHostEndsWithTheRun keeps a host beyond its Run, in the agent's process.
func TestTheHostEndsWithTheRun(t *testing.T) {
	t.Parallel()
	kept := make(chan agent.Host, 1)
	client := remote(t, acts{run: func(_ context.Context, _ agent.Task, h agent.Host) (agent.Report, error) {
		kept <- h
		return agent.Report{Done: true}, nil
	}})
	h := &agenttest.Host{}
	if _, err := client.Run(t.Context(), wholeTask(), h); err != nil {
		t.Fatal(err)
	}
	late := <-kept
	if _, err := late.Call(context.Background(), agent.Call{Tool: "n", Input: json.RawMessage(`{}`)}); err == nil {
		t.Error("the host was asked after its task")
	}
	if n := len(h.Records()); n != 0 {
		t.Errorf("the host has heard %d questions", n)
	}
}

// TestEachTaskHasItsOwnHost runs two at a time.
func TestEachTaskHasItsOwnHost(t *testing.T) {
	t.Parallel()
	both := make(chan struct{}, 2)
	client := remote(t, acts{run: func(ctx context.Context, task agent.Task, h agent.Host) (agent.Report, error) {
		both <- struct{}{}
		for len(both) < 2 && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		_, err := h.Call(ctx, agent.Call{Tool: task.ID, Input: json.RawMessage(`{}`)})
		return agent.Report{Done: true}, err
	}})
	hosts := map[string]*agenttest.Host{"one": {}, "two": {}}
	errs := make(chan error, 2)
	for id, h := range hosts {
		go func() {
			_, err := client.Run(t.Context(), agent.Task{ID: id, Goal: "g"}, h)
			errs <- err
		}()
	}
	if err := errors.Join(<-errs, <-errs); err != nil {
		t.Fatal(err)
	}
	for id, h := range hosts {
		if calls := h.Called(); len(calls) != 1 || calls[0].Tool != id {
			t.Errorf("the host of %s was asked %v", id, calls)
		}
	}
}

func TestMessagesAreBounded(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", agentgrpc.MaxMessage)
	h := &agenttest.Host{Tool: func(context.Context, int, agent.Call) (agent.ToolResult, error) {
		return agent.ToolResult{OK: true, Text: large}, nil
	}}
	client := remote(t, acts{run: func(ctx context.Context, _ agent.Task, h agent.Host) (agent.Report, error) {
		if err := h.Remember(ctx, agent.Memory{Text: large}); err == nil {
			t.Error("a question that is too large was asked")
		}
		if _, err := h.Call(ctx, agent.Call{Tool: "n", Input: json.RawMessage(`{}`)}); err == nil || !strings.Contains(err.Error(), "the most there can be") {
			t.Errorf("an answer that is too large: %v", err)
		}
		if err := h.Progress(ctx, agent.Progress{Message: "still there"}); err != nil {
			t.Error(err)
		}
		return agent.Report{Done: true, Answer: large}, nil
	}})
	if _, err := client.Run(t.Context(), wholeTask(), h); err == nil {
		t.Error("a report that is too large was taken")
	}
	if _, err := client.Run(t.Context(), agent.Task{Goal: large}, h); err == nil {
		t.Error("a task that is too large was sent")
	}
}

// raw is an agent that writes its messages itself.
type raw struct {
	agentpb.UnimplementedAgentServer
	run func(grpc.BidiStreamingServer[agentpb.HostMessage, agentpb.AgentMessage]) error
}

func (r raw) Run(stream grpc.BidiStreamingServer[agentpb.HostMessage, agentpb.AgentMessage]) error {
	if _, err := stream.Recv(); err != nil {
		return err
	}
	return r.run(stream)
}

func question(id uint64) *agentpb.AgentMessage {
	q := &agentpb.Question{Id: id, Question: &agentpb.Question_Call{Call: &agentpb.AgentCall{Tool: "n", Input: []byte(`{}`)}}}
	return &agentpb.AgentMessage{Message: &agentpb.AgentMessage_Question{Question: q}}
}

func reported() *agentpb.AgentMessage {
	return &agentpb.AgentMessage{Message: &agentpb.AgentMessage_Report{Report: &agentpb.AgentReport{Done: true}}}
}

// TestBrokenAgents breaks the contract in each way. What the host is asked with is
// counted.
func TestBrokenAgents(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		messages []*agentpb.AgentMessage
		want     string
		asked    int
	}{
		{"nothing", nil, "broke the contract", 0},
		{"empty", []*agentpb.AgentMessage{{}}, "without content", 0},
		{"after the report", []*agentpb.AgentMessage{reported(), question(1)}, "goes on after the end", 0},
		{"numbers", []*agentpb.AgentMessage{question(7), reported()}, "not counted", 0},
		{"a plan", []*agentpb.AgentMessage{{Message: &agentpb.AgentMessage_Plan{Plan: &agentpb.AgentPlan{}}}}, "broke the contract", 0},
		{"a cancel of nothing", []*agentpb.AgentMessage{{Message: &agentpb.AgentMessage_Cancel{Cancel: 9}}, reported()}, "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn, _ := serve(t, func(s *grpc.Server) {
				agentpb.RegisterAgentServer(s, raw{run: func(stream grpc.BidiStreamingServer[agentpb.HostMessage, agentpb.AgentMessage]) error {
					for _, m := range c.messages {
						if err := stream.Send(m); err != nil {
							return err
						}
					}
					return nil
				}})
			})
			h := &agenttest.Host{}
			_, err := agentgrpc.NewClient(conn).Run(t.Context(), wholeTask(), h)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if n := len(h.Records()); n != c.asked {
				t.Errorf("the host was asked %d times", n)
			}
		})
	}
}

// TestQuestionsAreBounded asks more at once than there may be.
func TestQuestionsAreBounded(t *testing.T) {
	t.Parallel()
	var refused atomic.Int64
	release := make(chan struct{})
	conn, _ := serve(t, func(s *grpc.Server) {
		agentpb.RegisterAgentServer(s, raw{run: func(stream grpc.BidiStreamingServer[agentpb.HostMessage, agentpb.AgentMessage]) error {
			const n = agentgrpc.MaxQuestions + 5
			for i := range n {
				if err := stream.Send(question(uint64(i + 1))); err != nil {
					return err
				}
			}
			for i := range n {
				m, err := stream.Recv()
				if err != nil {
					return err
				}
				if m.GetAnswer().GetFailure() != nil {
					refused.Add(1)
				}
				if i == 4 {
					close(release)
				}
			}
			return stream.Send(reported())
		}})
	})
	h := &agenttest.Host{Tool: func(context.Context, int, agent.Call) (agent.ToolResult, error) {
		<-release
		return agent.ToolResult{OK: true}, nil
	}}
	if _, err := agentgrpc.NewClient(conn).Run(t.Context(), wholeTask(), h); err != nil {
		t.Fatal(err)
	}
	if refused.Load() != 5 || len(h.Called()) != agentgrpc.MaxQuestions {
		t.Errorf("%d refused, %d called", refused.Load(), len(h.Called()))
	}
}

// TestNoMethodRunsOn has an agent report while the host still works for it.
func TestNoMethodRunsOn(t *testing.T) {
	t.Parallel()
	var running atomic.Bool
	begun := make(chan struct{})
	conn, _ := serve(t, func(s *grpc.Server) {
		agentpb.RegisterAgentServer(s, raw{run: func(stream grpc.BidiStreamingServer[agentpb.HostMessage, agentpb.AgentMessage]) error {
			if err := stream.Send(question(1)); err != nil {
				return err
			}
			<-begun
			return stream.Send(reported())
		}})
	})
	h := &agenttest.Host{Tool: func(ctx context.Context, _ int, _ agent.Call) (agent.ToolResult, error) {
		running.Store(true)
		close(begun)
		<-ctx.Done()
		running.Store(false)
		return agent.ToolResult{}, ctx.Err()
	}}
	if _, err := agentgrpc.NewClient(conn).Run(t.Context(), wholeTask(), h); err != nil {
		t.Fatal(err)
	}
	if running.Load() {
		t.Error("Run has returned, and the host still works")
	}
}

func TestADeadAgentIsGone(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{})
	conn, server := serve(t, func(s *grpc.Server) {
		agentgrpc.Register(s, acts{run: func(ctx context.Context, _ agent.Task, _ agent.Host) (agent.Report, error) {
			close(begun)
			<-ctx.Done()
			return agent.Report{}, ctx.Err()
		}})
	})
	go func() { <-begun; server.Stop() }()
	if _, err := agentgrpc.NewClient(conn).Run(t.Context(), wholeTask(), &agenttest.Host{}); !errors.Is(err, agent.ErrExited) {
		t.Errorf("got %v", err)
	}
}

func TestTheEndOfTheCallerIsSaid(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	client := remote(t, acts{run: func(ctx context.Context, _ agent.Task, _ agent.Host) (agent.Report, error) {
		cancel()
		<-ctx.Done()
		return agent.Report{}, errors.New("something else")
	}})
	if _, err := client.Run(ctx, wholeTask(), &agenttest.Host{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestAnAgentThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	conn, _ := serve(t, func(s *grpc.Server) {
		agentpb.RegisterAgentServer(s, raw{run: func(stream grpc.BidiStreamingServer[agentpb.HostMessage, agentpb.AgentMessage]) error {
			if err := stream.Send(reported()); err != nil {
				return err
			}
			<-stream.Context().Done()
			return stream.Context().Err()
		}})
	})
	_, err := agentgrpc.NewImpatientClient(conn, 50*time.Millisecond).Run(t.Context(), wholeTask(), &agenttest.Host{})
	if err == nil || errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "does not end") {
		t.Errorf("got %v", err)
	}
}
