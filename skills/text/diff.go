package main

import (
	"strings"

	udiff "github.com/aymanbagabas/go-udiff"

	skill "github.com/skillet-run/skillet/sdk/go"
)

const (
	defaultContext = 3
	maxContext     = 100
	// maxWork bounds changes times bytes of the old text: the library counts
	// lines from the start of the text for each change. It is about ten seconds.
	maxWork = 2 << 30
)

type diffInput struct {
	Old     string `json:"old"`
	New     string `json:"new"`
	OldName string `json:"old_name"`
	NewName string `json:"new_name"`
	Context *int   `json:"context"`
}

type diffOutput struct {
	Equal   bool   `json:"equal"`
	Diff    string `json:"diff"`
	Added   int    `json:"added"`
	Removed int    `json:"removed"`
	Hunks   int    `json:"hunks"`
}

// diff compares two texts line by line in the unified format.
func diff(in diffInput) (diffOutput, error) {
	context, err := within("context", in.Context, defaultContext, 0, maxContext)
	if err != nil {
		return diffOutput{}, err
	}
	oldName, err := label("old_name", in.OldName, "old")
	if err != nil {
		return diffOutput{}, err
	}
	newName, err := label("new_name", in.NewName, "new")
	if err != nil {
		return diffOutput{}, err
	}
	if in.Old == in.New {
		return diffOutput{Equal: true}, nil
	}
	return unified(oldName, newName, in.Old, in.New, context)
}

func unified(oldName, newName, oldText, newText string, context int) (diffOutput, error) {
	edits := changes(oldText, newText)
	if len(edits)*len(oldText) > maxWork {
		return diffOutput{}, skill.Errorf(skill.Limit, "diff: %d changes in %d bytes are too many to lay out: compare smaller pieces", len(edits), len(oldText))
	}
	u, err := udiff.ToUnifiedDiff(oldName, newName, oldText, edits, context)
	if err != nil {
		return diffOutput{}, skill.Errorf(skill.Failed, "diff: %w", err)
	}
	out := diffOutput{Diff: u.String(), Hunks: len(u.Hunks)}
	for _, h := range u.Hunks {
		count(&out, h)
	}
	return out, nil
}

// changes returns the edits at line boundaries that turn before into after. The
// library gives up after about a hundred of them and replaces all the rest as a
// whole, so a replacement is compared again for as long as that finds anything
// the two sides have in common.
func changes(before, after string) []udiff.Edit {
	var done []udiff.Edit
	open := []udiff.Edit{{Start: 0, End: len(before), New: after}}
	for len(open) > 0 {
		e := open[len(open)-1]
		open = open[:len(open)-1]
		finer := udiff.Lines(before[e.Start:e.End], e.New)
		if len(finer) == 1 && finer[0].End-finer[0].Start == e.End-e.Start && finer[0].New == e.New {
			done = append(done, e)
			continue
		}
		for _, f := range finer {
			open = append(open, udiff.Edit{Start: e.Start + f.Start, End: e.Start + f.End, New: f.New})
		}
	}
	udiff.SortEdits(done)
	return done
}

func count(out *diffOutput, h *udiff.Hunk) {
	for _, line := range h.Lines {
		switch line.Kind {
		case udiff.Insert:
			out.Added++
		case udiff.Delete:
			out.Removed++
		}
	}
}

// label returns the name of a side in the header of the diff. A line break in
// it would forge lines of the diff.
func label(field, name, preset string) (string, error) {
	if name == "" {
		return preset, nil
	}
	if strings.ContainsAny(name, "\r\n") {
		return "", skill.Errorf(skill.Invalid, "%s: must be one line", field)
	}
	return name, nil
}
