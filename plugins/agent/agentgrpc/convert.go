package agentgrpc

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/plugins/agent"
	"github.com/skillet-run/skillet/plugins/agent/agentpb"
	"github.com/skillet-run/skillet/plugins/provider/providergrpc"
)

// text is a string as it may be sent: bytes that are no UTF-8 are replaced.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func texts(list []string) []string { return each(list, text) }

// each converts a list; none stays none.
func each[A, B any](list []A, convert func(A) B) []B {
	if len(list) == 0 {
		return nil
	}
	out := make([]B, len(list))
	for i, v := range list {
		out[i] = convert(v)
	}
	return out
}

// eachChecked converts a list that may be wrong. what names its elements.
func eachChecked[A, B any](what string, list []A, convert func(A) (B, error)) ([]B, error) {
	if len(list) == 0 {
		return nil, nil
	}
	out := make([]B, len(list))
	for i, v := range list {
		var err error
		if out[i], err = convert(v); err != nil {
			return nil, fmt.Errorf("%s %d: %w", what, i+1, err)
		}
	}
	return out, nil
}

// raw is JSON that was received; none is nil.
func raw(what string, b []byte) (json.RawMessage, error) {
	if len(b) == 0 {
		return nil, nil
	}
	if !json.Valid(b) {
		return nil, fmt.Errorf("%s is not JSON", what)
	}
	return b, nil
}

// count is a number that was received: never negative.
func count(n int64) int { return int(min(max(n, 0), math.MaxInt32)) }

func encodeInfo(i agent.Info) *agentpb.AgentInfo {
	return &agentpb.AgentInfo{Name: text(i.Name), Version: text(i.Version), Description: text(i.Description)}
}

func decodeInfo(p *agentpb.AgentInfo) agent.Info {
	return agent.Info{Name: p.GetName(), Version: p.GetVersion(), Description: p.GetDescription()}
}

func encodePassage(p agent.Passage) *agentpb.Passage {
	return &agentpb.Passage{Source: text(p.Source), Text: text(p.Text)}
}

func decodePassage(p *agentpb.Passage) agent.Passage {
	return agent.Passage{Source: p.GetSource(), Text: p.GetText()}
}

func encodeTask(t agent.Task) *agentpb.AgentTask {
	p := &agentpb.AgentTask{
		Id: text(t.ID), Goal: text(t.Goal), Agent: text(t.Agent), SystemPrompt: text(t.SystemPrompt), Tier: text(t.Tier),
		Iterations: int64(t.Iterations), MaxTokens: int64(t.MaxTokens), Temperature: t.Temperature, Thinking: int64(t.Thinking),
		Context: each(t.Context, encodePassage), Tools: each(t.Tools, providergrpc.EncodeTool), Agents: each(t.Agents, encodeInfo),
		Constraints: texts(t.Constraints), Validation: t.Validation,
	}
	if !t.Deadline.IsZero() {
		p.DeadlineUnixMs = t.Deadline.UnixMilli()
	}
	return p
}

func decodeTask(p *agentpb.AgentTask) (t agent.Task, err error) {
	if p == nil {
		return t, errors.New("there is none")
	}
	t = agent.Task{
		ID: p.GetId(), Goal: p.GetGoal(), Agent: p.GetAgent(), SystemPrompt: p.GetSystemPrompt(), Tier: p.GetTier(),
		Iterations: count(p.GetIterations()), MaxTokens: count(p.GetMaxTokens()), Temperature: p.Temperature, Thinking: count(p.GetThinking()),
		Context: each(p.GetContext(), decodePassage), Agents: each(p.GetAgents(), decodeInfo), Constraints: slices.Clone(p.GetConstraints()),
	}
	if ms := p.GetDeadlineUnixMs(); ms > 0 {
		t.Deadline = time.UnixMilli(ms).UTC()
	}
	if t.Tools, err = eachChecked("tool", p.GetTools(), providergrpc.DecodeTool); err != nil {
		return t, err
	}
	t.Validation, err = raw("validation", p.GetValidation())
	return t, err
}

func encodeThought(t agent.Thought) *agentpb.Thought {
	return &agentpb.Thought{Tier: text(t.Tier), Purpose: text(t.Purpose), Request: providergrpc.EncodeRequest(t.Request)}
}

func decodeThought(p *agentpb.Thought) (t agent.Thought, err error) {
	t = agent.Thought{Tier: p.GetTier(), Purpose: p.GetPurpose()}
	if p.GetRequest() == nil {
		return t, errors.New("it has no request")
	}
	t.Request, err = providergrpc.DecodeRequest(p.GetRequest())
	return t, err
}

func encodeCall(c agent.Call) *agentpb.AgentCall {
	return &agentpb.AgentCall{Tool: text(c.Tool), Input: c.Input}
}

func decodeCall(p *agentpb.AgentCall) (c agent.Call, err error) {
	c.Tool = p.GetTool()
	c.Input, err = raw("input", p.GetInput())
	return c, err
}

func encodeResult(r agent.ToolResult) *agentpb.AgentToolResult {
	return &agentpb.AgentToolResult{Ok: r.OK, Text: text(r.Text), Kind: text(r.Kind), Untrusted: r.Untrusted}
}

func decodeResult(p *agentpb.AgentToolResult) agent.ToolResult {
	return agent.ToolResult{OK: p.GetOk(), Text: p.GetText(), Kind: p.GetKind(), Untrusted: p.GetUntrusted()}
}

func encodeMemory(m agent.Memory) *agentpb.MemoryText {
	return &agentpb.MemoryText{Area: text(m.Area), Text: text(m.Text), Tags: texts(m.Tags)}
}

func decodeMemory(p *agentpb.MemoryText) agent.Memory {
	return agent.Memory{Area: p.GetArea(), Text: p.GetText(), Tags: slices.Clone(p.GetTags())}
}

// decodeProgress drops a percentage that is none.
func decodeProgress(p *agentpb.AgentProgress) agent.Progress {
	out := agent.Progress{Message: p.GetMessage()}
	if p != nil && p.Percent != nil && p.GetPercent() >= 0 && p.GetPercent() <= 100 {
		percent := p.GetPercent()
		out.Percent = &percent
	}
	return out
}

func encodeSkill(s agent.Skill) *agentpb.SkillFiles {
	files := make(map[string][]byte, len(s.Files))
	for name, b := range s.Files {
		files[text(name)] = b
	}
	return &agentpb.SkillFiles{Files: files, Rationale: text(s.Rationale)}
}

// decodeSkill gives every file bytes, also an empty one.
func decodeSkill(p *agentpb.SkillFiles) agent.Skill {
	s := agent.Skill{Files: make(map[string][]byte, len(p.GetFiles())), Rationale: p.GetRationale()}
	for name, b := range p.GetFiles() {
		s.Files[name] = append([]byte{}, b...)
	}
	return s
}

func encodeStep(s agent.Step) *agentpb.PlanStep {
	return &agentpb.PlanStep{
		Id: text(s.ID), Title: text(s.Title), Tool: text(s.Tool), Input: s.Input, Agent: text(s.Agent), Goal: text(s.Goal),
		After: texts(s.After), Approval: s.Approval,
	}
}

func decodeStep(p *agentpb.PlanStep) (s agent.Step, err error) {
	s = agent.Step{
		ID: p.GetId(), Title: p.GetTitle(), Tool: p.GetTool(), Agent: p.GetAgent(), Goal: p.GetGoal(),
		After: slices.Clone(p.GetAfter()), Approval: p.GetApproval(),
	}
	s.Input, err = raw("input", p.GetInput())
	return s, err
}

func encodePlan(p agent.Plan) *agentpb.AgentPlan {
	return &agentpb.AgentPlan{Steps: each(p.Steps, encodeStep), Stop: texts(p.Stop), Risk: text(p.Risk), Reason: text(p.Reason)}
}

func decodePlan(p *agentpb.AgentPlan) (out agent.Plan, err error) {
	out = agent.Plan{Stop: slices.Clone(p.GetStop()), Risk: p.GetRisk(), Reason: p.GetReason()}
	out.Steps, err = eachChecked("step", p.GetSteps(), decodeStep)
	return out, err
}

func encodeReport(r agent.Report) *agentpb.AgentReport {
	return &agentpb.AgentReport{
		Done: r.Done, Answer: text(r.Answer), Confidence: r.Confidence, Decisions: texts(r.Decisions), NextSteps: texts(r.NextSteps),
		Proposals: texts(r.Proposals), Sources: each(r.Sources, encodePassage), Problem: text(r.Problem),
	}
}

// decodeReport takes a confidence that is none for none.
func decodeReport(p *agentpb.AgentReport) agent.Report {
	r := agent.Report{
		Done: p.GetDone(), Answer: p.GetAnswer(), Decisions: slices.Clone(p.GetDecisions()), NextSteps: slices.Clone(p.GetNextSteps()),
		Proposals: slices.Clone(p.GetProposals()), Sources: each(p.GetSources(), decodePassage), Problem: p.GetProblem(),
	}
	if c := p.GetConfidence(); c >= 0 && c <= 1 {
		r.Confidence = c
	}
	return r
}
