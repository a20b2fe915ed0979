// Package meaning says what an error of any part of the host means to a caller: its kind,
// and what helps.
package meaning

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"github.com/skillet-run/skillet/host/app/upkeep"
	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/agents/llm"
	"github.com/skillet-run/skillet/host/agents/memory"
	"github.com/skillet-run/skillet/host/agents/queue"
	"github.com/skillet-run/skillet/host/base/secret"
	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/base/store/filelock"
	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/engine/sandbox/worker"
	"github.com/skillet-run/skillet/host/record/audit"
	"github.com/skillet-run/skillet/host/record/journal"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/manifests/signature"
	"github.com/skillet-run/skillet/plugins/provider"
)

// meaning is what an error means to a caller.
type meaning struct {
	is   error
	kind fault.Kind
	hint fault.Hint
}

// meanings pairs the errors of the parts with what they mean to a caller, in
// the order in which they are looked for.
func meanings() []meaning {
	return []meaning{
		{ledger.ErrPending, fault.KindInternal, fault.Hintf("make sure that the disk has room and run %s; do not repeat the command: what it decided holds", fault.CheckHome())},
		{journal.ErrDamaged, fault.KindVerification, fault.Hintf("%s shows the extent; then restore the home from a backup, or go on with what is whole: %s", fault.CheckLog(), fault.RepairLog())},
		{journal.ErrTooLarge, fault.KindLimit, fault.Hintf("it is too much for one decision: do it in parts")},
		{filelock.ErrHeld, fault.KindLimit, fault.Hintf("another command holds the home; try again when it is done")},
		{upkeep.ErrOtherHome, fault.KindVerification, fault.Hintf("nothing was changed; use a backup of this home, or restore the journal that was here when the backup was made")},
		{ledger.ErrLost, fault.KindVerification, fault.Hintf("put the store back from where it is (a copy of the home, or store.aside-… in it), or go back to a backup: %s; %s makes one of the decisions alone", fault.RestoreStore(""), fault.RebuildStore().With(fault.FieldForce))},
		{ledger.ErrBehind, fault.KindVerification, fault.Hintf("the journal was cut or replaced: restore it from a backup, or, if it is the one to keep, run %s", fault.RebuildStore())},
		{queue.ErrNotFound, fault.KindNotFound, fault.Hintf("%s lists what was given up", fault.List(fault.DeadTasks))},
		{queue.ErrInvalid, fault.KindUsage, fault.Hint{}},
		{memory.ErrInvalid, fault.KindUsage, fault.Hint{}},
		{memory.ErrNotFound, fault.KindNotFound, fault.Hintf("%s shows what there is", fault.List(fault.Memories))},
		{memory.ErrFull, fault.KindLimit, fault.Hintf("%s merges and forgets; or raise memory.max_records", fault.Consolidate())},
		{memory.ErrConflict, fault.KindConflict, fault.Hintf("look at it again")},
		{store.ErrDamaged, fault.KindVerification, fault.Hintf("run %s to see the extent, then %s, or %s", fault.CheckStore(), fault.RebuildStore(), fault.RestoreStore(""))},
		{store.ErrTooLarge, fault.KindLimit, fault.Hintf("it is too much for one decision: do it in parts")},
		{store.ErrReadOnly, fault.KindFull, fault.Hintf("make room on the disk, or lower min_free_mb; nothing was lost")},
		{syscall.ENOSPC, fault.KindFull, fault.Hintf("make room on the disk that has it, or name another home with %s; %s removes what is not needed; nothing was lost", fault.SetField(fault.FieldHome), fault.FreeSpace())},
		{syscall.EDQUOT, fault.KindFull, fault.Hintf("make room on the disk that has it, of which you have used what you may; %s removes what is not needed; nothing was lost", fault.FreeSpace())},
		{syscall.EROFS, fault.KindFull, fault.Hintf("mount its disk so that it can be written to, or name another home with %s; nothing was lost", fault.SetField(fault.FieldHome))},
		{syscall.ECONNREFUSED, fault.KindUnreachable, fault.Hintf("make sure that it runs and that the address is right, and try again")},
		{syscall.ECONNRESET, fault.KindUnreachable, fault.Hintf("the other side ended the connection; try again")},
		{syscall.EHOSTUNREACH, fault.KindUnreachable, fault.Hintf("check the network and the address, and try again")},
		{syscall.ENETUNREACH, fault.KindUnreachable, fault.Hintf("check the network and the address, and try again")},
		{secret.ErrExposed, fault.KindVerification, fault.Hintf("make it its owner's alone; whoever could read it can open the secrets, so change those too if that may have happened")},
		{syscall.EFBIG, fault.KindInternal, fault.Hintf("a file may not grow so large here (see `ulimit -f`); nothing was lost")},
		{secret.ErrReplaced, fault.KindVerification, fault.Hintf("somebody changed files of the home: restore it from a backup; or look at what there is with %s, and go on with a new key: %s", fault.RepairLog().With(fault.FieldDryRun), fault.RepairLog())},
		{secret.ErrLocked, fault.KindVerification, fault.Hintf("unlock the keyring; a home that never used one can do without: export SKILLET_SECRET_KEY=file")},
		{audit.ErrNoKey, fault.KindVerification, fault.Hintf("unlock the keyring, or set secret_key to the place the identity is in; when it is gone for good, delete what it sealed and run %s", fault.RepairLog())},
		{audit.ErrExport, fault.KindVerification, fault.Hintf("get the export again from who made it; %s writes one", fault.ExportLog())},
		{secret.ErrNoKey, fault.KindVerification, fault.Hintf("restore the key, or set secret_key to the place it is in")},
		{secret.ErrNotFound, fault.KindNotFound, fault.Hintf("%s shows the names", fault.List(fault.Secrets))},
		{secret.ErrName, fault.KindUsage, fault.Hintf("choose another name")},
		{secret.ErrTooLarge, fault.KindUsage, fault.Hint{}},
		{secret.ErrDamaged, fault.KindVerification, fault.Hint{}},
		{signature.ErrMalformed, fault.KindVerification, fault.Hintf("it is not a Sigstore bundle, or was damaged on its way: get it again")},
		{signature.ErrInvalid, fault.KindVerification, fault.Hintf("the bytes are not the ones that were signed: get them again")},
		{signature.ErrMismatch, fault.KindVerification, fault.Hintf("the signature is of something else: get both again")},
		{signature.ErrUnsupported, fault.KindVerification, fault.Hintf("have it signed by %s, or by `cosign sign` with a key", fault.Publish())},
		{manifests.ErrDigest, fault.KindVerification, fault.Hintf("the bytes are not the ones that were approved")},
		{bundle.ErrNoManifest, fault.KindUsage, fault.Hintf("a package has a skill.json, skill.yaml or SKILL.md")},
		{bundle.ErrUnsafe, fault.KindVerification, fault.Hintf("get the package from its author again, packed by %s", fault.Pack())},
		{bundle.ErrDamaged, fault.KindVerification, fault.Hintf("get the package from its author again")},
		{bundle.ErrNoModule, fault.KindUsage, fault.Hintf("build the module first, where \"command\" says it is: %s", fault.Build(""))},
		{bundle.ErrTooLarge, fault.KindVerification, fault.Hintf("leave out what the skill does not need")},
		{sandbox.ErrCacheDir, fault.KindVerification, fault.Hintf("make it your own, with mode 0700; or delete it: compiled code is made again")},
		{syscall.EISDIR, fault.KindUsage, fault.Hintf("a file is needed, and this is a directory: name the file")},
		{syscall.ENOTDIR, fault.KindUsage, fault.Hintf("a directory is needed, and this is not one: name the directory")},
		{context.Canceled, fault.KindInternal, fault.Hintf("nothing is half done; the same command begins again")},
		{context.DeadlineExceeded, fault.KindLimit, fault.Hintf("another command may hold the home; try again, or raise lock_wait_seconds")},
		{worker.ErrNoProgram, fault.KindInternal, fault.Hintf("on Linux it is found in /proc: have that mounted")},
		{fs.ErrNotExist, fault.KindNotFound, fault.Hint{}},
		{fs.ErrPermission, fault.KindUsage, fault.Hintf("check who owns the file, and its mode")},
	}
}

// shortages are errors of the system that mean the same whoever met them: they say
// nothing of the file that could not be opened.
var shortages = []error{syscall.EMFILE, syscall.ENFILE}

// Of says what an error means to a caller. A [fault.Error] that says so itself stays as
// it is; nil stays nil.
func Of(err error) *fault.Error {
	for _, is := range shortages {
		if errors.Is(err, is) {
			e := fault.Wrap(fault.KindLimit, err).WithHint("allow more open files (`ulimit -n 1024`), or close what has many open; nothing was lost")
			e.Class = fault.ClassLimit
			return e
		}
	}
	var known *fault.Error
	if err == nil || errors.As(err, &known) && known.Kind != fault.KindInternal {
		return fault.AsError(err)
	}
	if ps := (manifests.Errors)(nil); errors.As(err, &ps) {
		return fault.Wrap(fault.KindUsage, err).WithHint("correct the manifest; its schema is in the documentation of the manifest")
	}
	for _, m := range meanings() {
		if errors.Is(err, m.is) {
			return fault.Wrap(m.kind, err).Hinted(m.hint)
		}
	}
	if known != nil && !known.Way().IsZero() {
		return fault.AsError(err)
	}
	var of *provider.Error
	if errors.As(err, &of) {
		kind, hint := llm.Meaning(of.Class)
		return fault.Wrap(kind, err).Hinted(hint)
	}
	return fault.Wrap(fault.KindInternal, err).WithHint("this should not happen; %s checks the home", fault.CheckHome())
}
