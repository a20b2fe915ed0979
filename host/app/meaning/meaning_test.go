package meaning_test

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/app/meaning"
	"github.com/skillet-run/skillet/host/base/secret"
	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/base/store/filelock"
	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/engine/sandbox/worker"
	"github.com/skillet-run/skillet/host/record/journal"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/plugins/provider"
)

func TestExplain(t *testing.T) {
	for _, c := range []struct {
		err  error
		kind fault.Kind
	}{
		{fmt.Errorf("x: %w", journal.ErrDamaged), fault.KindVerification},
		{fault.AsError(fmt.Errorf("record: %w", journal.ErrDamaged)), fault.KindVerification},
		{fmt.Errorf("x: %w", store.ErrDamaged), fault.KindVerification},
		{fmt.Errorf("x: %w", context.DeadlineExceeded), fault.KindLimit},
		{fmt.Errorf("decision 7 %w: %w", ledger.ErrPending, store.ErrReadOnly), fault.KindInternal},
		{fmt.Errorf("x: %w", store.ErrReadOnly), fault.KindFull},
		{&fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}, fault.KindFull},
		{&net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, fault.KindUnreachable},
		{&net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ENETUNREACH)}, fault.KindUnreachable},
		{&fs.PathError{Op: "read", Path: "x", Err: syscall.EISDIR}, fault.KindUsage},
		{&fs.PathError{Op: "open", Path: "x", Err: syscall.ENOTDIR}, fault.KindUsage},
		{fmt.Errorf("open: %w: %w", worker.ErrNoProgram, fs.ErrNotExist), fault.KindInternal},
		{fmt.Errorf("x: %w", sandbox.ErrCacheDir), fault.KindVerification},
		{&filelock.HeldError{Path: "LOCK"}, fault.KindLimit},
		{fmt.Errorf("x: %w", journal.ErrTooLarge), fault.KindLimit},
		{fmt.Errorf("x: %w", store.ErrTooLarge), fault.KindLimit},
		{fault.Errorf(fault.KindDenied, "no: %w", store.ErrDamaged), fault.KindDenied},
		{fault.Errorf(fault.KindInternal, "odd").WithHint("look"), fault.KindInternal},
		{fmt.Errorf("x: %w", secret.ErrExposed), fault.KindVerification},
		{fmt.Errorf("never seen"), fault.KindInternal},
	} {
		e := meaning.Of(c.err)
		if e.Kind != c.kind || e.Hint == "" && c.kind != fault.KindDenied {
			t.Errorf("%v: kind %s, hint %q; want kind %s and a hint", c.err, e.Kind, e.Hint, c.kind)
		}
	}
	for class, kind := range map[provider.Class]fault.Kind{
		provider.ClassRateLimited: fault.KindLimit, provider.ClassUnavailable: fault.KindInternal, provider.ClassAuth: fault.KindDenied,
		provider.ClassTimeout: fault.KindLimit, provider.ClassInvalid: fault.KindUsage, provider.ClassInternal: fault.KindInternal,
		provider.ClassRefused: fault.KindSkill, provider.ClassContextLength: fault.KindLimit, "its own": fault.KindInternal,
	} {
		failed := &provider.Error{Class: class, Message: "of the server"}
		for _, err := range []error{fmt.Errorf("step answer: %w", failed), fault.Wrap(fault.KindInternal, failed)} {
			if e := meaning.Of(err); e.Kind != kind || e.Hint == "" || strings.Contains(e.Hint, "should not happen") {
				t.Errorf("%v: kind %s, hint %q; want kind %s", err, e.Kind, e.Hint, kind)
			}
		}
	}
	if meaning.Of(nil) != nil {
		t.Error("nil is explained")
	}
}
