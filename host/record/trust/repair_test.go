package trust_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/host/record/trust"
)

func (h home) snapshot() trust.Snapshot {
	h.t.Helper()
	s, err := h.Snapshot(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	return s
}

// reconcile does what the repair of the audit log does.
func (h home) reconcile(known *trust.Snapshot) []string {
	h.t.Helper()
	changes, ended, err := h.snapshot().Reconcile(known)
	if err == nil {
		err = h.ledger.Commit(h.t.Context(), func(context.Context) (ledger.Decision, error) {
			return ledger.Decision{Kind: "repair", Actor: ada.Actor(), Changes: changes}, nil
		})
	}
	if err != nil {
		h.t.Fatal(err)
	}
	return ended
}

// A decision that was lost may have taken something away: what the store did not
// know any more ends, and what it knew to be revoked stays revoked.
func TestReconcile(t *testing.T) {
	left, store := newHome(t), newHome(t)
	for _, h := range []home{left, store} {
		h.add(trust.Signer{Key: public(t, 1), Label: "both", Names: []string{"csv"}})
		h.add(trust.Signer{Key: public(t, 3), Label: "revoker", Revoker: true})
	}
	left.add(trust.Signer{Key: public(t, 2), Label: "removed since", Names: []string{"acme-*"}})
	left.accept(pack(t, "1.0.0", 1))
	if _, err := store.Revoke(t.Context(), ada, trust.Entry{Content: pack(t, "1.0.0").Content, Reason: "it leaks"}); err != nil {
		t.Fatal(err)
	}
	if _, err := store.importList(3, trust.List{Sequence: 2, Entries: entries(trust.Entry{Content: pack(t, "1.1.0").Content})}); err != nil {
		t.Fatal(err)
	}
	known := store.snapshot()
	if ended := left.reconcile(&known); len(ended) != 1 || !strings.Contains(ended[0], "removed since") {
		t.Errorf("%v", ended)
	}
	for _, version := range []string{"1.0.0", "1.1.0"} {
		if v := left.assess(pack(t, version, 1)); v.State != trust.Revoked {
			t.Errorf("%s: %+v", version, v)
		}
	}
	if ended := left.reconcile(&known); len(ended) != 0 {
		t.Errorf("again: %v", ended)
	}
	ended := left.reconcile(nil)
	if len(ended) != 2 || !slices.ContainsFunc(ended, func(s string) bool { return strings.Contains(s, "both") }) {
		t.Errorf("with nothing known: %v", ended)
	}
	if v := left.assess(pack(t, "1.2.0", 2)); v.State != trust.ChangedSigner {
		t.Errorf("what was remembered about a skill is forgotten: %+v", v)
	}
}
