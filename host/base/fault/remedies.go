package fault

// The actions, each made by the function of its name.
const (
	actGrant   Action = "grant"
	actApprove Action = "approve"
	actReject  Action = "reject"

	actInstall       Action = "install"
	actInstallEngine Action = "install_engine"
	actUpdate        Action = "update"
	actUpdateAll     Action = "update_all"
	actLock          Action = "write_lock"
	actSync          Action = "sync"
	actRollBack      Action = "roll_back"
	actRemove        Action = "remove"
	actPrune         Action = "remove_unneeded"
	actEnable        Action = "enable"
	actUnpin         Action = "unpin"
	actRun           Action = "run"
	actPlanAgain     Action = "plan_again"

	actSetSetting Action = "set_setting"
	actSetSecret  Action = "set_secret"
	actLogIn      Action = "log_in"
	actLogInMCP   Action = "log_in_server"

	actBuild   Action = "build"
	actTest    Action = "test"
	actNew     Action = "new"
	actPack    Action = "pack"
	actPublish Action = "publish"

	actCloseSession  Action = "close_session"
	actResumeSession Action = "resume_session"
	actCancelTask    Action = "cancel_task"
	actResumeTask    Action = "resume_task"
	actFollowTask    Action = "follow_task"
	actWorkTasks     Action = "work_tasks"
	actAddAgent      Action = "add_agent"
	actRunAgent      Action = "run_agent"
	actTestProvider  Action = "test_provider"
	actConsolidate   Action = "consolidate_memories"

	actTrust              Action = "trust"
	actTrustRoot          Action = "trust_root"
	actDistrust           Action = "distrust"
	actRevokeSigner       Action = "revoke_signer"
	actUnrevoke           Action = "unrevoke"
	actUnrevokeSigner     Action = "unrevoke_signer"
	actRotateKey          Action = "rotate_key"
	actMakeKey            Action = "make_key"
	actImportKey          Action = "import_key"
	actShowKey            Action = "show_key"
	actPublishRevocations Action = "publish_revocations"

	actCheckHome    Action = "check_home"
	actCheckStore   Action = "check_store"
	actCheckLog     Action = "check_log"
	actCheckPolicy  Action = "check_policy"
	actRepairLog    Action = "repair_log"
	actExportLog    Action = "export_log"
	actRebuildStore Action = "rebuild_store"
	actRestoreStore Action = "restore_store"
	actFreeSpace    Action = "free_space"

	actShowSkill    Action = "show_skill"
	actShowGrants   Action = "show_grants"
	actShowNeeds    Action = "show_needs"
	actShowUsers    Action = "show_users"
	actShowProposal Action = "show_proposal"
	actShowDecision Action = "show_decision"
	actShowRule     Action = "show_rule"
	actShowCall     Action = "show_call"
	actShowRouting  Action = "show_routing"
	actShowLogKey   Action = "show_log_key"
	actRead         Action = "read"
	actSearch       Action = "search"

	actSet      Action = "set_field"
	actLeaveOut Action = "leave_out_field"
	actChoose   Action = "choose"
)

// Things are what a list is of.
type Things string

// What there are lists of.
const (
	Skills       Things = "skills"
	Versions     Things = "versions" // of the skills that are installed, all
	Outdated     Things = "outdated" // skills of which there are later versions
	Runs         Things = "runs"     // and decisions: the audit log
	Proposals    Things = "proposals"
	AllProposals Things = "all_proposals"
	Policies     Things = "policies"
	Settings     Things = "settings"
	Secrets      Things = "secrets"
	Sessions     Things = "sessions"
	Tasks        Things = "tasks"
	DeadTasks    Things = "dead_tasks"
	Tokens       Things = "tokens"
	Agents       Things = "agents"
	Providers    Things = "providers"
	Memories     Things = "memories"
	Signers      Things = "signers"
	Revocations  Things = "revocations"
)

func (t Things) action() Action { return Action("list_" + string(t)) }

// List shows what there is.
func List(what Things) Remedy { return Remedy{Action: what.action()} }

// Grant grants a capability to a skill, NAME or NAME@VERSION.
func Grant(skill, capability string) Remedy {
	return Remedy{Action: actGrant, Skill: skill, Capability: capability}
}

// Approve approves a proposal; with [FieldDespite] although rules keep it in quarantine.
func Approve(proposal string) Remedy { return Remedy{Action: actApprove, Proposal: proposal} }

// Reject rejects a proposal.
func Reject(proposal string) Remedy { return Remedy{Action: actReject, Proposal: proposal} }

// Install installs a package: a path, an address, or NAME@VERSION.
func Install(source string) Remedy { return Remedy{Action: actInstall, Source: source} }

// InstallEngine installs the interpreter of that name which belongs to this program.
func InstallEngine(name string) Remedy { return Remedy{Action: actInstallEngine, Skill: name} }

// Update updates a skill.
func Update(skill string) Remedy { return Remedy{Action: actUpdate, Skill: skill} }

// UpdateAll updates all skills that are not pinned.
func UpdateAll() Remedy { return Remedy{Action: actUpdateAll} }

// WriteLock writes down what is installed, in a file; empty for the usual one.
func WriteLock(file string) Remedy { return Remedy{Action: actLock, File: file} }

// Sync installs what a lock file says; empty for the usual one.
func Sync(file string) Remedy { return Remedy{Action: actSync, File: file} }

// RollBack goes back to an earlier version of a skill, the one of [FieldTo] or the last.
func RollBack(skill string) Remedy { return Remedy{Action: actRollBack, Skill: skill} }

// RemoveUnneeded removes what nobody asked for, and nobody needs any more.
func RemoveUnneeded() Remedy { return Remedy{Action: actPrune} }

// Remove removes a skill or a version; with [FieldPurge] also what it keeps.
func Remove(skill string) Remedy { return Remedy{Action: actRemove, Skill: skill} }

// Enable allows a version again that was disabled.
func Enable(skill string) Remedy { return Remedy{Action: actEnable, Skill: skill} }

// Unpin lets another version of a skill be chosen.
func Unpin(skill string) Remedy { return Remedy{Action: actUnpin, Skill: skill} }

// Run calls a skill: NAME, NAME@VERSION, NAME:TOOL or a path.
func Run(skill string) Remedy { return Remedy{Action: actRun, Skill: skill} }

// SetSetting changes a setting of the home.
func SetSetting(key, value string) Remedy {
	return Remedy{Action: actSetSetting, Setting: key, Value: value}
}

// SetSecret sets a secret.
func SetSecret(name string) Remedy { return Remedy{Action: actSetSecret, Secret: name} }

// LogIn stores credentials for a registry.
func LogIn(host string) Remedy { return Remedy{Action: actLogIn, Host: host} }

// LogInServer logs in to an MCP server, which is called so here; with [FieldURL] to one at
// that address, and with [FieldScope] for more.
func LogInServer(name string) Remedy { return Remedy{Action: actLogInMCP, Skill: name} }

// Build builds the skill in a directory.
func Build(dir string) Remedy { return Remedy{Action: actBuild, Dir: dir} }

// Test tests a package; with [FieldNoBuild] the one that is there, with [FieldRecord] it
// makes a case of a call.
func Test() Remedy { return Remedy{Action: actTest} }

// New makes a directory with the source of a new skill; with [FieldList] it shows the
// languages.
func New() Remedy { return Remedy{Action: actNew} }

// Pack makes a package of a directory.
func Pack() Remedy { return Remedy{Action: actPack} }

// Publish signs a package and publishes it.
func Publish() Remedy { return Remedy{Action: actPublish} }

// CloseSession deletes a session, SKILL/NAME.
func CloseSession(session string) Remedy { return Remedy{Action: actCloseSession, Session: session} }

// ResumeSession goes on with what a session had when a call of it was cut off.
func ResumeSession(session string) Remedy { return Remedy{Action: actResumeSession, Session: session} }

// CancelTask ends a task.
func CancelTask(id string) Remedy { return Remedy{Action: actCancelTask, Task: id} }

// ResumeTask goes on with a task that waits.
func ResumeTask(id string) Remedy { return Remedy{Action: actResumeTask, Task: id} }

// FollowTask shows what a task does, as it does it.
func FollowTask(id string) Remedy { return Remedy{Action: actFollowTask, Task: id} }

// WorkTasks does the tasks that wait.
func WorkTasks() Remedy { return Remedy{Action: actWorkTasks} }

// AddAgent adds the agent of a definition in a file, or replaces it.
func AddAgent(file string) Remedy { return Remedy{Action: actAddAgent, File: file} }

// RunAgent gives an agent a goal.
func RunAgent(name string) Remedy { return Remedy{Action: actRunAgent, Agent: name} }

// TestProvider asks a provider something.
func TestProvider(name string) Remedy { return Remedy{Action: actTestProvider, Provider: name} }

// Consolidate merges memories and forgets some.
func Consolidate() Remedy { return Remedy{Action: actConsolidate} }

// Trust trusts a signer: a file of a public key, or the id of one that is known; with
// [FieldFor] for skills of such names, with [FieldRevoker] to revoke.
func Trust(signer string) Remedy { return Remedy{Action: actTrust, Signer: signer} }

// TrustRoot trusts a root of keyless signatures, a file.
func TrustRoot(file string) Remedy { return Remedy{Action: actTrustRoot, File: file} }

// Distrust forgets a signer, a root or a name of skills.
func Distrust() Remedy { return Remedy{Action: actDistrust} }

// RevokeSigner refuses what a signer signed.
func RevokeSigner(signer string) Remedy { return Remedy{Action: actRevokeSigner, Signer: signer} }

// Unrevoke takes back that a package was revoked here: a version, or a digest.
func Unrevoke(skill string) Remedy { return Remedy{Action: actUnrevoke, Skill: skill} }

// UnrevokeSigner takes back that a signer was revoked here.
func UnrevokeSigner(signer string) Remedy { return Remedy{Action: actUnrevokeSigner, Signer: signer} }

// RotateKey makes another key to sign with.
func RotateKey() Remedy { return Remedy{Action: actRotateKey} }

// MakeKey makes the key of this home to sign with.
func MakeKey() Remedy { return Remedy{Action: actMakeKey} }

// ImportKey takes another key to sign with; with [FieldReplace] in place of the one there is.
func ImportKey(file string) Remedy { return Remedy{Action: actImportKey, File: file} }

// ShowKey shows the key that this home signs with.
func ShowKey() Remedy { return Remedy{Action: actShowKey} }

// PublishRevocations signs a list of revocations and publishes it.
func PublishRevocations() Remedy { return Remedy{Action: actPublishRevocations} }

// CheckHome checks the home; with [FieldEscape] also that no skill gets out.
func CheckHome() Remedy { return Remedy{Action: actCheckHome} }

// CheckStore checks the store.
func CheckStore() Remedy { return Remedy{Action: actCheckStore} }

// CheckLog checks the audit log.
func CheckLog() Remedy { return Remedy{Action: actCheckLog} }

// CheckPolicy checks a file of policies.
func CheckPolicy(file string) Remedy { return Remedy{Action: actCheckPolicy, File: file} }

// RepairLog goes on with what is whole of the audit log; with [FieldDryRun] it only says
// what that is.
func RepairLog() Remedy { return Remedy{Action: actRepairLog} }

// ExportLog writes a signed export of the audit log.
func ExportLog() Remedy { return Remedy{Action: actExportLog} }

// RebuildStore makes the store anew from the journal; with [FieldForce] without what is
// lost, with [FieldDryRun] it only says what would stay.
func RebuildStore() Remedy { return Remedy{Action: actRebuildStore} }

// RestoreStore goes back to a backup of the store.
func RestoreStore(file string) Remedy { return Remedy{Action: actRestoreStore, File: file} }

// FreeSpace removes what is not needed.
func FreeSpace() Remedy { return Remedy{Action: actFreeSpace} }

// ShowSkill shows how a skill stands, its tools and what they take.
func ShowSkill(skill string) Remedy { return Remedy{Action: actShowSkill, Skill: skill} }

// ShowGrants shows what was granted to a skill.
func ShowGrants(skill string) Remedy { return Remedy{Action: actShowGrants, Skill: skill} }

// ShowNeeds shows what a skill needs, and what those need; of all skills when it is empty.
func ShowNeeds(skill string) Remedy { return Remedy{Action: actShowNeeds, Skill: skill} }

// ShowUsers shows which skills need a skill.
func ShowUsers(skill string) Remedy { return Remedy{Action: actShowUsers, Skill: skill} }

// ShowProposal shows a proposal.
func ShowProposal(id string) Remedy { return Remedy{Action: actShowProposal, Proposal: id} }

// ShowDecision shows how policies decide about a request of a skill; with [FieldRun] as they
// did in that run.
func ShowDecision(skill, request string) Remedy {
	return Remedy{Action: actShowDecision, Skill: skill, Capability: request}
}

// ShowRule shows what a rule of the review is about.
func ShowRule(id string) Remedy { return Remedy{Action: actShowRule, Rule: id} }

// ShowCall shows all of the call that failed, with its log.
func ShowCall() Remedy { return Remedy{Action: actShowCall} }

// PlanAgain plans a change anew, of what is there now.
func PlanAgain() Remedy { return Remedy{Action: actPlanAgain} }

// ShowRouting shows which models were considered for a request, and why.
func ShowRouting() Remedy { return Remedy{Action: actShowRouting} }

// ShowLogKey shows the key that signs the audit log of this home.
func ShowLogKey() Remedy { return Remedy{Action: actShowLogKey} }

// ReadHelp shows a page of the help.
func ReadHelp(topic string) Remedy { return Remedy{Action: actRead, Topic: topic} }

// Search looks for what is published.
func Search(query string) Remedy { return Remedy{Action: actSearch, Query: query} }

// SetField makes the same request with a field: an acceptance, which is a yes without values,
// or another value.
func SetField(f Field, values ...string) Remedy { return Remedy{Action: actSet}.With(f, values...) }

// OmitField makes the same request without a field.
func OmitField(f Field) Remedy { return Remedy{Action: actLeaveOut}.With(f) }

// Choose gives another value, one of those that would do; the likeliest come first.
func Choose(values ...string) Remedy { return Remedy{Action: actChoose, Choices: values} }

// A Field is a field of a request, by its name in JSON.
type Field string

// The fields that remedies name.
const (
	// What a caller accepts.
	FieldAllow             Field = "allow"               // a capability, for this call
	FieldAllowUnsigned     Field = "allow_unsigned"      // a package without a signature
	FieldTrustSigner       Field = "trust_signer"        // the signer, from now on
	FieldAcceptSource      Field = "accept_source"       // another place than before
	FieldAllowFailingTests Field = "allow_failing_tests" // a package whose tests fail
	FieldDespite           Field = "despite"             // a proposal that was rejected, or a rule
	FieldForce             Field = "force"               // what is lost by it
	FieldYes               Field = "yes"                 // what was asked
	FieldKeepState         Field = "keep_state"          // data that the version cannot read
	FieldPurge             Field = "purge"               // that what the skill keeps is deleted
	FieldReplace           Field = "replace"             // other bytes under the same version

	// Bounds of a call or a task; those of calls have the names that package limit gives them.
	FieldTimeout  Field = "timeout"
	FieldNoCache  Field = "no_cache"
	FieldTokens   Field = "tokens"
	FieldPriority Field = "priority"

	// Others.
	FieldAgain     Field = "again"
	FieldCanary    Field = "canary"
	FieldCompare   Field = "compare"
	FieldConfig    Field = "config"
	FieldDir       Field = "dir"
	FieldDryRun    Field = "dry_run"
	FieldEnvFile   Field = "env_file"
	FieldEscape    Field = "escape"
	FieldFind      Field = "find"
	FieldFrom      Field = "from"
	FieldFor       Field = "for"
	FieldHome      Field = "home"
	FieldInput     Field = "input"
	FieldIsolated  Field = "isolated"
	FieldLanguage  Field = "language"
	FieldLatest    Field = "latest"
	FieldList      Field = "list"
	FieldMatch     Field = "match"
	FieldNoBuild   Field = "no_build"
	FieldOwner     Field = "owner"
	FieldPlainHTTP Field = "plain_http"
	FieldPromote   Field = "promote"
	FieldRecord    Field = "record"
	FieldRender    Field = "render"
	FieldRevoker   Field = "revoker"
	FieldScope     Field = "scope"
	FieldSession   Field = "session"
	FieldSettings  Field = "settings"
	FieldTo        Field = "to"
	FieldID        Field = "id"
	FieldRun       Field = "run"
	FieldTool      Field = "tool"
	FieldUntil     Field = "until"
	FieldClientID  Field = "client_id"
	FieldURL       Field = "url"
	FieldUpdate    Field = "update"
	FieldWorkspace Field = "workspace"

	// What an update refuses.
	FieldFailOnNewCapabilities Field = "fail_on_new_capabilities"
	FieldFailOnDifference      Field = "fail_on_difference"
)

// Fields returns the fields that remedies name, beside those of package limit.
func Fields() []Field {
	return []Field{
		FieldAllow, FieldAllowUnsigned, FieldTrustSigner, FieldAcceptSource, FieldAllowFailingTests, FieldDespite,
		FieldForce, FieldYes, FieldKeepState, FieldPurge, FieldReplace,
		FieldTimeout, FieldNoCache, FieldTokens, FieldPriority,
		FieldAgain, FieldCanary, FieldCompare, FieldConfig, FieldDir, FieldDryRun, FieldEnvFile, FieldEscape, FieldLanguage, FieldLatest, FieldList, FieldID, FieldMatch, FieldRecord, FieldRun, FieldTool, FieldUpdate, FieldFind, FieldFor,
		FieldHome, FieldInput, FieldIsolated, FieldNoBuild, FieldOwner, FieldPlainHTTP, FieldPromote, FieldRender, FieldRevoker,
		FieldScope, FieldSession, FieldSettings, FieldTo, FieldUntil, FieldURL, FieldClientID, FieldWorkspace,
		FieldFrom, FieldFailOnNewCapabilities, FieldFailOnDifference,
	}
}
