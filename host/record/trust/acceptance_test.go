package trust_test

import (
	"context"
	"errors"
	"testing"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/host/record/trust"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/signature"
)

// take records an acceptance, as approving a proposal does.
func (h home) take(a trust.Acceptance) error {
	return h.ledger.Commit(h.t.Context(), func(ctx context.Context) (ledger.Decision, error) {
		changes, err := h.Changes(ctx, ada, a)
		return ledger.Decision{Kind: "approve", Actor: ada.Actor(), Changes: changes}, err
	})
}

func (h home) acceptance(e trust.Evidence, flags ...trust.Flag) trust.Acceptance {
	h.t.Helper()
	a, err := h.assess(e).Acceptance(flags...)
	if err != nil {
		h.t.Fatal(err)
	}
	return a
}

func TestAcceptanceWaits(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	if err := h.take(h.acceptance(pack(t, "1.0.0", 1))); err != nil {
		t.Fatal(err)
	}
	known, err := h.Known(t.Context(), "csv")
	if err != nil || known.Skill.Signer != public(t, 1).Signer() {
		t.Errorf("got %+v, %v", known.Skill, err)
	}
}

// Between the verdict and the decision somebody else may have come.
func TestAcceptanceIsJudgedAgain(t *testing.T) {
	t.Parallel()
	for what, meanwhile := range map[string]func(home, trust.Evidence){
		"another signer": func(h home, _ trust.Evidence) { h.accept(pack(t, "0.9.0", 2)) },
		"revoked": func(h home, e trust.Evidence) {
			if _, err := h.Revoke(t.Context(), ada, trust.Entry{Content: e.Content, Reason: "it leaks"}); err != nil {
				t.Fatal(err)
			}
		},
	} {
		h := newHome(t)
		e := pack(t, "1.0.0", 1)
		a := h.acceptance(e)
		meanwhile(h, e)
		if err := fault.AsError(h.take(a)); err == nil || err.Kind != fault.KindVerification {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// noArchive is for packages whose signatures need no more than digests.
func noArchive() ([]byte, error) { return nil, errors.New("nobody should ask") }

func TestRecheck(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	e := pack(t, "1.0.0", 1)
	if _, ok, err := h.Recheck(t.Context(), e.Content, noArchive); ok || err != nil {
		t.Errorf("nobody accepted it: %v, %v", ok, err)
	}
	h.accept(e)
	v, ok, err := h.Recheck(t.Context(), e.Content, noArchive)
	if !ok || err != nil || v.Signer != public(t, 1).Signer() {
		t.Errorf("got %+v, %v, %v", v, ok, err)
	}
	h.accept(pack(t, "1.1.0", 2), trust.TrustSigner)
	if _, _, err := h.Recheck(t.Context(), e.Content, noArchive); err != nil {
		t.Errorf("a later version has another signer: %v", err)
	}
	if _, err := h.Revoke(t.Context(), ada, trust.Entry{Signer: public(t, 1).Signer(), Reason: "stolen"}); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := h.Recheck(t.Context(), e.Content, noArchive); !ok || fault.AsError(err) == nil {
		t.Errorf("its signer was revoked: %v, %v", ok, err)
	}
}

// A package in another form than the one that was signed is the same package when
// the signature names it, and is not when it names the form alone.
func TestOtherFormOfAPackage(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	e := pack(t, "1.0.0", 1)
	e.Artifact = manifests.DigestOf([]byte("another form"))
	if v := h.assess(e); v.State != trust.FirstSeen {
		t.Errorf("got %+v", v)
	}
	b, err := signature.Sign(key(1), signature.Subject{Name: "csv", Digest: manifests.DigestOf([]byte("artifact 1.0.0"))})
	if err != nil {
		t.Fatal(err)
	}
	e.Bundles = [][]byte{b}
	if v := h.assess(e); v.State != trust.Bad {
		t.Errorf("got %+v", v)
	}
	e = pack(t, "1.0.0", 1)
	e.Artifact, e.Content = manifests.DigestOf([]byte("another form")), manifests.DigestOf([]byte("other content"))
	if v := h.assess(e); v.State != trust.Bad {
		t.Errorf("got %+v", v)
	}
}
