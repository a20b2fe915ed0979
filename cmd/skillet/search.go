package main

import (
	"context"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/admit"
)

func (t *terminal) searchCommand() *cli.Command {
	return command("search", []cli.Flag{plainHTTPFlag()}, t.withHost(t.search))
}

func (t *terminal) search(ctx context.Context, c *cli.Context, h *host.Host) error {
	done := t.waiting("searching")
	r, err := h.Admit().Search(ctx, t.person(), admit.SearchRequest{Text: strings.Join(c.Args().Slice(), " "), PlainHTTP: c.Bool("plain-http")})
	done()
	return t.answered(r, err, func() {
		var rows [][]string
		for _, f := range r.Found {
			rows = append(rows, []string{f.Name, f.Version, registryOf(f), f.Description})
		}
		if len(rows) > 0 {
			t.table("NAME\tVERSION\tREGISTRY\tDESCRIPTION", rows)
		} else {
			t.note("nothing found")
		}
		for _, m := range r.Missing {
			t.note("skillet: registry %s could not be searched completely: %s", plain(m.Registry), plain(m.Reason))
		}
	})
}

// registryOf is where something was found, for people.
func registryOf(f admit.Found) string {
	if f.Builtin {
		return "(built in)"
	}
	return f.Registry
}
