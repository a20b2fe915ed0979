package journal_test

import (
	"errors"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/base/store/filelock"
	"github.com/skillet-run/skillet/host/record/journal"
)

func TestCommitGivesUpWaitingForAnother(t *testing.T) {
	dir := t.TempDir()
	one, err := journal.Open(dir, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	other, err := journal.Open(dir, journal.Options{LockWait: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	_, err = one.Commit(t.Context(), func() ([]journal.Record, error) {
		_, err := other.Append(t.Context(), journal.Record{Kind: "k", Actor: "a"})
		return nil, err
	}, func([]journal.Entry) error { return nil })
	if !errors.Is(err, filelock.ErrHeld) {
		t.Errorf("got %v, want ErrHeld", err)
	}
}
