package host

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

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
	"github.com/skillet-run/skillet/host/task"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/manifests/signature"
	"github.com/skillet-run/skillet/plugins/provider"
)

// meanings pairs the errors of the parts with what they mean to a caller, in
// the order in which they are looked for.
var meanings = []struct {
	is   error
	kind task.Kind
	hint string
}{
	{ledger.ErrPending, task.KindInternal, "make sure that the disk has room and run `skillet doctor`; do not repeat the command: what it decided holds"},
	{journal.ErrDamaged, task.KindVerification, "`skillet audit verify` shows the extent; then restore the home from a backup, or go on with what is whole: `skillet audit repair`"},
	{journal.ErrTooLarge, task.KindLimit, "it is too much for one decision: do it in parts"},
	{filelock.ErrHeld, task.KindLimit, "another command holds the home; try again when it is done"},
	{ErrOtherHome, task.KindVerification, "nothing was changed; use a backup of this home, or restore the journal that was here when the backup was made"},
	{ledger.ErrLost, task.KindVerification, "put the store back from where it is (a copy of the home, or store.aside-… in it), or go back to a backup: `skillet store restore FILE`; `skillet store rebuild --force` makes one of the decisions alone"},
	{ledger.ErrBehind, task.KindVerification, "the journal was cut or replaced: restore it from a backup, or, if it is the one to keep, run `skillet store rebuild`"},
	{queue.ErrNotFound, task.KindNotFound, "`skillet task dead` lists what was given up"},
	{queue.ErrInvalid, task.KindUsage, ""},
	{memory.ErrInvalid, task.KindUsage, ""},
	{memory.ErrNotFound, task.KindNotFound, "`skillet memory list` shows what there is"},
	{memory.ErrFull, task.KindLimit, "`skillet memory consolidate` merges and forgets; or raise memory.max_records"},
	{memory.ErrConflict, task.KindConflict, "look at it again"},
	{store.ErrDamaged, task.KindVerification, "run `skillet store verify` to see the extent, then `skillet store rebuild`, or `skillet store restore FILE`"},
	{store.ErrTooLarge, task.KindLimit, "it is too much for one decision: do it in parts"},
	{store.ErrReadOnly, task.KindFull, "make room on the disk, or lower min_free_mb; nothing was lost"},
	{syscall.ENOSPC, task.KindFull, "make room on the disk that has it, or name another home with --home; `skillet gc` removes what is not needed; nothing was lost"},
	{syscall.EDQUOT, task.KindFull, "make room on the disk that has it, of which you have used what you may; `skillet gc` removes what is not needed; nothing was lost"},
	{syscall.EROFS, task.KindFull, "have the disk that has it mounted so that it can be written to, or name another home with --home; nothing was lost"},
	{secret.ErrExposed, task.KindVerification, "make it its owner's alone; whoever could read it can open the secrets, so change those too if that may have happened"},
	{syscall.EFBIG, task.KindInternal, "a file may not grow so large here (see `ulimit -f`); nothing was lost"},
	{secret.ErrReplaced, task.KindVerification, "somebody changed files of the home: restore it from a backup; or look at what there is with `skillet audit repair --dry-run`, and go on with a new key: `skillet audit repair`"},
	{secret.ErrLocked, task.KindVerification, "unlock the keyring; a home that never used one can do without: export SKILLET_SECRET_KEY=file"},
	{audit.ErrNoKey, task.KindVerification, "unlock the keyring, or set secret_key to the place the identity is in; when it is gone for good, delete what it sealed and run `skillet audit repair`"},
	{audit.ErrExport, task.KindVerification, "get the export again from who made it; `skillet audit export` writes one"},
	{secret.ErrNoKey, task.KindVerification, "restore the key, or set secret_key to the place it is in"},
	{secret.ErrNotFound, task.KindNotFound, "`skillet secret list` shows the names"},
	{secret.ErrName, task.KindUsage, "choose another name"},
	{secret.ErrTooLarge, task.KindUsage, ""},
	{secret.ErrDamaged, task.KindVerification, ""},
	{signature.ErrMalformed, task.KindVerification, "it is no Sigstore bundle, or one that was damaged on its way: get it again"},
	{signature.ErrInvalid, task.KindVerification, "the bytes are not the ones that were signed: get them again"},
	{signature.ErrMismatch, task.KindVerification, "the signature is of something else: get both again"},
	{signature.ErrUnsupported, task.KindVerification, "have it signed by `skillet push`, or by `cosign sign --key`"},
	{manifests.ErrDigest, task.KindVerification, "the bytes are not the ones that were approved"},
	{bundle.ErrNoManifest, task.KindUsage, "a package has a skill.json, skill.yaml or SKILL.md"},
	{bundle.ErrUnsafe, task.KindVerification, "get the package from its author again, packed by `skillet pack`"},
	{bundle.ErrDamaged, task.KindVerification, "get the package from its author again"},
	{bundle.ErrNoModule, task.KindUsage, "build the module first, where \"command\" says it is: `skillet build DIR`"},
	{bundle.ErrTooLarge, task.KindVerification, "leave out what the skill does not need"},
	{sandbox.ErrCacheDir, task.KindVerification, "make it your own, with mode 0700; or delete it: compiled code is made again"},
	{syscall.EISDIR, task.KindUsage, "a file is meant, and this is a directory: name the file"},
	{syscall.ENOTDIR, task.KindUsage, "a directory is meant, and this is none: name the directory"},
	{context.Canceled, task.KindInternal, "nothing is half done; the same command begins again"},
	{context.DeadlineExceeded, task.KindLimit, "another command may hold the home; try again, or raise lock_wait_seconds"},
	{worker.ErrNoProgram, task.KindInternal, "on Linux it is found in /proc: have that mounted"},
	{fs.ErrNotExist, task.KindNotFound, ""},
	{fs.ErrPermission, task.KindUsage, "check who owns the file, and its mode"},
}

// Explain says what an error means to a caller. A [task.Error] that says so
// itself stays as it is; nil stays nil.
func Explain(err error) *task.Error {
	var known *task.Error
	if err == nil || errors.As(err, &known) && known.Kind != task.KindInternal {
		return task.AsError(err)
	}
	if ps := (manifests.Errors)(nil); errors.As(err, &ps) {
		return task.Wrap(task.KindUsage, err).WithHint("correct the manifest; its schema is in the documentation of the manifest")
	}
	for _, m := range meanings {
		if errors.Is(err, m.is) {
			return task.Wrap(m.kind, err).WithHint("%s", m.hint)
		}
	}
	if known != nil && known.Hint != "" {
		return task.AsError(err)
	}
	var of *provider.Error
	if errors.As(err, &of) {
		kind, hint := llm.Meaning(of.Class)
		return task.Wrap(kind, err).WithHint("%s", hint)
	}
	return task.Wrap(task.KindInternal, err).WithHint("this should not happen; `skillet doctor` checks the home")
}
