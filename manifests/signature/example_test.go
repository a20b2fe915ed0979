package signature_test

import (
	"crypto/ed25519"
	"fmt"
	"log"

	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/signature"
)

// A signature is good for the bytes that were signed, and says whether its key is one you know.
func Example() {
	private := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)) // make yours with ed25519.GenerateKey
	content := manifests.DigestOf([]byte("the package"))
	bundle, err := signature.Sign(private, signature.PackageSubject("greet", "1.0.0", content))
	if err != nil {
		log.Fatal(err)
	}
	key, err := signature.NewKey(private.Public())
	if err != nil {
		log.Fatal(err)
	}

	s, err := signature.Verify(bundle, content, signature.NewKeyring(key))
	fmt.Println(s.Known, s.Subjects[0].Name, err)

	_, err = signature.Verify(bundle, manifests.DigestOf([]byte("another package")), signature.NewKeyring(key))
	fmt.Println(err)
	// Output:
	// true greet@1.0.0 <nil>
	// verify signature of b546622ee855: the signature is of something else: it names "greet@1.0.0" (ab326f16dec5)
}
