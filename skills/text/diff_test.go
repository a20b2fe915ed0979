package main

import (
	"strconv"
	"strings"
	"testing"

	udiff "github.com/aymanbagabas/go-udiff"

	skill "github.com/skillet-run/skillet/sdk/go"
)

func TestDiff(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		in   diffInput
		want diffOutput
	}{
		{"equal", diffInput{Old: "a\n", New: "a\n"}, diffOutput{Equal: true}},
		{"both empty", diffInput{}, diffOutput{Equal: true}},
		{"from nothing", diffInput{New: "a\nb\n"},
			diffOutput{Diff: "--- old\n+++ new\n@@ -0,0 +1,2 @@\n+a\n+b\n", Added: 2, Hunks: 1}},
		{"names", diffInput{Old: "a\n", New: "b\n", OldName: "a/x.go", NewName: "b/x.go"},
			diffOutput{Diff: "--- a/x.go\n+++ b/x.go\n@@ -1 +1 @@\n-a\n+b\n", Added: 1, Removed: 1, Hunks: 1}},
		{"no context", diffInput{Old: "1\n2\n3\n", New: "1\nx\n3\n", Context: new(0)},
			diffOutput{Diff: "--- old\n+++ new\n@@ -2 +2 @@\n-2\n+x\n", Added: 1, Removed: 1, Hunks: 1}},
		{"no newline at the end", diffInput{Old: "a\nb", New: "a\nb\n"},
			diffOutput{Diff: "--- old\n+++ new\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n", Added: 1, Removed: 1, Hunks: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got, err := diff(tt.in); err != nil || got != tt.want {
				t.Errorf("diff\n got %+v, %v\nwant %+v", got, err, tt.want)
			}
		})
	}
}

func TestDiffTwoHunks(t *testing.T) {
	t.Parallel()
	old := strings.Repeat("same\n", 20)
	got, err := diff(diffInput{Old: "first\n" + old + "last\n", New: old + "last\nmore\n"})
	if err != nil || got.Hunks != 2 || got.Added != 1 || got.Removed != 1 {
		t.Errorf("diff = %+v, %v; want two hunks with one line each", got, err)
	}
}

func TestDiffErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   diffInput
		want string
	}{
		{diffInput{Context: new(101)}, "context: must be from 0 to 100, not 101"},
		{diffInput{OldName: "a\n+forged"}, "old_name: must be one line"},
		{diffInput{NewName: "a\r"}, "new_name: must be one line"},
	}
	for _, tt := range tests {
		if _, err := diff(tt.in); err == nil || err.Error() != tt.want || skill.KindOf(err) != skill.Invalid {
			t.Errorf("diff(%+v) = %v, want %s", tt.in, err, tt.want)
		}
	}
}

// alternating returns two texts of 2n lines that differ in every other line.
func alternating(n int) (before, after string) {
	var a, b strings.Builder
	for i := range n {
		line := strconv.Itoa(i) + strings.Repeat("-", 30) + "\n"
		a.WriteString(line + "old\n")
		b.WriteString(line + "new\n")
	}
	return a.String(), b.String()
}

func TestDiffManyChanges(t *testing.T) {
	t.Parallel()
	before, after := alternating(2_000)
	got, err := diff(diffInput{Old: before, New: after, Context: new(0)})
	if err != nil || got.Hunks != 2_000 || got.Added != 2_000 || got.Removed != 2_000 {
		t.Errorf("diff of 2,000 changed lines: %d hunks, +%d -%d, %v; want 2,000 of each", got.Hunks, got.Added, got.Removed, err)
	}
}

// TestDiffTooMany compares texts with so many changes that laying them out
// would look at every byte of the text once for each.
func TestDiffTooMany(t *testing.T) {
	t.Parallel()
	before, after := alternating(12_000)
	_, err := diff(diffInput{Old: before, New: after})
	if skill.KindOf(err) != skill.Limit {
		t.Errorf("diff of 12,000 changes = %v, want an error of kind limit", err)
	}
}

func FuzzDiff(f *testing.F) {
	f.Add("", "a")
	f.Add("a\nb\n", "a\nc")
	f.Add("\xff\r\n", "\r\n\xfe\n\n")
	f.Fuzz(func(t *testing.T, before, after string) {
		got, err := diff(diffInput{Old: before, New: after})
		if err != nil {
			t.Fatalf("diff(%q, %q): %v", before, after, err)
		}
		if got.Equal != (before == after) {
			t.Errorf("diff(%q, %q): equal = %v", before, after, got.Equal)
		}
		back, err := udiff.Apply(before, changes(before, after))
		if err != nil || back != after {
			t.Errorf("the changes from %q to %q give %q, %v", before, after, back, err)
		}
	})
}
