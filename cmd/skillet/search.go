package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/skillet-run/skillet/host/fault"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	sources "github.com/skillet-run/skillet/host/source"
)

func (t *terminal) searchCommand() *cli.Command {
	return &cli.Command{
		Name:      "search",
		Usage:     "look for skills in the registries of config.yaml",
		ArgsUsage: "[TEXT]",
		Description: "Finds skills whose name or description has the text in it; without one, all of them.\n" +
			"A registry that shows no catalog is asked for the names that config.yaml lists for it.\n\n" +
			"Examples:\n" +
			"  skillet search csv\n" +
			"  skillet search 'word count' --json",
		Flags:  []cli.Flag{plainHTTPFlag()},
		Action: t.withHost(t.search),
	}
}

// searched is what --json prints of search.
type searched struct {
	Found []sources.Found `json:"found"`
	// Missing are registries that were not, or not wholly, searched.
	Missing []sources.Absence `json:"missing"`
}

func (t *terminal) search(ctx context.Context, c *cli.Context, h *host.Host) error {
	done := t.waiting("searching")
	found, missing, err := h.Sources().Search(ctx, strings.Join(c.Args().Slice(), " "), sources.Options{PlainHTTP: c.Bool("plain-http")})
	done()
	if err == nil && len(found) == 0 && len(missing) == len(h.Config.Settings().Registries) {
		err = unsearched(missing)
	}
	if err != nil {
		return err
	}
	return t.answer(searched{found, missing}, func() {
		var rows [][]string
		for _, f := range found {
			rows = append(rows, []string{f.Name, f.Version, f.Registry, short(f.Description, 60)})
		}
		if len(rows) > 0 {
			t.table("NAME\tVERSION\tREGISTRY\tDESCRIPTION", rows)
		} else {
			t.note("nothing found")
		}
		for _, m := range missing {
			t.note("skillet: registry %s was not searched wholly: %s", plain(m.Registry), plain(m.Reason))
		}
	})
}

// unsearched is the error of a search that found nothing where no registry was
// searched wholly: that nothing is there cannot be said.
func unsearched(missing []sources.Absence) error {
	var words []string
	for _, m := range missing {
		words = append(words, fmt.Sprintf("registry %s: %s", m.Registry, m.Reason))
	}
	return fault.Errorf(fault.KindInternal, "nothing was searched wholly, and nothing was found: %s", strings.Join(words, "; ")).
		WithHint("try again when it answers; `skillet config get registries` shows where it is")
}
