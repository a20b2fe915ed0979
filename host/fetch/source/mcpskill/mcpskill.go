// Package mcpskill reads skills from servers of the Model Context Protocol, by its extension
// for skills (io.modelcontextprotocol/skills).
//
// A server tells which files a skill has, with digests and sizes, and serves the files. Nothing
// of that is believed: what is read has to be what the server itself announced, within bounds
// that are known before anything is read. That a server serves what it announced says nothing
// of what the files are.
package mcpskill

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/skillet-run/skillet/host/fetch/source/transfer"
	"github.com/skillet-run/skillet/manifests"
)

// Bounds on one skill: what the extension demands that every client accepts.
const (
	MaxFiles = 512
	MaxBytes = 16 << 20
)

// maxRead is how many bytes a server may send in all: the files as base64, and lists of other
// skills.
const maxRead = 2*MaxBytes + 16<<20

// maxPages is how many pages of a list are read.
const maxPages = 200

const extension = "io.modelcontextprotocol/skills"

var (
	// ErrNoSkills means that a server has no skills to read.
	ErrNoSkills = errors.New("the server does not serve skills (it does not have the extension " + extension + ")")
	// ErrAmbiguous means that a name stands for several skills of a server.
	ErrAmbiguous = errors.New("several skills have this name")
)

// A Wish says what is wanted of a server.
type Wish struct {
	// Endpoint is where the server is: http:// or https://.
	Endpoint string
	// Skill is the name of a skill, its path such as acme/billing/refunds, or the URI of its
	// SKILL.md.
	Skill string
	// Token is shown to the server; empty for none.
	Token string
	// Client makes the requests. It bounds waits, and where requests are led.
	Client *http.Client
	// Progress is told how many bytes of how many came; nil for nobody.
	Progress func(done, total int64)
}

// Read reads a skill: its files by their paths. Errors wrap one of this package's, or of
// [transfer]'s: [transfer.ErrTampered] for what is not what the server announced,
// [transfer.ErrProtocol] for what makes no sense.
func Read(ctx context.Context, w Wish) (map[string][]byte, error) {
	var files map[string][]byte
	err := w.connected(ctx, func(c *conn) error {
		e, err := c.find(ctx, w.Skill)
		if err != nil {
			return err
		}
		m, err := e.manifest()
		if err != nil {
			return err
		}
		files, err = c.files(ctx, m, w.Progress)
		return err
	})
	return files, err
}

// Ping connects to a server, to find out whether it lets in who shows a token. Its errors are
// those of [Read].
func Ping(ctx context.Context, w Wish) error {
	return w.connected(ctx, func(*conn) error { return nil })
}

// connected connects to the server, and says what went wrong in the words of [transfer]: the
// SDK has its own.
func (w Wish) connected(ctx context.Context, do func(*conn) error) error {
	bounded := &bounded{next: w.Client.Transport, token: w.Token, left: maxRead}
	client := *w.Client
	client.Transport = bounded
	c, end, err := connect(ctx, w.Endpoint, &client)
	if err == nil {
		err = do(c)
		end()
	}
	switch failed := bounded.failure(); {
	case err == nil || isKnown(err):
		return err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case failed != nil:
		return transfer.Classify(failed)
	}
	return fmt.Errorf("%w: %w", transfer.ErrProtocol, err)
}

// isKnown reports whether an error is one of this package's words.
func isKnown(err error) bool {
	return slices.ContainsFunc([]error{
		ErrNoSkills, ErrAmbiguous, transfer.ErrNotFound, transfer.ErrTampered, transfer.ErrProtocol, transfer.ErrTooLarge,
	}, func(known error) bool { return errors.Is(err, known) }) || errors.As(err, new(manifests.Errors))
}

// A conn is a connection to a server that has the extension.
type conn struct{ session *sdk.ClientSession }

func connect(ctx context.Context, endpoint string, client *http.Client) (*conn, func(), error) {
	c := sdk.NewClient(&sdk.Implementation{Name: "skillet", Version: "1"}, nil)
	err := errors.Join(sdk.AddSendingCustomMethod[*listParams, *listResult](c, "skills/list"), sdk.AddSendingCustomMethod[*getParams, *getResult](c, "skills/get"))
	if err != nil {
		return nil, nil, err
	}
	session, err := c.Connect(ctx, &sdk.StreamableClientTransport{
		Endpoint: endpoint, HTTPClient: client, MaxRetries: -1, DisableStandaloneSSE: true, MaxEventSize: maxRead,
	}, nil)
	if err != nil {
		return nil, nil, err
	}
	end := func() { _ = session.Close() }
	if caps := session.InitializeResult().Capabilities; caps == nil || caps.Extensions[extension] == nil {
		end()
		return nil, nil, ErrNoSkills
	}
	return &conn{session}, end, nil
}

// find finds the entry of a skill. A name is looked for in the list first, because several
// skills may have it, and one whose folder has another name is refused; what is in no list
// is asked for by its address.
func (c *conn) find(ctx context.Context, skill string) (entry, error) {
	uri, isName := addressOf(skill)
	if !isName {
		return c.get(ctx, uri)
	}
	var found []entry
	cursor := ""
	for range maxPages {
		page, err := sdk.CallCustomMethod[*listParams, *listResult](ctx, c.session, "skills/list", &listParams{Cursor: cursor})
		if err != nil {
			return entry{}, err
		}
		for _, e := range page.Skills {
			if e.name() == skill || e.folder() == skill {
				found = append(found, e)
			}
		}
		if page.NextCursor == "" || page.NextCursor == cursor {
			break
		}
		cursor = page.NextCursor
	}
	switch len(found) {
	case 0:
		return c.get(ctx, uri)
	case 1:
		return found[0], nil
	}
	return entry{}, fmt.Errorf("%w: %s", ErrAmbiguous, urisOf(found))
}

func (c *conn) get(ctx context.Context, uri string) (entry, error) {
	r, err := sdk.CallCustomMethod[*getParams, *getResult](ctx, c.session, "skills/get", &getParams{URI: uri})
	if refused := (*jsonrpc.Error)(nil); errors.As(err, &refused) && refused.Code == jsonrpc.CodeInvalidParams {
		return entry{}, fmt.Errorf("%w: the server has no skill %s", transfer.ErrNotFound, uri)
	}
	if err != nil {
		return entry{}, err
	}
	if r.Skill.URI != uri {
		return entry{}, fmt.Errorf("%w: asked for %s, the server answers with %q", transfer.ErrProtocol, uri, r.Skill.URI)
	}
	return r.Skill, nil
}

// files reads the files of a skill.
func (c *conn) files(ctx context.Context, m *manifest, progress func(done, total int64)) (map[string][]byte, error) {
	files, done := map[string][]byte{}, int64(0)
	for _, f := range m.files {
		b, err := c.file(ctx, f)
		if err != nil {
			return nil, err
		}
		files[f.path] = b
		if done += f.size; progress != nil {
			progress(done, m.total)
		}
	}
	return files, m.check(files)
}

// file reads a file, and demands that it is the one that was announced.
func (c *conn) file(ctx context.Context, f file) ([]byte, error) {
	r, err := c.session.ReadResource(ctx, &sdk.ReadResourceParams{URI: f.uri})
	if refused := (*jsonrpc.Error)(nil); errors.As(err, &refused) {
		return nil, fmt.Errorf("%w: the server announced %s, and does not serve it: %s", transfer.ErrTampered, f.uri, refused.Message)
	}
	if err != nil {
		return nil, err
	}
	if len(r.Contents) != 1 || r.Contents[0].URI != f.uri {
		return nil, fmt.Errorf("%w: asked for %s, the server answers with something else", transfer.ErrProtocol, f.uri)
	}
	b := r.Contents[0].Blob
	if b == nil {
		b = []byte(r.Contents[0].Text)
	}
	return b, f.verify(b)
}
