package author

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/author/scaffold"
	"github.com/skillet-run/skillet/host/author/script"
	"github.com/skillet-run/skillet/host/author/toolchain"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/internal/nearest"
)

// A NewRequest is a skill that is to be begun.
type NewRequest struct {
	// Name is that of the skill; see [CheckName].
	Name     string
	Language Language
	// Dir is the directory to write to; empty for one of the name.
	Dir string
	// Force writes over files that are there.
	Force bool
}

// Made is a skill that was begun.
type Made struct {
	Name      string    `json:"name"`
	Language  Language  `json:"language"`
	Dir       string    `json:"dir"`
	Files     []string  `json:"files"`
	Toolchain Toolchain `json:"toolchain"`
}

// Languages are those in which skills can be begun.
func Languages() []Language { return scaffold.Languages() }

// CheckName refuses what cannot be the name of a new skill.
func CheckName(name string) error { return scaffold.CheckName(name) }

// New writes a small skill that works, with manifest, source, test cases and the SDK of its
// language. Errors are [fault.Error]s: of [fault.KindUsage] for a name or a language that
// cannot be, of [fault.KindConflict] for files that are there.
func (s *Service) New(ctx context.Context, by approval.Human, r NewRequest) (Made, error) {
	if err := cmp.Or(by.Check(), CheckName(r.Name), checkLanguage(r.Language)); err != nil {
		return Made{}, err
	}
	dir := cmp.Or(r.Dir, r.Name)
	files, err := scaffold.Write(scaffold.Order{Dir: dir, Name: r.Name, Language: r.Language, Force: r.Force})
	if err != nil {
		return Made{}, err
	}
	return Made{r.Name, r.Language, dir, files, toolchain.Find(ctx, r.Language, dir, s.compilers(0))}, nil
}

// Toolchains are the languages in which skills can be begun, each with what of it is here.
func (s *Service) Toolchains(ctx context.Context, by approval.Principal) ([]Toolchain, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return nil, err
	}
	return toolchain.FindAll(ctx, scaffold.Languages(), s.compilers(0)), nil
}

func checkLanguage(l Language) error {
	all := scaffold.Names()
	list := strings.Join(all, ", ")
	if l == "" {
		return fault.Errorf(fault.KindUsage, "new needs a language, and nobody can be asked here").
			WithHint("add %s with one of %s; %s shows what is installed", fault.SetField(fault.FieldLanguage), fault.Choose(all...), fault.New().With(fault.FieldList))
	}
	if slices.Contains(all, string(l)) {
		return nil
	}
	e := fault.Errorf(fault.KindUsage, "unknown language %q", string(l))
	if in, ok := script.Find(string(l)); ok {
		return interpreterAsked(in, list)
	}
	if best, ok := byTitle(l); ok {
		return e.WithHint("%s is %s; the languages are: %s", best.Title(), best, list)
	}
	if best, ok := nearest.Name(string(l), all); ok {
		return e.WithHint("did you mean %s? the languages are: %s", best, list)
	}
	return e.WithHint("the languages are: %s", list)
}

// interpreterAsked says to who wants an interpreter as a language what is written for it.
func interpreterAsked(in script.Interpreter, list string) error {
	e := fault.Errorf(fault.KindUsage, "%s is an interpreter of scripts, not a language", in.Name)
	var runs []string
	for _, l := range scaffold.Languages() {
		if slices.Contains(in.Extensions, "."+string(l)) {
			runs = append(runs, string(l))
		}
	}
	if len(runs) > 0 {
		return e.WithHint("it runs %s; the languages are: %s", strings.Join(runs, " and "), list)
	}
	return e.WithHint("begin a skill in python, and name %s in its manifest as command and dependency, where that has python; the languages are: %s", in.Name, list)
}

// byTitle is the language of a title, such as TypeScript.
func byTitle(l Language) (Language, bool) {
	all := scaffold.Languages()
	i := slices.IndexFunc(all, func(o Language) bool { return strings.EqualFold(o.Title(), string(l)) })
	if i < 0 {
		return "", false
	}
	return all[i], true
}
