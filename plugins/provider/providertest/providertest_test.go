package providertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/skillet-run/skillet/plugins/provider"
)

func reference() Options {
	return Options{Slow: ReferenceSlow, Alike: [3]string{"abc abc", "cab cab", "xyz"}, Patience: 5 * time.Second}
}

func TestReference(t *testing.T) {
	Run(t, func(*testing.T) provider.Provider { return Reference{} }, reference())
}

// faulty is the reference with one fault.
type faulty struct {
	Reference
	fault string
}

func (f *faulty) is(name string) bool { return f.fault == name }

func (f *faulty) Info(ctx context.Context) (provider.Info, error) {
	i, err := f.Reference.Info(ctx)
	if f.is("Info") {
		i.Version = "new"
	}
	return i, err
}

func (f *faulty) Health(context.Context) error {
	if f.is("Health") {
		return errors.New("no")
	}
	return nil
}

func (f *faulty) Models(ctx context.Context) ([]provider.Model, error) {
	m, err := f.Reference.Models(ctx)
	if f.is("Models") {
		m[1].Dimensions = 0
	}
	return m, err
}

func (f *faulty) Load(ctx context.Context, model string) error {
	if f.is("LoadUnload") {
		return errors.New("no")
	}
	return f.Reference.Load(ctx, model)
}

func (f *faulty) Generate(ctx context.Context, r provider.Request, emit func(provider.Delta) error) (provider.Response, error) {
	switch f.fault {
	case "Generate":
		if emit != nil {
			_ = emit(provider.Delta{Text: "stray"})
		}
	case "GenerateWithoutEmit":
		if emit == nil {
			return provider.Response{}, errors.New("no")
		}
	case "UnknownModel":
		r.Model = referenceText
	case "InvalidRequest":
		r.Messages = append(r.Messages, provider.Message{Role: provider.RoleUser})
	case "Cancelled", "CancelledBefore", "Deadline":
		ctx = context.WithoutCancel(ctx)
	case "EmitError":
		ignored := emit
		emit = func(d provider.Delta) error { _ = ignored(d); return nil }
	}
	a, err := f.Reference.Generate(ctx, r, emit)
	return f.spoil(a), err
}

func (f *faulty) spoil(a provider.Response) provider.Response {
	switch f.fault {
	case "Conversation":
		a.Model = ""
	case "Usage":
		a.Usage.InputTokens = 1
	case "MaxTokens":
		a.Usage.OutputTokens = 1000
	case "Tools":
		for i := range a.Calls {
			a.Calls[i].ID = ""
		}
	case "Schema":
		a.Text = strings.TrimSuffix(a.Text, "}")
	case "Thinking":
		a.Usage.ThinkingTokens *= 100
	case "Concurrent":
		a.Text = ""
	}
	return a
}

func (f *faulty) Embed(ctx context.Context, r provider.EmbedRequest) (provider.EmbedResponse, error) {
	a, err := f.Reference.Embed(ctx, r)
	switch {
	case f.is("Embed"):
		for _, v := range a.Vectors {
			v[0] += 3
		}
	case f.is("EmbedOrder") && len(a.Vectors) > 1:
		a.Vectors[0], a.Vectors[1] = a.Vectors[1], a.Vectors[0]
	case f.is("EmbedAlike") && len(a.Vectors) == 3:
		a.Vectors[1], a.Vectors[2] = a.Vectors[2], a.Vectors[1]
	case f.is("EmbedNothing") && len(r.Texts) == 0:
		a.Vectors = append(a.Vectors, letterVector(""))
	}
	return a, err
}

const faultVariable = "PROVIDERTEST_FAULT"

// TestFault is what TestFaults runs: it fails.
func TestFault(t *testing.T) {
	fault := os.Getenv(faultVariable)
	if fault == "" {
		t.Skip("only for TestFaults")
	}
	o := reference()
	o.Patience = 500 * time.Millisecond
	Run(t, func(*testing.T) provider.Provider { return &faulty{fault: fault} }, o)
}

// TestFaults has the suite find one fault for each of its cases.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{
		"Info", "Health", "Models", "Generate", "GenerateWithoutEmit", "Conversation", "Usage", "MaxTokens", "Tools", "Schema",
		"Thinking", "UnknownModel", "InvalidRequest", "Cancelled", "CancelledBefore", "Deadline", "EmitError", "Concurrent",
		"Embed", "EmbedOrder", "EmbedAlike", "EmbedNothing", "LoadUnload",
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run", "^TestFault$/^"+fault+"$")
			cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s", faultVariable, fault))
			if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "--- FAIL: TestFault/"+fault+" ") {
				t.Errorf("the fault was not found: %v\n%s", err, out)
			}
		})
	}
}
