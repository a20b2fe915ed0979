package main

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/skillet-run/skillet/cmd/skillet/internal/cmdline"
	"github.com/skillet-run/skillet/cmd/skillet/internal/demo"
	"github.com/skillet-run/skillet/host/app/admit"
	"github.com/skillet-run/skillet/host/app/author"
	"github.com/skillet-run/skillet/host/app/code"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/app/upkeep"
	"github.com/skillet-run/skillet/host/app/work"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/edge/api"
	"github.com/skillet-run/skillet/policies/capability"
)

// answerTypes are what commands print with --json when they succeed: one of the types. What goes
// on for a while, such as logs, prints one a line.
var answerTypes = []struct {
	command string
	types   []reflect.Type
}{
	{"install", []reflect.Type{reflect.TypeFor[[]admit.Installed](), reflect.TypeFor[admit.Installed]()}},
	{"run", []reflect.Type{reflect.TypeFor[invoke.Rendered](), reflect.TypeFor[invoke.Result]()}},
	{"code", []reflect.Type{reflect.TypeFor[code.Result]()}},
	{"propose", []reflect.Type{reflect.TypeFor[code.Made]()}},
	{"test", []reflect.Type{reflect.TypeFor[author.Tested]()}},
	{"replay", []reflect.Type{reflect.TypeFor[invoke.Replayed]()}},
	{"list", []reflect.Type{reflect.TypeFor[[]admit.Skill](), reflect.TypeFor[[]api.Skill]()}},
	{"info", []reflect.Type{reflect.TypeFor[admit.Info](), reflect.TypeFor[admit.Tool]()}},
	{"remove", []reflect.Type{reflect.TypeFor[[]admit.Skill]()}},
	{"update", []reflect.Type{reflect.TypeFor[[]admit.Updated]()}},
	{"rollback", []reflect.Type{reflect.TypeFor[admit.RolledBack]()}},
	{"pin", []reflect.Type{reflect.TypeFor[[]admit.Skill]()}},
	{"unpin", []reflect.Type{reflect.TypeFor[[]admit.Skill]()}},
	{"enable", []reflect.Type{reflect.TypeFor[[]admit.Skill]()}},
	{"disable", []reflect.Type{reflect.TypeFor[[]admit.Skill]()}},
	{"verify", []reflect.Type{reflect.TypeFor[[]admit.Verified]()}},
	{"export", []reflect.Type{reflect.TypeFor[admit.Exported]()}},
	{"import", []reflect.Type{reflect.TypeFor[[]imported]()}},
	{"lock", []reflect.Type{reflect.TypeFor[admit.Locked]()}},
	{"sync", []reflect.Type{reflect.TypeFor[admit.Synced]()}},
	{"why", []reflect.Type{reflect.TypeFor[[][]admit.Step]()}},
	{"tree", []reflect.Type{reflect.TypeFor[[]admit.Branch]()}},
	{"outdated", []reflect.Type{reflect.TypeFor[[]admit.Outdated]()}},
	{"permission list", []reflect.Type{reflect.TypeFor[[]govern.ListedGrant]()}},
	{"permission show", []reflect.Type{reflect.TypeFor[govern.Permissions]()}},
	{"permission grant", []reflect.Type{reflect.TypeFor[[]capability.Capability](), reflect.TypeFor[govern.Permissions]()}},
	{"permission revoke", []reflect.Type{reflect.TypeFor[govern.Permissions]()}},
	{"permission reset", []reflect.Type{reflect.TypeFor[govern.Permissions]()}},
	{"permission suggest", []reflect.Type{reflect.TypeFor[[]suggested]()}},
	{"permission import", []reflect.Type{reflect.TypeFor[govern.Allowance]()}},
	{"policy list", []reflect.Type{reflect.TypeFor[[]govern.Policy]()}},
	{"policy new", []reflect.Type{reflect.TypeFor[[]govern.PolicyTemplate](), reflect.TypeFor[govern.NewPolicy]()}},
	{"policy check", []reflect.Type{reflect.TypeFor[govern.PolicyReport]()}},
	{"policy test", []reflect.Type{reflect.TypeFor[[]govern.CaseOutcome]()}},
	{"policy explain", []reflect.Type{reflect.TypeFor[govern.Explanation]()}},
	{"policy schema", []reflect.Type{reflect.TypeFor[struct {
		Schema string `json:"schema"`
	}]()}},
	{"secret set", []reflect.Type{reflect.TypeFor[govern.StoredSecret]()}},
	{"secret list", []reflect.Type{reflect.TypeFor[[]govern.Secret]()}},
	{"secret remove", []reflect.Type{reflect.TypeFor[govern.Secret]()}},
	{"session open", []reflect.Type{reflect.TypeFor[invoke.Result]()}},
	{"session list", []reflect.Type{reflect.TypeFor[[]invoke.Session]()}},
	{"session show", []reflect.Type{reflect.TypeFor[invoke.Session]()}},
	{"session close", []reflect.Type{reflect.TypeFor[[]invoke.Session]()}},
	{"session resume", []reflect.Type{reflect.TypeFor[[]invoke.Session]()}},
	{"key show", []reflect.Type{reflect.TypeFor[govern.SigningKey]()}},
	{"key create", []reflect.Type{reflect.TypeFor[govern.SigningKey]()}},
	{"key export", []reflect.Type{reflect.TypeFor[govern.KeyFile](), reflect.TypeFor[govern.SigningKey]()}},
	{"key import", []reflect.Type{reflect.TypeFor[govern.SigningKey]()}},
	{"key rotate", []reflect.Type{reflect.TypeFor[govern.SigningKey]()}},
	{"trust list", []reflect.Type{reflect.TypeFor[govern.Trusted]()}},
	{"trust add", []reflect.Type{reflect.TypeFor[govern.Signer](), reflect.TypeFor[govern.TrustRoot]()}},
	{"trust remove", []reflect.Type{reflect.TypeFor[[]string]()}},
	{"trust revoke", []reflect.Type{reflect.TypeFor[[]govern.RevokedPackage](), reflect.TypeFor[[]govern.Skill](), reflect.TypeFor[govern.Unrevoked]()}},
	{"trust revocations list", []reflect.Type{reflect.TypeFor[[]govern.Revocation]()}},
	{"trust revocations import", []reflect.Type{reflect.TypeFor[govern.ImportedList]()}},
	{"trust revocations update", []reflect.Type{reflect.TypeFor[[]govern.UpdatedList]()}},
	{"trust revocations export", []reflect.Type{reflect.TypeFor[govern.ListFiles]()}},
	{"trust revocations push", []reflect.Type{reflect.TypeFor[govern.PublishedList]()}},
	{"task run", []reflect.Type{reflect.TypeFor[work.Event](), reflect.TypeFor[work.Run]()}},
	{"task list", []reflect.Type{reflect.TypeFor[[]work.Run]()}},
	{"task show", []reflect.Type{reflect.TypeFor[work.TaskView](), reflect.TypeFor[savedPage]()}},
	{"task logs", []reflect.Type{reflect.TypeFor[work.Event]()}},
	{"task pause", []reflect.Type{reflect.TypeFor[work.Run]()}},
	{"task resume", []reflect.Type{reflect.TypeFor[work.Event](), reflect.TypeFor[work.Run]()}},
	{"task cancel", []reflect.Type{reflect.TypeFor[work.Run]()}},
	{"task approve", []reflect.Type{reflect.TypeFor[work.Event](), reflect.TypeFor[work.Run]()}},
	{"task refuse", []reflect.Type{reflect.TypeFor[work.Run]()}},
	{"task remove", []reflect.Type{reflect.TypeFor[work.Removed]()}},
	{"task work", []reflect.Type{reflect.TypeFor[work.Worked]()}},
	{"task dead", []reflect.Type{reflect.TypeFor[[]work.DeadLetter](), reflect.TypeFor[work.LetterState]()}},
	{"chat", []reflect.Type{reflect.TypeFor[work.Event](), reflect.TypeFor[work.Update]()}},
	{"agent add", []reflect.Type{reflect.TypeFor[govern.Outcome](), reflect.TypeFor[govern.Proposed]()}},
	{"agent list", []reflect.Type{reflect.TypeFor[[]work.AgentEntry]()}},
	{"agent run", []reflect.Type{reflect.TypeFor[work.Event](), reflect.TypeFor[work.Run]()}},
	{"agent show", []reflect.Type{fieldOf[work.AgentEntry]("Definition")}},
	{"agent remove", []reflect.Type{reflect.TypeFor[govern.Outcome](), reflect.TypeFor[govern.Proposed]()}},
	{"provider list", []reflect.Type{reflect.TypeFor[[]work.Listed]()}},
	{"provider test", []reflect.Type{reflect.TypeFor[work.Probed]()}},
	{"provider diagnose", []reflect.Type{reflect.TypeFor[work.Diagnosis]()}},
	{"memory add", []reflect.Type{reflect.TypeFor[work.Record]()}},
	{"memory search", []reflect.Type{reflect.TypeFor[[]work.Match]()}},
	{"memory list", []reflect.Type{reflect.TypeFor[[]work.Record]()}},
	{"memory show", []reflect.Type{reflect.TypeFor[work.Record]()}},
	{"memory remove", []reflect.Type{reflect.TypeFor[[]work.Record]()}},
	{"memory stats", []reflect.Type{reflect.TypeFor[work.MemoryStats]()}},
	{"memory reindex", []reflect.Type{reflect.TypeFor[work.Reindexed]()}},
	{"memory consolidate", []reflect.Type{reflect.TypeFor[work.Outcome]()}},
	{"memory export", []reflect.Type{reflect.TypeFor[work.Exported]()}},
	{"memory import", []reflect.Type{reflect.TypeFor[work.Imported]()}},
	{"approvals list", []reflect.Type{reflect.TypeFor[[]govern.Proposal]()}},
	{"approvals show", []reflect.Type{reflect.TypeFor[govern.Proposed]()}},
	{"approvals approve", []reflect.Type{reflect.TypeFor[govern.Outcome]()}},
	{"approvals reject", []reflect.Type{reflect.TypeFor[govern.Proposal]()}},
	{"approvals revert", []reflect.Type{reflect.TypeFor[govern.Proposal]()}},
	{"approvals expire", []reflect.Type{reflect.TypeFor[[]govern.Proposal]()}},
	{"audit", []reflect.Type{reflect.TypeFor[[]govern.Event]()}},
	{"audit list", []reflect.Type{reflect.TypeFor[[]govern.Event]()}},
	{"audit show", []reflect.Type{reflect.TypeFor[work.CallDetails](), reflect.TypeFor[savedPage]()}},
	{"audit verify", []reflect.Type{reflect.TypeFor[govern.ExportReport](), reflect.TypeFor[govern.Verification]()}},
	{"audit export", []reflect.Type{reflect.TypeFor[govern.Summary]()}},
	{"audit key", []reflect.Type{reflect.TypeFor[govern.AuditKeys]()}},
	{"audit key rotate", []reflect.Type{reflect.TypeFor[govern.AuditKeys]()}},
	{"audit repair", []reflect.Type{reflect.TypeFor[upkeep.AuditRepair]()}},
	{"logs", []reflect.Type{reflect.TypeFor[govern.Event]()}},
	{"events", []reflect.Type{reflect.TypeFor[work.Event]()}},
	{"top", []reflect.Type{reflect.TypeFor[topSample]()}},
	{"serve", []reflect.Type{reflect.TypeFor[served]()}},
	{"mcp install", []reflect.Type{reflect.TypeFor[mcpConfigured]()}},
	{"mcp add", []reflect.Type{reflect.TypeFor[[]admit.Installed](), reflect.TypeFor[admit.Installed]()}},
	{"mcp login", []reflect.Type{reflect.TypeFor[govern.ServerLogin]()}},
	{"mcp logout", []reflect.Type{reflect.TypeFor[govern.LoggedOut]()}},
	{"mcp check", []reflect.Type{reflect.TypeFor[admit.MadeServer]()}},
	{"service install", []reflect.Type{reflect.TypeFor[installedService](), reflect.TypeFor[map[string]string]()}},
	{"service uninstall", []reflect.Type{reflect.TypeFor[installedService]()}},
	{"service status", []reflect.Type{reflect.TypeFor[serviceState]()}},
	{"token create", []reflect.Type{reflect.TypeFor[govern.NewToken]()}},
	{"token list", []reflect.Type{reflect.TypeFor[[]govern.Token]()}},
	{"token revoke", []reflect.Type{reflect.TypeFor[govern.Token]()}},
	{"stats", []reflect.Type{reflect.TypeFor[work.Figures]()}},
	{"scan", []reflect.Type{reflect.TypeFor[author.Scanned]()}},
	{"explain", []reflect.Type{reflect.TypeFor[[]govern.Rule](), reflect.TypeFor[govern.Rule]()}},
	{"new", []reflect.Type{reflect.TypeFor[[]author.Toolchain](), reflect.TypeFor[author.Made]()}},
	{"build", []reflect.Type{reflect.TypeFor[author.Built]()}},
	{"dev", []reflect.Type{reflect.TypeFor[author.Turn](), reflect.TypeFor[greeting]()}},
	{"inspect", []reflect.Type{reflect.TypeFor[author.Inspected]()}},
	{"bench", []reflect.Type{reflect.TypeFor[author.Benched]()}},
	{"engine list", []reflect.Type{reflect.TypeFor[[]author.Engine]()}},
	{"engine add", []reflect.Type{reflect.TypeFor[[]admit.Installed](), reflect.TypeFor[admit.Installed]()}},
	{"engine build", []reflect.Type{reflect.TypeFor[[]author.EngineBuilt]()}},
	{"pack", []reflect.Type{reflect.TypeFor[author.Packed]()}},
	{"gc", []reflect.Type{reflect.TypeFor[upkeep.Garbage]()}},
	{"search", []reflect.Type{reflect.TypeFor[admit.SearchResult]()}},
	{"pull", []reflect.Type{reflect.TypeFor[admit.Pulled]()}},
	{"push", []reflect.Type{reflect.TypeFor[admit.Pushed]()}},
	{"login", []reflect.Type{reflect.TypeFor[admit.LoginResult]()}},
	{"logout", []reflect.Type{reflect.TypeFor[struct {
		Host string `json:"host"`
	}]()}},
	{"store verify", []reflect.Type{reflect.TypeFor[upkeep.StoreReport]()}},
	{"store backup", []reflect.Type{reflect.TypeFor[upkeep.Backup]()}},
	{"store restore", []reflect.Type{reflect.TypeFor[upkeep.RebuildReport]()}},
	{"store rebuild", []reflect.Type{reflect.TypeFor[upkeep.RebuildReport]()}},
	{"config list", []reflect.Type{reflect.TypeFor[[]upkeep.Setting]()}},
	{"config get", []reflect.Type{reflect.TypeFor[upkeep.Setting]()}},
	{"config set", []reflect.Type{reflect.TypeFor[govern.Outcome](), reflect.TypeFor[govern.Proposed]()}},
	{"config unset", []reflect.Type{reflect.TypeFor[govern.Outcome](), reflect.TypeFor[govern.Proposed]()}},
	{"demo", []reflect.Type{reflect.TypeFor[[]demo.Scene]()}},
	{"doctor", []reflect.Type{reflect.TypeFor[[]upkeep.Finding](), reflect.TypeFor[upkeep.Diagnosis]()}},
	{"completion", []reflect.Type{reflect.TypeFor[completionScript]()}},
	{"version", []reflect.Type{reflect.TypeFor[upkeep.Build]()}},
	{"upgrade", []reflect.Type{reflect.TypeFor[govern.Release]()}},
	{"exit-codes", []reflect.Type{reflect.TypeFor[[]exitCode]()}},
	{"help", []reflect.Type{reflect.TypeFor[cmdline.Help]()}},
}

// answerVersions are the versions of the JSON of commands, where that is not the first. A
// change of what a command prints raises it.
var answerVersions = map[string]int{}

// fieldOf is the type of a field.
func fieldOf[T any](name string) reflect.Type {
	f, _ := reflect.TypeFor[T]().FieldByName(name)
	return f.Type
}

// answerVersion is the version of the JSON of a command.
func answerVersion(command string) int { return max(1, answerVersions[command]) }

// answerSchema is the schema of the JSON of a command.
func answerSchema(command string) (json.RawMessage, error) {
	for _, a := range answerTypes {
		if a.command == command {
			return api.JSONSchema("skillet "+command+" --json", a.types...)
		}
	}
	var names []string
	for _, a := range answerTypes {
		names = append(names, a.command)
	}
	e := fault.Errorf(fault.KindNotFound, "no schema for %s", command)
	if i := slices.IndexFunc(names, func(n string) bool { return strings.HasPrefix(n, command+" ") }); i >= 0 {
		return nil, e.WithHint("did you mean %q?", names[i])
	}
	return nil, e.WithHint("`skillet help json` lists the commands that have one")
}

// An answerForm is a command with the version of its JSON.
type answerForm struct {
	Command string `json:"command"`
	Version int    `json:"version"`
}

// helpJSON lists what commands print with --json, or is the schema of one.
func (t *terminal) helpJSON(command []string) error {
	if len(command) > 0 {
		doc, err := answerSchema(strings.Join(command, " "))
		if err != nil {
			return err
		}
		return t.printJSON(doc)
	}
	var all []answerForm
	for _, a := range answerTypes {
		all = append(all, answerForm{a.command, answerVersion(a.command)})
	}
	return t.answer(all, func() {
		var rows [][]string
		for _, a := range all {
			rows = append(rows, []string{a.Command, strconv.Itoa(a.Version)})
		}
		t.table("COMMAND\tVERSION OF ITS JSON", rows)
		t.note("`skillet help json COMMAND` prints the schema; what goes on for a while prints one value a line.")
	})
}
