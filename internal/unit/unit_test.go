package unit

import (
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var services = map[string]Service{
	"person":  {Program: "/home/ada/bin/skillet", Arguments: []string{"serve", "--listen", "127.0.0.1:0"}, Home: "/home/ada/.skillet"},
	"machine": {Program: "/usr/bin/skillet", Arguments: []string{"serve"}, Home: "/var/lib/skillet", User: "root", State: "skillet"},
	"odd":     {Program: `/opt/a b/skillet`, Arguments: []string{"serve", "--drain", "100%s $HOME"}, Home: `/srv/50% <&> $x`, User: "root"},
}

// systemd itself reads each unit without a complaint.
func TestSystemdReads(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is not here")
	}
	for name, s := range services {
		t.Run(name, func(t *testing.T) {
			program := filepath.Join(t.TempDir(), filepath.Base(s.Program)) // it has to exist
			if err := os.WriteFile(program, nil, 0o755); err != nil {
				t.Fatal(err)
			}
			s.Program = program
			path := filepath.Join(t.TempDir(), "skillet.service")
			if err := os.WriteFile(path, []byte(s.Systemd()), 0o644); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("systemd-analyze", "verify", "--man=no", path)
			if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), path) {
				t.Errorf("systemd-analyze verify: %v\n%s\n%s", err, out, s.Systemd())
			}
		})
	}
}

// Whatever a path holds, it stays one word of the command line.
func TestQuotes(t *testing.T) {
	text := services["odd"].Systemd()
	for _, want := range []string{
		`ExecStart="/opt/a b/skillet" "serve" "--drain" "100%%s $$HOME"`,
		`ReadWritePaths="/srv/50%% <&> $x"`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("the unit has not the line %s:\n%s", want, text)
		}
	}
}

func TestLaunchdReads(t *testing.T) {
	for name, s := range services {
		var list struct {
			Strings []string `xml:"dict>array>string"`
		}
		if err := xml.Unmarshal([]byte(s.Launchd()), &list); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, s.Launchd())
		}
		if want := append([]string{s.Program}, s.Arguments...); strings.Join(list.Strings, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s: starts %q, want %q", name, list.Strings, want)
		}
	}
}
