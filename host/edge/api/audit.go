package api

import (
	"bytes"
	"context"
	"net/http"
	"time"

	"github.com/skillet-run/skillet/host/app/govern"
)

type queryAudit struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"10000" default:"100" doc:"How many entries there are at most, the last ones."`
	Skill  string `query:"skill" maxLength:"200" doc:"Those about NAME or NAME@VERSION."`
	Denied bool   `query:"denied" doc:"Runs in which something was refused, and refused requests, only."`
}

type exportAudit struct {
	Log   string    `query:"log" enum:"decisions,runs" doc:"This part of it, only."`
	Since time.Time `query:"since" doc:"Leaves out what was before this time."`
	Until time.Time `query:"until" doc:"Leaves out what was at this time or later."`
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
	addFile(a, route{method: http.MethodGet, path: "/v1/audit/export", id: "export-audit", tag: tag, summary: "Exports the audit log in a form that can be verified without the home", rights: needs(govern.RightRead)},
		[]string{"application/jsonl"}, func(ctx context.Context, p govern.Pass, in *exportAudit) (*file, error) {
			scope := govern.ExportScope{Since: in.Since, Until: in.Until}
			if in.Log != "" {
				scope.Logs = []string{in.Log}
			}
			var b bytes.Buffer
			_, err := a.s.Govern.Audit.Export(ctx, p.By(), &b, scope)
			return &file{Type: "application/jsonl", Body: b.Bytes()}, err
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
