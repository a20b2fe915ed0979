package wire_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/skillet-run/skillet/plugins/provider"
	"github.com/skillet-run/skillet/plugins/wire"
)

func TestFits(t *testing.T) {
	t.Parallel()
	small, large := wrapperspb.Bytes(make([]byte, wire.MaxMessage-10)), wrapperspb.Bytes(make([]byte, wire.MaxMessage))
	if err := wire.Fits("it", small); err != nil {
		t.Error(err)
	}
	var e *provider.Error
	if err := wire.Fits("it", large); !errors.As(err, &e) || e.Class != provider.ClassInvalid || !strings.HasPrefix(e.Message, "it has ") {
		t.Error(err)
	}
}

func TestTexts(t *testing.T) {
	t.Parallel()
	if got := wire.Texts([]string{"a\xffb", "é"}); got[0] != "a\uFFFDb" || got[1] != "é" || wire.Texts(nil) != nil {
		t.Errorf("%q", got)
	}
	if got := wire.Cut("éé", 3); got != "é" {
		t.Errorf("%q", got)
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]int{-1: 0, 0: 0, 7: 7, math.MaxInt64: math.MaxInt32} {
		if got := wire.Count(n); got != want {
			t.Errorf("%d: %d", n, got)
		}
	}
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"a": 1}`), "é")
	f.Add([]byte(`{`), "\xff")
	f.Fuzz(func(t *testing.T, b []byte, s string) {
		if v, err := wire.JSON("it", b); (err == nil) != (v != nil || len(b) == 0) {
			t.Errorf("%s %v", v, err)
		}
		for _, text := range []string{wire.Text(s), wire.Cut(s, 5)} {
			if !utf8.ValidString(text) {
				t.Errorf("%q", text)
			}
		}
	})
}
