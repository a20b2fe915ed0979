package main

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

//go:embed openapi/schemathesis.toml openapi/hooks.py openapi/spectral.yaml
var openAPIFiles embed.FS

// openAPI has a foreign tool check the document, and another make requests of it, as they
// should be and as they should not, and check each answer against it.
func openAPI(ctx context.Context, s *stage) (err error) {
	spectral, schemathesis := filepath.Join(s.tools, "openapi/node_modules/.bin/spectral"), filepath.Join(s.tools, "openapi/bin/schemathesis")
	for _, tool := range []string{spectral, schemathesis} {
		if _, err := os.Stat(tool); err != nil {
			s.say("openapi: skipped: %s is not here; make openapitools installs it", filepath.Base(tool))
			return nil
		}
	}
	values, err := s.furnish(ctx)
	if err != nil {
		return err
	}
	v, err := s.serve(ctx, "--set", "service.token_rate=1000000", "--set", "service.rate=1000000")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.stop()) }()
	if values["TASK"], err = v.someTask(ctx, values["approver"]); err != nil {
		return err
	}
	document, err := v.ask(ctx, http.DefaultClient, "", "GET", "/v1/openapi.json", "")
	if err != nil {
		return err
	}
	if err := s.unpack("openapi.json", document); err != nil {
		return err
	}
	lint := exec.CommandContext(ctx, spectral, "lint", "openapi.json", "--ruleset", "spectral.yaml", "--fail-severity", "warn")
	lint.Dir = s.dir
	if out, err := lint.CombinedOutput(); err != nil {
		return fmt.Errorf("spectral: %w\n%s", err, out)
	}
	s.say("spectral: the document has neither errors nor warnings")
	return s.generated(ctx, v, schemathesis, values)
}

// furnish makes a home that has something of everything, and returns values of it by name.
func (s *stage) furnish(ctx context.Context) (map[string]string, error) {
	err := errors.Join(s.install(ctx, "echo", "1.0.0", 1, "--yes"), s.install(ctx, "echo", "1.1.0", 2, "--yes"), s.install(ctx, "other", "1.0.0", 3, "--yes"))
	if err != nil {
		return nil, err
	}
	var exit *exec.ExitError
	if err := s.install(ctx, "draft", "1.0.0", 4, "--generated-by", "model"); !errors.As(err, &exit) || exit.ExitCode() != 6 {
		return nil, fmt.Errorf("what a model wrote does not wait: %w", err)
	}
	list, err := s.skillet(ctx, "approvals", "list", "--json")
	if err != nil {
		return nil, err
	}
	var proposals []struct{ ID, Digest string }
	if err := json.Unmarshal([]byte(list), &proposals); err != nil || len(proposals) == 0 {
		return nil, fmt.Errorf("no proposals: %w", err)
	}
	values := map[string]string{"PROPOSAL": proposals[0].ID, "DIGEST": proposals[0].Digest}
	for _, role := range []string{"agent", "approver"} {
		if values[role], err = s.token(ctx, role, role); err != nil {
			return nil, err
		}
	}
	_, err = s.skillet(ctx, "memory", "add", "the bakery opens at seven")
	return values, err
}

// someTask hands in some tasks and returns the last one.
func (v *service) someTask(ctx context.Context, token string) (string, error) {
	var made struct {
		ID string `json:"task_id"`
	}
	for n := range 5 {
		b, err := v.ask(ctx, http.DefaultClient, token, "POST", "/v1/tasks", fmt.Sprintf(`{"goal":"count the words of text number %d","tools":["other"]}`, n))
		if err != nil {
			return "", err
		}
		if err := json.Unmarshal(b, &made); err != nil {
			return "", err
		}
	}
	return made.ID, nil
}

// unpack writes the files of the tools beside a file.
func (s *stage) unpack(name string, content []byte) error {
	for _, file := range []string{"schemathesis.toml", "hooks.py", "spectral.yaml"} {
		b, err := openAPIFiles.ReadFile("openapi/" + file)
		if err == nil {
			err = os.WriteFile(filepath.Join(s.dir, file), b, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(s.dir, name), content, 0o644)
}

// generatedCases is how the tool says how many requests it made.
var generatedCases = regexp.MustCompile(`(?m)^\s*([0-9]+) generated`)

// generated has requests generated until there are enough, first for a person's token and
// then for an agent's.
func (s *stage) generated(ctx context.Context, v *service, tool string, values map[string]string) error {
	want, each, phases := 20_000, 60, "examples,coverage,fuzzing,stateful"
	if s.short {
		want, each, phases = 800, 10, "examples,fuzzing"
	}
	total, seed := 0, 0
	for _, role := range []string{"approver", "agent"} {
		for goal := want; total < goal*3/4 || role == "agent" && total < goal; {
			seed++
			c := exec.CommandContext(ctx, tool, "--config-file", "schemathesis.toml", "--no-color", "run", v.address+"/v1/openapi.json",
				"--header", "Authorization: Bearer "+values[role], "--seed", strconv.Itoa(seed), "--max-examples", strconv.Itoa(each), "--phases", phases) // its threads break Python 3.11's parser
			c.Dir = s.dir
			c.Env = append(os.Environ(), "PROPOSAL="+values["PROPOSAL"], "DIGEST="+values["DIGEST"], "TASK="+values["TASK"], "PYTHONDONTWRITEBYTECODE=1")
			out, err := c.CombinedOutput()
			m := generatedCases.FindSubmatch(out)
			if err != nil || m == nil {
				return fmt.Errorf("schemathesis as %s, seed %d: %w\n%s", role, seed, err, out)
			}
			n, _ := strconv.Atoi(string(m[1]))
			total += n
			s.say("schemathesis: %d requests as %s with the seed %d: every answer is what the document says", n, role, seed)
		}
	}
	excluded, err := exclusions()
	if err != nil {
		return err
	}
	s.say("schemathesis: %d requests in all, no failure of the host\nleft out:\n%s", total, excluded)
	if _, err := v.ask(ctx, http.DefaultClient, "", "GET", "/v1/health/ready", ""); err != nil {
		return err
	}
	_, err = s.skillet(ctx, "audit", "verify")
	return err
}

// exclusions are what the configuration leaves out, with its reasons: its comments.
func exclusions() (string, error) {
	var all []string
	for _, name := range []string{"openapi/schemathesis.toml", "openapi/hooks.py"} {
		b, err := openAPIFiles.ReadFile(name)
		if err != nil {
			return "", err
		}
		for line := range strings.Lines(string(b)) {
			if why, ok := strings.CutPrefix(strings.TrimSpace(line), "# "); ok {
				all = append(all, "  "+why)
			}
		}
	}
	return strings.Join(all, "\n"), nil
}
