package main

import (
	"archive/zip"
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// known decodes JSON of which every member is known.
func known(t *testing.T, text []byte, v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
}

// What the manifest of a bundle has started answers a client.
func TestBundle(t *testing.T) {
	z, err := zip.OpenReader(file(t, here()+".mcpb"))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	dir := t.TempDir()
	var names []string
	for _, f := range z.File {
		names = append(names, f.Name)
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil || !filepath.IsLocal(f.Name) {
			t.Fatalf("%s: %v", f.Name, err)
		}
		at := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, text, f.Mode()); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(names)
	all := len(names)
	names = slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, "server/skills/") })
	if all-len(names) < 20 {
		t.Errorf("it holds %d packages and signatures of skills", all-len(names))
	}
	if got := strings.Join(names, " "); got != "LICENCES.txt LICENSE manifest.json server/"+(platform{os: runtime.GOOS}).program() {
		t.Errorf("it holds %s", got)
	}
	text, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	var m bundleManifest
	known(t, text, &m)
	if m.ManifestVersion != "0.3" || m.Name == "" || m.Description == "" || m.Author.Name == "" || m.Server.Type != "binary" || "skillet_v"+m.Version != made.tag ||
		!slices.Contains([]string{"darwin", "win32", "linux"}, m.Compatibility.Platforms[0]) {
		t.Errorf("manifest: %s", text)
	}
	if _, err := os.Stat(filepath.Join(dir, m.Server.EntryPoint)); err != nil {
		t.Error(err)
	}
	cmd := exec.Command(strings.ReplaceAll(m.Server.Config.Command, "${__dirname}", dir), m.Server.Config.Args...)
	cmd.Env = append(os.Environ(), "SKILLET_HOME="+filepath.Join(t.TempDir(), "home"), "SKILLET_SECRET_KEY=file")
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
	fmt.Fprintln(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
	line, err := bufio.NewReader(out).ReadString('\n') // before the input ends, which ends the program
	if err != nil || !strings.Contains(line, `"serverInfo":{"name":"skillet"`) {
		t.Errorf("%v: %s", err, line)
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// What the registry is told of a release is what its schema allows, and the bundles that are there.
func TestServerEntry(t *testing.T) {
	bundle := file(t, here()+".mcpb")
	text, err := os.ReadFile(filepath.Join(made.dir, "server.json"))
	if err != nil {
		t.Fatal(err)
	}
	var e serverEntry
	known(t, text, &e)
	if !regexp.MustCompile(`^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$`).MatchString(e.Name) || len(e.Description) > 100 || len(e.Title) > 100 || "skillet_v"+e.Version != made.tag {
		t.Errorf("server.json: %s", text)
	}
	sum, err := sumOf(bundle)
	if err != nil || len(e.Packages) != 1 {
		t.Fatalf("%v: %s", err, text)
	}
	p := e.Packages[0]
	if p.RegistryType != "mcpb" || p.Transport.Type != "stdio" || p.FileSHA256 != fmt.Sprintf("%x", sum) || !strings.HasPrefix(p.Identifier, "https://github.com/") ||
		!strings.HasSuffix(p.Identifier, "/v"+e.Version+"/"+filepath.Base(bundle)) {
		t.Errorf("package: %+v", p)
	}
}
