package fault

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// An Action is what somebody may do about a failure: a row of [Actions].
type Action string

// A Param names a parameter of an action. It is the name of its field in JSON.
type Param string

// The parameters of actions.
const (
	ParamSkill      Param = "skill"      // NAME, NAME@VERSION or NAME:TOOL
	ParamCapability Param = "capability" // a capability, or what was asked for
	ParamProposal   Param = "proposal"   // the id of a proposal
	ParamSetting    Param = "setting"    // the key of a setting
	ParamValue      Param = "value"      // what a setting becomes
	ParamSecret     Param = "secret"     // the name of a secret
	ParamSession    Param = "session"    // SKILL/NAME
	ParamTask       Param = "task"       // the id of a task
	ParamAgent      Param = "agent"      // the name of an agent
	ParamProvider   Param = "provider"   // the name of a provider
	ParamSigner     Param = "signer"     // a file of a key, or the id of one
	ParamHost       Param = "host"       // HOST or HOST:PORT of a registry
	ParamFile       Param = "file"       // a path of a file
	ParamDir        Param = "dir"        // a path of a directory
	ParamSource     Param = "source"     // where a package is
	ParamTopic      Param = "topic"      // a page of the help
	ParamRule       Param = "rule"       // the id of a rule of the review
	ParamQuery      Param = "query"      // words to search for
)

// A Remedy is something that somebody may do about a failure: an action with its
// parameters. Each edge says it in its own language: a command, a request, a button. A
// parameter that is empty is left to whoever does it.
type Remedy struct {
	Action     Action `json:"action"`
	Skill      string `json:"skill,omitempty"`
	Capability string `json:"capability,omitempty"`
	Proposal   string `json:"proposal,omitempty"`
	Setting    string `json:"setting,omitempty"`
	Value      string `json:"value,omitempty"`
	Secret     string `json:"secret,omitempty"`
	Session    string `json:"session,omitempty"`
	Task       string `json:"task,omitempty"`
	Agent      string `json:"agent,omitempty"`
	Provider   string `json:"provider,omitempty"`
	Signer     string `json:"signer,omitempty"`
	Host       string `json:"host,omitempty"`
	File       string `json:"file,omitempty"`
	Dir        string `json:"dir,omitempty"`
	Source     string `json:"source,omitempty"`
	Topic      string `json:"topic,omitempty"`
	Rule       string `json:"rule,omitempty"`
	Query      string `json:"query,omitempty"`
	// Fields are the fields of the request that make the action, with their values; of
	// set_field and leave_out_field they are those of the request that failed.
	Fields []FieldValue `json:"fields,omitempty"`
	// Choices are values that would do, the likeliest first.
	Choices []string `json:"choices,omitempty"`
}

// A FieldValue is a field of a request with a value; a yes or no has none.
type FieldValue struct {
	Field Field  `json:"field"`
	Value string `json:"value,omitempty"`
}

// Param returns the parameter p; empty for none.
func (r Remedy) Param(p Param) string {
	if at := r.at(p); at != nil {
		return *at
	}
	return ""
}

// at is where the parameter p is.
func (r *Remedy) at(p Param) *string {
	return map[Param]*string{
		ParamSkill: &r.Skill, ParamCapability: &r.Capability, ParamProposal: &r.Proposal, ParamSetting: &r.Setting,
		ParamValue: &r.Value, ParamSecret: &r.Secret, ParamSession: &r.Session, ParamTask: &r.Task, ParamAgent: &r.Agent,
		ParamProvider: &r.Provider, ParamSigner: &r.Signer, ParamHost: &r.Host, ParamFile: &r.File, ParamDir: &r.Dir, ParamSource: &r.Source,
		ParamTopic: &r.Topic, ParamRule: &r.Rule, ParamQuery: &r.Query,
	}[p]
}

// With returns r with a field in its request, once for each value; without values it is
// a yes.
func (r Remedy) With(f Field, values ...string) Remedy {
	r.Fields = slices.Clone(r.Fields)
	if len(values) == 0 {
		values = []string{""}
	}
	for _, v := range values {
		r.Fields = append(r.Fields, FieldValue{f, v})
	}
	return r
}

// An ActionRow is a row of the table of actions.
type ActionRow struct {
	Action Action
	// Words say what it does, for a person.
	Words string
	// Params are the parameters, in order.
	Params []Param
	// Fields are those that its request may have.
	Fields []Field
}

// Sample is a remedy of the row with a value for each parameter and field.
func (a ActionRow) Sample() Remedy {
	r := Remedy{Action: a.Action}
	for _, p := range a.Params {
		*r.at(p) = strings.ToUpper(string(p))
	}
	for _, f := range a.Fields {
		r = r.With(f)
	}
	return r
}

// Actions returns all actions.
func Actions() []ActionRow { return slices.Clone(actions) }

var actions = []ActionRow{
	{actGrant, "grant a capability to a skill", params(ParamSkill, ParamCapability), nil},
	{actApprove, "approve a proposal", params(ParamProposal), []Field{FieldDespite}},
	{actReject, "reject a proposal", params(ParamProposal), nil},

	{actInstall, "install a package", params(ParamSource), nil},
	{actInstallEngine, "install an interpreter of scripts", params(ParamSkill), nil},
	{actUpdate, "update a skill", params(ParamSkill), []Field{FieldTo, FieldLatest, FieldAgain, FieldCanary, FieldPromote, FieldDryRun}},
	{actUpdateAll, "update all skills", nil, nil},
	{actLock, "write a lock file of what is installed", params(ParamFile), nil},
	{actSync, "install what a lock file says", params(ParamFile), nil},
	{actRollBack, "go back to an earlier version of a skill", params(ParamSkill), []Field{FieldTo}},
	{actRemove, "remove a skill", params(ParamSkill), []Field{FieldPurge}},
	{actPrune, "remove what nobody needs", nil, nil},
	{actEnable, "enable a version again", params(ParamSkill), nil},
	{actUnpin, "let another version of a skill be chosen", params(ParamSkill), nil},
	{actRun, "call a skill", params(ParamSkill), []Field{FieldRender, FieldSession, FieldRecord}},
	{actPlanAgain, "make a new plan of the change", nil, nil},

	{actSetSetting, "change a setting", params(ParamSetting, ParamValue), nil},
	{actSetSecret, "set a secret", params(ParamSecret), nil},
	{actLogIn, "store credentials for a registry", params(ParamHost), nil},
	{actLogInMCP, "log in to an MCP server", params(ParamSkill), []Field{FieldURL, FieldScope}},

	{actBuild, "build the skill in a directory", params(ParamDir), nil},
	{actTest, "test a package", nil, []Field{FieldNoBuild, FieldRecord, FieldTool, FieldInput}},
	{actNew, "make a directory for a new skill", nil, []Field{FieldList, FieldLanguage}},
	{actPack, "make a package of a directory", nil, nil},
	{actPublish, "sign and publish a package", nil, nil},

	{actCloseSession, "delete a session", params(ParamSession), nil},
	{actResumeSession, "go on with a session", params(ParamSession), nil},
	{actCancelTask, "end a task", params(ParamTask), nil},
	{actResumeTask, "go on with a task", params(ParamTask), nil},
	{actFollowTask, "see what a task does", params(ParamTask), nil},
	{actWorkTasks, "run the tasks that wait", nil, nil},
	{actAddAgent, "add an agent, or replace it", params(ParamFile), nil},
	{actRunAgent, "give an agent a goal", params(ParamAgent), nil},
	{actTestProvider, "ask a provider something", params(ParamProvider), nil},
	{actConsolidate, "merge and forget memories", nil, nil},

	{actTrust, "trust a signer", params(ParamSigner), []Field{FieldFor, FieldRevoker}},
	{actTrustRoot, "trust a root of keyless signatures", params(ParamFile), nil},
	{actDistrust, "forget a signer, a root or a name", nil, nil},
	{actRevokeSigner, "refuse what a signer signed", params(ParamSigner), nil},
	{actUnrevoke, "take back that a package was revoked here", params(ParamSkill), nil},
	{actUnrevokeSigner, "take back that a signer was revoked here", params(ParamSigner), nil},
	{actMakeKey, "make a key to sign with", nil, nil},
	{actImportKey, "take another key to sign with", params(ParamFile), []Field{FieldReplace}},
	{actShowKey, "see the key that this home signs with", nil, nil},
	{actRotateKey, "make another key to sign with", nil, nil},
	{actPublishRevocations, "sign and publish a list of revocations", nil, nil},

	{actCheckHome, "check the home", nil, []Field{FieldEscape}},
	{actCheckStore, "check the store", nil, nil},
	{actCheckLog, "check the audit log", nil, nil},
	{actCheckPolicy, "check a file of policies", params(ParamFile), nil},
	{actRepairLog, "repair the audit log, keeping what is whole", nil, []Field{FieldDryRun, FieldYes, FieldForce}},
	{actExportLog, "write a signed export of the audit log", nil, nil},
	{actRebuildStore, "rebuild the store from the journal", nil, []Field{FieldDryRun, FieldForce}},
	{actRestoreStore, "restore a backup of the store", params(ParamFile), nil},
	{actFreeSpace, "remove what is not needed", nil, nil},

	{actShowSkill, "see the state of a skill, its tools and their input", params(ParamSkill), nil},
	{actShowGrants, "see what was granted to a skill", params(ParamSkill), nil},
	{actShowNeeds, "see what a skill needs", params(ParamSkill), nil},
	{actShowUsers, "see what needs a skill", params(ParamSkill), nil},
	{actShowProposal, "see a proposal", params(ParamProposal), nil},
	{actShowDecision, "see how policies decide about a request of a skill", params(ParamSkill, ParamCapability), []Field{FieldRun}},
	{actShowRule, "see what a rule of the review is about", params(ParamRule), nil},
	{actShowCall, "see all of a call, with its log", nil, nil},
	{actShowRouting, "see which models were considered, and why", nil, nil},
	{actShowLogKey, "see the key that signs the audit log", nil, nil},
	{actRead, "read a page of the help", params(ParamTopic), nil},
	{actSearch, "search what is published", params(ParamQuery), nil},
	{Skills.action(), "see the skills that are installed", nil, nil},
	{Versions.action(), "see all versions that are installed", nil, nil},
	{Outdated.action(), "see the skills of which there are later versions", nil, nil},
	{Runs.action(), "see the audit log", nil, nil},
	{Proposals.action(), "see the proposals that wait", nil, nil},
	{AllProposals.action(), "see all proposals", nil, nil},
	{Policies.action(), "see the policies in force", nil, nil},
	{Settings.action(), "see the settings, and where each comes from", nil, nil},
	{Secrets.action(), "see the names of the secrets", nil, nil},
	{Sessions.action(), "see the sessions", nil, nil},
	{Tasks.action(), "see the tasks", nil, nil},
	{DeadTasks.action(), "see the tasks that were given up", nil, nil},
	{Tokens.action(), "see the tokens of the service", nil, nil},
	{Agents.action(), "see the agents", nil, nil},
	{Providers.action(), "see the providers and their models", nil, nil},
	{Memories.action(), "see the memories", nil, nil},
	{Signers.action(), "see the signers and roots that are known", nil, nil},
	{Revocations.action(), "see what is revoked", nil, nil},

	{actSet, "make the same request with a field", nil, nil},
	{actLeaveOut, "make the same request without a field", nil, nil},
	{actChoose, "give another value", nil, nil},
}

func params(ps ...Param) []Param { return ps }

// Hint is a sentence that says how to get out of a failure, with the remedies that it
// speaks of. The zero value says nothing.
type Hint struct {
	// Text has {0} where an edge says the first of Remedies, {1} for the second, and so on.
	Text     string
	Remedies []Remedy
}

// Hintf makes a Hint. An argument that is a [Remedy], which takes the verb %s, stands for
// what an edge says for it, and one that is a Hint for all that this says. The sentence
// itself spells no command and no flag:
//
//	fault.Hintf("%s shows it; to remove it with what it keeps: %s", fault.ShowSkill(name), fault.Remove(name).With(fault.FieldPurge))
func Hintf(format string, args ...any) Hint {
	var h Hint
	for i, a := range args {
		switch a := a.(type) {
		case Remedy:
			args[i] = h.slot(a)
		case Hint:
			args[i] = Fill(a.Text, a.Remedies, h.slot)
		}
	}
	h.Text = fmt.Sprintf(format, args...)
	return h
}

// slot adds a remedy, and returns what stands for it in the sentence.
func (h *Hint) slot(r Remedy) string {
	h.Remedies = append(h.Remedies, r)
	return "{" + strconv.Itoa(len(h.Remedies)-1) + "}"
}

// IsZero reports whether the hint says nothing.
func (h Hint) IsZero() bool { return h.Text == "" && len(h.Remedies) == 0 }

// String is the hint with its remedies in short, for logs and tests.
func (h Hint) String() string { return Fill(h.Text, h.Remedies, Remedy.String) }

// JoinHints is one hint of several, with sep between them. Those that say nothing are
// left out.
func JoinHints(sep string, hints ...Hint) Hint {
	var all Hint
	for _, h := range hints {
		switch {
		case h.IsZero():
		case all.IsZero():
			all = h
		default:
			all = Hintf("%s%s%s", all, sep, h)
		}
	}
	return all
}

// Fill is a text of a [Hint] with what say says for each of its remedies in its place.
func Fill(text string, remedies []Remedy, say func(Remedy) string) string {
	if len(remedies) == 0 {
		return text
	}
	said := make([]string, 0, 2*len(remedies))
	for i, r := range remedies {
		said = append(said, "{"+strconv.Itoa(i)+"}", say(r))
	}
	return strings.NewReplacer(said...).Replace(text)
}

// String is the remedy in short, for logs and tests: [grant text kv].
func (r Remedy) String() string {
	words := []string{string(r.Action)}
	if i := slices.IndexFunc(actions, func(a ActionRow) bool { return a.Action == r.Action }); i >= 0 {
		for _, p := range actions[i].Params {
			words = append(words, r.Param(p))
		}
	}
	for _, f := range r.Fields {
		words = append(words, strings.TrimSuffix(string(f.Field)+"="+f.Value, "="))
	}
	words = slices.DeleteFunc(append(words, r.Choices...), func(w string) bool { return w == "" })
	return "[" + strings.Join(words, " ") + "]"
}

// Words say what a remedy does, for an edge that has nothing better to say.
func (r Remedy) Words() string {
	i := slices.IndexFunc(actions, func(a ActionRow) bool { return a.Action == r.Action })
	if i < 0 {
		return string(r.Action)
	}
	words := actions[i].Words
	for _, p := range actions[i].Params {
		if v := r.Param(p); v != "" {
			words += ", " + string(p) + " " + v
		}
	}
	for _, f := range r.Fields {
		words += ", " + strings.TrimSuffix(string(f.Field)+" "+f.Value, " ")
	}
	return words
}
