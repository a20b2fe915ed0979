package sandbox

import (
	"maps"
	"slices"
	"testing"

	"github.com/hashicorp/go-hclog"
)

func TestOfferedIsWhatARuntimeOffers(t *testing.T) {
	t.Parallel()
	r, err := New(t.Context(), hclog.NewNullLogger(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(t.Context()) })
	if got, want := Offered(nil), slices.Sorted(maps.Keys(r.offered)); !slices.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}
