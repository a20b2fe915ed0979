package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/base/fault"
)

// Every exit code of the table is reached by a command line, and its error has
// the kind that stands for the code.
func TestEveryExitCodeIsReached(t *testing.T) {
	p := newPerson(t)
	p.pack("echo", "echo", "1.0.0", "")
	p.pack("other", "echo", "1.0.0", `"kv":{"reason":"r"}`)
	p.write("spin.wasm", modules["spin"]())
	p.write("trap.wasm", modules["trap"]())
	p.write("bomb.wasm", modules["bomb"]())
	p.must(0, "install", "./echo")

	reached := map[int]bool{}
	for _, c := range []struct {
		code    int
		command string
	}{
		{0, "skillet run echo --input x"},
		{1, "skillet run ./trap.wasm"},
		{2, "skillet run echo --no-such-flag"},
		{3, "skillet permission grant echo fs.read:" + p.home + "/**"},
		{4, "skillet run ./spin.wasm --max-fuel 100000"},
		{5, "skillet run ecko"},
		{6, "skillet install ./echo --generated-by m --home second"},
		{7, "skillet run ./bomb.wasm"},
		{8, "skillet install ./other"},
		{9, "skillet permission grant echo kv --set min_free_mb=99999999"},
		{9, "skillet memory add x --set min_free_mb=99999999"},
		{10, "ulimit -f 0; skillet run echo --input x"}, // as on a full disk: no run goes unrecorded
		{11, "skillet install http://127.0.0.1:1/none.skill"},
		{10, "ulimit -f 0; skillet permission grant echo kv"},
	} {
		code, out, errs := p.shell(c.command)
		if code != c.code {
			t.Errorf("%s: exit code %d, want %d\n%s%s", c.command, code, c.code, out, errs)
		}
		// On a full disk there are warnings, too.
		if code != 0 && (!strings.HasPrefix(errs, "skillet: ") && code < 9 || !strings.Contains(errs, "\n  hint: ")) {
			t.Errorf("%s: it does not say what is wrong, and how to get out of it:\n%s", c.command, errs)
		}
		if _, out, _ := p.shell(c.command + " --json"); code != 0 && !strings.Contains(out, `"kind": "`+string(kindOf(c.code))+`"`) {
			t.Errorf("%s --json: it does not say kind %q:\n%s", c.command, kindOf(c.code), out)
		}
		reached[code] = true
	}
	for _, o := range fault.Outcomes() {
		if !reached[o.Code] {
			t.Errorf("no command line here ends with %d: %s", o.Code, o.Meaning)
		}
	}
	if got := p.must(0, "permission", "show", "echo"); !strings.Contains(got, "granted: nothing") {
		t.Errorf("what could not be recorded was granted:\n%s", got)
	}
}

func kindOf(code int) fault.Kind {
	for _, o := range fault.Outcomes() {
		if o.Code == code {
			return o.Kind
		}
	}
	return ""
}

// shell runs a line of shell in which skillet is this program.
func (p *person) shell(line string) (code int, stdout, stderr string) {
	p.t.Helper()
	sh, err := exec.LookPath("sh")
	if err != nil {
		p.t.Skipf("no shell here: %v", err)
	}
	program := p.program
	defer func() { p.program = program }()
	p.program = sh
	return p.run("-c", strings.ReplaceAll(line, "skillet ", program+" "))
}

func TestExitCodesAreTold(t *testing.T) {
	p := newPerson(t)
	var want strings.Builder
	for _, o := range fault.Outcomes() {
		fmt.Fprintf(&want, "%d %s %s\n", o.Code, o.Kind, o.Meaning)
	}
	for _, args := range [][]string{{"help", "exit-codes"}, {"exit-codes"}} {
		var got strings.Builder
		for line := range strings.Lines(p.must(0, args...)) {
			code, rest, _ := strings.Cut(line, " ")
			kind, meaning := "", strings.TrimSpace(rest)
			if code != "0" {
				kind, meaning, _ = strings.Cut(meaning, " ")
			}
			fmt.Fprintf(&got, "%s %s %s\n", code, kind, strings.TrimSpace(meaning))
		}
		if got.String() != want.String() {
			t.Errorf("%v prints\n%s\nthe table is\n%s", args, &got, &want)
		}
	}
}

// The documentation speaks of no exit code that is not in the table.
func TestDocumentationKnowsTheExitCodes(t *testing.T) {
	known := map[int]bool{interrupted: true}
	for _, o := range fault.Outcomes() {
		known[o.Code] = true
	}
	files, err := filepath.Glob("../../*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("no documentation: %v", err)
	}
	more, err := filepath.Glob("../../*/*.md")
	if err != nil {
		t.Fatal(err)
	}
	mention := regexp.MustCompile(`(?i)exit(?:s|ed)?(?: with)?(?: the)?(?: code| codes| status)?:?\s+(\d+)`)
	for _, f := range append(files, more...) {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range mention.FindAllStringSubmatch(string(b), -1) {
			if code, err := strconv.Atoi(m[1]); err != nil || !known[code] {
				t.Errorf("%s: %q is not in the table of exit codes", f, m[0])
			}
		}
	}
}

// Every error that a person can type their way into says what is wrong in one
// line, and how to get out of it in another.
func TestErrorsSayTheWayOut(t *testing.T) {
	p := newPerson(t)
	p.pack("echo", "echo", "1.0.0", "")
	p.must(0, "install", "./echo")
	for _, line := range []string{
		"isntall", "run", "run ''", "run ' '", "run :x", "run echo:", "run Ünï", "run ./none", "run none.wasm", "run ..", "run echo:none",
		"run echo --timeout 5", "run echo --timeout -1s", "run echo --input @none", "run echo --input", "run echo --config x",
		"run echo --allow x", "run echo --allow fs.read:x", "run echo --workspace none --input x",
		"install", "install none", "install ftp://x/y", "list --state x", "info", "info none", "info echo:ecko", "permission show echo:echo", "remove", "remove none", "remove echo",
		"permission nope", "permission show", "permission show none", "permission grant echo", "permission grant echo nope",
		"permission grant echo kv --uses -1", "permission grant echo kv --expires x", "permission revoke echo kv", "permission reset echo",
		"secret set", "secret set UPPER", "secret set x", "secret delete none", "approvals show", "approvals show none", "approvals approve none --yes",
		"audit --limit 0", "audit --limit x", "audit nope", "pack", "pack none", "pack echo/main.wasm", "config get", "config get nope",
		"completion", "completion tcsh", "help nope", "version x", "store restore none --yes", "store backup", "store nope", "--home '' list",
		"--home echo/main.wasm list", "--nope", "list --json=x",
	} {
		code, out, errs := p.shell("skillet " + line + " </dev/null")
		lines := strings.Split(strings.TrimSpace(errs), "\n")
		if line == "list --json=x" { // the error is JSON, as was asked for
			lines = []string{"skillet: ", "  hint: "}
		}
		if code == 0 || code == 10 {
			t.Errorf("skillet %s: exit code %d\n%s%s", line, code, out, errs)
		}
		if len(lines) != 2 || !strings.HasPrefix(lines[0], "skillet: ") || !strings.HasPrefix(lines[1], "  hint: ") {
			t.Errorf("skillet %s: not two lines, what and how:\n%s", line, errs)
		}
	}
}
