package main

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

// Who looks at a service that stands still is told so after a while, and sees it again when it
// goes on.
func TestStoppedService(t *testing.T) {
	t.Parallel()
	needsSocket(t)
	p := newPerson(t)
	p.must(0, "list")
	p.serves()
	service, err := os.FindProcess(p.service())
	if err != nil {
		t.Fatal(err)
	}
	if err := service.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = service.Signal(syscall.SIGCONT) }) // so that it can be ended
	for _, line := range []string{"service status", "top --once", "top --json", "service status --json"} {
		code, stdout, stderr := p.run(strings.Fields(line)...)
		said := stdout + stderr // with --json, it is there
		if code != 8 || !strings.Contains(said, "process ") || !strings.Contains(said, "does not answer") && !strings.Contains(said, "takes no requests") {
			t.Errorf("%s: exit code %d: %s", line, code, said)
		}
	}
	if err := service.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"service status", "top --once"} {
		if code, stdout, stderr := p.run(strings.Fields(line)...); code != 0 {
			t.Errorf("%s, when it goes on: exit code %d: %s%s", line, code, stdout, stderr)
		}
	}
}
