package upkeep

import (
	"runtime"
	"runtime/debug"
)

// A Build is what is known about this program.
type Build struct {
	// Version is that of the module; "(devel)" when it is not known.
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	// Modified says that it was built from sources that were changed since Revision.
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// ThisBuild is that of the program that runs.
func ThisBuild() Build {
	b := Build{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if v := info.Main.Version; v != "" {
		b.Version = v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}
