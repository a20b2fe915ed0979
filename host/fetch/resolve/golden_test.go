package resolve_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/fetch/resolve"
	"github.com/skillet-run/skillet/policies/goldentest"
)

// TestGolden answers the questions in testdata/*.world. In such a file a line
// such as
//
//	csv 1.2.0: text ^2.0.0, optional table ^1, provides rows 1.0.0
//
// publishes a version, one such as
//
//	? csv ^1, html *
//
// asks for something, and the answer is in the golden file beside it.
func TestGolden(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.world")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			goldentest.File(t, file+".golden", answers(t, string(b)))
		})
	}
}

func answers(t *testing.T, file string) string {
	var out strings.Builder
	w := newWorld()
	var last *resolve.Graph
	for line := range strings.Lines(file) {
		line = strings.TrimSpace(line)
		question, asks := strings.CutPrefix(line, "? ")
		keep, keeps := strings.CutPrefix(question, "keeping: ")
		if !asks {
			publishLine(w, line)
			continue
		}
		req := resolve.Request{Roots: dependencies(strings.Split(keep, ", ")...)}
		if keeps {
			req.Prefer = last
		}
		fmt.Fprintf(&out, "%s\n", line)
		g, err := resolve.Resolve(t.Context(), w, req)
		if err != nil {
			fmt.Fprintf(&out, "%v\n\n", err)
			continue
		}
		last = g
		writeTree(&out, "  ", g.Tree())
		out.WriteString("\n")
	}
	return out.String()
}

func publishLine(w *world, line string) {
	if line == "" || line[0] == '#' {
		return
	}
	what, needs, _ := strings.Cut(line, ":")
	if needs = strings.TrimSpace(needs); needs == "" {
		w.publish(what)
		return
	}
	w.publish(what, strings.Split(needs, ", ")...)
}

func writeTree(out *strings.Builder, indent string, branches []resolve.Branch) {
	for _, b := range branches {
		fmt.Fprintf(out, "%s%s %s", indent, b.Name, b.Range.Text())
		switch {
		case b.To < 0:
			fmt.Fprintf(out, ": left out: %s", strings.ReplaceAll(b.Omitted, "\n", "\n"+indent+"  "))
		case b.Interface != nil:
			fmt.Fprintf(out, ": %v of %s %v", b.Interface, b.Node.Name, b.Node.Version)
		default:
			fmt.Fprintf(out, ": %v", b.Node.Version)
		}
		if b.Isolated {
			out.WriteString(", isolated")
		}
		if b.Repeated {
			out.WriteString(", see above")
		}
		out.WriteString("\n")
		writeTree(out, indent+"  ", b.Branches)
	}
}
