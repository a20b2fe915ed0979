package source

import (
	"context"
	"fmt"
	"strings"

	"github.com/skillet-run/skillet/host/fetch/source/mcpskill"
	"github.com/skillet-run/skillet/host/fetch/source/oci"
	"github.com/skillet-run/skillet/host/fetch/source/transfer"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// fetchMCP gets a skill from an MCP server. What it is approved by is the digest of all files
// that came, which the next fetch has to have again.
func (f *Fetcher) fetchMCP(ctx context.Context, r Ref, o Options) (*Fetched, error) {
	w, err := f.wish(ctx, r, o)
	if err != nil {
		return nil, err
	}
	w.Skill, w.Progress = r.Skill, o.Progress
	files, err := mcpskill.Read(ctx, w)
	if err != nil {
		return nil, err
	}
	p, err := bundle.FromFiles(files)
	if err != nil {
		return nil, err
	}
	if r.Digest != "" && r.Digest != p.Digest() {
		return nil, fmt.Errorf("%w: the server has another version of it now, %s", transfer.ErrTampered, p.Digest().Short())
	}
	r.Digest = p.Digest()
	return &Fetched{Package: p, Kind: KindMCP, Source: r.String(), Location: r.Location()}, nil
}

// wish is how an MCP server is reached: with the token that is stored for its address.
func (f *Fetcher) wish(ctx context.Context, r Ref, o Options) (mcpskill.Wish, error) {
	client, err := f.client(r.URL, o)
	if err != nil {
		return mcpskill.Wish{}, err
	}
	token, err := f.credentials.Token(ctx, "mcp+"+r.URL)
	return mcpskill.Wish{Endpoint: r.URL, Token: token, Client: client}, err
}

// serverOf is the MCP server that a text is the address of, with or without one of its skills.
func serverOf(text string) (Ref, bool) {
	if !strings.HasPrefix(text, "mcp+") {
		return Ref{}, false
	}
	base, _, _ := strings.Cut(text, "#")
	r, err := Parse(base + "#any")
	r.Skill = ""
	return r, err == nil
}

// loginMCP asks an MCP server whether a token is good, and stores it.
func (f *Fetcher) loginMCP(ctx context.Context, r Ref, user, token string, o Options) (oci.StoredCredential, error) {
	w, err := f.wish(ctx, r, o)
	if err != nil {
		return oci.StoredCredential{}, err
	}
	w.Token = token
	if err := mcpskill.Ping(ctx, w); err != nil {
		return oci.StoredCredential{}, err
	}
	return f.credentials.Keep(ctx, "mcp+"+r.URL, user, token)
}
