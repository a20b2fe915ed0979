package runner_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/record/journal"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/host/run/runner"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/capability"
)

// text makes a package of a prompt.
func text(t testing.TB, members string) *bundle.Package {
	t.Helper()
	p, err := bundle.FromFiles(map[string][]byte{
		"skill.json": []byte(`{"name":"tester","version":"1.0.0","description":"for tests",` + members + `}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Context files are read with the grants of the skill, under the policies, and are
// in the audit log.
func TestRenderReadsWhatIsGranted(t *testing.T) {
	p := assemble(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.txt", "b.txt", ".ssh/id.txt"} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("the text of "+name), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	about := text(t, `"type":"conversation","prompt":"p","context_files":{"patterns":["*.txt"]}`)
	call := runner.Call{
		Target: runner.Target{
			Label: "tester@1.0.0", Origin: registry.OriginUser, Package: about,
			Granted: grantedTo(about, capability.NewSet(capability.MustParse("fs.read:"+dir+"/a.txt"))),
		},
		Workspace: dir, Caller: "human:ada",
	}
	got, res := p.Render(t.Context(), call)
	if !res.OK || res.Tool != "prompt" || !strings.Contains(string(res.Raw), "the text of a.txt") || strings.Contains(string(res.Raw), "b.txt") {
		t.Errorf("%+v\n%s", res, res.Raw)
	}
	if len(got.Context.Files) != 1 || len(res.Denials) != 1 || res.Denials[0].Request != "fs.read:"+dir+"/b.txt" || res.Denials[0].Way().String() == "" {
		t.Errorf("%+v, %+v", got.Context, res.Denials)
	}
	rec := p.records(t)[0]
	read := func(u runner.Use) bool { return u.Request == "fs.read:"+dir+"/a.txt" }
	if !rec.OK || rec.Tool != "prompt" || !slices.ContainsFunc(rec.Used, read) || len(rec.Denials) != 1 {
		t.Errorf("recorded %+v", rec)
	}
	if res := p.Run(t.Context(), call); res.OK || !strings.Contains(res.Error.Way().String(), "render]") {
		t.Errorf("run: %+v", res.Error)
	}
	call.Tool = "other"
	if _, res := p.Render(t.Context(), call); res.OK || res.Error.Kind != fault.KindNotFound {
		t.Errorf("another tool: %+v", res.Error)
	}
}

// echo answers with what it was asked.
type echo struct{ err error }

func (e echo) AskModel(_ context.Context, r hostfn.ModelRequest) (hostfn.ModelAnswer, error) {
	return hostfn.ModelAnswer{Text: []byte(r.Model + "|" + r.Format + "|" + r.System + "|" + r.Prompt)}, e.err
}

func TestAskAModel(t *testing.T) {
	ask := func(models hostfn.Models, members string) task.Result {
		ps, err := policies.Default()
		if err != nil {
			t.Fatal(err)
		}
		calls, err := journal.Open(t.TempDir(), journal.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s := store.Memory()
		defer s.Close()
		r := runner.New(hclog.NewNullLogger(), s.KV(), nil, ps, nil, nil, calls, runner.Settings{Home: "/home/x/.skillet", Models: models})
		if (r.Asks(t.Context(), "tester") == nil) != (models != nil) {
			t.Errorf("asks: %v", r.Asks(t.Context(), "tester"))
		}
		return r.Ask(t.Context(), runner.Call{Target: runner.Target{Label: "tester", Package: text(t, members)}})
	}
	const inline = `"type":"prompt_inline","prompt":"say"`
	if res := ask(nil, inline); res.OK || res.Error.Kind != fault.KindUsage || !strings.Contains(res.Error.Way().String(), "render]") {
		t.Errorf("without a model: %+v", res.Error)
	}
	if res := ask(echo{}, inline+`,"model":"fast"`); !res.OK || string(res.Raw) != "fast|text||say" {
		t.Errorf("%s, %+v", res.Raw, res.Error)
	}
	if res := ask(echo{}, inline+`,"output_format":"json"`); res.OK || res.Error.Kind != fault.KindSkill {
		t.Errorf("an answer that is no JSON: %+v", res.Error)
	}
	if res := ask(echo{}, `"type":"conversation","prompt":"be brief","prompt_template":"hello"`); !res.OK || string(res.Raw) != "|text|be brief|hello" {
		t.Errorf("%s, %+v", res.Raw, res.Error)
	}
	if res := ask(echo{errors.New("down")}, inline); res.OK {
		t.Error("a provider that fails answers")
	}
}
