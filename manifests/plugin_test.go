package manifests_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/manifests"
)

const provider = `name: echo
description: Answers with what it was asked.
version: 1.0.0
type: provider
command: echo-{os}-{arch}{exe}
`

func TestPluginProgram(t *testing.T) {
	for _, tt := range []struct {
		manifest, os string
		want         manifests.Program
	}{
		{provider, "linux", manifests.Program{File: "echo-linux-arm64"}},
		{provider + "args: [--fast]", "windows", manifests.Program{File: "echo-windows-arm64.exe", Args: []string{"--fast"}}},
		{strings.Replace(provider, "echo-{os}-{arch}{exe}", "python3\nargs: [echo.py, -v]", 1), "linux", manifests.Program{Interpreter: "python3", File: "echo.py", Args: []string{"-v"}}},
	} {
		m, err := manifests.Parse([]byte(tt.manifest), "skill.yaml")
		if err != nil {
			t.Fatal(err)
		}
		got, ok := m.Program(tt.os, "arm64")
		if !ok || !reflect.DeepEqual(got, tt.want) && fmt.Sprint(got) != fmt.Sprint(tt.want) {
			t.Errorf("program on %s = %+v, %v; want %+v", tt.os, got, ok, tt.want)
		}
	}
}

// TestPluginAsks: who installs a plugin is told what it is.
func TestPluginAsks(t *testing.T) {
	m, err := manifests.Parse([]byte(provider+"security: {permissions: {secrets: [{name: key, env: ECHO_KEY}]}}"), "skill.yaml")
	if err != nil {
		t.Fatal(err)
	}
	asked, err := m.Requests("")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range asked {
		got = append(got, a.Capability.String())
	}
	if want := []string{"secret:key", "native"}; !reflect.DeepEqual(got, want) {
		t.Errorf("asks for %q, want %q", got, want)
	}
}

// TestPluginRefuses: what would bound a skill and not a plugin is no field of a plugin's.
func TestPluginRefuses(t *testing.T) {
	for _, tt := range []struct{ add, path string }{
		{"tools: [{name: run}]", "tools"},
		{"security: {permissions: {file_read: [/data]}}", "security.permissions"},
		{"security: {permissions: {network: ['https://example.com/*']}}", "security.permissions"},
		{"security: {permissions: {clock: {}}}", "security.permissions"},
		{"security: {permissions: {secrets: [key]}}", "security.permissions.secrets[0].env"},
		{"security: {permissions: {secrets: [{name: key, env: A}]}}\nconfig: {A: b}", "security.permissions.secrets[0].env"},
		{"security: {resource_limits: {max_fuel: 1000}}", "security.resource_limits"},
		{"security: {resource_limits: {max_execution_time: 1}}", "security.resource_limits"},
		{"config: {lower: x}", "config.lower"},
		{"prompt: Say it.", "prompt"},
		{"model: fast", "model"},
		{"snapshot: none", "snapshot"},
		{"resilience: {timeout: 5}", "resilience"},
		{"performance: {rate_limit: {max_calls: 1, per_seconds: 1}}", "performance"},
		{"dependencies: {text: '*'}", "dependencies"},
		{"provides: {echo: 1.0.0}", "provides"},
	} {
		_, err := manifests.Parse([]byte(provider+tt.add), "skill.yaml")
		var errs manifests.Errors
		if !errors.As(err, &errs) || errs[0].Path != tt.path {
			t.Errorf("%s: %v, want a problem of %s", tt.add, err, tt.path)
		}
	}
	for command, want := range map[string]string{
		"../echo": "not a path", "/bin/echo": "not a path", "echo-{cpu}": "stands for nothing", "main.wasm": "native program", "python3": "file of the package",
	} {
		_, err := manifests.Parse([]byte(strings.Replace(provider, "echo-{os}-{arch}{exe}", command, 1)), "skill.yaml")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("command %s: %v, want %q", command, err, want)
		}
	}
}

// TestSkillSeesNoSecret: a secret in the environment is for plugins alone.
func TestSkillSeesNoSecret(t *testing.T) {
	_, err := manifests.Parse([]byte(`{"name":"a","description":"b","version":"1.0.0","type":"code_inline","command":"main.wasm","tools":[{"name":"run"}],
		"security":{"permissions":{"secrets":[{"name":"key","env":"KEY"}]}}}`), "skill.json")
	if err == nil || !strings.Contains(err.Error(), "a skill never sees a secret") {
		t.Errorf("parse: %v", err)
	}
}
