// Package unit has the texts by which systems start skillet as a service: a unit of systemd,
// and a property list of launchd.
package unit

import (
	_ "embed"
	"html"
	"strings"
	"text/template"
)

// A Service is how skillet is started.
type Service struct {
	// Program is the path of skillet, and Arguments are what stands behind it: "serve" and its flags.
	Program   string
	Arguments []string
	// Home is the directory that the service owns, an absolute path.
	Home string
	// User is the account that the service runs under, for all of the machine; empty: that of
	// whoever installs it, and the service starts with a session of that person.
	User string
	// State is the name of the directory below /var/lib that systemd makes for the service,
	// when Home is that; empty: Home exists or is made by skillet.
	State string
}

var (
	//go:embed skillet.service.tmpl
	systemd string
	//go:embed skillet.plist.tmpl
	launchd string
)

var functions = template.FuncMap{"word": quoteCommand, "path": quotePath, "xml": html.EscapeString}

var texts = template.Must(template.Must(template.New("systemd").Funcs(functions).Parse(systemd)).New("launchd").Parse(launchd))

// Systemd is the service as a unit of systemd (systemd.service(5), systemd.exec(5)). It takes
// away what skillet does not use. MemoryDenyWriteExecute is not among it: skills are compiled
// to machine code, which has to be made executable.
func (s Service) Systemd() string { return s.fill("systemd") }

// Launchd is the service as a property list of launchd (launchd.plist(5)).
func (s Service) Launchd() string { return s.fill("launchd") }

func (s Service) fill(name string) string {
	var b strings.Builder
	if err := texts.ExecuteTemplate(&b, name, s); err != nil {
		panic(err) // a template of ours that does not fit its own struct
	}
	return b.String()
}

// quoteCommand quotes a word of a command line, where $ begins a variable.
func quoteCommand(word string) string { return strings.ReplaceAll(quotePath(word), "$", "$$") }

// quotePath quotes a word of another line. In all of them % begins a specifier.
func quotePath(word string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "%", "%%").Replace(word) + `"`
}
