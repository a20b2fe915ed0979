package api

import (
	"context"
	"net/http"
	"slices"

	"github.com/skillet-run/skillet/host/app/admit"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/manifests"
)

// Named names a skill, or one version of it.
type Named struct {
	Skill string `path:"skill" maxLength:"200" doc:"NAME or NAME@VERSION." example:"text"`
}

func (n Named) ref() (manifests.Ref, error) {
	ref, err := manifests.ParseRef(n.Skill)
	switch {
	case err != nil:
		return ref, fault.Wrap(fault.KindUsage, err).WithHint("%s shows what is installed", fault.List(fault.Skills))
	case ref.Tool != "":
		return ref, fault.Errorf(fault.KindUsage, "%s names a tool", n.Skill).WithHint("name the skill alone: %s", ref.Name)
	}
	return ref, nil
}

// seen is the skill, if the token has something to do with it.
func (n Named) seen(p govern.Pass) (manifests.Ref, error) {
	ref, err := n.ref()
	if err == nil && !p.Sees(ref.Name) {
		err = p.Call(ref.Name, "")
	}
	return ref, err
}

// A Skill is an installed version of a skill.
type Skill = admit.Skill

type listSkills struct {
	Window
	All   bool     `query:"all" doc:"Every version, not only the active ones."`
	Names []string `query:"name" minItems:"1" maxItems:"100" nullable:"false" doc:"Skills whose name fits one of these patterns only: text-* fits a whole name, text what has it in the name."`
	State string   `query:"state" enum:"active,inactive,disabled,quarantined,pinned,needed,trial" doc:"Versions in that state only, of every version."`
	Text  string   `query:"q" maxLength:"200" doc:"Those that have it in the name, the description or the name of a tool, only."`
}

type showSkill struct {
	Named
	Workspace string `query:"workspace" doc:"The absolute directory that relative paths in the manifest mean."`
}

// A Disabling says why a skill is disabled.
type Disabling struct {
	Reason string `json:"reason,omitempty" maxLength:"500"`
}

func skills(a *API) {
	const tag = "skills"
	add(a, route{method: http.MethodGet, path: "/v1/skills", id: "list-skills", tagged: true, tag: tag, summary: "Lists installed skills", rights: needs(govern.RightFind)},
		func(ctx context.Context, p govern.Pass, in *listSkills) (Page[admit.Skill], error) {
			all, err := a.s.Admit.List(ctx, p.By(), admit.Listing{All: in.All, Names: in.Names, State: admit.State(in.State), Text: in.Text})
			return page(in.Window, slices.DeleteFunc(all, func(s admit.Skill) bool { return !p.Sees(s.Name) }), err)
		})
	add(a, route{method: http.MethodGet, path: "/v1/outdated", id: "list-outdated", tag: tag, summary: "Lists the skills that have a later version, what keeps them from it, and what would move them", rights: needs(govern.RightFind)},
		func(ctx context.Context, p govern.Pass, in *Window) (Page[admit.Outdated], error) {
			all, err := a.s.Admit.Outdated(ctx, p.By())
			return page(*in, slices.DeleteFunc(all, func(o admit.Outdated) bool { return !p.Sees(o.Skill) }), err)
		})
	add(a, route{method: http.MethodGet, path: "/v1/skills/{skill}", id: "show-skill", tagged: true, tag: tag, summary: "Shows a skill: its manifest, limits and grants", rights: needs(govern.RightFind)},
		func(ctx context.Context, p govern.Pass, in *showSkill) (admit.Info, error) {
			ref, err := in.seen(p)
			if err != nil {
				return admit.Info{}, err
			}
			return a.s.Admit.Info(ctx, p.By(), admit.InfoRequest{Of: invoke.Address{Ref: ref}, Workspace: in.Workspace})
		})
	add(a, route{method: http.MethodPost, path: "/v1/skills/{skill}/enable", id: "enable-skill", matches: "the skill", class: urgent, tag: tag, summary: "Enables a skill that was disabled", rights: needs(govern.RightDecide)},
		func(ctx context.Context, p govern.Pass, in *Named) (Page[admit.Skill], error) {
			all, err := a.s.Admit.Enable(ctx, p.Person(), admit.EnableRequest{Skill: in.Skill, Seen: seenBy(ctx)})
			return Page[admit.Skill]{Items: append([]admit.Skill{}, all...)}, err
		})
	add(a, route{method: http.MethodPost, path: "/v1/skills/{skill}/disable", id: "disable-skill", matches: "the skill", class: urgent, tag: tag, summary: "Disables a skill", rights: needs(govern.RightDecide)},
		func(ctx context.Context, p govern.Pass, in *struct {
			Named
			Body Disabling
		}) (Page[admit.Skill], error) {
			all, err := a.s.Admit.Disable(ctx, p.Person(), admit.EnableRequest{Skill: in.Skill, Reason: in.Body.Reason, Seen: seenBy(ctx)})
			return Page[admit.Skill]{Items: append([]admit.Skill{}, all...)}, err
		})
}
