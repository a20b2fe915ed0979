package govern

import (
	"time"

	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/token"
)

// AdmitStarted lets in a client that a person at this machine started, such as the editor that a
// model works in, without a token: as an agent, or as a program with role [RoleCaller]. Neither
// decides anything. Other roles are let in with nothing.
func AdmitStarted(name string, role Role) Pass {
	t := Token{Name: name, Role: role, Expires: time.Now().Add(time.Hour)}
	switch role {
	case token.Agent:
		return Pass{approval.NewAgent(name), t}
	case token.Caller:
		return Pass{approval.NewProgram(name, false), t}
	}
	return Pass{}
}
