package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/internal/reexec"
)

// TestWorkersInitializeLittle starts this program as a worker whose parent is gone, and
// has the Go runtime say which packages it initializes.
func TestWorkersInitializeLittle(t *testing.T) {
	t.Parallel()
	nothing, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer nothing.Close()
	var said strings.Builder
	c := exec.Command(os.Args[0], reexec.Worker.Word)
	c.Env, c.Stderr = []string{"GODEBUG=inittrace=1"}, &said
	c.ExtraFiles = []*os.File{nothing, nothing} // where it receives; it cannot send
	_ = c.Run()
	initialized := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^init (\S+) @`).FindAllStringSubmatch(said.String(), -1) {
		initialized[m[1]] = true
	}
	if !initialized["github.com/skillet-run/skillet/host/engine/sandbox/worker"] {
		t.Fatalf("no worker: %s", said.String())
	}
	for _, needless := range []string{
		"github.com/asaskevich/govalidator", "github.com/dgraph-io/badger/v4", "github.com/santhosh-tekuri/jsonschema/v6",
		"google.golang.org/grpc", "net/http", "github.com/skillet-run/skillet/host/run/hostfn", "main",
	} {
		if initialized[needless] {
			t.Errorf("a worker initializes %s", needless)
		}
	}
}
