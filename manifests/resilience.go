package manifests

import (
	"cmp"
	"slices"
	"strings"
)

// What a section of resilience means where it leaves a field out.
const (
	DefaultAttempts        = 3
	DefaultBaseDelay       = 0.5 // seconds
	DefaultMaxDelay        = 30  // seconds
	DefaultFailures        = 5   // in a row, until calls are refused
	DefaultRecoverySeconds = 60
	DefaultProbes          = 1 // successes in a row, until calls are let through again
)

// Retries returns the retry_config with its defaults filled in. Without one, or
// with one that allows a single attempt, MaxAttempts is 1 and nothing else is set.
func (m *Manifest) Retries() RetryConfig {
	given := m.Resilience.RetryConfig
	if given == nil || given.MaxAttempts == 1 {
		return RetryConfig{MaxAttempts: 1}
	}
	r := RetryConfig{
		MaxAttempts:     cmp.Or(given.MaxAttempts, DefaultAttempts),
		BackoffStrategy: cmp.Or(given.BackoffStrategy, BackoffExponential),
		BaseDelay:       cmp.Or(given.BaseDelay, DefaultBaseDelay),
		MaxDelay:        cmp.Or(given.MaxDelay, max(DefaultMaxDelay, given.BaseDelay)),
		RetryOn:         given.RetryOn,
	}
	if r.RetryOn == nil {
		r.RetryOn = []Reason{ReasonTimeout, ReasonNetworkError}
	}
	return r
}

// Breaker returns the circuit_breaker with its defaults filled in; ok is false
// when there is none.
func (m *Manifest) Breaker() (b CircuitBreaker, ok bool) {
	given := m.Resilience.CircuitBreaker
	if given == nil {
		return b, false
	}
	return CircuitBreaker{
		FailureThreshold: cmp.Or(given.FailureThreshold, DefaultFailures),
		RecoveryTimeout:  cmp.Or(given.RecoveryTimeout, DefaultRecoverySeconds),
		HalfOpenProbes:   cmp.Or(given.HalfOpenProbes, DefaultProbes),
	}, true
}

// Fallback reads fallback_command: the tool of an installed skill, with the
// skill's name, or a tool of this skill, with an empty Name. ok is false when
// there is none.
func (m *Manifest) Fallback() (r Ref, ok bool) {
	text := m.Resilience.FallbackCommand
	switch {
	case text == "":
		return Ref{}, false
	case !strings.Contains(text, ":"):
		return Ref{Tool: text}, toolName.MatchString(text)
	}
	r, err := ParseRef(text)
	return r, err == nil
}

// HealthTool returns the tool a health check calls, and its input; ok is false
// when none is called. Its Input is {} when the tool takes JSON and none is given.
func (m *Manifest) HealthTool() (t Tool, input []byte, ok bool) {
	h := m.Resilience.HealthCheck
	if h == nil || !h.Enabled || h.Tool == "" {
		return t, nil, false
	}
	t, ok = m.Tool(h.Tool)
	if len(h.Input) == 0 && len(t.InputSchema) > 0 {
		return t, []byte("{}"), ok
	}
	return t, h.Input, ok
}

// Caches reports whether the answers of a tool may be kept: the manifest asks
// for it, and the tool promises to change nothing and to answer alike.
func (m *Manifest) Caches(t Tool) bool {
	return m.Performance.Caching != nil && t.ReadOnly && t.Idempotent
}

// Queue returns how many calls may run at once in a host process and how many
// more may wait; ok is false when the skill sets no bound.
func (m *Manifest) Queue() (running, waiting int, ok bool) {
	e := m.Performance.Execution
	if e == nil {
		return 0, 0, false
	}
	if e.ExecutionQueueSize == nil {
		return e.MaxConcurrentCalls, DefaultQueue, true
	}
	return e.MaxConcurrentCalls, *e.ExecutionQueueSize, true
}

// names reports whether p asks for the skill called name.
func (p NamePermission) names(name string) bool {
	prefix, any := strings.CutSuffix(p.Name, "*")
	return p.Name == name || any && strings.HasPrefix(name, prefix)
}

// state checks what is said about the skill's store.
func (c *checker) state() {
	const at = "security.permissions.kv.migrate"
	kv := c.m.Security.Permissions.KV
	if kv == nil || kv.Migrate == "" {
		return
	}
	c.knownTool(at, kv.Migrate)
	if kv.SchemaVersion <= 1 {
		c.report(at, "remove it, or raise schema_version", "would be ignored: no data is older than schema_version 1")
	}
	if len(c.m.Tools) == 1 {
		c.report(at, "add a tool that callers can call", "%s is the only tool, and the host alone calls it", kv.Migrate)
	}
}

// knownTool demands that the manifest has a tool of that name.
func (c *checker) knownTool(at, name string) (Tool, bool) {
	t, ok := c.m.Tool(name)
	if !ok {
		c.report(at, didYouMeanTool(name, c.m.Tools), "%q is not one of the tools", name)
	}
	return t, ok
}

func didYouMeanTool(name string, tools []Tool) string {
	var names []string
	for _, t := range tools {
		names = append(names, t.Name)
	}
	return cmp.Or(didYouMean(name, names), "the tools are "+strings.Join(names, ", "))
}

func (c *checker) resilience() {
	c.retries()
	c.fallback()
	c.healthCheck()
}

func (c *checker) retries() {
	const at = "resilience.retry_config"
	r := c.m.Resilience.RetryConfig
	switch {
	case r == nil:
	case r.MaxAttempts == 1 && (r.BackoffStrategy != "" || r.BaseDelay > 0 || r.MaxDelay > 0 || len(r.RetryOn) > 0):
		c.report(at, "remove it, or raise max_attempts", "would be ignored: max_attempts is 1")
	case r.MaxDelay > 0 && r.MaxDelay < cmp.Or(r.BaseDelay, DefaultBaseDelay):
		c.report(at+".max_delay", "raise it, or write a smaller base_delay", "is shorter than the first pause, of %v seconds", cmp.Or(r.BaseDelay, DefaultBaseDelay))
	}
}

// fallback checks that the command can be found, and that it is asked for when
// it belongs to another skill.
func (c *checker) fallback() {
	const at = "resilience.fallback_command"
	text := c.m.Resilience.FallbackCommand
	if text == "" {
		return
	}
	r, ok := c.m.Fallback()
	asked := slices.ContainsFunc(c.m.Security.Permissions.Skills, func(p NamePermission) bool { return p.names(r.Name) })
	switch {
	case !ok || r.Tool == "":
		c.report(at, "write the name of another tool, or skill:tool", "%q is neither a tool of this skill nor one of another", text)
	case r.Name == c.m.Name:
		c.report(at, "write "+r.Tool, "names the skill itself")
	case r.Name == "":
		c.ownFallback(at, r.Tool)
	case !asked:
		c.report(at, `add it there: {"name": "`+r.Name+`", "reason": "answers when this skill fails"}`, "runs the skill %s, and security.permissions.skills does not ask for it", r.Name)
	}
}

func (c *checker) ownFallback(at, tool string) {
	if _, ok := c.knownTool(at, tool); !ok {
		return
	}
	kv := c.m.Security.Permissions.KV
	switch {
	case len(c.m.Tools) == 1:
		c.report(at, "name another tool, or remove it", "would be ignored: %s is the only tool", tool)
	case kv != nil && kv.Migrate == tool:
		c.report(at, "name another tool", "%s is the tool that kv.migrate names, which the host alone calls", tool)
	}
}

// healthCheck checks that what is called by itself changes nothing.
func (c *checker) healthCheck() {
	const at = "resilience.health_check"
	h := c.m.Resilience.HealthCheck
	if h == nil {
		return
	}
	if h.Tool == "" {
		if len(h.Input) > 0 {
			c.report(at+".input", "name the tool it is for, or remove it", "would be ignored: no tool is called")
		}
		return
	}
	t, ok := c.knownTool(at+".tool", h.Tool)
	if !ok {
		return
	}
	if !t.ReadOnly {
		c.report(at+".tool", `name one with "read_only": true`, "%s may change something, and a health check is run unasked", h.Tool)
	}
	c.healthInput(at+".input", t)
}

func (c *checker) healthInput(at string, t Tool) {
	s := c.compiled[string(t.InputSchema)]
	if s == nil {
		return
	}
	var doc *node
	if h := c.doc.get("resilience").get("health_check"); h != nil {
		doc = h.get("input")
	}
	if doc == nil {
		doc = &node{kind: objectNode}
	}
	for _, p := range s.check(doc.plain()) {
		c.report(join(at, p.Path), p.Suggestion, "%s", p.Message)
	}
}

func (c *checker) performance() {
	p := c.m.Performance
	if p.Caching != nil && !slices.ContainsFunc(c.m.Tools, c.m.Caches) {
		c.report("performance.caching", `mark a tool with "read_only": true and "idempotent": true, or remove it`, "would be ignored: no tool is both read-only and idempotent")
	}
}
