package agentgrpc

import (
	"context"

	"github.com/skillet-run/skillet/plugins/agent"
	"github.com/skillet-run/skillet/plugins/agent/agentpb"
	"github.com/skillet-run/skillet/plugins/provider"
	"github.com/skillet-run/skillet/plugins/provider/providergrpc"
	"github.com/skillet-run/skillet/plugins/provider/providerpb"
	"github.com/skillet-run/skillet/plugins/wire"
)

// answerTo asks the host what an agent asks. The fields of a question that no row
// has here cannot be asked.
func answerTo(ctx context.Context, h agent.Host, q *agentpb.Question) *agentpb.Answer {
	a, err := &agentpb.Answer{}, error(nil)
	switch q := q.GetQuestion().(type) {
	case *agentpb.Question_Think:
		err = answerThought(ctx, h, q.Think, a)
	case *agentpb.Question_Call:
		err = answerCall(ctx, h, q.Call, a)
	case *agentpb.Question_Calls:
		err = answerCalls(ctx, h, q.Calls, a)
	case *agentpb.Question_Recall:
		err = answerRecall(ctx, h, q.Recall, a)
	case *agentpb.Question_Remember:
		err = h.Remember(ctx, decodeMemory(q.Remember))
		a.Answer = &agentpb.Answer_Done{Done: &providerpb.Empty{}}
	case *agentpb.Question_Progress:
		err = h.Progress(ctx, decodeProgress(q.Progress))
		a.Answer = &agentpb.Answer_Done{Done: &providerpb.Empty{}}
	case *agentpb.Question_Propose:
		var id string
		id, err = h.Propose(ctx, decodeSkill(q.Propose))
		a.Answer = &agentpb.Answer_Proposal{Proposal: wire.Text(id)}
	default:
		err = invalid("the question is of no known kind")
	}
	if err != nil {
		a.Answer = &agentpb.Answer_Failure{Failure: encodeFailure(err)}
	}
	return a
}

func invalid(message string) error {
	return &provider.Error{Class: provider.ClassInvalid, Message: message}
}

func answerThought(ctx context.Context, h agent.Host, p *agentpb.Thought, a *agentpb.Answer) error {
	t, err := decodeThought(p)
	if err != nil {
		return invalid("the thought: " + err.Error())
	}
	r, err := h.Think(ctx, t)
	a.Answer = &agentpb.Answer_Thought{Thought: providergrpc.EncodeResponse(r)}
	return err
}

func answerCall(ctx context.Context, h agent.Host, p *agentpb.AgentCall, a *agentpb.Answer) error {
	c, err := decodeCall(p)
	if err != nil {
		return invalid("the call: " + err.Error())
	}
	r, err := h.Call(ctx, c)
	a.Answer = &agentpb.Answer_Result{Result: encodeResult(r)}
	return err
}

func answerCalls(ctx context.Context, h agent.Host, p *agentpb.AgentCalls, a *agentpb.Answer) error {
	calls, err := wire.EachChecked("call", p.GetCalls(), decodeCall)
	if err != nil {
		return invalid(err.Error())
	}
	if len(calls) > MaxQuestions {
		return invalid("more calls at once than questions may wait")
	}
	results, err := agent.CallAll(ctx, h, calls)
	a.Answer = &agentpb.Answer_Results{Results: &agentpb.AgentToolResults{Results: wire.Each(results, encodeResult)}}
	return err
}

func answerRecall(ctx context.Context, h agent.Host, p *agentpb.Recall, a *agentpb.Answer) error {
	found, err := h.Recall(ctx, p.GetQuery(), wire.Count(p.GetLimit()))
	a.Answer = &agentpb.Answer_Passages{Passages: &agentpb.Passages{Passages: wire.Each(found, encodePassage)}}
	return err
}
