package lines

import (
	"strings"

	"github.com/skillet-run/skillet/host/app/admit"
)

// Tree is what skills need, as a tree.
func Tree(all []admit.Branch) []string {
	return written(Style{}, func(b *block) {
		for _, root := range all {
			b.say("%s", branchWords(root))
			b.branches(root.Branches, "")
		}
	})
}

// Ways are the reasons why a skill is installed, a line each.
func Ways(paths [][]admit.Step) []string {
	return written(Style{}, func(b *block) {
		for _, p := range paths {
			b.say("%s", pathWords(p))
		}
	})
}

func branchWords(w admit.Branch) string {
	if w.Skill == "" {
		first, _, _ := strings.Cut(w.LeftOut, "\n")
		if first == "" {
			return plain(w.Needs) + ": missing"
		}
		return plain(w.Needs) + ": left out: " + plain(first)
	}
	text := plain(w.Skill+"@"+w.Version) + "  (" + plain(w.Needs)
	for _, more := range []struct {
		is   bool
		text string
	}{
		{w.Interface != "", ", which it provides as " + w.Interface},
		{w.Optional, ", optional"}, {w.Closure != "", ", a closure of its own"},
	} {
		if more.is {
			text += plain(more.text)
		}
	}
	text += ")"
	if w.Repeated && len(w.Branches) == 0 {
		text += " as above"
	}
	return text
}

func (b *block) branches(all []admit.Branch, indent string) {
	for i, branch := range all {
		edge, rest := "├─ ", "│  "
		if i == len(all)-1 {
			edge, rest = "└─ ", "   "
		}
		b.say("%s%s%s", indent, edge, branchWords(branch))
		b.branches(branch.Branches, indent+rest)
	}
}

// pathWords says a way in a line.
func pathWords(p []admit.Step) string {
	text := "you asked for " + p[0].Needs + ": " + p[0].Skill + "@" + p[0].Version
	for _, s := range p[1:] {
		text += ", which needs " + s.Needs + ": " + s.Skill + "@" + s.Version
	}
	return text
}
