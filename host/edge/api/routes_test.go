package api_test

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/edge/api"
)

const (
	viewer   = govern.RoleViewer
	caller   = govern.RoleCaller
	operator = govern.RoleOperator
	approver = govern.RoleApprover
	agent    = govern.RoleAgent
)

// mayUse has a row for each operation: the roles that may use it, in the order of the roles;
// nil for those that need no token.
var mayUse = map[string][]govern.Role{
	"live": nil, "ready": nil,

	"show-service": {viewer, caller, operator, approver, agent},
	"run-command":  {caller, operator, approver, agent},

	"list-skills":   {viewer, caller, operator, approver, agent},
	"list-outdated": {viewer, caller, operator, approver, agent},
	"show-skill":    {viewer, caller, operator, approver, agent},
	"search-skills": {viewer, caller, operator, approver, agent},
	"list-agents":   {viewer, caller, operator, approver, agent},
	"invoke-tool":   {caller, operator, approver, agent},
	"run-script":    {caller, operator, approver, agent},

	"enable-skill":  {approver},
	"disable-skill": {approver},
	"approve":       {approver},
	"reject":        {approver},
	"revert":        {approver},
	"grant":         {approver},
	"revoke-grants": {approver},

	"propose-script": {operator, approver, agent},

	"plan-install":  {operator, approver, agent},
	"plan-update":   {operator, approver, agent},
	"plan-rollback": {operator, approver, agent},
	"plan-remove":   {operator, approver, agent},
	"commit-plan":   {operator, approver, agent},

	"list-approvals":   {viewer, operator, approver},
	"show-approval":    {viewer, operator, approver},
	"show-grants":      {viewer, operator, approver},
	"list-grants":      {viewer, operator, approver},
	"list-policies":    {viewer, operator, approver},
	"explain-decision": {viewer, operator, approver},
	"query-audit":      {viewer, operator, approver},
	"verify-audit":     {viewer, operator, approver},
	"stats":            {viewer, operator, approver},
	"sample":           {viewer, operator, approver},
	"metrics":          {viewer, operator, approver},
	"follow-events":    {viewer, operator, approver},
	"export-audit":     {viewer, operator, approver},
	"check-policy":     {viewer, operator, approver},
	"provider-health":  {viewer, operator, approver},
	"diagnose-models":  {viewer, operator, approver},
	"list-sessions":    {caller, operator, approver, agent},
	"list-providers":   {viewer, operator, approver},

	"create-task": {caller, operator, approver, agent},
	"pause-task":  {caller, operator, approver, agent},
	"resume-task": {caller, operator, approver, agent},
	"cancel-task": {caller, operator, approver, agent},
	"list-tasks":  {viewer, caller, operator, approver, agent},
	"show-task":   {viewer, caller, operator, approver, agent},
	"follow-task": {viewer, caller, operator, approver, agent},

	"list-runs":       {viewer, caller, operator, approver, agent},
	"show-run":        {viewer, caller, operator, approver, agent},
	"run-transcript":  {viewer, caller, operator, approver, agent},
	"task-transcript": {viewer, caller, operator, approver, agent},

	"plain-create-task":    {caller, operator, approver, agent},
	"plain-show-task":      {viewer, caller, operator, approver, agent},
	"plain-list-tasks":     {viewer, caller, operator, approver, agent},
	"plain-list-approvals": {viewer, operator, approver},
	"plain-approve":        {approver},
	"plain-reject":         {approver},
	"plain-stats":          {viewer, operator, approver},

	"remember":        {operator, approver, agent},
	"list-memories":   {viewer, operator, approver, agent},
	"search-memories": {viewer, operator, approver, agent},
	"memory-stats":    {viewer, operator, approver, agent},
}

// A document is what the tests read of the OpenAPI document.
type document struct {
	Paths map[string]map[string]operation `json:"paths"`
}

type operation struct {
	ID        string                     `json:"operationId"`
	Security  []map[string][]string      `json:"security"`
	Responses map[string]json.RawMessage `json:"responses"`
}

func read(t *testing.T, s *server) document {
	t.Helper()
	a := s.ask("", "GET", "/v1/openapi.json", "")
	var d document
	if err := json.Unmarshal(a.body, &d); a.status != 200 || err != nil {
		t.Fatalf("the document: %d, %v", a.status, err)
	}
	return d
}

// Every operation is tried with a token of every role, without one, with one that is none and
// with one that was revoked. What is refused is on record.
func TestWhoMayUseWhat(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{})
	revoked := s.token(govern.CreateToken{Name: "revoked", Role: approver})
	if _, err := s.h.Govern().Tokens.Revoke(t.Context(), ada, "revoked"); err != nil {
		t.Fatal(err)
	}
	expired := s.token(govern.CreateToken{Name: "expired", Role: approver, Life: time.Second})
	if wait := time.Until(expires(t, s, "expired")); wait > 0 {
		time.Sleep(wait)
	}
	seen, strangers, want := 0, 0, map[string]int{}
	for path, methods := range read(t, s).Paths {
		path = strings.NewReplacer("{skill}", "nobody", "{tool}", "nothing", "{proposal}", "0000", "{plan}", "0", "{task}", "0000", "{run}", "00000000").Replace(path)
		for method, op := range methods {
			seen++
			roles, known := mayUse[op.ID]
			if !known {
				t.Errorf("%s: say who may use it", op.ID)
				continue
			}
			method, body := strings.ToUpper(method), ""
			if method == http.MethodPost {
				body = "{}"
			}
			if (len(op.Security) == 0) != (roles == nil) {
				t.Errorf("%s: the document says %v", op.ID, op.Security)
			}
			for _, secret := range []string{"", "skt_nothing", "nothing", revoked, expired, s.tokens[agent] + "x"} {
				if roles != nil {
					strangers++
				}
				if a := s.ask(secret, method, path, body); roles != nil && (a.status != 401 || a.header.Get("WWW-Authenticate") == "" || a.at("kind") != "denied") {
					t.Errorf("%s with the token %q: %s", op.ID, secret, a)
				}
			}
			for _, role := range govern.Roles() {
				if op.ID == "follow-events" && slices.Contains(roles, role) {
					continue // it has no end: TestEventsOfTheHome follows it
				}
				a := s.ask(s.tokens[role], method, path, body)
				if a.status == 403 {
					want[string(role)+" "+method+" "+path]++
				}
				if may := roles == nil || slices.Contains(roles, role); may == (a.status == 403) || a.status == 401 || a.status >= 500 {
					t.Errorf("%s as %s: %s, want that it may: %v", op.ID, role, a, may)
				}
			}
		}
	}
	if seen != len(mayUse) {
		t.Errorf("there are %d operations, and rows for %d", seen, len(mayUse))
	}
	got, names, all := map[string]int{}, map[string]bool{}, 0
	for _, r := range s.refusals() {
		if names[r.Token] = true; !slices.Contains(govern.Roles(), govern.Role(r.Token)) {
			all += 1 + r.More
			continue
		}
		if got[r.Token+" "+r.Route]++; r.Reason == "" {
			t.Errorf("no reason: %+v", r)
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("on record are %v, refused were %v", got, want)
	}
	if all != strangers || !names["revoked"] || !names["expired"] || !names[""] {
		t.Errorf("on record are %d of %d requests of nobody, with the names %v", all, strangers, names)
	}
}

// refusals are the refused requests that are on record, all of them.
func (s *server) refusals() []govern.Refusal {
	s.t.Helper()
	if err := s.h.Govern().Tokens.FlushRefusals(s.t.Context(), ada); err != nil {
		s.t.Fatal(err)
	}
	events, err := s.h.Govern().Audit.Events(s.t.Context(), ada, govern.EventsRequest{Limit: 100_000, Denied: true})
	if err != nil {
		s.t.Fatal(err)
	}
	var all []govern.Refusal
	for _, e := range events {
		if e.Refused != nil {
			all = append(all, *e.Refused)
		}
	}
	return all
}

// What an agent asks for that is not its own is refused, and on record: another's task, a
// decision, a person's yes, a path of this machine, a skill that its token is not for.
func TestWhatAgentsMayNot(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{})
	s.install("1.0.0")
	theirs := s.as(caller, 201, "POST", "/v1/tasks", `{"goal":"say goodbye"}`).at("task_id")
	plan := s.as(agent, 201, "POST", "/v1/plans/remove", `{"skills":["echo"]}`).at("id")
	secret := s.token(govern.CreateToken{Name: "bound", Role: agent, Skills: []string{"other"}})
	var want []string
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{"GET", "/v1/tasks/" + theirs, "", 404}, {"GET", "/v1/tasks/" + theirs + "/events", "", 404},
		{"POST", "/v1/tasks/" + theirs + "/pause", "", 404}, {"POST", "/v1/tasks/" + theirs + "/resume", "", 404},
		{"POST", "/v1/tasks/" + theirs + "/cancel", "{}", 404},
		{"POST", "/v1/plans/" + plan + "/commit", `{"consent":"shown"}`, 403},
		{"POST", "/v1/plans/install", `{"package":"/tmp/echo"}`, 403},
		{"POST", "/v1/skills/echo/grants", `{"capabilities":["secret:github"]}`, 403},
		{"POST", "/v1/approvals/0000/approve", `{"digest":"sha256:00000000"}`, 403},
		{"GET", "/v1/skills/echo", "", 403}, {"POST", "/v1/skills/echo/tools/echo/invoke", "{}", 403},
		{"POST", "/v1/tasks", `{"goal":"x","tools":["echo"]}`, 403},
	} {
		if a := s.ask(secret, c.method, c.path, c.body); a.status != c.status && !strings.HasPrefix(c.path, "/v1/plans/"+plan) {
			t.Errorf("%s %s: %s", c.method, c.path, a)
		}
		if strings.HasPrefix(c.path, "/v1/plans/"+plan) {
			s.as(agent, c.status, c.method, c.path, c.body)
		}
		want = append(want, c.method+" "+c.path)
	}
	none := s.ask(secret, "GET", "/v1/tasks/ffffffff", "")
	if other := s.ask(secret, "GET", "/v1/tasks/"+theirs, ""); strings.ReplaceAll(string(other.body), theirs, "ffffffff") != string(none.body) {
		t.Errorf("that a task is there can be told: %s, %s", other, none)
	}
	want = append(want, "GET /v1/tasks/"+theirs)
	var got []string
	for _, r := range s.refusals() {
		got = append(got, r.Route)
	}
	if !slices.Equal(got, want) {
		t.Errorf("on record are %q, want %q", got, want)
	}
	if a := s.as(viewer, 200, "GET", "/v1/audit/verify", ""); a.at("ok") != "true" {
		t.Errorf("the audit log: %s", a)
	}
}

// However often somebody asks who is let in nowhere, the log stays short, and says how often.
func TestRefusalsAreBounded(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{})
	const asked = 400
	for range asked {
		s.ask("skt_nothing", "GET", "/v1/skills", "")
	}
	all := s.refusals()
	sum := 0
	for _, r := range all {
		sum += 1 + r.More
	}
	if sum != asked || len(all) > asked/2 {
		t.Errorf("%d entries for %d of %d requests", len(all), sum, asked)
	}
}

func expires(t *testing.T, s *server, name string) time.Time {
	t.Helper()
	all, err := s.h.Govern().Tokens.List(t.Context(), ada)
	i := slices.IndexFunc(all, func(k govern.Token) bool { return k.Name == name })
	if err != nil || i < 0 {
		t.Fatal(all, err)
	}
	return all[i].Expires
}

// A token is shown in one header, and nowhere else.
func TestWhereTokensAre(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{})
	secret := s.tokens[viewer]
	for _, c := range []struct {
		path, header, value string
		want                int
	}{
		{"/v1/skills", "Authorization", "Bearer " + secret, 200},
		{"/v1/skills", "Authorization", "bearer " + secret, 200},
		{"/v1/skills", "Authorization", secret, 401},
		{"/v1/skills", "Authorization", "Basic " + secret, 401},
		{"/v1/skills", "Cookie", "token=" + secret, 401},
		{"/v1/skills", "X-Api-Key", secret, 401},
		{"/v1/skills?access_token=" + secret, "Accept", "*/*", 401},
	} {
		if a := s.ask("", "GET", c.path, "", c.header, c.value); a.status != c.want {
			t.Errorf("%s: %s: %s, want %d", c.header, c.value, a, c.want)
		}
	}
}

// A token for some skills calls those, sees those, and has tasks use those.
func TestScopes(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{})
	s.install("1.0.0")
	for name, c := range map[string]struct {
		skills []string
		may    bool
	}{
		"all": {nil, true}, "skill": {[]string{"other", "echo"}, true}, "tool": {[]string{"echo:echo"}, true},
		"other": {[]string{"other"}, false}, "other-tool": {[]string{"echo:other"}, false},
	} {
		secret := s.token(govern.CreateToken{Name: "scope-" + name, Role: caller, Skills: c.skills})
		if a := s.ask(secret, "POST", "/v1/skills/echo/tools/echo/invoke", `{"input":1}`); (a.status == 200) != c.may || !c.may && a.status != 403 {
			t.Errorf("%s: a call: %s", name, a)
		}
		if a := s.ask(secret, "POST", "/v1/skills/echo@1.0.0/tools/echo/invoke", `{"input":1}`); (a.status == 200) != c.may {
			t.Errorf("%s: a call of a version: %s", name, a)
		}
		if a := s.ask(secret, "POST", "/v1/tasks", `{"goal":"say hello","tools":["echo:echo"]}`); (a.status == 201) != c.may || !c.may && a.status != 403 {
			t.Errorf("%s: a task with the tool: %s", name, a)
		}
		a := s.ask(secret, "POST", "/v1/tasks", `{"goal":"say hello"}`)
		task := s.ask(secret, "GET", "/v1/tasks/"+a.at("task_id"), "")
		if want, _ := json.Marshal(c.skills); a.status != 201 || len(c.skills) > 0 && task.at("task", "tools") != string(want) {
			t.Errorf("%s: a task without tools: %s, %s", name, a, task)
		}
	}
	other := s.token(govern.CreateToken{Name: "other", Role: caller, Skills: []string{"other"}})
	if a := s.ask(other, "GET", "/v1/skills", ""); a.at("items") != "[]" {
		t.Errorf("skills that a token is not for: %s", a)
	}
	if a := s.ask(other, "GET", "/v1/skills/echo", ""); a.status != 403 {
		t.Errorf("a skill that a token is not for: %s", a)
	}
}

// An agent's token sees the tasks of that agent, and of nobody else.
func TestTasksOfOthers(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{})
	mine := s.as(agent, 201, "POST", "/v1/tasks", `{"goal":"say hello"}`).at("task_id")
	theirs := s.as(caller, 201, "POST", "/v1/tasks", `{"goal":"say goodbye"}`).at("task_id")
	for _, role := range []govern.Role{agent, caller} {
		own, other := mine, theirs
		if role == caller {
			own, other = theirs, mine
		}
		s.as(role, 200, "GET", "/v1/tasks/"+own, "")
		s.as(role, 404, "GET", "/v1/tasks/"+other, "")
		s.as(role, 404, "GET", "/v1/tasks/"+other+"/events", "")
		for _, do := range []string{"pause", "resume"} {
			s.as(role, 404, "POST", "/v1/tasks/"+other+"/"+do, "")
		}
		s.as(role, 404, "POST", "/v1/tasks/"+other+"/cancel", "{}")
		if a := s.as(role, 200, "GET", "/v1/tasks", ""); strings.Contains(string(a.body), other) || !strings.Contains(string(a.body), own) {
			t.Errorf("the tasks of %s: %s", role, a)
		}
	}
	for _, role := range []govern.Role{viewer, operator, approver} {
		if a := s.as(role, 200, "GET", "/v1/tasks", ""); !strings.Contains(string(a.body), mine) || !strings.Contains(string(a.body), theirs) {
			t.Errorf("the tasks as %s: %s", role, a)
		}
	}
	s.as(operator, 200, "POST", "/v1/tasks/"+mine+"/pause", "")
	s.as(operator, 200, "POST", "/v1/tasks/"+mine+"/resume", "")
	s.as(operator, 200, "POST", "/v1/tasks/"+mine+"/cancel", `{"reason":"not needed"}`)
	if a := s.as(operator, 200, "GET", "/v1/tasks?state=cancelled", ""); a.at("items", "", "task_id") != mine {
		t.Errorf("cancelled tasks: %s", a)
	}
}

// What does not fit is refused with a problem that says what and where.
func TestRequestsThatDoNotFit(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{})
	secret := s.tokens[approver]
	for _, c := range []struct {
		method, path, body string
		headers            []string
		want               int
	}{
		{"GET", "/v1/tasks?limit=", "", nil, 422},
		{"GET", "/v1/tasks?limit=&state=", "", nil, 422},
		{"GET", "/v1/tasks?limit=0", "", nil, 422},
		{"GET", "/v1/tasks?limit=1001", "", nil, 422},
		{"GET", "/v1/tasks?state=asleep", "", nil, 422},
		{"GET", "/v1/tasks?cursor=x", "", nil, 422},
		{"GET", "/v1/tasks?colour=red", "", nil, 422},
		{"POST", "/v1/tasks", "", nil, 400},
		{"POST", "/v1/tasks", "{", nil, 400},
		{"POST", "/v1/tasks", `{"goal":1}`, nil, 422},
		{"POST", "/v1/tasks", `{"goal":""}`, nil, 422},
		{"POST", "/v1/tasks", `{"goal":"a","color":"red"}`, nil, 422},
		{"POST", "/v1/tasks", `{"goal":"a","online":null}`, nil, 422},
		{"POST", "/v1/tasks", `{"goal":"a","tools":[null]}`, nil, 422},
		{"POST", "/v1/tasks", `{"goal":"a"}`, []string{"Idempotency-Key", ""}, 400},
		{"POST", "/v1/tasks", "goal=a", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415},
		{"POST", "/v1/tasks", `{"goal":"` + strings.Repeat("a", api.MaxBody) + `"}`, nil, 413},
		{"POST", "/v1/skills/echo/tools/echo/invoke", `{"input":"` + strings.Repeat("a", api.MaxInput) + `"}`, nil, 413},
		{"GET", "/v1/nothing", "", nil, 404},
		{"GET", "/", "", nil, 404},
		{"DELETE", "/v1/tasks", "", nil, 405},
		{"GET", "/v1/skills", "", []string{"Host", "evil.example"}, 421},
		{"POST", "/v1/tasks", `{"goal":"a"}`, []string{"Origin", "https://evil.example"}, 403},
		{"POST", "/v1/tasks", `{"goal":"a"}`, []string{"Sec-Fetch-Site", "cross-site"}, 403},
	} {
		a := s.ask(secret, c.method, c.path, c.body, c.headers...)
		if a.status != c.want || a.header.Get("Content-Type") != "application/problem+json" || a.at("status") != jsonOf(c.want) || a.at("kind") == "" || a.at("detail") == "" {
			t.Errorf("%s %s %.40s %v: %s %v, want %d", c.method, c.path, c.body, c.headers, a, a.header, c.want)
		}
	}
	if a := s.ask("", "GET", "/v1/tasks?limit=", ""); a.status != 401 {
		t.Errorf("an empty parameter without a token: %s", a)
	}
	if a := s.as(caller, 404, "POST", "/v1/skills/echo/tools/echo/invoke", `{"input":null}`); a.at("kind") != "not_found" {
		t.Errorf("null as an input: %s", a)
	}
	if a := s.ask(secret, "DELETE", "/v1/tasks", ""); a.header.Get("Allow") != "GET, POST" {
		t.Errorf("what is allowed in the place of DELETE: %v", a.header)
	}
}

func jsonOf(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

// Every operation documents what any may answer.
func TestRefusalsAreDocumented(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{})
	for path, methods := range read(t, s).Paths {
		for method, op := range methods {
			for _, status := range []string{"400", "404", "409", "413", "415", "422", "429", "500", "503"} {
				if op.Responses[status] == nil {
					t.Errorf("%s %s does not document %s", method, path, status)
				}
			}
		}
	}
}

// What is on record of a refused request is short, whatever whoever asks sends.
func TestRefusalsAreShort(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{})
	long := strings.Repeat("é", 100_000)
	if err := s.h.Govern().Tokens.Refused(t.Context(), govern.Pass{}, "GET /"+long, errors.New(long)); err != nil {
		t.Fatal(err)
	}
	for _, r := range s.refusals() {
		if len(r.Route) > 300 || len(r.Reason) > 300 || !strings.HasSuffix(r.Route, "é") {
			t.Errorf("%d and %d bytes: %q", len(r.Route), len(r.Reason), r.Route)
		}
	}
}
