package mcpclient

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

var entry = Entry{"/usr/bin/skillet", []string{"mcp"}}

func client(t testing.TB, name string) Client {
	t.Helper()
	c, ok := Find(name)
	if !ok {
		t.Fatalf("no client %s", name)
	}
	return c
}

// What is set stands beside what was there, of which no byte changes, and is taken out again.
func TestSetAndRemove(t *testing.T) {
	const one = "{\n  \"mcpServers\": {\n    \"skillet\": {\n      \"command\": \"/usr/bin/skillet\",\n      \"args\": [\n        \"mcp\"\n      ]\n    }\n  }\n}\n"
	for _, c := range []struct{ client, old, want, removed string }{
		{"cursor", "", one, "{\n  \"mcpServers\": {}\n}\n"},
		{"cursor", "{}\n", one, "{\n  \"mcpServers\": {}\n}\n"},
		{"cursor", one, one, "{\n  \"mcpServers\": {}\n}\n"},
		{"cursor", `{"a":1}`, "{\"a\":1,\n  \"mcpServers\": {\n    \"skillet\": {\n      \"command\": \"/usr/bin/skillet\",\n      \"args\": [\n        \"mcp\"\n      ]\n    }\n  }\n}", "{\"a\":1,\n  \"mcpServers\": {}\n}"},
		{"cursor", "{\n\t\"mcpServers\": {\n\t\t\"b\": {\"x\": 1e3}\n\t},\n\t\"z\": 1\n}",
			"{\n\t\"mcpServers\": {\n\t\t\"b\": {\"x\": 1e3},\n\t\t\"skillet\": {\n\t\t\t\"command\": \"/usr/bin/skillet\",\n\t\t\t\"args\": [\n\t\t\t\t\"mcp\"\n\t\t\t]\n\t\t}\n\t},\n\t\"z\": 1\n}",
			"{\n\t\"mcpServers\": {\n\t\t\"b\": {\"x\": 1e3}\n\t},\n\t\"z\": 1\n}"},
		{"zed", "// mine\n{\n  \"context_servers\": {\n    // none yet\n  },\n  \"theme\": \"One\", // dark\n}\n",
			"// mine\n{\n  \"context_servers\": {\n    \"skillet\": {\n      \"command\": \"/usr/bin/skillet\",\n      \"args\": [\n        \"mcp\"\n      ]\n    }\n    // none yet\n  },\n  \"theme\": \"One\", // dark\n}\n",
			"// mine\n{\n  \"context_servers\": {\n    \n    // none yet\n  },\n  \"theme\": \"One\", // dark\n}\n"},
		{"zed", "{\n  \"theme\": \"One\", // dark\n}\n",
			"{\n  \"theme\": \"One\",\n  \"context_servers\": {\n    \"skillet\": {\n      \"command\": \"/usr/bin/skillet\",\n      \"args\": [\n        \"mcp\"\n      ]\n    }\n  } // dark\n}\n",
			"{\n  \"theme\": \"One\",\n  \"context_servers\": {} // dark\n}\n"},
		{"vscode", "{\"servers\": {\"skillet\": {\"command\": \"old\"}, \"b\": {}}}",
			"{\"servers\": {\"skillet\": {\n  \"type\": \"stdio\",\n  \"command\": \"/usr/bin/skillet\",\n  \"args\": [\n    \"mcp\"\n  ]\n}, \"b\": {}}}", "{\"servers\": {\"b\": {}}}"},
		{"codex", "", "[mcp_servers.skillet]\ncommand = \"/usr/bin/skillet\"\nargs = [\"mcp\"]\n", ""},
		{"codex", "model = \"o\" # x\n\n[mcp_servers.b]\ncommand = '''\n[mcp_servers.skillet]\n'''\nargs = [\n  \"a\", # ]\n]\n",
			"model = \"o\" # x\n\n[mcp_servers.b]\ncommand = '''\n[mcp_servers.skillet]\n'''\nargs = [\n  \"a\", # ]\n]\n\n[mcp_servers.skillet]\ncommand = \"/usr/bin/skillet\"\nargs = [\"mcp\"]\n",
			"model = \"o\" # x\n\n[mcp_servers.b]\ncommand = '''\n[mcp_servers.skillet]\n'''\nargs = [\n  \"a\", # ]\n]\n"},
		{"codex", "[mcp_servers.\"skillet\"]\ncommand = \"old\"\n[mcp_servers.skillet.env]\nA = \"b\"\n\n[tui]\nx = 1\n",
			"[mcp_servers.skillet]\ncommand = \"/usr/bin/skillet\"\nargs = [\"mcp\"]\n\n[tui]\nx = 1\n", "[tui]\nx = 1\n"},
	} {
		of := client(t, c.client)
		got, err := of.Set(c.old, entry)
		if err != nil || got != c.want {
			t.Errorf("%s: %q becomes\n%s\n%v, want\n%s", c.client, c.old, got, err, c.want)
			continue
		}
		if again, err := of.Set(got, entry); err != nil || again != got {
			t.Errorf("%s: %q set twice: %q %v", c.client, c.old, again, err)
		}
		without, ok, err := of.Remove(got)
		if err != nil || !ok || without != c.removed {
			t.Errorf("%s: %q without it is\n%q %v %v, want\n%q", c.client, got, without, ok, err, c.removed)
		}
		if _, ok, err := of.Remove(without); ok || err != nil {
			t.Errorf("%s: %q removed twice: %v %v", c.client, got, ok, err)
		}
	}
}

// A file that cannot be read for sure is refused.
func TestRefuses(t *testing.T) {
	for name, texts := range map[string][]string{
		"cursor": {
			"{", "[]", "1", `{"a":1}{`, `{"a":1,}`, "// x\n{}", `{"mcpServers":[]}`, `{"mcpServers":{},"mcpServers":{}}`, `{"a":tru}`, `{"a":"\x"}`, "{\"a\":\"\xff\"}", `{"a" 1}`, `{"a":[1,]}`, `{a:1}`,
			strings.Repeat(`{"a":`, 2<<20) + "1" + strings.Repeat("}", 2<<20),
		},
		"zed":   {"{/*", "{,}", `{"a":1,,}`, `{"a":"}`},
		"codex": {"a", "[a", "a = [", "a = ]", `a = "x`, "mcp_servers = {}", "mcp_servers.skillet.command = \"x\"", "[mcp_servers]\nskillet = {}", "[mcp_servers.skillet]\n[a]\n[mcp_servers.skillet.env]\n", "a = '''x"},
	} {
		for _, text := range texts {
			if got, err := client(t, name).Set(text, entry); err == nil {
				t.Errorf("%s: %.100q becomes %.100q", name, text, got)
			}
		}
	}
}

func TestPaths(t *testing.T) {
	none := func(string) string { return "" }
	for _, c := range []struct{ client, goos, want string }{
		{"claude-code", "linux", "/h/.claude.json"},
		{"claude-desktop", "darwin", "/h/Library/Application Support/Claude/claude_desktop_config.json"},
		{"claude-desktop", "linux", "/h/.config/Claude/claude_desktop_config.json"},
		{"codex", "linux", "/h/.codex/config.toml"},
		{"cursor", "darwin", "/h/.cursor/mcp.json"},
		{"vscode", "linux", "/h/.config/Code/User/mcp.json"},
		{"vscode", "windows", "/h/AppData/Roaming/Code/User/mcp.json"},
		{"gemini", "linux", "/h/.gemini/settings.json"},
		{"zed", "darwin", "/h/.config/zed/settings.json"},
	} {
		if got := filepath.ToSlash(client(t, c.client).Path(c.goos, "/h", none)); got != c.want {
			t.Errorf("%s on %s: %s, want %s", c.client, c.goos, got, c.want)
		}
	}
	if got := client(t, "codex").Path("linux", "/h", func(string) string { return "/other" }); got != filepath.FromSlash("/other/config.toml") {
		t.Errorf("codex: %s", got)
	}
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "sub", "real.json"), filepath.Join(dir, "link.json")
	if err := Write(file, "", "{}\n"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Chmod(file, 0o640), os.Symlink(file, link)); err != nil {
		t.Skip(err)
	}
	if err := Write(link, "{}\n", "{\"a\":1}\n"); err != nil {
		t.Fatal(err)
	}
	st, err := os.Lstat(link)
	of, errFile := os.Stat(file)
	if err = errors.Join(err, errFile); err != nil || st.Mode()&os.ModeSymlink == 0 || of.Mode().Perm() != 0o640 {
		t.Errorf("the link and the mode: %v %v %v", st, of, err)
	}
	if err := Write(link, "{}\n", "lost"); !errors.Is(err, ErrChanged) {
		t.Errorf("a file that was changed: %v", err)
	}
	if got, err := Read(file); got != "{\"a\":1}\n" || err != nil {
		t.Errorf("it is %q %v", got, err)
	}
}

// Whatever is in a file, what is written can be read, has what was there and the entry, and loses it again.
func FuzzSet(f *testing.F) {
	f.Add("{\n  \"mcpServers\": {\"a\": {}},\n  \"b\": [1, {\"c\": null}]\n}\n")
	f.Add("{ // x\n\"mcpServers\":{\"skillet\":1,},}")
	f.Add("[mcp_servers.a]\nb = [\"\"\"\n]\n\"\"\"]\n[[c]]\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, name := range []string{"cursor", "gemini", "codex"} {
			c := client(t, name)
			set, err := c.Set(text, entry)
			if err != nil {
				continue
			}
			if again, err := c.Set(set, entry); err != nil || again != set {
				t.Fatalf("%s: %q: set twice: %q, %q %v", name, text, set, again, err)
			}
			without, ok, err := c.Remove(set)
			if !ok || err != nil {
				t.Fatalf("%s: %q: removed from %q: %v %v", name, text, set, ok, err)
			}
			if _, ok, err := c.Remove(without); ok || err != nil {
				t.Fatalf("%s: %q: removed twice: %q %v %v", name, text, without, ok, err)
			}
			if name == "cursor" {
				sameBeside(t, text, set, without)
			}
		}
	})
}

// sameBeside checks that texts have the same members beside the entry.
func sameBeside(t *testing.T, texts ...string) {
	t.Helper()
	var first map[string]any
	for i, text := range texts {
		if strings.TrimSpace(text) == "" {
			text = "{}"
		}
		var v map[string]any
		if err := json.Unmarshal([]byte(strings.TrimPrefix(text, "\uFEFF")), &v); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		servers, _ := v["mcpServers"].(map[string]any)
		delete(servers, "skillet")
		if len(servers) == 0 {
			delete(v, "mcpServers")
		}
		if i == 0 {
			first = v
		} else if !reflect.DeepEqual(v, first) {
			t.Fatalf("%q has other members than %q", text, texts[0])
		}
	}
}
