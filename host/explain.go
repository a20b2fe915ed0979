package host

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"github.com/skillet-run/skillet/host/fault"
	"github.com/skillet-run/skillet/host/upkeep"

	"github.com/skillet-run/skillet/host/audit"
	"github.com/skillet-run/skillet/host/journal"
	"github.com/skillet-run/skillet/host/ledger"
	"github.com/skillet-run/skillet/host/llm"
	"github.com/skillet-run/skillet/host/memory"
	"github.com/skillet-run/skillet/host/queue"
	"github.com/skillet-run/skillet/host/sandbox"
	"github.com/skillet-run/skillet/host/sandbox/worker"
	"github.com/skillet-run/skillet/host/secret"
	"github.com/skillet-run/skillet/host/store"
	"github.com/skillet-run/skillet/host/store/filelock"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/manifests/signature"
	"github.com/skillet-run/skillet/plugins/provider"
)

// meanings pairs the errors of the parts with what they mean to a caller, in
// the order in which they are looked for.
var meanings = []struct {
	is   error
	kind fault.Kind
	hint string
}{
	{ledger.ErrPending, fault.KindInternal, "make sure that the disk has room and run `skillet doctor`; do not repeat the command: what it decided holds"},
	{journal.ErrDamaged, fault.KindVerification, "`skillet audit verify` shows the extent; then restore the home from a backup, or go on with what is whole: `skillet audit repair`"},
	{journal.ErrTooLarge, fault.KindLimit, "it is too much for one decision: do it in parts"},
	{filelock.ErrHeld, fault.KindLimit, "another command holds the home; try again when it is done"},
	{upkeep.ErrOtherHome, fault.KindVerification, "nothing was changed; use a backup of this home, or restore the journal that was here when the backup was made"},
	{ledger.ErrLost, fault.KindVerification, "put the store back from where it is (a copy of the home, or store.aside-… in it), or go back to a backup: `skillet store restore FILE`; `skillet store rebuild --force` makes one of the decisions alone"},
	{ledger.ErrBehind, fault.KindVerification, "the journal was cut or replaced: restore it from a backup, or, if it is the one to keep, run `skillet store rebuild`"},
	{queue.ErrNotFound, fault.KindNotFound, "`skillet task dead` lists what was given up"},
	{queue.ErrInvalid, fault.KindUsage, ""},
	{memory.ErrInvalid, fault.KindUsage, ""},
	{memory.ErrNotFound, fault.KindNotFound, "`skillet memory list` shows what there is"},
	{memory.ErrFull, fault.KindLimit, "`skillet memory consolidate` merges and forgets; or raise memory.max_records"},
	{memory.ErrConflict, fault.KindConflict, "look at it again"},
	{store.ErrDamaged, fault.KindVerification, "run `skillet store verify` to see the extent, then `skillet store rebuild`, or `skillet store restore FILE`"},
	{store.ErrTooLarge, fault.KindLimit, "it is too much for one decision: do it in parts"},
	{store.ErrReadOnly, fault.KindFull, "make room on the disk, or lower min_free_mb; nothing was lost"},
	{syscall.ENOSPC, fault.KindFull, "make room on the disk that has it, or name another home with --home; `skillet gc` removes what is not needed; nothing was lost"},
	{syscall.EDQUOT, fault.KindFull, "make room on the disk that has it, of which you have used what you may; `skillet gc` removes what is not needed; nothing was lost"},
	{syscall.EROFS, fault.KindFull, "have the disk that has it mounted so that it can be written to, or name another home with --home; nothing was lost"},
	{secret.ErrExposed, fault.KindVerification, "make it its owner's alone; whoever could read it can open the secrets, so change those too if that may have happened"},
	{syscall.EFBIG, fault.KindInternal, "a file may not grow so large here (see `ulimit -f`); nothing was lost"},
	{secret.ErrReplaced, fault.KindVerification, "somebody changed files of the home: restore it from a backup; or look at what there is with `skillet audit repair --dry-run`, and go on with a new key: `skillet audit repair`"},
	{secret.ErrLocked, fault.KindVerification, "unlock the keyring; a home that never used one can do without: export SKILLET_SECRET_KEY=file"},
	{audit.ErrNoKey, fault.KindVerification, "unlock the keyring, or set secret_key to the place the identity is in; when it is gone for good, delete what it sealed and run `skillet audit repair`"},
	{audit.ErrExport, fault.KindVerification, "get the export again from who made it; `skillet audit export` writes one"},
	{secret.ErrNoKey, fault.KindVerification, "restore the key, or set secret_key to the place it is in"},
	{secret.ErrNotFound, fault.KindNotFound, "`skillet secret list` shows the names"},
	{secret.ErrName, fault.KindUsage, "choose another name"},
	{secret.ErrTooLarge, fault.KindUsage, ""},
	{secret.ErrDamaged, fault.KindVerification, ""},
	{signature.ErrMalformed, fault.KindVerification, "it is no Sigstore bundle, or one that was damaged on its way: get it again"},
	{signature.ErrInvalid, fault.KindVerification, "the bytes are not the ones that were signed: get them again"},
	{signature.ErrMismatch, fault.KindVerification, "the signature is of something else: get both again"},
	{signature.ErrUnsupported, fault.KindVerification, "have it signed by `skillet push`, or by `cosign sign --key`"},
	{manifests.ErrDigest, fault.KindVerification, "the bytes are not the ones that were approved"},
	{bundle.ErrNoManifest, fault.KindUsage, "a package has a skill.json, skill.yaml or SKILL.md"},
	{bundle.ErrUnsafe, fault.KindVerification, "get the package from its author again, packed by `skillet pack`"},
	{bundle.ErrDamaged, fault.KindVerification, "get the package from its author again"},
	{bundle.ErrNoModule, fault.KindUsage, "build the module first, where \"command\" says it is: `skillet build DIR`"},
	{bundle.ErrTooLarge, fault.KindVerification, "leave out what the skill does not need"},
	{sandbox.ErrCacheDir, fault.KindVerification, "make it your own, with mode 0700; or delete it: compiled code is made again"},
	{syscall.EISDIR, fault.KindUsage, "a file is meant, and this is a directory: name the file"},
	{syscall.ENOTDIR, fault.KindUsage, "a directory is meant, and this is none: name the directory"},
	{context.Canceled, fault.KindInternal, "nothing is half done; the same command begins again"},
	{context.DeadlineExceeded, fault.KindLimit, "another command may hold the home; try again, or raise lock_wait_seconds"},
	{worker.ErrNoProgram, fault.KindInternal, "on Linux it is found in /proc: have that mounted"},
	{fs.ErrNotExist, fault.KindNotFound, ""},
	{fs.ErrPermission, fault.KindUsage, "check who owns the file, and its mode"},
}

// shortages are errors of the system that mean the same whoever met them: they say
// nothing of the file that could not be opened.
var shortages = []error{syscall.EMFILE, syscall.ENFILE}

// Explain says what an error means to a caller. A [fault.Error] that says so
// itself stays as it is; nil stays nil.
func Explain(err error) *fault.Error {
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
	for _, m := range meanings {
		if errors.Is(err, m.is) {
			return fault.Wrap(m.kind, err).WithHint("%s", m.hint)
		}
	}
	if known != nil && known.Hint != "" {
		return fault.AsError(err)
	}
	var of *provider.Error
	if errors.As(err, &of) {
		kind, hint := llm.Meaning(of.Class)
		return fault.Wrap(kind, err).WithHint("%s", hint)
	}
	return fault.Wrap(fault.KindInternal, err).WithHint("this should not happen; `skillet doctor` checks the home")
}
