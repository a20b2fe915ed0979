package hostfn

import (
	"bytes"
	"context"

	"github.com/skillet-run/skillet/internal/lazyregexp"
	"github.com/skillet-run/skillet/policies/capability"
)

// Skills runs other skills for a guest. Grants and policies of the calling skill were asked before; what
// the one that is called may do is its own.
type Skills interface {
	// CallSkill runs a tool and returns its output. Of an error the guest is told what a *Failure says, and
	// nothing but its class of any other. It must end when ctx does.
	CallSkill(ctx context.Context, c SkillCall) ([]byte, error)
}

// SkillCall is a call of another skill.
type SkillCall struct {
	// Skill is the name of the skill, or of an interface that a skill provides which the caller needs.
	Skill string
	// Tool is the name of the tool; empty means its only one.
	Tool string
	// Session is the name of the session that the call is to go on with; empty for none.
	Session string
	Input   []byte
}

func skillFunctions() []function {
	return []function{{name: "skill_call", example: `{"skill":"csv"}`, run: callSkill}}
}

// Names that a call of a skill may hold. Others name nothing, and are not shown to people.
var (
	skillName   = lazyregexp.New(`^[a-z0-9]([a-z0-9._-]{0,126}[a-z0-9])?$`)
	toolName    = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)
	sessionName = lazyregexp.New(`^[a-z0-9][a-z0-9._-]{0,63}$`)
)

// callSkill has another skill's tool run.
func callSkill(ctx context.Context, e *Env, meta, body []byte) (any, []byte, error) {
	var ask struct {
		Skill   string `json:"skill"`
		Tool    string `json:"tool"`
		Session string `json:"session"`
	}
	if err := decode(meta, &ask); err != nil {
		return nil, nil, err
	}
	switch {
	case !skillName().MatchString(ask.Skill):
		return nil, nil, failf(KindInvalid, "skill is the name of a skill, without its version")
	case ask.Tool != "" && !toolName().MatchString(ask.Tool):
		return nil, nil, failf(KindInvalid, "tool is the name of a tool")
	case ask.Session != "" && !sessionName().MatchString(ask.Session):
		return nil, nil, failf(KindInvalid, "session is the name of a session: up to 64 lower-case letters, digits and . _ -")
	}
	if err := e.mayCall(ask.Skill, ask.Session, int64(len(body))); err != nil {
		return nil, nil, err
	}
	if e.s.Skills == nil {
		return nil, nil, failf(KindFailed, "no other skills can be called here")
	}
	out, err := e.s.Skills.CallSkill(ctx, SkillCall{Skill: ask.Skill, Tool: ask.Tool, Session: ask.Session, Input: bytes.Clone(body)})
	return struct{}{}, out, err
}

// mayCall asks whether the guest may call a skill, and go on with a session of the person's.
func (e *Env) mayCall(skill, session string, bytes int64) error {
	_, err := e.permit(capability.Request{Action: capability.Skill, Resource: skill}, bytes)
	if err != nil || session == "" {
		return err
	}
	_, err = e.permit(capability.Request{Action: capability.Session, Resource: skill + "/" + session}, bytes)
	return err
}
