package agentgrpc

import (
	"errors"
	"slices"
	"time"

	"github.com/skillet-run/skillet/plugins/agent"
	"github.com/skillet-run/skillet/plugins/agent/agentpb"
	"github.com/skillet-run/skillet/plugins/provider/providergrpc"
	"github.com/skillet-run/skillet/plugins/wire"
)

func encodeInfo(i agent.Info) *agentpb.AgentInfo {
	return &agentpb.AgentInfo{Name: wire.Text(i.Name), Version: wire.Text(i.Version), Description: wire.Text(i.Description)}
}

func decodeInfo(p *agentpb.AgentInfo) agent.Info {
	return agent.Info{Name: p.GetName(), Version: p.GetVersion(), Description: p.GetDescription()}
}

func encodePassage(p agent.Passage) *agentpb.Passage {
	return &agentpb.Passage{Source: wire.Text(p.Source), Text: wire.Text(p.Text)}
}

func decodePassage(p *agentpb.Passage) agent.Passage {
	return agent.Passage{Source: p.GetSource(), Text: p.GetText()}
}

func encodeTask(t agent.Task) *agentpb.AgentTask {
	p := &agentpb.AgentTask{
		Id: wire.Text(t.ID), Goal: wire.Text(t.Goal), Agent: wire.Text(t.Agent), SystemPrompt: wire.Text(t.SystemPrompt), Tier: wire.Text(t.Tier),
		Iterations: int64(t.Iterations), MaxTokens: int64(t.MaxTokens), Temperature: t.Temperature, Thinking: int64(t.Thinking),
		Context: wire.Each(t.Context, encodePassage), Tools: wire.Each(t.Tools, providergrpc.EncodeTool), Agents: wire.Each(t.Agents, encodeInfo),
		Constraints: wire.Texts(t.Constraints), Validation: t.Validation,
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
		Iterations: wire.Count(p.GetIterations()), MaxTokens: wire.Count(p.GetMaxTokens()), Temperature: p.Temperature, Thinking: wire.Count(p.GetThinking()),
		Context: wire.Each(p.GetContext(), decodePassage), Agents: wire.Each(p.GetAgents(), decodeInfo), Constraints: slices.Clone(p.GetConstraints()),
	}
	if ms := p.GetDeadlineUnixMs(); ms > 0 {
		t.Deadline = time.UnixMilli(ms).UTC()
	}
	if t.Tools, err = wire.EachChecked("tool", p.GetTools(), providergrpc.DecodeTool); err != nil {
		return t, err
	}
	t.Validation, err = wire.JSON("validation", p.GetValidation())
	return t, err
}

func encodeThought(t agent.Thought) *agentpb.Thought {
	return &agentpb.Thought{Tier: wire.Text(t.Tier), Purpose: wire.Text(t.Purpose), Request: providergrpc.EncodeRequest(t.Request)}
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
	return &agentpb.AgentCall{Tool: wire.Text(c.Tool), Input: c.Input}
}

func decodeCall(p *agentpb.AgentCall) (c agent.Call, err error) {
	c.Tool = p.GetTool()
	c.Input, err = wire.JSON("input", p.GetInput())
	return c, err
}

func encodeResult(r agent.ToolResult) *agentpb.AgentToolResult {
	return &agentpb.AgentToolResult{Ok: r.OK, Text: wire.Text(r.Text), Kind: wire.Text(r.Kind), Untrusted: r.Untrusted}
}

func decodeResult(p *agentpb.AgentToolResult) agent.ToolResult {
	return agent.ToolResult{OK: p.GetOk(), Text: p.GetText(), Kind: p.GetKind(), Untrusted: p.GetUntrusted()}
}

func encodeMemory(m agent.Memory) *agentpb.MemoryText {
	return &agentpb.MemoryText{Area: wire.Text(m.Area), Text: wire.Text(m.Text), Tags: wire.Texts(m.Tags)}
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
		files[wire.Text(name)] = b
	}
	return &agentpb.SkillFiles{Files: files, Rationale: wire.Text(s.Rationale)}
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
		Id: wire.Text(s.ID), Title: wire.Text(s.Title), Tool: wire.Text(s.Tool), Input: s.Input, Agent: wire.Text(s.Agent), Goal: wire.Text(s.Goal),
		After: wire.Texts(s.After), Approval: s.Approval,
	}
}

func decodeStep(p *agentpb.PlanStep) (s agent.Step, err error) {
	s = agent.Step{
		ID: p.GetId(), Title: p.GetTitle(), Tool: p.GetTool(), Agent: p.GetAgent(), Goal: p.GetGoal(),
		After: slices.Clone(p.GetAfter()), Approval: p.GetApproval(),
	}
	s.Input, err = wire.JSON("input", p.GetInput())
	return s, err
}

func encodePlan(p agent.Plan) *agentpb.AgentPlan {
	return &agentpb.AgentPlan{Steps: wire.Each(p.Steps, encodeStep), Stop: wire.Texts(p.Stop), Risk: wire.Text(p.Risk), Reason: wire.Text(p.Reason)}
}

func decodePlan(p *agentpb.AgentPlan) (out agent.Plan, err error) {
	out = agent.Plan{Stop: slices.Clone(p.GetStop()), Risk: p.GetRisk(), Reason: p.GetReason()}
	out.Steps, err = wire.EachChecked("step", p.GetSteps(), decodeStep)
	return out, err
}

func encodeReport(r agent.Report) *agentpb.AgentReport {
	return &agentpb.AgentReport{
		Done: r.Done, Answer: wire.Text(r.Answer), Confidence: r.Confidence, Decisions: wire.Texts(r.Decisions), NextSteps: wire.Texts(r.NextSteps),
		Proposals: wire.Texts(r.Proposals), Sources: wire.Each(r.Sources, encodePassage), Problem: wire.Text(r.Problem),
	}
}

// decodeReport takes a confidence that is none for none.
func decodeReport(p *agentpb.AgentReport) agent.Report {
	r := agent.Report{
		Done: p.GetDone(), Answer: p.GetAnswer(), Decisions: slices.Clone(p.GetDecisions()), NextSteps: slices.Clone(p.GetNextSteps()),
		Proposals: slices.Clone(p.GetProposals()), Sources: wire.Each(p.GetSources(), decodePassage), Problem: p.GetProblem(),
	}
	if c := p.GetConfidence(); c >= 0 && c <= 1 {
		r.Confidence = c
	}
	return r
}
