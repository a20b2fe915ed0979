package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// throughService are the commands that a service does for the command line.
var throughService = regexp.MustCompile(`(?m)^.*skillet (run|list|ls)( |$)`)

// aloneScripts are the scripts that have such commands and do not hold where a service has the
// home, and why.
var aloneScripts = map[string]string{
	"approvals":  "a service runs the bytes that it has read and checked, whatever becomes of the files",
	"audit":      "a call that a service makes is on record as made by program:local",
	"dryrun":     "it makes the store again, which takes the home alone",
	"policy":     "a service goes on with the policies it has when somebody puts a bad one into the home",
	"repair":     "it repairs the audit log, which takes the home alone",
	"session":    "a session is its owner's, and what a service calls is program:local's",
	"store":      "it takes the store back to a backup, which takes the home alone",
	"suggest":    "it makes the store again, which takes the home alone",
	"transcript": "a call that a service makes is on record as made by program:local",
}

// quickScripts are those that are run with a service when not all are.
var quickScripts = []string{
	"bare", "canary", "input", "limits", "permission", "prompt", "signed", "stats",
}

// The scripts hold where a service has the home, too: what goes through it comes to the same.
// All of them are run with SKILLET_PROVE=1.
func TestServedScripts(t *testing.T) {
	long(t, "it runs again what TestScripts runs")
	needsSocket(t)
	p := scripts(t)
	p.Files, p.UpdateScripts = servedScripts(t, p.Dir), false
	p.Dir = ""
	plain := p.Setup
	p.Setup = func(e *testscript.Env) error {
		if err := plain(e); err != nil {
			return err
		}
		return beginBeside(e)
	}
	testscript.Run(t, p)
}

// servedScripts are the files of the scripts that are run with a service.
func servedScripts(t *testing.T, dir string) (files []string) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		commands, _, _ := strings.Cut(string(text), "\n-- ")
		goes := throughService.MatchString(commands)
		if why := aloneScripts[name]; why != "" && !goes {
			t.Errorf("%s has nothing that a service does, and is not run with one", name)
		} else if why == "" && goes {
			files = append(files, path)
		}
	}
	if os.Getenv("SKILLET_PROVE") == "1" {
		return files
	}
	files = nil
	for _, name := range quickScripts {
		files = append(files, filepath.Join(dir, name+".txtar"))
	}
	return files
}

// beginBeside begins a service of the home that a script has.
func beginBeside(e *testscript.Env) error {
	e.Setenv("SKILLET_AUDIT_SYNC", "each") // what is on record is there for another process that looks at once
	home := filepath.Join(e.WorkDir, "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	program, err := exec.LookPath("skillet")
	if err != nil {
		return err
	}
	cmd := exec.Command(program, "serve", "--listen", "127.0.0.1:0", "--no-tasks")
	cmd.Dir, cmd.Env = e.WorkDir, e.Vars
	end, err := begin(cmd, home)
	if err == nil {
		e.Defer(func() { end(os.Interrupt) })
	}
	return err
}
