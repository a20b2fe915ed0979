package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// An agent of LangChain calls a skill through its adapter for MCP. A call that needs a person stops,
// a person approves it on the command line, and the same call goes on.
func TestLangChain(t *testing.T) {
	t.Parallel()
	python, err := filepath.Abs(filepath.Join("..", "..", ".tools", "langchain", "bin", "python"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(python); err != nil {
		t.Skip("LangChain's adapter is not here; make mcptools installs it")
	}
	script, err := filepath.Abs(filepath.Join("testdata", "langchain.py"))
	if err != nil {
		t.Fatal(err)
	}
	p := newPerson(t)
	url, asked := p.web()
	p.write("home/policies/ask.cedar", []byte(asksAboutRequests))
	token := strings.TrimSpace(p.must(0, "token", "create", "langchain", "--role", "caller"))
	s := p.serve("--no-tasks")
	defer s.kill()
	cmd := exec.CommandContext(t.Context(), python, script, s.address+"/mcp", token, url+"/a")
	cmd.Env, cmd.Stderr = append(os.Environ(), "LANGSMITH_TRACING=false"), os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	next := func() string {
		lines.Scan()
		return lines.Text()
	}
	if got := next(); got != `["web__fetch"]` {
		t.Fatalf("tools: %s", got)
	}
	paused := next()
	approve := regexp.MustCompile("skillet approvals approve ([0-9a-z]+)").FindStringSubmatch(paused)
	if approve == nil || asked.Load() != 0 {
		t.Fatalf("a call that needs a person: %s", paused)
	}
	p.must(0, "approvals", "approve", approve[1], "--yes")
	fmt.Fprintln(in)
	if got := next(); !strings.Contains(got, "answer") || !strings.Contains(got, "hello") || asked.Load() != 1 {
		t.Errorf("after the decision: %s, asked %d times", got, asked.Load())
	}
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
