package signature_test

import (
	"testing"

	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/signature"
)

func BenchmarkSign(b *testing.B) {
	private := seeded(1)
	for b.Loop() {
		if _, err := signature.Sign(private, subjects()...); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	bundle, digest, ring := signed(b, seeded(1)), manifests.DigestOf(artifact), signature.NewKeyring(publicKey(b, seeded(1)))
	b.SetBytes(int64(len(bundle)))
	for b.Loop() {
		if _, err := signature.Verify(bundle, digest, ring); err != nil {
			b.Fatal(err)
		}
	}
}
