package api

import (
	"context"
	"net/http"
	"slices"

	"github.com/skillet-run/skillet/host/app/admit"
	"github.com/skillet-run/skillet/host/app/govern"
)

type searchSkills struct {
	Text      string `query:"q" required:"true" minLength:"1" maxLength:"200" doc:"What is in the name, the description or, where it is installed, the name of a tool, whatever the case."`
	Installed bool   `query:"installed" doc:"Asks no registry."`
}

func search(a *API) {
	add(a, route{method: http.MethodGet, path: "/v1/search", id: "search-skills", tag: "skills", summary: "Looks for skills: those that are installed, and those that registries have", rights: needs(govern.RightFind)},
		func(ctx context.Context, p govern.Pass, in *searchSkills) (admit.Discovery, error) {
			d, err := a.s.Admit.Discover(ctx, p.By(), admit.SearchRequest{Text: in.Text, Installed: in.Installed})
			d.Installed = slices.DeleteFunc(d.Installed, func(s admit.Skill) bool { return !p.Sees(s.Name) })
			d.Published = slices.DeleteFunc(d.Published, func(f admit.Found) bool { return !p.Sees(f.Name) })
			return d, err
		})
}
