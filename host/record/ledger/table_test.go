package ledger

import (
	"context"
	"testing"

	"github.com/skillet-run/skillet/host/base/store"
)

func TestTable(t *testing.T) {
	t.Parallel()
	type entry struct{ Key, Value string }
	table := Table{"shelf", []string{"shelf/"}, map[string]Apply{
		"book.added": On(func(ctx context.Context, kv store.KV, at Stamp, e entry) error {
			_, err := kv.Put(ctx, "shelf/"+e.Key, []byte(e.Value+" by "+at.Actor), store.AnyRevision)
			return err
		}),
		"book.taken": On(func(ctx context.Context, kv store.KV, _ Stamp, e entry) error { return Drop(ctx, kv, "shelf/"+e.Key) }),
	}}
	s := store.Memory()
	defer s.Close()
	apply := func(kind string, data any) error {
		c, err := NewChange(kind, data)
		if err != nil {
			t.Fatal(err)
		}
		return table.Apply(t.Context(), s.KV(), Stamp{Actor: "human:ada"}, c)
	}
	if err := apply("book.added", entry{"a", "Emma"}); err != nil {
		t.Fatal(err)
	}
	if e, err := s.KV().Get(t.Context(), "shelf/a"); err != nil || string(e.Value) != "Emma by human:ada" {
		t.Errorf("%q, %v", e.Value, err)
	}
	for range 2 { // taking what is gone changes nothing
		if err := apply("book.taken", entry{Key: "a"}); err != nil {
			t.Error(err)
		}
	}
	if apply("book.burnt", nil) == nil || apply("book.added", 7) == nil {
		t.Error("a change of another kind, or of another form, was applied")
	}
	if !table.Owns("book.added") || table.Owns("book.burnt") || len(table.Keys()) != 1 {
		t.Error("it owns what is not in the table, or the other way round")
	}
}
