package upkeep

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/policies"
)

// Common is what a command and a service have in common when the service does for the
// command what the command would do itself: the home, the program, the settings, and what
// the system lets their processes see.
type Common struct {
	// Home is the directory of the home, and System that of the administrator's bounds.
	Home, System string
	// Layers are the settings beside those of the home.
	Layers SettingLayers
}

// Digest is the same for two processes that have all of it in common. It is of what is there
// now, so that settings that were changed since a service began make another.
func (c Common) Digest() (string, error) {
	if c.Layers.EnvFile != "" || slices.ContainsFunc(c.Layers.Environ, func(v string) bool { return strings.HasPrefix(v, EnvironmentFileVariable+"=") }) {
		return "", fault.Errorf(fault.KindUsage, "an environment file was named, which may be a pipe") // and would be read twice
	}
	home, err := filepath.EvalSymlinks(c.Home)
	if err != nil {
		return "", err
	}
	d := digest{sha256.New()}
	d.add("system", c.System)
	d.add("home", home)
	if err := d.addProgram(); err != nil {
		return "", err
	}
	files := []string{filepath.Join(home, SettingsFile), filepath.Join(home, EnvironmentFile)}
	if c.System != "" { // whose limits hold from when a home is opened
		files = append(files, filepath.Join(c.System, policies.MaximumFile))
	}
	for _, file := range files {
		if err := d.addFile(file); err != nil {
			return "", err
		}
	}
	d.add("flags", c.Layers.Flags...)
	d.add("environment", environ(c.Layers.Environ)...)
	d.addSurroundings()
	return hex.EncodeToString(d.Sum(nil)), nil
}

// A digest is one of parts, each of which has a name.
type digest struct{ hash.Hash }

func (d digest) add(name string, values ...string) {
	fmt.Fprintf(d, "%s %d\n", name, len(values))
	for _, v := range values {
		fmt.Fprintf(d, "%d %s\n", len(v), v)
	}
}

// addFile adds what is in a file, which need not exist.
func (d digest) addFile(path string) error {
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.add("no file", path)
		return nil
	case err != nil:
		return err
	case !st.Mode().IsRegular():
		return fault.Errorf(fault.KindUsage, "%s is not a file", path)
	}
	b, err := os.ReadFile(path)
	d.add("file", path, string(b))
	return err
}

// addProgram adds which program this is. Versions do not tell builds of a developer apart.
func (d digest) addProgram() error {
	path, err := os.Executable()
	if err != nil {
		return err
	}
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	d.add("program", fmt.Sprint(ThisBuild()), path, fmt.Sprint(st.Size(), st.ModTime().UnixNano()))
	return nil
}

// environ are the variables that a home is opened by: its settings, and where the keyring is.
func environ(all []string) []string {
	var kept []string
	for _, v := range all {
		if strings.HasPrefix(v, "SKILLET_") && !strings.HasPrefix(v, "SKILLET_HOME=") || strings.HasPrefix(v, "DBUS_SESSION_BUS_ADDRESS=") {
			kept = append(kept, v)
		}
	}
	slices.Sort(kept)
	return kept
}

// bounds are the lines of /proc/self/status that say how a process makes files, and what it
// may ask of the system.
var bounds = []string{"Umask:", "NoNewPrivs:", "Seccomp:", "CapEff:"}

// addSurroundings adds which files and networks a process sees, and its bounds, where the
// system says so.
func (d digest) addSurroundings() {
	for _, link := range []string{"root", "ns/mnt", "ns/net", "ns/user"} {
		to, _ := os.Readlink("/proc/self/" + link)
		d.add(link, to)
	}
	groups, _ := os.Getgroups()
	slices.Sort(groups)
	d.add("groups", fmt.Sprint(os.Getegid(), groups))
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if slices.ContainsFunc(bounds, func(name string) bool { return strings.HasPrefix(line, name) }) {
			d.add("status", line)
		}
	}
}
