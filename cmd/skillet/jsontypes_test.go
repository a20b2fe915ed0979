package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestSchemasOfAnswers keeps the JSON of commands: what a release has changes only with its
// version. The first line of the file names the last release, as the changelog does, and rows that
// are marked are of schemas which that has: they are marked by -update when there is a new release.
func TestSchemasOfAnswers(t *testing.T) {
	const path = "testdata/json-schemas.txt"
	kept, err := os.ReadFile(path)
	if err != nil && !*update {
		t.Fatal(err)
	}
	released, was := readSchemas(string(kept))
	last := lastRelease(t)
	now := "released\t" + last + "\n"
	for _, a := range answerTypes {
		doc, err := answerSchema(a.command)
		if err != nil {
			t.Errorf("%s: %v", a.command, err)
			continue
		}
		if _, err := compiled(doc); err != nil {
			t.Errorf("%s: %v", a.command, err)
		}
		row := schemaRow{version: fmt.Sprint(answerVersion(a.command)), sum: fmt.Sprintf("%x", sha256.Sum256(doc))}
		before := was[a.command]
		row.released = before.sum == row.sum && before.version == row.version && (before.released || released != last)
		switch {
		case before.released && before.sum != row.sum && before.version == row.version:
			t.Errorf("the JSON of %s is not what release %s has: raise its version in answerVersions", a.command, released)
		case (released != last || before != row) && !*update:
			t.Errorf("the JSON of %s is not what it was: run go test ./cmd/skillet -run TestSchemasOfAnswers -update", a.command)
		}
		now += a.command + "\t" + row.String() + "\n"
	}
	if *update && !t.Failed() {
		if err := os.WriteFile(path, []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// A schemaRow is the schema of a command as the file has it.
type schemaRow struct {
	version, sum string
	released     bool
}

func (r schemaRow) String() string {
	text := r.version + "\t" + r.sum
	if r.released {
		text += "\treleased"
	}
	return text
}

// readSchemas reads the last release, and the rows by command.
func readSchemas(text string) (released string, rows map[string]schemaRow) {
	rows = map[string]schemaRow{}
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.TrimSpace(line), "\t")
		switch {
		case len(cells) == 2:
			released = cells[1]
		case len(cells) > 2:
			rows[cells[0]] = schemaRow{cells[1], cells[2], len(cells) > 3}
		}
	}
	return released, rows
}

var releaseInChangelog = regexp.MustCompile(`(?m)^## ([0-9]\S*)`)

// lastRelease is the last version that the changelog has.
func lastRelease(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	m := releaseInChangelog.FindSubmatch(b)
	if m == nil {
		t.Fatal("the changelog names no release")
	}
	return string(m[1])
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
