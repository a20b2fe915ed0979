// Package catalog puts together what is known of a provider's models: what the
// server lists, a table of well-known ones, and what a person configured, which
// wins. It refuses to know how a server is asked.
package catalog

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/skillet-run/skillet/plugins/provider"
)

// fresh is how long a server's list is believed.
const fresh = 5 * time.Minute

// A Catalog answers which models there are. Make one with [New].
type Catalog struct {
	table      []provider.Model
	configured []provider.Model
	list       func(context.Context) ([]provider.Model, error)
	assumed    provider.Model

	mu     sync.Mutex
	asked  time.Time
	listed []provider.Model
}

// New returns a catalog. list asks the server; nil leaves it at the table. What a
// source leaves open of a model is taken from the next: what is configured, what
// list returned, the table, and assumed. What a model can do is one thing here:
// the first source that says any of it says all. Vectors whose length nobody says
// cannot be offered, and a model that offers nothing is left out.
func New(table, configured []provider.Model, assumed provider.Model, list func(context.Context) ([]provider.Model, error)) *Catalog {
	return &Catalog{table: table, configured: configured, assumed: assumed, list: list}
}

// Models returns the models by name. Its error is that of the server, which is
// asked every five minutes at most.
func (c *Catalog) Models(ctx context.Context) ([]provider.Model, error) {
	models, err := c.server(ctx)
	if err != nil {
		return nil, err
	}
	byName := map[string]provider.Model{}
	for _, m := range models {
		byName[m.Name] = m
	}
	for _, m := range c.configured {
		byName[m.Name] = merge(m, byName[m.Name])
	}
	for name, m := range byName {
		if m = c.complete(m); m.Text || m.Embeddings {
			byName[name] = m
		} else {
			delete(byName, name)
		}
	}
	return sorted(byName), nil
}

// Model returns what is known of a model without asking anybody.
func (c *Catalog) Model(name string) provider.Model {
	for _, m := range c.configured {
		if m.Name == name {
			return c.complete(m)
		}
	}
	return c.complete(provider.Model{Name: name})
}

// Has says whether a model is among [Catalog.Models].
func (c *Catalog) Has(ctx context.Context, name string) (bool, error) {
	models, err := c.Models(ctx)
	return slices.ContainsFunc(models, func(m provider.Model) bool { return m.Name == name }), err
}

func (c *Catalog) complete(m provider.Model) provider.Model {
	m = merge(merge(m, c.known(m.Name)), c.assumed)
	m.Embeddings = m.Embeddings && m.Dimensions > 0
	if !m.Embeddings {
		m.Dimensions = 0
	}
	return m
}

// merge fills in what m leaves open.
func merge(m, from provider.Model) provider.Model {
	m.Name = cmp.Or(m.Name, from.Name)
	if m.Tiers == nil {
		m.Tiers = from.Tiers
	}
	m.ContextTokens = cmp.Or(m.ContextTokens, from.ContextTokens)
	m.OutputTokens = cmp.Or(m.OutputTokens, from.OutputTokens)
	m.Dimensions = cmp.Or(m.Dimensions, from.Dimensions)
	m.MemoryBytes = cmp.Or(m.MemoryBytes, from.MemoryBytes)
	m.Loaded = m.Loaded || from.Loaded
	if m.InputUSD == 0 && m.OutputUSD == 0 {
		m.InputUSD, m.OutputUSD = from.InputUSD, from.OutputUSD
	}
	if !m.Text && !m.Tools && !m.JSONSchema && !m.Thinking && !m.Streaming && !m.Embeddings {
		m.Text, m.Tools, m.JSONSchema = from.Text, from.Tools, from.JSONSchema
		m.Thinking, m.Streaming, m.Embeddings = from.Thinking, from.Streaming, from.Embeddings
	}
	return m
}

func (c *Catalog) server(ctx context.Context) ([]provider.Model, error) {
	if c.list == nil {
		return c.table, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked.IsZero() || time.Since(c.asked) > fresh {
		listed, err := c.list(ctx)
		if err != nil {
			return nil, err
		}
		c.listed, c.asked = listed, time.Now()
	}
	return c.listed, nil
}

// known finds a model in the table: by its name, or by the longest name that is
// continued by "-" and a date or a version, as in "gpt-4o-2024-08-06".
func (c *Catalog) known(name string) provider.Model {
	bare := name[strings.LastIndexByte(name, '/')+1:]
	var best provider.Model
	for _, m := range c.table {
		rest, ok := strings.CutPrefix(bare, m.Name)
		if ok && (rest == "" || dated(rest)) && len(m.Name) > len(best.Name) {
			best = m
		}
	}
	return best
}

// dated says whether rest is "-" and digits, with "-" between them, or "-latest".
func dated(rest string) bool {
	if rest == "-latest" {
		return true
	}
	rest, ok := strings.CutPrefix(rest, "-")
	return ok && len(rest) >= 3 && strings.Trim(rest, "0123456789-") == ""
}

func sorted(byName map[string]provider.Model) []provider.Model {
	models := make([]provider.Model, 0, len(byName))
	for _, m := range byName {
		models = append(models, m)
	}
	slices.SortFunc(models, func(a, b provider.Model) int { return strings.Compare(a.Name, b.Name) })
	return models
}
