package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/skillet-run/skillet/host/app/govern"
)

type queryAudit struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"10000" default:"100" doc:"How many entries there are at most, the last ones."`
	Skill  string `query:"skill" maxLength:"200" doc:"Those about NAME or NAME@VERSION."`
	Denied bool   `query:"denied" doc:"Runs in which something was refused, and refused requests, only."`
	Kind   string `query:"kind" maxLength:"40" doc:"Those of this kind, or these with commas between, such as install,grant, only."`
	Actor  string `query:"actor" maxLength:"200" doc:"What this one decided or asked for, only, such as human:ada."`

	Capability string `query:"capability" maxLength:"2000" doc:"Decisions that granted, and runs that used or were refused, an action such as fs.write, or what overlaps a capability, only."`

	Since time.Time `query:"since" doc:"Leaves out what was before this time."`
	Until time.Time `query:"until" doc:"Leaves out what was at this time or later."`
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
			all, err := a.s.Govern.Audit.Events(ctx, p.By(), govern.EventsRequest{
				Limit: in.Limit, Skill: in.Skill, Denied: in.Denied, Kind: in.Kind, Actor: in.Actor, Capability: in.Capability, Since: in.Since, Until: in.Until,
			})
			return Page[govern.Event]{Items: append([]govern.Event{}, all...)}, err
		})
	a.exporting(route{method: http.MethodGet, path: "/v1/audit/export", id: "export-audit", tag: tag, summary: "Exports the audit log in a form that can be verified without the home", rights: needs(govern.RightRead)})
	add(a, route{method: http.MethodGet, path: "/v1/audit/verify", id: "verify-audit", tag: tag, summary: "Verifies the audit log", rights: needs(govern.RightRead)},
		func(ctx context.Context, p govern.Pass, _ *struct{}) (AuditVerification, error) {
			if !a.verify.TryLock() {
				return AuditVerification{}, a.overLimit(refuse("verifying", overloadWait, "the audit log is being verified for somebody else"))
			}
			defer a.verify.Unlock()
			v, err := a.s.Govern.Audit.Verify(ctx, p.By(), govern.VerifyRequest{})
			found := AuditVerification{Verification: v}
			if v.Problem != nil {
				found.Problem = v.Problem.Error()
			}
			return found, err
		})
}

// exportType is the media type of an export.
const exportType = "application/jsonl"

// exporting adds the route of the export, which may be longer than memory and is written as it
// is read. One that cannot be finished lacks its end, which whoever verifies it notices.
func (a *API) exporting(r route) {
	op := a.operation(r)
	op.Responses["200"] = &huma.Response{Description: "What was asked for.", Content: map[string]*huma.MediaType{exportType: {Schema: &huma.Schema{Type: huma.TypeString}}}}
	huma.Register(a.huma, op, func(ctx context.Context, in *exportAudit) (*huma.StreamResponse, error) {
		by, scope := passOf(ctx).By(), govern.ExportScope{Since: in.Since, Until: in.Until}
		if in.Log != "" {
			scope.Logs = []string{in.Log}
		}
		return &huma.StreamResponse{Body: func(hc huma.Context) {
			w := &begun{to: hc}
			switch _, err := a.s.Govern.Audit.Export(hc.Context(), by, w, scope); {
			case err != nil && w.yes:
				a.log.Warn("an export ended before its end", "err", err)
				panic(http.ErrAbortHandler)
			case err != nil:
				writeTo(hc, a.problem(err))
			}
		}}, nil
	})
}

// begun is an export as an answer, which begins with the first of it.
type begun struct {
	to  huma.Context
	yes bool
}

// Write implements [io.Writer].
func (w *begun) Write(b []byte) (int, error) {
	if !w.yes {
		w.yes = true
		w.to.SetHeader("Content-Type", exportType)
		w.to.SetStatus(http.StatusOK)
	}
	return w.to.BodyWriter().Write(b)
}
