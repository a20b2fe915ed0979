// Package mcpclient writes into the configuration of programs that use the Model Context
// Protocol how they start a server, and takes it out again. What else is in a file stays byte
// for byte, and a file that cannot be read is not changed.
package mcpclient

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Client is a program whose configuration is known.
type Client struct {
	Name string
	// under is the member that has the servers.
	under string
	// comments says that its file may have some.
	comments, toml bool
	// typed: an entry names the transport, which is standard input and output.
	typed bool
	// path is where the file is, below the place of Place.
	place place
	path  string
}

// A place is a directory that a path is relative to.
type place int

const (
	inHome   place = iota
	inConfig       // where programs keep what is set: ~/.config, ~/Library/Application Support, %APPDATA%
	inXDG          // the same, but ~/.config on macOS too
	inCodex        // $CODEX_HOME, or ~/.codex
)

var clients = []Client{
	{Name: "claude-code", under: "mcpServers", typed: true, path: ".claude.json"},
	{Name: "claude-desktop", under: "mcpServers", place: inConfig, path: "Claude/claude_desktop_config.json"},
	{Name: "codex", under: "mcp_servers", toml: true, place: inCodex, path: "config.toml"},
	{Name: "cursor", under: "mcpServers", path: ".cursor/mcp.json"},
	{Name: "vscode", under: "servers", typed: true, comments: true, place: inConfig, path: "Code/User/mcp.json"},
	{Name: "gemini", under: "mcpServers", comments: true, path: ".gemini/settings.json"},
	{Name: "zed", under: "context_servers", comments: true, place: inXDG, path: "zed/settings.json"},
}

// Names are the names of the clients.
func Names() []string {
	var all []string
	for _, c := range clients {
		all = append(all, c.Name)
	}
	return all
}

// Find returns the client of a name, and whether there is one.
func Find(name string) (Client, bool) {
	i := slices.IndexFunc(clients, func(c Client) bool { return c.Name == name })
	if i < 0 {
		return Client{}, false
	}
	return clients[i], true
}

// Path is where the client of an account keeps its configuration, on an operating system as
// runtime.GOOS has it.
func (c Client) Path(goos, home string, getenv func(string) string) string {
	dir := home
	switch c.place {
	case inConfig, inXDG:
		switch {
		case goos == "windows":
			dir = or(getenv("APPDATA"), filepath.Join(home, "AppData", "Roaming"))
		case goos == "darwin" && c.place == inConfig:
			dir = filepath.Join(home, "Library", "Application Support")
		default:
			dir = or(getenv("XDG_CONFIG_HOME"), filepath.Join(home, ".config"))
		}
	case inCodex:
		dir = or(getenv("CODEX_HOME"), filepath.Join(home, ".codex"))
	case inHome:
	}
	return filepath.Join(dir, filepath.FromSlash(c.path))
}

func or(dir, other string) string {
	if filepath.IsAbs(dir) {
		return dir
	}
	return other
}

// An Entry is how a server is started.
type Entry struct {
	Command string
	Args    []string
}

// name is what the server is called.
const name = "skillet"

// Set returns a configuration with the entry, in place of one that is there.
func (c Client) Set(text string, e Entry) (string, error) {
	if c.toml {
		return tomlSet(text, c.under, name, e)
	}
	v := struct {
		Type    string   `json:"type,omitempty"`
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}{Command: e.Command, Args: e.Args}
	if c.typed {
		v.Type = "stdio"
	}
	return jsonSet(text, c.under, name, v, c.comments)
}

// Remove returns a configuration without the entry; ok is false when it has none.
func (c Client) Remove(text string) (without string, ok bool, err error) {
	if c.toml {
		return tomlRemove(text, c.under, name)
	}
	return jsonRemove(text, c.under, name, c.comments)
}

// maxFile is the longest configuration that is read, in bytes.
const maxFile = 16 << 20

// Read reads a configuration; one that is not there is empty.
func Read(path string) (string, error) {
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", err
	case !st.Mode().IsRegular():
		return "", fmt.Errorf("%s is not a file", path)
	case st.Size() > maxFile:
		return "", fmt.Errorf("%s is longer than %d MB", path, maxFile>>20)
	}
	b, err := os.ReadFile(path)
	return string(b), err
}

// ErrChanged means that a configuration is not any more what it was.
var ErrChanged = errors.New("it was changed meanwhile")

// Write replaces a configuration that was old by text, at once or not at all. The file keeps its
// mode, and a link to it stays one.
func Write(path, old, text string) error {
	if now, err := Read(path); err != nil || now != old {
		return errors.Join(err, ErrChanged)
	}
	mode := fs.FileMode(0o600)
	if whole, err := filepath.EvalSymlinks(path); err == nil {
		path = whole
		st, err := os.Stat(path)
		if err != nil {
			return err
		}
		mode = st.Mode().Perm()
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // which it is no longer once it was renamed
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// Difference shows what changes between two texts that have a common beginning and end: the
// lines between, those that go with "-" and those that come with "+".
func Difference(old, text string) []string {
	a, b := strings.SplitAfter(old, "\n"), strings.SplitAfter(text, "\n")
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	var all []string
	for _, l := range []struct {
		sign  string
		lines []string
	}{{"-", a}, {"+", b}} {
		for _, line := range l.lines {
			if line != "" {
				all = append(all, l.sign+strings.TrimSuffix(line, "\n"))
			}
		}
	}
	return all
}
