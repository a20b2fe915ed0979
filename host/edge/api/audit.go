package api

import (
	"context"
	"net/http"

	"github.com/skillet-run/skillet/host/app/govern"
)

type queryAudit struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"10000" default:"100" doc:"How many entries there are at most, the last ones."`
	Skill  string `query:"skill" maxLength:"200" doc:"Those about NAME or NAME@VERSION."`
	Denied bool   `query:"denied" doc:"Runs in which something was refused, and refused requests, only."`
}

// An AuditVerification is what verifying the audit log found.
type AuditVerification struct {
	govern.Verification
	Problem string `json:"problem,omitempty" doc:"What is wrong."`
}

func auditLog(a *API) {
	const tag = "audit"
	add(a, route{method: http.MethodGet, path: "/v1/audit", id: "query-audit", tag: tag, summary: "Lists the last entries of the audit log, the oldest first", rights: needs(govern.RightRead)},
		func(ctx context.Context, p govern.Pass, in *queryAudit) (Page[govern.Event], error) {
			all, err := a.s.Govern.Audit.Events(ctx, p.By(), govern.EventsRequest{Limit: in.Limit, Skill: in.Skill, Denied: in.Denied})
			return Page[govern.Event]{Items: append([]govern.Event{}, all...)}, err
		})
	add(a, route{method: http.MethodGet, path: "/v1/audit/verify", id: "verify-audit", tag: tag, summary: "Verifies the audit log", rights: needs(govern.RightRead)},
		func(ctx context.Context, p govern.Pass, _ *struct{}) (AuditVerification, error) {
			v, err := a.s.Govern.Audit.Verify(ctx, p.By(), govern.VerifyRequest{})
			found := AuditVerification{Verification: v}
			if v.Problem != nil {
				found.Problem = v.Problem.Error()
			}
			return found, err
		})
}
