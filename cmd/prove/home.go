package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// command is a command of the program in the home of a stage.
func (s *stage) command(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, s.bin, args...)
	c.Dir = s.dir
	c.Env = []string{"SKILLET_HOME=" + filepath.Join(s.dir, "home"), "HOME=" + s.dir, "USER=ada", "SKILLET_SECRET_KEY=file", "PATH=" + os.Getenv("PATH")}
	return c
}

// skillet runs a command to its end, and returns what it printed.
func (s *stage) skillet(ctx context.Context, args ...string) (string, error) {
	var errs bytes.Buffer
	c := s.command(ctx, args...)
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("skillet %s: %w\n%s%.2000s", strings.Join(args, " "), err, &errs, out)
	}
	return strings.TrimSpace(string(out)), nil
}

// pack writes the package of a skill that counts and echoes, a small one in C. Each number makes
// another module. More fields of the manifest may be given.
func (s *stage) pack(dir, name, version string, number int, fields ...string) error {
	wasm, err := os.ReadFile(filepath.Join(s.bench, "text-c-bulk.wasm"))
	if err != nil {
		return err
	}
	tag := []byte("bench-tag:00000000")
	wasm = bytes.Replace(wasm, tag, fmt.Appendf(nil, "bench-tag:%08d", number), 1)
	kind := "code_inline"
	if name == "session" {
		kind, fields = "code_session", append(fields, `"session_config":{"max_sessions":1000}`)
	}
	manifest := fmt.Sprintf(`{"name":%q,"version":%q,"description":"counts the words of text number %d","type":%q,"command":"main.wasm",
		"tools":[{"name":"count","description":"counts the words of a text","read_only":true,
			"input_schema":{"type":"object","properties":{"text":{"type":"string","description":"the text"}},"required":["text"]}},
			{"name":"echo","description":"answers what it is told","read_only":true}],
		"security":{"permissions":{"kv":{"reason":"to keep figures"}}}%s}`, name, version, number, kind, strings.Join(append([]string{""}, fields...), ","))
	at := filepath.Join(s.dir, dir)
	return errors.Join(os.MkdirAll(at, 0o755), os.WriteFile(filepath.Join(at, "main.wasm"), wasm, 0o644), os.WriteFile(filepath.Join(at, "skill.json"), []byte(manifest), 0o644))
}

// install packs a skill and installs it.
func (s *stage) install(ctx context.Context, name, version string, number int, flags ...string) error {
	if err := s.pack(name, name, version, number); err != nil {
		return err
	}
	_, err := s.skillet(ctx, append([]string{"install", "./" + name, "--allow-unsigned"}, flags...)...)
	return err
}

// token makes a token of a role.
func (s *stage) token(ctx context.Context, name, role string) (string, error) {
	return s.skillet(ctx, "token", "create", name, "--role", role)
}

// A service is `skillet serve` as a process.
type service struct {
	s       *stage
	cmd     *exec.Cmd
	address string
	log     *os.File
	// ready is how long it took until it answered.
	ready time.Duration
}

// serve starts the service and waits until it answers.
func (s *stage) serve(ctx context.Context, flags ...string) (*service, error) {
	log, err := os.Create(filepath.Join(s.dir, "serve.log"))
	if err != nil {
		return nil, err
	}
	v := &service{s: s, log: log, cmd: s.command(context.WithoutCancel(ctx), append([]string{"serve", "--listen", "127.0.0.1:0", "--json"}, flags...)...)}
	v.cmd.Stderr = log
	out, err := v.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	if err := v.cmd.Start(); err != nil {
		return nil, err
	}
	var at struct{ Address string }
	if err := json.NewDecoder(out).Decode(&at); err != nil {
		return nil, errors.Join(fmt.Errorf("the service does not say where it is: %w", err), v.stop())
	}
	v.address = at.Address
	if _, err := v.ask(ctx, http.DefaultClient, "", "GET", "/v1/health/ready", ""); err != nil {
		return nil, errors.Join(err, v.stop())
	}
	v.ready = time.Since(begin)
	return v, nil
}

// stop ends the service as the system would, and waits for it.
func (v *service) stop() error {
	err := v.cmd.Process.Signal(os.Interrupt)
	late := time.AfterFunc(time.Minute, func() { _ = v.cmd.Process.Kill() })
	defer late.Stop()
	return errors.Join(err, v.cmd.Wait(), v.log.Close())
}

// A refusal is an answer that is not 2xx.
type refusal struct {
	status int
	wait   string // Retry-After
	body   []byte
}

func (r *refusal) Error() string { return fmt.Sprintf("%d %s", r.status, r.body) }

// ask makes a request and returns the body of a 2xx answer. Other answers are a [*refusal].
func (v *service) ask(ctx context.Context, client *http.Client, token, method, path, body string, headers ...string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, v.address+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return nil, err
	}
	if resp.StatusCode/100 != 2 {
		return nil, &refusal{resp.StatusCode, resp.Header.Get("Retry-After"), b}
	}
	return b, nil
}
