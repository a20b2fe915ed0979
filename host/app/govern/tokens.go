package govern

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/app/principal"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/token"
	"github.com/skillet-run/skillet/internal/recent"
)

// Tokens let callers of the service in, each with a role. Only a person makes one.
type Tokens struct {
	p        *Parts
	refusals refusals
	admitted recent.Cache[[sha256.Size]byte, Token] // by the hash of the secret
}

// The words of tokens; see package token.
type (
	// A Token is what is known of a token.
	Token = token.Token
	// A Role is what a token is for, and a Right one sort of thing that can be done.
	Role  = token.Role
	Right = token.Right
)

// The roles, and the rights.
const (
	RoleViewer   = token.Viewer
	RoleCaller   = token.Caller
	RoleOperator = token.Operator
	RoleApprover = token.Approver
	RoleAgent    = token.Agent

	RightFind     = token.Find
	RightCall     = token.Call
	RightWork     = token.Work
	RightRead     = token.Read
	RightRecall   = token.Recall
	RightRemember = token.Remember
	RightPropose  = token.Propose
	RightDecide   = token.Decide
)

// Roles returns the roles.
func Roles() []Role { return token.Roles() }

// DefaultTokenLife is how long a token is good for when nobody says.
const DefaultTokenLife = 30 * 24 * time.Hour

// A CreateToken asks for a token.
type CreateToken struct {
	Name string
	Role Role
	// Skills are the skills, and tools of skills as SKILL:TOOL, that it is good for; empty
	// for all.
	Skills []string
	// Life is how long it is good for; 0 for [DefaultTokenLife].
	Life time.Duration
}

// A NewToken is a token that was made.
type NewToken struct {
	Token
	// Secret is what its holder shows. It is kept nowhere.
	Secret string `json:"secret"`
}

// Create makes a token. A token of the role [RoleApprover] decides in the name of whoever
// made it.
func (s *Tokens) Create(ctx context.Context, by approval.Human, req CreateToken) (NewToken, error) {
	if err := s.p.begin(ctx, by); err != nil {
		return NewToken{}, err
	}
	if req.Life == 0 {
		req.Life = DefaultTokenLife
	}
	t, secret, err := s.p.Tokens.Create(ctx, by, Token{
		Name: req.Name, Role: req.Role, Skills: req.Skills, Expires: time.Now().Add(req.Life).UTC().Truncate(time.Second),
	})
	return NewToken{t, secret}, err
}

// List returns the tokens, by name, those that have expired too.
func (s *Tokens) List(ctx context.Context, by approval.Principal) ([]Token, error) {
	if err := s.p.begin(ctx, by); err != nil {
		return nil, err
	}
	return s.p.Tokens.List(ctx)
}

// Revoke ends a token at once.
func (s *Tokens) Revoke(ctx context.Context, by approval.Human, name string) (Token, error) {
	if err := s.p.begin(ctx, by); err != nil {
		return Token{}, err
	}
	return s.p.Tokens.Revoke(ctx, by, name)
}

// ErrNotAdmitted means that nobody is let in with what was shown. Errors that wrap it are
// [fault.Error]s of [fault.KindDenied].
var ErrNotAdmitted = errors.New("not let in")

// A Pass says who was let in, and what for. The zero value is for nothing.
type Pass struct {
	by    approval.Principal
	token Token
}

// Admit lets the holder of a secret in. It is asked for each request, so that a token that
// was revoked or has expired lets nobody in any more: what it returns then has the name of the
// token, and is for nothing.
func (s *Tokens) Admit(ctx context.Context, secret string) (Pass, error) {
	if secret == "" {
		return Pass{}, fault.Wrap(fault.KindDenied, fmt.Errorf("%w: a token is needed", ErrNotAdmitted))
	}
	t, err := s.find(ctx, secret)
	if errors.Is(err, token.ErrUnknown) || errors.Is(err, token.ErrExpired) {
		return Pass{token: Token{Name: t.Name}}, fault.Wrap(fault.KindDenied, fmt.Errorf("%w: %w", ErrNotAdmitted, err))
	}
	return Pass{holder(t), t}, err
}

// find is [token.Store.Find] in the state that was decided last. A token that it found it
// finds again without looking, until something is decided.
func (s *Tokens) find(ctx context.Context, secret string) (Token, error) {
	epoch, hash := s.p.Decided(), sha256.Sum256([]byte(secret))
	if t, ok := s.admitted.Get(epoch, hash); ok && t.Live(time.Now()) {
		return t, nil
	}
	if err := s.p.CatchUp(ctx); err != nil {
		return Token{}, err
	}
	t, err := s.p.Tokens.Find(ctx, secret)
	if err == nil {
		s.admitted.Add(epoch, hash, t)
	}
	return t, err
}

// holder is who holds a token. A person's token stands for the person who made it.
func holder(t Token) approval.Principal {
	switch t.Role {
	case RoleApprover:
		return principal.NewHuman(strings.TrimPrefix(t.By, "human:") + " (token " + t.Name + ")")
	case RoleAgent:
		return approval.NewAgent(t.Name)
	}
	return approval.NewProgram(t.Name, t.Role.SeesAll())
}

// By is who was let in; nil for nobody.
func (p Pass) By() approval.Principal { return p.by }

// Name is that of the token.
func (p Pass) Name() string { return p.token.Name }

// Person is the person who was let in. For anybody else it is the zero value, which decides
// nothing.
func (p Pass) Person() approval.Human {
	person, _ := p.by.(approval.Human)
	return person
}

// May refuses, with a [fault.KindDenied] error, who has none of some rights.
func (p Pass) May(any ...Right) error {
	if p.token.Role.Has(any...) {
		return nil
	}
	if p.by == nil {
		return fault.Wrap(fault.KindDenied, fmt.Errorf("%w: nobody asks", ErrNotAdmitted))
	}
	var names []string
	for _, r := range any {
		names = append(names, string(r))
	}
	return fault.Errorf(fault.KindDenied, "the token %s is that of %s, which has no right to %s", p.token.Name, article(p.token.Role), strings.Join(names, " or ")).
		WithHint("a person can make a token of another role")
}

func article(r Role) string {
	if strings.ContainsAny(string(r[:1]), "aeiou") {
		return "an " + string(r)
	}
	return "a " + string(r)
}

// Call refuses, with a [fault.KindDenied] error, a call of a skill or a tool that the token
// is not for. No tool means the whole skill.
func (p Pass) Call(skill, tool string) error {
	skill, _, _ = strings.Cut(skill, "@")
	if len(p.token.Skills) == 0 || slices.Contains(p.token.Skills, skill) || tool != "" && slices.Contains(p.token.Skills, skill+":"+tool) {
		return nil
	}
	return fault.Errorf(fault.KindDenied, "the token %s is for %s alone", p.token.Name, strings.Join(p.token.Skills, ", "))
}

// Sees reports whether a skill is one that the token has something to do with.
func (p Pass) Sees(skill string) bool {
	skill, _, _ = strings.Cut(skill, "@")
	return len(p.token.Skills) == 0 || slices.ContainsFunc(p.token.Skills, func(s string) bool {
		name, _, _ := strings.Cut(s, ":")
		return name == skill
	})
}

// Tools are the tools that a task may use for which some are wanted: those, or all that the
// token is for when none is. It refuses others as [Pass.Call] does.
func (p Pass) Tools(wanted []string) ([]string, error) {
	if len(wanted) == 0 {
		return p.token.Skills, nil
	}
	for _, w := range wanted {
		skill, tool, _ := strings.Cut(w, ":")
		if err := p.Call(skill, tool); err != nil {
			return nil, err
		}
	}
	return wanted, nil
}
