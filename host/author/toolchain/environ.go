package toolchain

import (
	"slices"
	"strings"
)

// commonVariables are what every program is given: where programs, the person's
// own files and caches are, and how the network is reached.
func commonVariables() []string {
	return []string{
		"PATH", "HOME", "USER", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME",
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR",
		"SystemRoot", "SYSTEMROOT", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "TEMP", "TMP", "PATHEXT", "ComSpec",
	}
}

func goVariables() []string {
	return []string{
		"GOROOT", "GOPATH", "GOCACHE", "GOMODCACHE", "GOTOOLCHAIN", "GOPROXY", "GONOPROXY", "GOPRIVATE",
		"GOSUMDB", "GONOSUMDB", "GOMAXPROCS",
	}
}

func rustVariables() []string {
	return []string{"CARGO_HOME", "CARGO_HTTP_*", "CARGO_NET_*", "CARGO_REGISTR*", "CARGO_SOURCE_*", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"}
}

func zigVariables() []string {
	return []string{"ZIG_GLOBAL_CACHE_DIR", "PYENV_ROOT", "PYENV_VERSION", "VIRTUAL_ENV"}
}

// environ is what of all the programs of a language are given, and no more. A
// compiler that Python starts is not looked for in the project, where a module of
// its name would be run instead.
func environ(r row, all []string) []string {
	names := append(commonVariables(), r.pass...)
	listed := func(name string) bool {
		return slices.ContainsFunc(names, func(n string) bool {
			prefix, open := strings.CutSuffix(n, "*")
			return n == name || open && strings.HasPrefix(name, prefix)
		})
	}
	var out []string
	for _, v := range all {
		if name, _, ok := strings.Cut(v, "="); ok && listed(name) {
			out = append(out, v)
		}
	}
	return append(out, "LC_ALL=C", "PYTHONSAFEPATH=1")
}

// lookUp is the value of a variable; the last one counts.
func lookUp(environ []string, name string) string {
	for _, v := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}
