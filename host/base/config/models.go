package config

import (
	"strings"
)

// Models says which models are asked.
type Models struct {
	// Default is asked when nothing says which.
	Default string `koanf:"default" doc:"the model that is asked when nothing says which, as PROVIDER/MODEL; empty leaves it to its tier"`
	// Tiers are the models of each class.
	Tiers Tiers `koanf:"tiers"`
	// Fallback are asked after those, and FallbackRefused has another model asked when
	// one does not want to answer.
	Fallback        string `koanf:"fallback" doc:"the models that are asked after those of a tier, as PROVIDER/MODEL, separated by commas"`
	FallbackRefused bool   `koanf:"fallback_refused" doc:"ask the next model when one does not want to answer: true or false"`
	// LocalOnly keeps everything on this machine.
	LocalOnly bool `koanf:"local_only" doc:"ask only providers from which nothing leaves this machine: true or false"`
	// CacheTTLSeconds is how long answers are kept.
	CacheTTLSeconds float64 `koanf:"cache_ttl_seconds" doc:"how long the same request gets the same answer of a model again, in seconds; 0 keeps none"`
	// MemoryMB bounds what models take on this machine.
	MemoryMB int `koanf:"memory_mb" doc:"the most memory that models loaded on this machine may take together, in MB"`
}

// Tiers are the models of each class: names in the form PROVIDER/MODEL separated by
// commas, the one to ask first at the beginning. Empty leaves it to what the
// providers say of their models.
type Tiers struct {
	Fast         string `koanf:"fast" doc:"the models for small steps, as PROVIDER/MODEL, separated by commas, the first choice first; empty: what providers call so"`
	Balanced     string `koanf:"balanced" doc:"the models for most work, likewise"`
	Smart        string `koanf:"smart" doc:"the models for plans and hard questions, likewise"`
	Code         string `koanf:"code" doc:"the models that write code, likewise"`
	Conversation string `koanf:"conversation" doc:"the models that talk with a person, likewise"`
}

// Lists are the models of each tier that has some, by the name of the tier.
func (t Tiers) Lists() map[string][]string {
	lists := map[string][]string{}
	for tier, names := range t.named() {
		if list := nameList(names); len(list) > 0 {
			lists[tier] = list
		}
	}
	return lists
}

// Fallbacks are the models of Fallback.
func (m Models) Fallbacks() []string { return nameList(m.Fallback) }

// nameList takes a list of names apart.
func nameList(names string) (list []string) {
	for name := range strings.SplitSeq(names, ",") {
		if name = strings.TrimSpace(name); name != "" {
			list = append(list, name)
		}
	}
	return list
}

func (t Tiers) named() map[string]string {
	return map[string]string{
		"fast": t.Fast, "balanced": t.Balanced, "smart": t.Smart, "code": t.Code, "conversation": t.Conversation,
	}
}

// Budget is what models may cost: all of a day and of a month, and one task.
type Budget struct {
	Day   Allowance `koanf:"day"`
	Month Allowance `koanf:"month"`
	Task  Allowance `koanf:"task"`
	// AlertPercent is from which part of a budget on somebody is told.
	AlertPercent float64 `koanf:"alert_percent" doc:"from which part of a budget on somebody is told, in percent; 0: never"`
}

// An Allowance bounds tokens and money; 0 bounds nothing.
type Allowance struct {
	Tokens int64   `koanf:"tokens" doc:"the most tokens of models that may be used in that time, or by one task; 0: no bound"`
	USD    float64 `koanf:"usd" doc:"the most that models may cost in that time, or for one task, in US dollars; 0: no bound"`
}

// Tasks bound the work on tasks.
type Tasks struct {
	Concurrency     int     `koanf:"concurrency" doc:"how many tasks are worked on at the same time"`
	QueueLimit      int     `koanf:"queue_limit" doc:"how many tasks may wait; less urgent ones are turned away before"`
	TimeoutSeconds  float64 `koanf:"timeout_seconds" doc:"the longest that one run of a task may take, in seconds"`
	TakeoverSeconds float64 `koanf:"takeover_seconds" doc:"how long after its process died another process goes on with a task, in seconds"`
	ApproveRisk     string  `koanf:"approve_risk" doc:"calls of tools in tasks that have this risk or more wait for a person, with or without a plan: low, medium, high, or never"`
}

// Memory says how much is remembered, and by what it is found.
type Memory struct {
	Embedder              string  `koanf:"embedder" doc:"what makes the vectors that memories are found by: hashing, or a model as PROVIDER/MODEL"`
	MaxRecords            int     `koanf:"max_records" doc:"how many memories there may be"`
	ConsolidateAfterCount int     `koanf:"consolidate_after_count" doc:"from how many memories on they are merged, and the least important are forgotten"`
	ConsolidateAfterHours float64 `koanf:"consolidate_after_hours" doc:"how long after one consolidation of the memory the next is due, in hours"`
}
