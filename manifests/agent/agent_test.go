package agent_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/agent"
)

var update = flag.Bool("update", false, "write the golden files")

const whole = `name: release-notes
description: Writes release notes out of a change log.
model_tier: smart
max_iterations: 3
timeout_seconds: 90.5
approval_required: true
tools: [text, "markdown:to_html"]
temperature: 0.3
max_tokens: 4096
system_prompt: |
  You write release notes.
  Never invent a change.
validation:
  required_docstring: true
  require_type_hints: true
  max_file_size_kb: 100
  allowed_imports: [re, json]
  blocked_imports: [os]
`

func TestParse(t *testing.T) {
	d, err := agent.Parse([]byte(whole), "release-notes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if d.Name != "release-notes" || d.Tier != agent.TierSmart || d.Iterations() != 3 || d.Timeout() != 90500*time.Millisecond || *d.Temperature != 0.3 || !d.ApprovalRequired || d.Validation.MaxFileSizeKB != 100 {
		t.Errorf("%+v", d)
	}
	for tool, want := range map[string]bool{"text:statistics": true, "markdown:to_html": true, "markdown:to_text": false, "files:read_text": false} {
		skill, name, _ := strings.Cut(tool, ":")
		if d.Allows(skill, name) != want {
			t.Errorf("allows %s = %v", tool, !want)
		}
	}
	d, err = agent.Parse([]byte(`{"name":"a","description":"d","model_tier":"fast","system_prompt":"p"}`), "a.json")
	if err != nil || d.Iterations() != agent.DefaultIterations || d.Timeout() != agent.DefaultTimeout || d.Allows("text", "statistics") {
		t.Errorf("%+v, %v", d, err)
	}
}

// Each file in testdata is refused with the text beside it.
func TestRefused(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		_, err = agent.Parse(data, filepath.Base(f))
		if !errors.As(err, new(manifests.Errors)) {
			t.Errorf("%s: %v", f, err)
			continue
		}
		golden := strings.TrimSuffix(f, ".yaml") + ".golden"
		if *update {
			if err := os.WriteFile(golden, []byte(err.Error()+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, readErr := os.ReadFile(golden)
		if readErr != nil || err.Error()+"\n" != string(want) {
			t.Errorf("%s:\n%v\nwant\n%s", f, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte(`{"name":"a","description":"d","model_tier":"fast","system_prompt":"p","tools":["a","a:b"]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := agent.Parse(data, "fuzz")
		if (d == nil) != (err != nil) {
			t.Fatalf("%v, %v", d, err)
		}
		if err == nil && (d.Name == "" || d.SystemPrompt == "" || d.Iterations() < 1 || d.Timeout() <= 0) {
			t.Fatalf("%+v", d)
		}
	})
}
