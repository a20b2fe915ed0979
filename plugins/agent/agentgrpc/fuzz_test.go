package agentgrpc

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/skillet-run/skillet/plugins/agent"
	"github.com/skillet-run/skillet/plugins/agent/agentpb"
	"github.com/skillet-run/skillet/plugins/agent/agenttest"
	"github.com/skillet-run/skillet/plugins/provider"
)

// FuzzMessage reads what either side may send: whatever it is, it is answered or
// refused.
func FuzzMessage(f *testing.F) {
	f.Add([]byte{})
	temperature := 3.0
	for _, m := range []proto.Message{
		&agentpb.AgentMessage{Message: &agentpb.AgentMessage_Question{Question: &agentpb.Question{Id: 1, Question: &agentpb.Question_Think{Think: &agentpb.Thought{}}}}},
		&agentpb.AgentMessage{Message: &agentpb.AgentMessage_Question{Question: &agentpb.Question{Id: 1, Question: &agentpb.Question_Think{
			Think: encodeThought(agent.Thought{Purpose: "p", Request: provider.Request{Temperature: &temperature, Schema: []byte("{")}})}}}},
		&agentpb.AgentMessage{Message: &agentpb.AgentMessage_Question{Question: &agentpb.Question{Id: 1, Question: &agentpb.Question_Calls{
			Calls: &agentpb.AgentCalls{Calls: []*agentpb.AgentCall{{Tool: "n", Input: []byte(`{}`)}, {}}}}}}},
		&agentpb.AgentMessage{Message: &agentpb.AgentMessage_Plan{Plan: encodePlan(agent.Plan{Steps: []agent.Step{{ID: "a", Input: []byte(`{"x"`)}}})}},
		&agentpb.AgentMessage{Message: &agentpb.AgentMessage_Report{Report: &agentpb.AgentReport{Confidence: -1}}},
		&agentpb.HostMessage{Message: &agentpb.HostMessage_Task{Task: &agentpb.AgentTask{Iterations: -5, DeadlineUnixMs: -1, Validation: []byte("x")}}},
		&agentpb.HostMessage{Message: &agentpb.HostMessage_Answer{Answer: &agentpb.Answer{Answer: &agentpb.Answer_Failure{Failure: &agentpb.Failure{Kind: "model"}}}}},
	} {
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var a agentpb.AgentMessage
		if proto.Unmarshal(b, &a) == nil {
			if q := a.GetQuestion(); q != nil && answerTo(t.Context(), &agenttest.Host{}, q).GetAnswer() == nil {
				t.Error("a question got no answer")
			}
			if r := decodeReport(a.GetReport()); !(r.Confidence >= 0 && r.Confidence <= 1) {
				t.Errorf("a confidence of %v", r.Confidence)
			}
			_, _ = decodePlan(a.GetPlan())
		}
		var h agentpb.HostMessage
		if proto.Unmarshal(b, &h) != nil {
			return
		}
		if task, err := decodeTask(h.GetTask()); err == nil && (task.Iterations < 0 || task.MaxTokens < 0) {
			t.Error("a bound below nothing")
		}
		if f := h.GetAnswer().GetFailure(); f != nil && decodeFailure(f) == nil {
			t.Error("a failure is no error")
		}
	})
}
