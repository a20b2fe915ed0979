package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An editor speaks with `skillet acp`, a line a message.
type editor struct {
	t    *testing.T
	in   io.WriteCloser
	out  *bufio.Scanner
	wait func() error
	ids  int
	// said is what the person is told, and asked what they are asked.
	said  strings.Builder
	asked []string
	// answer is what is answered when the person is asked.
	answer string
}

func (p *person) editor(args ...string) *editor {
	p.t.Helper()
	cmd := p.command(context.WithoutCancel(p.t.Context()), append([]string{"acp"}, args...)...)
	in, err := cmd.StdinPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	e := &editor{t: p.t, in: in, out: bufio.NewScanner(out), wait: cmd.Wait}
	e.out.Buffer(nil, 1<<20)
	p.t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = e.wait()
	})
	return e
}

type acpMessage struct {
	ID     *int            `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int
		Message string
	} `json:"error"`
}

// ask sends a request, answers what is asked meanwhile, and returns its result.
func (e *editor) ask(method string, params any, result any) {
	e.t.Helper()
	if m := e.try(method, params); m.Error != nil {
		e.t.Fatalf("%s: %+v", method, m.Error)
	} else if err := json.Unmarshal(m.Result, result); err != nil {
		e.t.Fatalf("%s: %v: %s", method, err, m.Result)
	}
}

func (e *editor) try(method string, params any) acpMessage {
	e.t.Helper()
	e.ids++
	id := e.ids
	e.send(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	for e.out.Scan() {
		var m acpMessage
		if err := json.Unmarshal(e.out.Bytes(), &m); err != nil {
			e.t.Fatalf("%v: %s", err, e.out.Bytes())
		}
		switch {
		case m.Method == "session/update":
			fmt.Fprintln(&e.said, string(m.Params))
		case m.Method == "session/request_permission":
			e.asked = append(e.asked, string(m.Params))
			outcome := map[string]any{"outcome": "selected", "optionId": e.answer}
			if e.answer == "" {
				outcome = map[string]any{"outcome": "cancelled"}
			}
			e.send(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": map[string]any{"outcome": outcome}})
		case m.ID != nil && *m.ID == id:
			return m
		}
	}
	e.t.Fatalf("%s: it ended: %v", method, e.out.Err())
	return acpMessage{}
}

func (e *editor) send(v any) {
	e.t.Helper()
	b, err := json.Marshal(v)
	if err == nil {
		_, err = e.in.Write(append(b, '\n'))
	}
	if err != nil {
		e.t.Fatal(err)
	}
}

// session begins a session in a directory.
func (e *editor) session(dir string) string {
	e.t.Helper()
	var agent struct{ ProtocolVersion int }
	e.ask("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{}}, &agent)
	if agent.ProtocolVersion != 1 {
		e.t.Errorf("version %d", agent.ProtocolVersion)
	}
	var s struct{ SessionID string }
	e.ask("session/new", map[string]any{"cwd": dir, "mcpServers": []any{}}, &s)
	return s.SessionID
}

// prompt says something in a session, and returns why the turn ended.
func (e *editor) prompt(session, text string) string {
	e.t.Helper()
	e.said.Reset()
	e.asked = nil
	var r struct{ StopReason string }
	e.ask("session/prompt", map[string]any{"sessionId": session, "prompt": []any{map[string]any{"type": "text", "text": text}}}, &r)
	return r.StopReason
}

// An editor talks with skills in its directory. A step that waits for a person is decided in the
// editor only where the person said so when they started it, and as often as it is asked.
func TestACP(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	borrow(t, p.home)
	p.must(0, "install", "--yes", p.build("files"), p.build("text"), p.build("markdown"))
	p.write("notes/README.md", []byte("# Boats\n\nBoats float on water. Boats are made of wood. A boat of wood floats for years.\n"))
	dir := filepath.Join(real(t, p.work), "notes")
	allow := []string{"--allow", "fs.read:" + dir + "/**", "--allow", "fs.write:" + dir + "/**"}
	const goal = "Save a summary of README.md to summary.txt"
	written := func() bool {
		_, err := os.Stat(filepath.Join(dir, "summary.txt"))
		return err == nil
	}

	shows := p.editor(allow...)
	s := shows.session(dir)
	if why := shows.prompt(s, "hello"); why != "end_turn" || !strings.Contains(shows.said.String(), "agent_message_chunk") || !strings.Contains(shows.said.String(), "Hello.") {
		t.Errorf("talk: %s\n%s", why, &shows.said)
	}
	shows.answer = "allow"
	if why := shows.prompt(s, goal); why != "end_turn" || !strings.Contains(shows.said.String(), "skillet task show") || len(shows.asked) != 0 || written() {
		t.Errorf("a step that waits, where the editor decides nothing: %s, asked %q\n%s", why, shows.asked, &shows.said)
	}
	if m := shows.try("session/prompt", map[string]any{"sessionId": "another", "prompt": []any{}}); m.Error == nil {
		t.Error("a session that is not there is answered")
	}
	if m := shows.try("session/new", map[string]any{"cwd": "notes", "mcpServers": []any{}}); m.Error == nil {
		t.Error("a session in a relative directory is begun")
	}
	_ = shows.in.Close()
	if err := shows.wait(); err != nil {
		t.Errorf("the end of the input: %v", err)
	}

	decides := p.editor(append(allow, "--decide")...)
	s = decides.session(dir)
	for _, answer := range []string{"", "something"} {
		decides.answer = answer
		if why := decides.prompt(s, goal); why != "end_turn" || len(decides.asked) != 1 || written() {
			t.Errorf("the answer %q decides: %s, asked %q\n%s", answer, why, decides.asked, &decides.said)
		}
	}
	decides.answer = "reject"
	if why := decides.prompt(s, goal); why != "end_turn" || len(decides.asked) != 1 || written() {
		t.Errorf("refused: %s, asked %q\n%s", why, decides.asked, &decides.said)
	}
	decides.answer = "allow"
	if why := decides.prompt(s, goal); why != "end_turn" || len(decides.asked) != 1 || !written() {
		t.Errorf("allowed: %s, asked %q\n%s", why, decides.asked, &decides.said)
	}
	if asked := strings.Join(decides.asked, ""); !strings.Contains(asked, "files__write_text") || !strings.Contains(asked, "allow_once") || strings.Contains(asked, "allow_always") {
		t.Errorf("asked %s", asked)
	}
}
