package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestSchemasOfAnswers keeps the JSON of commands: it changes only with its version.
func TestSchemasOfAnswers(t *testing.T) {
	const path = "testdata/json-schemas.txt"
	kept, err := os.ReadFile(path)
	if err != nil && !*update {
		t.Fatal(err)
	}
	was := map[string]string{}
	for line := range strings.Lines(string(kept)) {
		command, rest, _ := strings.Cut(strings.TrimSpace(line), "\t")
		was[command] = rest
	}
	var now strings.Builder
	for _, a := range answerTypes {
		doc, err := answerSchema(a.command)
		if err != nil {
			t.Errorf("%s: %v", a.command, err)
			continue
		}
		if _, err := compiled(doc); err != nil {
			t.Errorf("%s: %v", a.command, err)
		}
		row := fmt.Sprintf("%d\t%x", answerVersion(a.command), sha256.Sum256(doc))
		if was[a.command] != row && !*update {
			t.Errorf("the JSON of %s is not what it was: raise its version in answerVersions when a release has it, and run go test ./cmd/skillet -run TestSchemasOfAnswers -update", a.command)
		}
		fmt.Fprintf(&now, "%s\t%s\n", a.command, row)
	}
	if *update && !t.Failed() {
		if err := os.WriteFile(path, []byte(now.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func compiled(doc []byte) (*jsonschema.Schema, error) {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("answer.json", v); err != nil {
		return nil, err
	}
	return c.Compile("answer.json")
}

// Each command that prints JSON and is shown in the help has a schema.
func TestEveryCommandHasSchema(t *testing.T) {
	without := map[string]bool{"mcp": true, "acp": true, "approvals review": true} // protocols, and what a person is asked
	for path, c := range leaves("skillet", newApp(&terminal{}).Commands) {
		if path = strings.TrimPrefix(path, "skillet "); c.Hidden || without[path] {
			continue
		}
		if _, err := answerSchema(path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// What commands print fits their schemas.
func TestAnswersFitSchemas(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.pack("echo", "echo", "1.0.0", `"kv":{"reason":"r"}`)
	p.pack("gen", "gen", "1.0.0", `"kv":{"reason":"r"}`)
	p.write("secret", []byte("hunter2hunter2"))
	for _, line := range []string{
		"install|./echo --yes", "run|echo --input hello", "list|", "list|--all", "info|echo", "info|echo:echo", "verify|echo", "tree|", "why|echo", "lock|-o lock.json",
		"pin|echo", "unpin|echo", "disable|echo", "enable|echo", "permission show|echo", "permission list|", "permission grant|echo clock", "permission revoke|echo clock",
		"policy list|", "policy explain|echo kv", "secret list|", "trust list|", "trust revocations list|", "task list|", "agent list|", "agent show|general",
		"memory list|", "memory stats|", "approvals list|", "approvals list|--all", "audit|", "audit list|", "stats|", "scan|echo", "explain|", "explain|SK202", "config list|",
		"config get|log_level", "doctor|", "version|", "exit-codes|", "help|run", "completion|bash", "gc|--dry-run", "engine list|", "search|none", "token list|", "session list|",
		"key create|", "key show|", "export|set.skillet", "store verify|", "store backup|b", "inspect|echo", "test|./echo", "new|--list", "remove|echo --yes",
	} {
		command, args, _ := strings.Cut(line, "|")
		doc, err := answerSchema(command)
		if err != nil {
			t.Errorf("%s: %v", command, err)
			continue
		}
		schema, err := compiled(doc)
		if err != nil {
			t.Errorf("%s: %v", command, err)
			continue
		}
		code, out, errs := p.run(append(append(strings.Fields(command), strings.Fields(args)...), "--json")...)
		if code != 0 {
			t.Logf("%s ends with %d: %s%s", line, code, out, errs)
			continue
		}
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(out))
		if err == nil {
			err = schema.Validate(v)
		}
		if err != nil {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
	}
}
