package host_test

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/journal"
	"github.com/skillet-run/skillet/host/ledger"
	"github.com/skillet-run/skillet/host/sandbox"
	"github.com/skillet-run/skillet/host/sandbox/worker"
	"github.com/skillet-run/skillet/host/secret"
	"github.com/skillet-run/skillet/host/store"
	"github.com/skillet-run/skillet/host/store/filelock"
	"github.com/skillet-run/skillet/host/task"
	"github.com/skillet-run/skillet/plugins/provider"
)

func TestExplain(t *testing.T) {
	for _, c := range []struct {
		err  error
		kind task.Kind
	}{
		{fmt.Errorf("x: %w", journal.ErrDamaged), task.KindVerification},
		{task.AsError(fmt.Errorf("record: %w", journal.ErrDamaged)), task.KindVerification},
		{fmt.Errorf("x: %w", store.ErrDamaged), task.KindVerification},
		{fmt.Errorf("x: %w", context.DeadlineExceeded), task.KindLimit},
		{fmt.Errorf("decision 7 %w: %w", ledger.ErrPending, store.ErrReadOnly), task.KindInternal},
		{fmt.Errorf("x: %w", store.ErrReadOnly), task.KindFull},
		{&fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}, task.KindFull},
		{&fs.PathError{Op: "read", Path: "x", Err: syscall.EISDIR}, task.KindUsage},
		{&fs.PathError{Op: "open", Path: "x", Err: syscall.ENOTDIR}, task.KindUsage},
		{fmt.Errorf("open: %w: %w", worker.ErrNoProgram, fs.ErrNotExist), task.KindInternal},
		{fmt.Errorf("x: %w", sandbox.ErrCacheDir), task.KindVerification},
		{&filelock.HeldError{Path: "LOCK"}, task.KindLimit},
		{fmt.Errorf("x: %w", journal.ErrTooLarge), task.KindLimit},
		{fmt.Errorf("x: %w", store.ErrTooLarge), task.KindLimit},
		{task.Errorf(task.KindDenied, "no: %w", store.ErrDamaged), task.KindDenied},
		{task.Errorf(task.KindInternal, "odd").WithHint("look"), task.KindInternal},
		{fmt.Errorf("x: %w", secret.ErrExposed), task.KindVerification},
		{fmt.Errorf("never seen"), task.KindInternal},
	} {
		e := host.Explain(c.err)
		if e.Kind != c.kind || e.Hint == "" && c.kind != task.KindDenied {
			t.Errorf("%v: kind %s, hint %q; want kind %s and a hint", c.err, e.Kind, e.Hint, c.kind)
		}
	}
	for class, kind := range map[provider.Class]task.Kind{
		provider.ClassRateLimited: task.KindLimit, provider.ClassUnavailable: task.KindInternal, provider.ClassAuth: task.KindDenied,
		provider.ClassTimeout: task.KindLimit, provider.ClassInvalid: task.KindUsage, provider.ClassInternal: task.KindInternal,
		provider.ClassRefused: task.KindSkill, provider.ClassContextLength: task.KindLimit, "its own": task.KindInternal,
	} {
		failed := &provider.Error{Class: class, Message: "of the server"}
		for _, err := range []error{fmt.Errorf("step answer: %w", failed), task.Wrap(task.KindInternal, failed)} {
			if e := host.Explain(err); e.Kind != kind || e.Hint == "" || strings.Contains(e.Hint, "should not happen") {
				t.Errorf("%v: kind %s, hint %q; want kind %s", err, e.Kind, e.Hint, kind)
			}
		}
	}
	if host.Explain(nil) != nil {
		t.Error("nil is explained")
	}
}
