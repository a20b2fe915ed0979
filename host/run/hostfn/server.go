package hostfn

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"

	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/capability"
)

// Kinds of errors of a call of a server beside those of other functions.
const (
	// KindChanged: the tool, or the program of the server, is not as it was approved.
	KindChanged Kind = "changed"
	// KindServer: the server did what it must not, or ended.
	KindServer Kind = "server"
	// KindLogin: the server wants another token than there is, which a person gets by logging in.
	KindLogin Kind = "login"
)

// ServerCall is the name by which a call of an MCP server passes the tape. It is not a
// function of [Module]: no guest can make it.
const ServerCall = "mcp_call"

// Server makes a call of an MCP server, or asks the tape for its answer. For one that is a
// program the grant native is asked first; what is sent to one at an address is asked about
// as it is sent, see [Env.RoundTrip].
func (e *Env) Server(ctx context.Context, program bool, meta any, arguments []byte, call func(context.Context) (any, []byte, error)) (Answer, error) {
	m, err := json.Marshal(meta)
	if err != nil {
		return Answer{}, err
	}
	act := func(ctx context.Context) Answer {
		if e.s.Stage != nil {
			return Refused(KindIO, "no MCP server is called in a test: the case says what it answers")
		}
		if program {
			if _, err := e.permit(capability.Request{Action: capability.Native}, 0); err != nil {
				return Answer{Meta: failureResponse(e.failure(ctx, ServerCall, err))}
			}
		}
		result, out, err := call(ctx)
		var told []byte
		if err == nil {
			out = e.redact.body(out, int64(len(out)), false)
			told, err = json.Marshal(result)
		}
		if err != nil {
			return Answer{Meta: failureResponse(e.failure(ctx, ServerCall, err))}
		}
		return Answer{Meta: told, Body: out}
	}
	if e.s.Tape == nil {
		return act(ctx), nil
	}
	return e.pass(ctx, HostCall{Name: ServerCall, Meta: m, Body: arguments}, act)
}

// Fail is an error as a guest is told it, with what happened for the host's log.
func Fail(k Kind, message string, cause error) error { return failf(k, "%s", message).because(cause) }

// RoundTrip sends a request as a guest's is sent: grants, policies and limits are the same,
// and secrets are put in where they belong. The body of the answer is read whole. When the
// server does not take the token of a login, the request is sent once more with another.
func (e *Env) RoundTrip(req *http.Request) (*http.Response, error) {
	r := outgoing{method: req.Method, url: req.URL.String(), header: req.Header.Clone()}
	if req.Body != nil {
		defer req.Body.Close()
		var err error
		if r.body, err = io.ReadAll(io.LimitReader(req.Body, e.s.MaxHTTPBytes+1)); err != nil {
			return nil, err
		}
	}
	in, err := e.fetch(req.Context(), r)
	if err == nil && in.status == http.StatusUnauthorized && r.prepare() == nil {
		var again bool
		if again, err = e.renewed(req.Context(), r); again && err == nil {
			in, err = e.fetch(req.Context(), r)
		}
	}
	if err != nil {
		return nil, err
	}
	if in.truncated {
		return nil, failf(KindLimit, "an answer of more than %d bytes", e.s.MaxHTTPBytes)
	}
	header := in.header.Clone()
	header.Del("Content-Length")
	header.Del("Content-Encoding")
	return &http.Response{
		Status: http.StatusText(in.status), StatusCode: in.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: io.NopCloser(bytes.NewReader(in.body)), ContentLength: int64(len(in.body)), Request: req,
	}, nil
}

// Holds names all that [Env.Held] and [Env.Secret] depend on: it is another text when
// grants or policies changed.
func (e *Env) Holds() string {
	now := e.present()
	return fmt.Sprintf("%p %v %q", now.Policies, now.Granted.Strings(), now.Ended)
}

// Secret is the value of a secret that the call may use; false when it may not, or when it
// is not stored.
func (e *Env) Secret(ctx context.Context, name string) (value string, ok bool, err error) {
	if _, err := e.permit(capability.Request{Action: capability.Secret, Resource: name}, 0); err != nil || e.s.Secrets == nil {
		return "", false, nil
	}
	if value, ok, err = e.secret(ctx, name); ok {
		e.redact.add(value)
	}
	return value, ok, err
}

// maxLooked is how many names of a tree are looked at to find out what of it may be opened.
const maxLooked = 50_000

// Held are the files, and directories with all below, to which a process is held that works
// for the call. Of a directory in which something is forbidden by policies it is what is
// not: they are asked about all that is there now. Grants that are patterns are left out.
func (e *Env) Held() (read, write []string, err error) {
	w := walk{e: e}
	for _, c := range e.present().Granted.All() {
		if c.Action().Shape() != capability.ShapePath {
			continue
		}
		base := c.Base()
		if c.Resource() != base && c.Resource() != path.Join(base, "**") {
			continue
		}
		real, err := filepath.EvalSymlinks(base)
		if err != nil || real != base { // what is not there cannot be opened, and a link leads to what was not granted
			continue
		}
		found, err := w.open(c.Action(), base)
		if err != nil {
			return nil, nil, err
		}
		if c.Action() == capability.FSWrite {
			write = append(write, found...)
		} else {
			read = append(read, found...)
		}
	}
	return read, write, nil
}

// walk asks the policies about trees.
type walk struct {
	e      *Env
	looked int
}

// open is p alone when all of it may be opened, and else the parts that may be.
func (w *walk) open(a capability.Action, p string) ([]string, error) {
	if w.looked++; w.looked > maxLooked {
		return nil, failf(KindLimit, "more than %d files and directories were granted to a program: grant it a smaller directory", maxLooked)
	}
	if w.e.decide(capability.Request{Action: a, Resource: p}, "", 0).Effect != policies.Allow {
		return nil, nil
	}
	info, err := os.Lstat(p)
	if err != nil || info.Mode()&fs.ModeSymlink != 0 {
		return nil, nil
	}
	if !info.IsDir() {
		return []string{p}, nil
	}
	entries, err := os.ReadDir(p)
	if err != nil {
		return nil, nil
	}
	var parts []string
	whole := true
	for _, entry := range entries {
		child := path.Join(p, entry.Name())
		if entry.Type()&fs.ModeSymlink != 0 { // what it leads to is held by itself
			continue
		}
		found, err := w.open(a, child)
		if err != nil {
			return nil, err
		}
		whole = whole && len(found) == 1 && found[0] == child
		parts = append(parts, found...)
	}
	if whole {
		return []string{p}, nil
	}
	return parts, nil
}
