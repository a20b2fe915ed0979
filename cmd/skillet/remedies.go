package main

import (
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/internal/lazyregexp"
)

// remedyCommands are the commands of remedies. A parameter stands in braces; one in
// brackets may be left out, others stand as in capitals when the remedy has none.
var remedyCommands = map[fault.Action]string{
	"grant":   "permission grant {skill:SKILL} {capability:CAPABILITY}",
	"approve": "approvals approve {proposal:ID}",
	"reject":  "approvals reject {proposal:ID}",

	"install":         "install {source:PATH}",
	"install_engine":  "engine add {skill:NAME}",
	"update":          "update {skill:NAME}",
	"update_all":      "update --all",
	"write_lock":      "lock -o {file:FILE}",
	"sync":            "sync {file}",
	"roll_back":       "rollback {skill:NAME}",
	"remove":          "remove {skill:NAME}",
	"remove_unneeded": "remove --prune",
	"enable":          "enable {skill:NAME}",
	"unpin":           "unpin {skill:NAME}",
	"run":             "run {skill:NAME}",

	"set_setting": "config set {setting:KEY} {value:VALUE}",
	"set_secret":  "secret set {secret:NAME}",
	"log_in":      "login {host:HOST}",

	"log_in_server": "mcp login {skill:NAME}",

	"build":   "build {dir:DIR}",
	"test":    "test",
	"new":     "new",
	"pack":    "pack",
	"publish": "push",

	"close_session":        "session close {session:SKILL/NAME}",
	"resume_session":       "session resume {session:SKILL/NAME}",
	"cancel_task":          "task cancel {task:ID}",
	"resume_task":          "task resume {task:ID}",
	"follow_task":          "task logs {task:ID} --follow",
	"work_tasks":           "task work",
	"add_agent":            "agent add {file:FILE}",
	"run_agent":            "agent run {agent:NAME} GOAL",
	"test_provider":        "provider test {provider:NAME}",
	"consolidate_memories": "memory consolidate",

	"trust":               "trust add {signer:KEY.pem}",
	"trust_root":          "trust add --root {file:FILE}",
	"distrust":            "trust remove",
	"revoke_signer":       "trust revoke {signer:KEY.pem}",
	"unrevoke":            "trust revoke {skill:SKILL} --undo",
	"unrevoke_signer":     "trust revoke {signer:SIGNER} --undo",
	"rotate_key":          "key rotate",
	"make_key":            "key create",
	"import_key":          "key import {file}",
	"show_key":            "key show",
	"publish_revocations": "trust revocations push",

	"check_home":    "doctor",
	"check_store":   "store verify",
	"check_log":     "audit verify",
	"check_policy":  "policy check {file:FILE}",
	"repair_log":    "audit repair",
	"export_log":    "audit export",
	"rebuild_store": "store rebuild",
	"restore_store": "store restore {file:FILE}",
	"free_space":    "gc",

	"show_skill":    "info {skill:NAME}",
	"show_grants":   "permission show {skill:SKILL}",
	"show_needs":    "tree {skill}",
	"show_users":    "why {skill:NAME}",
	"show_proposal": "approvals show {proposal:ID}",
	"show_decision": "policy explain {skill:SKILL} {capability:REQUEST}",
	"show_rule":     "explain {rule:RULE}",
	"show_routing":  "provider diagnose",
	"show_log_key":  "audit key",
	"read":          "help {topic}",
	"search":        "search {query}",

	"list_skills":        "list",
	"list_versions":      "list --all",
	"list_outdated":      "outdated",
	"list_runs":          "audit",
	"list_proposals":     "approvals list",
	"list_all_proposals": "approvals list --all",
	"list_policies":      "policy list",
	"list_settings":      "config list",
	"list_secrets":       "secret list",
	"list_sessions":      "session list",
	"list_tasks":         "task list",
	"list_dead_tasks":    "task dead",
	"list_tokens":        "token list",
	"list_agents":        "agent list",
	"list_providers":     "provider list",
	"list_memories":      "memory list",
	"list_signers":       "trust list",
	"list_revocations":   "trust revocations list",
}

// remedyWords are what is said of the remedies that no command is for.
var remedyWords = map[fault.Action]func(fault.Remedy) string{
	"set_field":       func(r fault.Remedy) string { return flagsOf(r.Fields) },
	"leave_out_field": func(r fault.Remedy) string { return flagsOf(r.Fields) },
	"choose":          func(r fault.Remedy) string { return strings.Join(r.Choices, ", ") },
	"plan_again":      func(fault.Remedy) string { return "run the command again" },
	"show_call":       func(fault.Remedy) string { return "--json" },
}

// remedyFlags are the flags of the fields that are not called as they are.
var remedyFlags = map[fault.Field]string{
	fault.FieldCompare:  "with",
	fault.FieldSettings: "set",
	fault.FieldLanguage: "lang",
	fault.FieldMatch:    "run",
}

// flagsOf are fields of a request as flags.
func flagsOf(fields []fault.FieldValue) string {
	var all []string
	for _, f := range fields {
		all = append(all, "--"+remedyFlag(f.Field))
		switch {
		case f.Field == fault.FieldAllow || f.Field == fault.FieldInput && f.Value != "":
			all = append(all, singleQuoted(f.Value))
		case f.Value != "":
			all = append(all, quoteParam(f.Value))
		}
	}
	return strings.Join(all, " ")
}

// remedyFlag is the name of the flag for a field.
func remedyFlag(f fault.Field) string {
	if flag := remedyFlags[f]; flag != "" {
		return flag
	}
	return strings.ReplaceAll(string(f), "_", "-")
}

var paramInCommand = lazyregexp.New(`\{([a-z]+)(?::([^}]+))?\}`)

// commandOf is the command of a remedy; empty when there is none.
func (t *terminal) commandOf(r fault.Remedy) string {
	template := remedyCommands[r.Action]
	if template == "" {
		return ""
	}
	command := paramInCommand().ReplaceAllStringFunc(template, func(at string) string {
		m := paramInCommand().FindStringSubmatch(at)
		switch v := r.Param(fault.Param(m[1])); {
		case v == "":
			return m[2]
		case fault.Param(m[1]) == fault.ParamCapability:
			return singleQuoted(v)
		default:
			return quoteParam(v)
		}
	})
	words := []string{"skillet", t.elsewhere, strings.TrimSpace(command), flagsOf(r.Fields)}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}

func singleQuoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// quoteParam is a word as a shell takes it; a line that a person would have to type
// otherwise is none.
func quoteParam(word string) string { return quoteWord(strings.ReplaceAll(word, "\n", " ")) }

// way says how to get out of a failure: the sentence with a command or a flag for each of
// its remedies. A command that ends the sentence stands there as it is, to be copied.
func (t *terminal) way(sentence string, remedies []fault.Remedy) string {
	if len(remedies) == 0 {
		return t.here(sentence)
	}
	if sentence == "" {
		return t.way("{0}", remedies[:1])
	}
	alone := len(remedies) == 1 && (sentence == "{0}" || strings.HasSuffix(sentence, ": {0}"))
	return fault.Fill(sentence, remedies, func(r fault.Remedy) string {
		command := t.commandOf(r)
		words := remedyWords[r.Action]
		switch {
		case command != "" && alone:
			return command
		case command != "":
			return "`" + command + "`"
		case words != nil:
			return words(r)
		}
		return r.Words()
	})
}

// filled is a copy of what is to be printed in which the hints say what there is for their
// remedies.
func (t *terminal) filled(v any) any { return fault.Filled(v, t.way) }
