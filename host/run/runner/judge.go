package runner

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/engine/sandbox/worker"
	"github.com/skillet-run/skillet/host/fetch/adopt"
	"github.com/skillet-run/skillet/host/record/journal"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/internal/lazyregexp"
	"github.com/skillet-run/skillet/manifests"
)

// finish fills in the result.
func (a *run) finish(err error) {
	res := &a.result
	res.Figures.QueuedNS += a.queued.Nanoseconds()
	res.Fuel, res.PeakMemoryBytes = res.Figures.Fuel, res.Figures.PeakMemoryBytes
	res.FinishedAt = time.Now().UTC()
	res.DurationMS = milliseconds(res.FinishedAt.Sub(res.StartedAt))
	clipDenials(res.Denials)
	if len(a.tries) > 1 {
		res.Attempts = a.tries
	}
	if err != nil {
		res.Error, a.reason = a.told(err), Judge(err).Reason
		return
	}
	res.OK, res.Raw, res.Data = true, a.output, asJSON(a.output)
}

// told is an error as the caller is told it.
func (a *run) told(err error) *fault.Error {
	e := *spoken(classed(explain(a, nil, err)))
	return &e
}

// classed says of an error whether trying again can help.
func classed(e *fault.Error) *fault.Error {
	c := *e
	c.Class = Judge(e).Class
	return &c
}

// asJSON is output as it stands when it is JSON, and otherwise wrapped in JSON.
// What is nested deeper than any document may be is text: an answer of a few
// kilobytes would become gigabytes when somebody indents it.
func asJSON(output []byte) json.RawMessage {
	switch {
	case !utf8.Valid(output): // which encoding/json would let pass inside a string
	case json.Valid(output) && depth(output) <= manifests.MaxDepth:
		return output
	default:
		return must(json.Marshal(string(output)))
	}
	return must(json.Marshal(struct {
		Base64 string `json:"base64"`
	}{base64.StdEncoding.EncodeToString(output)}))
}

// depth is how deeply the lists and objects of valid JSON are nested.
func depth(b []byte) int {
	deepest, now, quoted := 0, 0, false
	for i := 0; i < len(b); i++ {
		switch {
		case b[i] == '"':
			quoted = !quoted
		case quoted && b[i] == '\\':
			i++
		case !quoted && (b[i] == '[' || b[i] == '{'):
			now++
			deepest = max(deepest, now)
		case !quoted && (b[i] == ']' || b[i] == '}'):
			now--
		}
	}
	return deepest
}

// must returns b; marshalling a string cannot fail.
func must(b []byte, err error) json.RawMessage {
	if err != nil {
		panic("runner: " + err.Error())
	}
	return b
}

// kinds pairs what the sandbox says with what it means to a caller, in the order
// in which they are looked for.
var kinds = []struct {
	is   error
	kind fault.Kind
}{
	{sandbox.ErrPanic, fault.KindInternal},
	{sandbox.ErrMemory, fault.KindLimit},
	{sandbox.ErrFuel, fault.KindLimit},
	{sandbox.ErrTime, fault.KindLimit},
	{sandbox.ErrInput, fault.KindLimit},
	{sandbox.ErrOutput, fault.KindLimit},
	{sandbox.ErrHostCalls, fault.KindLimit},
	{sandbox.ErrTable, fault.KindLimit},
	{sandbox.ErrStack, fault.KindLimit},
	{sandbox.ErrDepth, fault.KindLimit},
	{hostfn.ErrDenied, fault.KindDenied},
	{sandbox.ErrGuest, fault.KindSkill},
	{sandbox.ErrTrap, fault.KindSkill},
	{worker.ErrDied, fault.KindSkill},
	{worker.ErrProtocol, fault.KindSkill},
	{sandbox.ErrNoExport, fault.KindVerification},
	{sandbox.ErrSignature, fault.KindVerification},
	{context.Canceled, fault.KindInternal},
	{context.DeadlineExceeded, fault.KindLimit},
}

// explain says what a failed call means. A guest that gave up after a refusal, or
// was ended by it, was denied: the refusal, and what would lift it, are what a person needs to see.
func explain(a *run, denials []task.Denial, err error) *fault.Error {
	if e := (*fault.Error)(nil); errors.As(err, &e) {
		return fault.AsError(err)
	}
	for _, v := range kinds {
		if !errors.Is(err, v.is) {
			continue
		}
		if (v.kind == fault.KindSkill || v.kind == fault.KindDenied) && len(denials) > 0 {
			return denied(a, denials[len(denials)-1], err)
		}
		if a.bare() {
			err = withoutField(err)
		}
		return fault.Wrap(v.kind, err).Hinted(hint(a, v.kind, err))
	}
	return fault.AsError(err)
}

func denied(a *run, d task.Denial, err error) *fault.Error {
	e := fault.Wrap(fault.KindDenied, said(err))
	e.Message = fmt.Sprintf("%s was denied %s", a.result.Skill, d.Request)
	if !strings.Contains(d.Reason, d.Request) {
		e.Message += ": " + d.Reason
	}
	if text := err.Error(); text != "" && !strings.Contains(text, "denied") {
		e.Message += " (the skill then said: " + text + ")"
	}
	return wayOut(e, a, d)
}

// wayOut adds to the error of a refusal what would allow it, or who decided.
func wayOut(e *fault.Error, a *run, d task.Denial) *fault.Error {
	switch {
	case !d.Way().IsZero():
		return e.WithHint("to allow it: %s", d.Way())
	case len(d.Policies) == 0:
		return e
	case a.call.Target.Origin == registry.OriginPath:
		return e.WithHint("decided by policy %s; %s shows what is in force", strings.Join(d.Policies, ", "), fault.List(fault.Policies))
	}
	return e.WithHint("decided by policy %s; %s says more", strings.Join(d.Policies, ", "), fault.ShowDecision(a.manifest.Name, d.Request))
}

// Said is what a guest said of its failure after something was refused to it; the zero
// value is that it said nothing. It is
// the cause of the [fault.Error] that tells of the refusal.
type Said struct{ Kind, Message string }

// Error is the guest's message.
func (s *Said) Error() string { return s.Message }

func said(err error) error {
	var guest *sandbox.GuestError
	if !errors.As(err, &guest) {
		return &Said{}
	}
	return &Said{guest.Kind, guest.Message}
}

// bare reports whether the run is of a module that has no manifest of its own.
func (a *run) bare() bool { return a.manifest != nil && adopt.IsModule(a.manifest) }

// undeclared reports whether a guest, to which the host refused nothing, says that
// something was: it was answered inside of its module, from which the functions of the
// host were taken that its manifest does not ask for.
func undeclared(err error) bool {
	var guest *sandbox.GuestError
	return errors.As(err, &guest) && guest.Kind == string(fault.KindDenied)
}

// inScript fits what interpreters say of a script's own mistake, which ends with the place.
var inScript = lazyregexp.New(`\(at [^()]+:\d+(?::\d+)?\)$`)

func hint(a *run, k fault.Kind, err error) fault.Hint {
	var trap *sandbox.TrapError
	switch {
	case errors.Is(err, sandbox.ErrPanic):
		return fault.Hintf("this is a fault of skillet, not of the skill, and of this call alone; please report it with the log, which has where it happened")
	case k == fault.KindLimit:
		return raise(err, a.bare())
	case errors.As(err, &trap):
		return fault.Hintf("the skill crashed; %s shows its logs, and the host is not affected", fault.ShowCall())
	case k == fault.KindSkill && undeclared(err):
		return fault.Hintf("the host refused nothing: what its code uses has to be asked for under security.permissions of its manifest, and it has to be built again; a grant changes nothing")
	case k == fault.KindSkill && inScript().MatchString(err.Error()):
		return fault.Hintf("it happened in the script, there; %s shows the log of the call, with the whole stack", fault.ShowCall())
	case k == fault.KindSkill:
		return fault.Hintf("this is the skill's own answer; %s shows what it takes", fault.ShowSkill(a.manifest.Name))
	}
	return fault.Hint{}
}

// raisedBy are the fields of one call that raise limits.
var raisedBy = []struct {
	is    error
	field fault.Field
}{
	{sandbox.ErrMemory, fault.FieldMaxMemoryMB},
	{sandbox.ErrFuel, fault.FieldMaxFuel},
	{sandbox.ErrTime, fault.FieldTimeout},
	{sandbox.ErrOutput, fault.FieldMaxOutputKB},
	{sandbox.ErrHostCalls, fault.FieldMaxHostCalls},
}

// fieldFor is the field that raises the limit that err is about; empty for none.
func fieldFor(err error) fault.Field {
	for _, f := range raisedBy {
		if errors.Is(err, f.is) {
			return f.field
		}
	}
	return ""
}

// raise says how to raise a limit for one run, or for good. A bare module has no
// manifest that could say it.
func raise(err error, bare bool) fault.Hint {
	field := fieldFor(err)
	switch {
	case errors.Is(err, sandbox.ErrInput): // no setting raises it
		return fault.Hintf("give less at once, or let the skill read a file by itself")
	case field == "" && bare:
		return fault.Hintf("give the module a manifest, and raise it there, under security.resource_limits")
	case field == "":
		return fault.Hintf("raise it in the skill's manifest, under security.resource_limits")
	}
	way := fault.Hintf("raise it for one run with %s", fault.Set(field))
	if !bare {
		way = fault.Hintf("%s, or in the skill's manifest", way)
	}
	if errors.Is(err, sandbox.ErrOutput) || errors.Is(err, sandbox.ErrHostCalls) { // no setting bounds them
		return way
	}
	return fault.Hintf("%s; the host's own ceiling is in %s", way, fault.List(fault.Settings))
}

// withoutField is err without the manifest's field that raises the limit, which a bare
// module does not have.
func withoutField(err error) error {
	limit := (*sandbox.LimitError)(nil)
	if !errors.As(err, &limit) {
		return err
	}
	said := *limit
	said.Setting = ""
	return &said
}

func loadError(path string, err error) error {
	var tooLarge *sandbox.ModuleLimitError
	var late *sandbox.LimitError
	switch {
	case errors.As(err, &tooLarge) && tooLarge.Needs > 0:
		return fault.Errorf(fault.KindVerification, "%s: %w", path, err).
			WithHint("to accept such modules: %s; they may take longer to compile, and more memory", fault.SetSetting(sandbox.SettingModules, strconv.FormatUint(uint64(tooLarge.Needs), 10)))
	case errors.As(err, &late):
		return fault.Errorf(fault.KindLimit, "%s: %w", path, err).
			WithHint("try again when less is going on, or let it take longer: %s", fault.SetSetting(sandbox.SettingCompileTime, "300"))
	}
	if errors.Is(err, sandbox.ErrRefused) || errors.Is(err, sandbox.ErrImport) || errors.Is(err, worker.ErrDied) {
		return fault.Errorf(fault.KindVerification, "%s: %w", path, err).
			WithHint("%s", sandbox.WayOut)
	}
	return fault.Errorf(fault.KindInternal, "%s: %w", path, err)
}

func orList(names []string) string { return strings.Join(names, ", ") }

// A Record is what the audit log keeps of a run. Inputs and outputs are there
// as digests only.
type Record struct {
	RunID           task.RunID    `json:"run_id"`
	Skill           string        `json:"skill"`
	Digest          string        `json:"digest"`
	Tool            string        `json:"tool"`
	Allowed         []string      `json:"allowed_once,omitempty"`
	InputDigest     string        `json:"input_digest"`
	OutputDigest    string        `json:"output_digest,omitempty"`
	OK              bool          `json:"ok"`
	Error           *fault.Error  `json:"error,omitempty"`
	DurationMS      float64       `json:"duration_ms"`
	Fuel            uint64        `json:"fuel"`
	PeakMemoryBytes uint64        `json:"peak_memory_bytes"`
	HostCalls       int           `json:"host_calls"`
	Used            []Use         `json:"used,omitempty"`
	Denials         []task.Denial `json:"denials,omitempty"`
	// Figures, Attempts, Fallback and Cached are as in [task.Result].
	Figures  task.Figures   `json:"figures"`
	Attempts []task.Attempt `json:"attempts,omitempty"`
	Fallback *task.Fallback `json:"fallback,omitempty"`
	Cached   bool           `json:"cached,omitempty"`
	// Part says what a run was for that nobody asked for: "call" for one that the
	// guest of another run made, "fallback", "health_check" or "migration"; Of of
	// which run it is a part; and OnBehalfOf whose skill that is.
	Part       string     `json:"part,omitempty"`
	Of         task.RunID `json:"of,omitempty"`
	OnBehalfOf string     `json:"on_behalf_of,omitempty"`
	// Session is the session that the run went on with; empty for none.
	Session string `json:"session,omitempty"`
}

// A Use is something a guest was granted and did.
type Use struct {
	// Request is what was done: "fs.read:/data/a.csv". It is empty for what was
	// done beyond the number of requests that are kept.
	Request string `json:"request"`
	// Capability is the grant that allowed it; empty with Request when too many
	// were used to tell.
	Capability string `json:"capability"`
	// Count is how often; at least 1.
	Count int `json:"count"`
}

// Bounds on what is kept of a run with all its attempts, as the host functions
// have them for one attempt.
const (
	maxUses    = 256
	maxRest    = 65 // uses that are counted by their grant alone
	maxDenials = 100
)

// mergeUses adds what another attempt did.
func mergeUses(all []Use, more []hostfn.Use) []Use {
	for _, u := range more {
		all = addUse(all, Use{clip(u.Request, maxRequest), clip(u.Capability, maxRequest), u.Count})
	}
	return all
}

// addUse counts a use: with its request while there is room, then by its grant
// alone.
func addUse(all []Use, u Use) []Use {
	i := slices.IndexFunc(all, func(o Use) bool { return o.Request == u.Request && o.Capability == u.Capability })
	room := maxUses
	if u.Request == "" {
		room += maxRest
	}
	switch {
	case i >= 0:
		all[i].Count += u.Count
		return all
	case len(all) < room || u.Request == "" && u.Capability == "":
		return append(all, u)
	case u.Request != "":
		return addUse(all, Use{Capability: u.Capability, Count: u.Count})
	}
	return addUse(all, Use{Count: u.Count})
}

// mergeDenials adds what another attempt was denied.
func mergeDenials(all, more []task.Denial) []task.Denial {
	for _, d := range more {
		i := slices.IndexFunc(all, func(o task.Denial) bool { return o.Request == d.Request && o.Reason == d.Reason })
		switch {
		case i >= 0:
			all[i].Count += d.Count
		case len(all) < maxDenials:
			all = append(all, d)
		}
	}
	return all
}

// KindRun is the kind of a [Record]'s journal entry.
const KindRun = "run"

func (r *Runner) record(ctx context.Context, a *run) error {
	res := a.result
	rec := Record{
		RunID: res.RunID, Skill: res.Skill, Digest: res.Digest, Tool: res.Tool,
		Allowed: a.call.Allow.Set().Strings(), InputDigest: string(manifests.DigestOf(a.call.Input)),
		OK: res.OK, Error: res.Error, DurationMS: res.DurationMS, Fuel: res.Fuel,
		PeakMemoryBytes: res.PeakMemoryBytes, HostCalls: res.Figures.HostCalls, Used: a.uses, Denials: res.Denials,
		Figures: res.Figures, Attempts: res.Attempts, Fallback: res.Fallback, Cached: res.Cached, Part: string(a.part), OnBehalfOf: a.onBehalfOf(),
	}
	if a.turn != nil {
		rec.Session = a.call.Session
	}
	if a.from != nil {
		rec.Of = a.from.result.RunID
	}
	if res.OK {
		rec.OutputDigest = string(manifests.DigestOf(res.Raw))
	}
	// A run that was interrupted is recorded all the same.
	_, err := r.calls.Append(context.WithoutCancel(ctx), journal.Record{Kind: KindRun, Actor: a.call.Caller, Data: rec})
	return err
}
