package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// A stage is what the scenes play on.
type stage struct {
	dir, home, docs string
	ctx             context.Context
	Show
	server *server
}

// say tells the audience what happens.
func (s *stage) say(format string, args ...any) { fmt.Fprintf(s.Out, format+"\n", args...) }

// An outcome is what one command of skillet's printed.
type outcome struct {
	code        int
	out, errors string
}

// quiet runs skillet and returns what it printed.
func (s *stage) quiet(args ...string) (outcome, error) {
	cmd := exec.CommandContext(s.ctx, s.Program, args...)
	cmd.Dir, cmd.WaitDelay = s.dir, 5*time.Second
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Env = append(slices.Clone(s.Environ), "SKILLET_HOME="+s.home, "SKILLET_SECRET_KEY=file", "NO_COLOR=1")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if s.ctx.Err() != nil {
		return outcome{}, context.Cause(s.ctx)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return outcome{}, err
	}
	return outcome{cmd.ProcessState.ExitCode(), out.String(), errs.String()}, nil
}

// run runs skillet in front of the audience. Any exit code but want is the end
// of the demo.
func (s *stage) run(want int, args ...string) (outcome, error) {
	s.say("$ skillet %s", shown(args))
	o, err := s.quiet(args...)
	if err != nil {
		return o, err
	}
	fmt.Fprint(s.Out, indent(o.out, 12), indent(o.errors, 12))
	if want != 0 {
		s.say("  (exit code %d)", o.code)
	}
	if o.code != want {
		return o, fmt.Errorf("skillet %s: exit code %d, want %d\n%s%s", shown(args), o.code, want, o.out, o.errors)
	}
	return o, nil
}

// shown is a command line as one would type it.
func shown(args []string) string {
	var words []string
	for _, a := range args {
		if strings.ContainsAny(a, " *'\"{}") {
			a = "'" + a + "'"
		}
		if len(a) > 100 {
			a = a[:97] + "...'"
		}
		words = append(words, a)
	}
	return strings.Join(words, " ")
}

// indent sets text off, and leaves out what would fill the screen.
func indent(text string, most int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if text == "" {
		return ""
	}
	rest := ""
	if len(lines) > most {
		rest = fmt.Sprintf("  | ... (%d more lines)\n", len(lines)-most)
		lines = lines[:most]
	}
	for i, l := range lines {
		if len(l) > 360 {
			l = l[:357] + "..."
		}
		lines[i] = "  | " + l
	}
	return strings.Join(lines, "\n") + "\n" + rest
}

// input writes v as JSON to a file, for --input @FILE.
func (s *stage) input(name string, v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	return "@" + name, os.WriteFile(s.dir+"/"+name, b, 0o644)
}

// A server is a web server on this machine.
type server struct {
	*http.Server
	address string
}

func serve() (*server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /price", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, `{"item":"skillet","price":42}`)
	})
	s := &server{&http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}, l.Addr().String()}
	go s.Serve(l)
	return s, nil
}

func (s *server) url(path string) string { return "http://" + s.address + path }
