package api

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/skillet-run/skillet/host/base/fault"
)

// problemType is the media type of problems.
const problemType = "application/problem+json"

// A Problem says why a request failed, in the form of RFC 9457.
type Problem struct {
	// Type is "urn:skillet:problem:" and the kind.
	Type   string `json:"type" doc:"Names the kind of problem." example:"urn:skillet:problem:denied"`
	Title  string `json:"title" doc:"The status in words."`
	Status int    `json:"status" doc:"The status of the answer."`
	Detail string `json:"detail" doc:"What went wrong, in one line."`
	// Kind is that of the failure, as everywhere in the host.
	Kind fault.Kind `json:"kind" doc:"The kind of failure; the exit codes of the command line are by it."`
	Hint string     `json:"hint,omitempty" doc:"How to get out of it."`
	// Remedies are what somebody may do about it.
	Remedies     []fault.Remedy      `json:"remedies,omitempty" nullable:"false" doc:"What can be done about it, each with its parameters."`
	Class        fault.Class         `json:"class,omitempty" doc:"Whether trying again can help."`
	RetryAfterMS int64               `json:"retry_after_ms,omitempty" doc:"In how many milliseconds it makes sense to try again."`
	Errors       []*huma.ErrorDetail `json:"errors,omitempty" nullable:"false" doc:"What does not fit the schema, place by place."`

	headers http.Header
}

// Error implements error.
func (p *Problem) Error() string { return p.Detail }

// GetStatus implements [huma.StatusError].
func (p *Problem) GetStatus() int { return p.Status }

// GetHeaders implements [huma.HeadersError].
func (p *Problem) GetHeaders() http.Header { return p.headers }

// ContentType implements [huma.ContentTypeFilter].
func (p *Problem) ContentType(string) string { return problemType }

// statuses are the statuses of the kinds of failure; the others are failures of the host.
var statuses = map[fault.Kind]int{
	fault.KindSkill:        http.StatusUnprocessableEntity,
	fault.KindUsage:        http.StatusBadRequest,
	fault.KindDenied:       http.StatusForbidden,
	fault.KindLimit:        http.StatusTooManyRequests,
	fault.KindNotFound:     http.StatusNotFound,
	fault.KindApproval:     http.StatusConflict,
	fault.KindVerification: http.StatusUnprocessableEntity,
	fault.KindConflict:     http.StatusConflict,
	fault.KindFull:         http.StatusInsufficientStorage,
	fault.KindInternal:     http.StatusInternalServerError,
	fault.KindUnreachable:  http.StatusServiceUnavailable,
}

// problem says what an error means.
func (a *API) problem(err error) *Problem {
	if p, ok := err.(*Problem); ok {
		return p
	}
	return problemOf(a.s.Explain(err))
}

// unreachableWait is when to try again what was not reached and does not say so itself.
const unreachableWait = 5 * time.Second

func problemOf(e *fault.Error) *Problem {
	status := statuses[e.Kind]
	if status == 0 {
		status = http.StatusInternalServerError
	}
	p := &Problem{
		Type: "urn:skillet:problem:" + string(e.Kind), Title: http.StatusText(status), Status: status, Detail: e.Message,
		Kind: e.Kind, Hint: e.Hint, Remedies: e.Remedies, Class: e.Class, RetryAfterMS: e.RetryAfterMS, headers: http.Header{},
	}
	if e.Kind == fault.KindUnreachable && e.RetryAfterMS == 0 {
		p.RetryAfterMS = unreachableWait.Milliseconds()
	}
	if p.RetryAfterMS > 0 {
		p.headers.Set("Retry-After", strconv.FormatInt((p.RetryAfterMS+999)/1000, 10))
	}
	return p
}

// problems makes problems of what the parser of requests says.
func problems(_ huma.Context, _ string, v any) (any, error) {
	m, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	kind := fault.KindUsage
	switch {
	case m.Status == http.StatusRequestEntityTooLarge:
		kind = fault.KindLimit
	case m.Status >= http.StatusInternalServerError:
		kind = fault.KindInternal
	}
	p := problemOf(fault.Errorf(kind, "%s", m.Detail))
	p.Status, p.Title, p.Errors = m.Status, http.StatusText(m.Status), m.Errors
	return p, nil
}

// write answers with a problem where no operation was found.
func write(w http.ResponseWriter, p *Problem) {
	for k, v := range p.headers {
		w.Header()[k] = v
	}
	w.Header().Set("Content-Type", problemType)
	w.WriteHeader(p.Status)
	_ = marshal(w, p) // nobody is left to be told
}

// writeTo answers with a problem where an operation was found and did not begin.
func writeTo(ctx huma.Context, p *Problem) {
	for k := range p.headers {
		ctx.SetHeader(k, p.headers.Get(k))
	}
	ctx.SetHeader("Content-Type", problemType)
	ctx.SetStatus(p.Status)
	_ = marshal(ctx.BodyWriter(), p)
}

// marshal prints a value as JSON, with its hints filled: what there is for the remedies that
// they speak of stands in their sentences.
func marshal(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(fault.Filled(v, func(hint string, remedies []fault.Remedy) string {
		if hint == "" && len(remedies) > 0 {
			hint = "{0}"
		}
		return fault.Fill(hint, remedies, say)
	}))
}

// requests are the requests of remedies, with the parameters in braces.
var requests = map[fault.Action]string{
	"grant":              "POST /v1/skills/{skill}/grants",
	"approve":            "POST /v1/approvals/{proposal}/approve",
	"reject":             "POST /v1/approvals/{proposal}/reject",
	"install":            "POST /v1/plans/install",
	"update":             "POST /v1/plans/update",
	"roll_back":          "POST /v1/plans/rollback",
	"remove":             "POST /v1/plans/remove",
	"enable":             "POST /v1/skills/{skill}/enable",
	"cancel_task":        "POST /v1/tasks/{task}/cancel",
	"resume_task":        "POST /v1/tasks/{task}/resume",
	"follow_task":        "GET /v1/tasks/{task}/events",
	"check_log":          "GET /v1/audit/verify",
	"show_skill":         "GET /v1/skills/{skill}",
	"show_grants":        "GET /v1/skills/{skill}/grants",
	"show_proposal":      "GET /v1/approvals/{proposal}",
	"show_decision":      "GET /v1/skills/{skill}/explain",
	"list_skills":        "GET /v1/skills",
	"list_versions":      "GET /v1/skills?all=true",
	"list_outdated":      "GET /v1/outdated",
	"list_runs":          "GET /v1/runs",
	"search":             "GET /v1/search",
	"list_proposals":     "GET /v1/approvals",
	"list_all_proposals": "GET /v1/approvals?all=true",
	"list_policies":      "GET /v1/policies",
	"list_tasks":         "GET /v1/tasks",
	"list_agents":        "GET /v1/agents",
	"list_providers":     "GET /v1/providers",
	"list_memories":      "GET /v1/memories",
}

// say is what stands for a remedy in a sentence: its request, or what it does.
func say(r fault.Remedy) string {
	request, ok := requests[r.Action]
	switch {
	case len(r.Choices) > 0:
		return strings.Join(r.Choices, ", ")
	case r.Action == "set_field" || r.Action == "leave_out_field":
		return fieldsOf(r)
	case !ok:
		return r.Words()
	}
	for _, p := range []fault.Param{fault.ParamSkill, fault.ParamProposal, fault.ParamTask} {
		if v := r.Param(p); v != "" {
			request = strings.ReplaceAll(request, "{"+string(p)+"}", v)
		}
	}
	return request
}

// fieldNames are the names of the fields that requests have by another name.
var fieldNames = map[fault.Field]string{fault.FieldDir: "dirs"}

// fieldsOf are the fields of a request that a remedy speaks of.
func fieldsOf(r fault.Remedy) string {
	var all []string
	for _, f := range r.Fields {
		text := strconv.Quote(cmp.Or(fieldNames[f.Field], string(f.Field)))
		if f.Value != "" {
			text += ": " + strconv.Quote(f.Value)
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}
