package govern

import (
	"fmt"
	"slices"
	"testing"
)

func TestRecentKeepsTheLast(t *testing.T) {
	t.Parallel()
	for limit := 1; limit < 6; limit++ {
		r, want := tail{limit: limit}, []string{}
		for i := range 12 {
			subject := fmt.Sprintf("s%d@1.0.0", i%3)
			r.take(Event{Subject: subject, Kind: fmt.Sprint(i)}, EventsRequest{Skill: "s1"})
			if i%3 == 1 {
				want = append(want, fmt.Sprint(i))
			}
			want = want[max(0, len(want)-limit):]
			var got []string
			for _, e := range r.list() {
				got = append(got, e.Kind)
			}
			if !slices.Equal(got, want) || len(r.ring) > limit {
				t.Fatalf("limit %d: got %v, want %v", limit, got, want)
			}
		}
	}
}
