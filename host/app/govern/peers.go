package govern

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/record/token"
)

// A Peer is the process at the other end of a local socket, as the system says. The zero
// value is one that nobody knows.
type Peer struct {
	Known    bool
	UID, PID int
}

// LocalName is what a process that was let in without a token is called in records.
const LocalName = token.Local

// AdmitLocal lets in, without a token, a process of the account that owns the home: it can
// do no more with the service than with the files of the home. It is an operator, and never a
// person: plugins run under the same account, and what they start cannot be told apart from
// what a person starts for good. What is seen to descend from this process, as plugins do,
// is not let in at all.
func (s *Tokens) AdmitLocal(_ context.Context, p Peer) (Pass, error) {
	if !p.Known || p.UID != os.Geteuid() {
		return Pass{}, fault.Wrap(fault.KindDenied, fmt.Errorf("%w: the process at the other end is not one of the account that owns the home", ErrNotAdmitted))
	}
	if ours, err := descends(p.PID, os.Getpid()); err != nil || ours {
		return Pass{}, fault.Wrap(fault.KindDenied, fmt.Errorf("%w: the process at the other end was started by this one", ErrNotAdmitted))
	}
	t := Token{Name: LocalName, Role: token.Operator, Expires: time.Now().Add(time.Minute)}
	return Pass{holder(t), t}, nil
}

// deepest is how many processes are looked at between one and the first of all.
const deepest = 1000

// descends reports whether a process is another or was started by it, as far as the system
// still knows: one whose parent has ended is a child of the first process.
func descends(pid, of int) (bool, error) {
	for range deepest {
		switch pid {
		case of:
			return true, nil
		case 0, 1:
			return false, nil
		}
		parent, err := parentOf(pid)
		if err != nil {
			return false, err
		}
		pid = parent
	}
	return false, fmt.Errorf("process %d has too many parents", pid)
}

// parentOf reads who started a process.
func parentOf(pid int) (int, error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, err
	}
	// PID (NAME) STATE PARENT ...: the name may have anything in it.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return 0, fmt.Errorf("/proc/%d/stat is not as expected", pid)
	}
	return strconv.Atoi(string(fields[1]))
}
