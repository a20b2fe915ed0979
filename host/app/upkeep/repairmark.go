package upkeep

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/base/store/atomicfile"
	"github.com/skillet-run/skillet/host/record/journal"
)

// A repair of the audit log has several steps. While it is not done the home may give
// more than was decided: the journal without the decision that took something away,
// and nothing yet that stands for it. So a file says that one was begun, and what it is
// of, and nothing uses the home until it is finished.

// repairMark is the name of that file, beside the journals.
const repairMark = "REPAIR"

// begunRepair is what the file says.
type begunRepair struct {
	// Vouched is as for [KeyRepair], of the journal before anything was changed.
	Vouched   bool            `json:"vouched"`
	Key       *KeyRepair      `json:"key,omitempty"`
	Decisions *journal.Repair `json:"decisions,omitempty"`
	Runs      *journal.Repair `json:"runs,omitempty"`
}

// fill adds to r what was found when the repair was begun, and is not found again.
func (b *begunRepair) fill(r *AuditRepair) {
	if r.Key == nil {
		r.Key = b.Key
	}
	if r.Decisions == nil {
		r.Decisions = b.Decisions
	}
	if r.Runs == nil {
		r.Runs = b.Runs
	}
}

// beginRepair writes the mark.
func (s *Service) beginRepair(r *AuditRepair, vouched bool) error {
	b, err := json.Marshal(begunRepair{vouched, r.Key, r.Decisions, r.Runs})
	if err == nil {
		err = atomicfile.Write(s.path("journal", repairMark), append(b, '\n'))
	}
	if err != nil {
		return fmt.Errorf("repair the audit log: %w", err)
	}
	return nil
}

// readRepair returns what the mark says; nil when no repair was begun.
func (s *Service) readRepair() (*begunRepair, error) {
	path := s.path("journal", repairMark)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var r begunRepair
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	if err != nil || r.Decisions == nil && r.Runs == nil {
		// It was damaged: then everything that may have been lost was.
		r = begunRepair{Decisions: &journal.Repair{Lost: []journal.Loss{{What: path + " cannot be read"}}}}
	}
	return &r, nil
}

// UnfinishedRepair is the error of using a home of which the audit log is being
// repaired; nil when it is not.
func UnfinishedRepair(home string) error {
	if _, err := os.Lstat(filepath.Join(home, "journal", repairMark)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fault.Errorf(fault.KindVerification, "a repair of the audit log was begun, and is not finished").
		WithHint("run %s; when it is at work just now, wait for it", fault.RepairLog().With(fault.FieldYes))
}

// endRepair deletes the mark.
func (s *Service) endRepair() error {
	path := s.path("journal", repairMark)
	if err := errors.Join(os.Remove(path), atomicfile.SyncDir(filepath.Dir(path))); err != nil {
		return fmt.Errorf("repair the audit log: %w", err)
	}
	return nil
}
