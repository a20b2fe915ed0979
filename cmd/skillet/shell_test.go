package main

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// inShell is a person with a skill, and a shell that is on this machine; without
// the shell, the test is left out.
func inShell(t *testing.T, shell string, args ...string) (*person, *exec.Cmd) {
	t.Helper()
	path, err := exec.LookPath(shell)
	if err != nil {
		t.Skipf("no %s here: its completion is not tested", shell)
	}
	p := newPerson(t)
	p.write("echo/main.wasm", echo())
	p.write("echo/skill.json", []byte(`{"name":"echo","version":"1.0.0","description":"d","type":"code_inline","command":"main.wasm",
		"tools":[{"name":"echo","description":"e","input_schema":{"type":"object","properties":{"text":{"type":"string","description":"the words"}}}}]}`))
	p.must(0, "install", "./echo")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	cmd := p.command(ctx)
	cmd.Path, cmd.Args = path, append([]string{shell}, args...)
	for i, v := range cmd.Env {
		if path, ok := strings.CutPrefix(v, "PATH="); ok {
			cmd.Env[i] = "PATH=" + p.work + ":" + path
		}
	}
	cmd.Env = append(cmd.Env, "TERM=dumb", "PS1=> ")
	return p, cmd
}

// The Tab key at the prompt of a shell, with what is completed run to its end.
func TestTabKey(t *testing.T) {
	t.Parallel()
	for shell, c := range map[string]struct{ flags, setUp string }{
		"bash": {"--norc --noprofile -i", "source <(skillet completion bash)"},
		"zsh":  {"-f -i", "autoload -Uz compinit; compinit -u -D; source <(skillet completion zsh)"},
	} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			p, cmd := inShell(t, shell, strings.Fields(c.flags)...)
			s := p.sitAt(cmd)
			s.types(c.setUp + "; echo he''re\r")
			s.sees("here")
			for _, line := range []struct{ keys, sees string }{
				{"skillet config get max_mem\t\r", "1024"},
				{"skillet approvals li\t --js\t\r", "[]"},
				{"skillet run ec\t te\thello\r", `"text": "hello"`},
				{"skillet run echo:\t text=again\r", `"text": "again"`},
				{"cat ech\tskill.js\t | wc -l\r", "1"}, // other commands are completed as before
				{"skillet permission grant echo 'fs.read:/etc/hostn\t --dry-run --reason x --json | head -c 1\r", "["},
				{"skillet pack ./ec\t --out\tout\r", "echo-1.0.0.skill"},
			} {
				before := len(s.shown())
				s.types(line.keys)
				s.seesAfter(before, line.sees)
			}
			s.types("exit\r")
			<-s.closed
			_ = s.cmd.Wait()
		})
	}
}

// seesAfter waits until text is on the terminal behind what was there before.
func (s *session) seesAfter(before int, text string) {
	s.t.Helper()
	for range 3000 {
		if strings.Contains(s.shown()[before:], text) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.t.Fatalf("no %q after 30 s in\n%s", text, s.shown()[before:])
}

// fish says by itself what it would complete.
func TestFishCompletes(t *testing.T) {
	t.Parallel()
	p, cmd := inShell(t, "fish")
	for line, want := range map[string]string{
		"skillet perm":                "permission\t",
		"skillet permission gr":       "grant\t",
		"skillet run ec":              "echo\t",
		"skillet run echo te":         "text=\tthe words",
		"skillet run echo --allow kv": "kv\t",
		"skillet config get max_m":    "max_memory_mb\t",
		"skillet list --js":           "--json\t",
	} {
		again := p.command(t.Context())
		again.Path, again.Env = cmd.Path, cmd.Env
		again.Args = []string{"fish", "--no-config", "-c", "skillet completion fish | source; complete -C '" + line + "'"}
		out, err := again.CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), want) || strings.Count(string(out), "\n") != 1 {
			t.Errorf("%q: fish completes %q, want %q, %v", line, out, want, err)
		}
	}
}
