package govern_test

import (
	"errors"
	"os"
	"os/exec"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/record/approval"
)

// Only a process of the same account is let in without a token, and none that this process
// started. It is never a person.
func TestAdmitLocal(t *testing.T) {
	t.Parallel()
	child := exec.Command("/bin/sh", "-c", "read line")
	in, err := child.StdinPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); child.Wait() })
	tokens := govern.New(hclog.NewNullLogger(), govern.Parts{}).Tokens
	for name, c := range map[string]struct {
		peer govern.Peer
		in   bool
	}{
		"nobody":       {govern.Peer{}, false},
		"unknown":      {govern.Peer{UID: os.Geteuid(), PID: os.Getppid()}, false},
		"parent":       {govern.Peer{Known: true, UID: os.Geteuid(), PID: os.Getppid()}, true},
		"another user": {govern.Peer{Known: true, UID: os.Geteuid() + 1, PID: os.Getppid()}, false},
		"child":        {govern.Peer{Known: true, UID: os.Geteuid(), PID: child.Process.Pid}, false},
		"itself":       {govern.Peer{Known: true, UID: os.Geteuid(), PID: os.Getpid()}, false},
		"gone":         {govern.Peer{Known: true, UID: os.Geteuid(), PID: 1 << 30}, false},
	} {
		p, err := tokens.AdmitLocal(t.Context(), c.peer)
		if (err == nil) != c.in || err != nil && !errors.Is(err, govern.ErrNotAdmitted) {
			t.Errorf("%s: %v", name, err)
		}
		if p.Person() != (approval.Human{}) || p.May(govern.RightDecide) == nil || (p.May(govern.RightCall) == nil) != c.in {
			t.Errorf("%s: it is %v", name, p)
		}
	}
}
