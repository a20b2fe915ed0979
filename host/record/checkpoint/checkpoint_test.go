package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

var someHash = "sha256:" + strings.Repeat("ab", 32)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func samples() []Checkpoint {
	at := time.Date(2026, 11, 21, 18, 3, 40, 5, time.UTC)
	return []Checkpoint{
		{Origin: "skillet-audit-0123456789abcdef/decisions"},
		{Origin: "x/runs", Seq: 1, Hash: someHash},
		{Origin: "x/runs", Seq: 412, Hash: someHash, Time: at, After: Digest(nil)},
		{Origin: "x/runs", Seq: 412, Hash: someHash, Time: at, Adopted: Range{1, 412}, Repaired: true, Lost: []Range{{2, 2}, {5, 9}}},
		{Origin: "x/runs", Seq: 412, Hash: someHash, Export: "last"},
		{Origin: "x/key", Time: at, Next: "name+1234+key"},
	}
}

func TestTextIsReadBack(t *testing.T) {
	t.Parallel()
	for _, c := range samples() {
		text := must(c.Text())
		again, err := Parse(text)
		if err != nil || must(again.Text()) != text {
			t.Errorf("%q: %+v, %v", text, again, err)
		}
	}
	for _, c := range []Checkpoint{{Origin: "x", Seq: 1}, {Origin: "x", Hash: someHash}, {Origin: "x", Seq: 1, Hash: "sha256:00"}} {
		if text, err := c.Text(); err == nil {
			t.Errorf("%+v was written as %q", c, text)
		}
	}
}

// Whatever is changed in a note, it does not open any more.
func TestEveryFlippedBitOfANote(t *testing.T) {
	t.Parallel()
	home := must(NewHome())
	for _, c := range samples() {
		note := must(home.Sign(c))
		if got, by, err := Open(note, must(NewHome()).Public, home.Public); err != nil || by != home.Public || must(got.Text()) != must(c.Text()) {
			t.Fatalf("%+v %v", got, err)
		}
		for bit := range len(note) * 8 {
			bad := bytes.Clone(note)
			bad[bit/8] ^= 1 << (bit % 8)
			if _, _, err := Open(bad, home.Public); err == nil {
				t.Fatalf("bit %d: %q was accepted", bit, bad)
			}
		}
	}
}

func TestWhoseSignature(t *testing.T) {
	t.Parallel()
	home, other := must(NewHome()), must(NewHome())
	c := samples()[2]
	note, twice := must(home.Sign(c)), must(home.Sign(c))
	if !bytes.Equal(note, twice) {
		t.Error("the same statement was signed in two ways")
	}
	if _, _, err := Open(note, other.Public); !errors.Is(err, ErrUnknownKey) {
		t.Errorf("another key: %v", err)
	}
	foreign := append(bytes.Clone(note), bytes.SplitAfter(must(other.Sign(c)), []byte("\n\n"))[1]...)
	if _, _, err := Open(foreign, home.Public); !errors.Is(err, ErrSyntax) {
		t.Errorf("a second signature: %v", err)
	}
	parts := Signature(note)
	joined := must(Join(Checkpoint{Origin: home.Name() + "/x", Seq: c.Seq, Hash: c.Hash, Time: c.Time, After: c.After}, parts))
	if _, _, err := Open(joined, home.Public); !errors.Is(err, ErrSignature) {
		t.Errorf("the signature of another statement: %v", err)
	}
}

func TestPublicKeyForms(t *testing.T) {
	t.Parallel()
	home := must(NewHome())
	if !strings.HasPrefix(home.Name(), NamePrefix) || len(home.Name()) != len(NamePrefix)+16 {
		t.Errorf("the home is called %s", home.Name())
	}
	for _, text := range []string{home.String(), home.String() + "\n", string(must(home.PEM()))} {
		if k, err := ReadPublic([]byte(text), home.Name()); err != nil || k != home.Public {
			t.Errorf("%s: %v %v", text, k, err)
		}
	}
	for _, text := range []string{"", "x", "a+b+c", home.String()[1:], home.String() + "A", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"} {
		if k, err := ReadPublic([]byte(text), "x"); !errors.Is(err, ErrKey) {
			t.Errorf("%q was read as %v, %v", text, k, err)
		}
	}
	if again := must(FromSeed(home.Name(), home.Seed())); again.Public != home.Public {
		t.Error("the seed makes another key")
	}
}

func TestRing(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 18, 0, 0, 0, time.UTC)
	one := must(NewKeyring(now))
	two := must(one.Rotated(now.Add(time.Hour)))
	three := must(two.Rotated(now.Add(2 * time.Hour))).RetireOld()
	if two.Name() != one.Name() || two.Current() == one.Current() || len(two.Valid()) != 2 || len(three.Valid()) != 1 || len(three.All()) != 3 {
		t.Errorf("%+v %+v", two, three)
	}
	again := must(ReadKeyring(must(json.Marshal(three))))
	if again.Current() != three.Current() || !again.Since().Equal(now) {
		t.Errorf("%+v", again)
	}
	note := must(again.Sign(samples()[1]))
	if _, _, err := Open(note, three.Valid()...); err != nil {
		t.Error(err)
	}
	for i, k := range three.Keys {
		if last, err := Succession(three.Keys, k.Key); err != nil || last != three.Current() {
			t.Errorf("from key %d: %v %v", i, last, err)
		}
	}
	if _, err := Succession(three.Keys, must(NewHome()).Public); !errors.Is(err, ErrUnknownKey) {
		t.Errorf("a stranger's key: %v", err)
	}
	swapped := *three
	swapped.Keys = []Entry{three.Keys[0], three.Keys[2]}
	if _, err := ReadKeyring(must(json.Marshal(swapped))); err == nil {
		t.Error("a ring without its second key was read")
	}
}

func TestLine(t *testing.T) {
	t.Parallel()
	note := must(must(NewHome()).Sign(samples()[3]))
	line := Line(note)
	if got, err := ParseLine(line); err != nil || !bytes.Equal(got, note) {
		t.Fatalf("%q %v", got, err)
	}
	for bit := range len(line) * 8 {
		bad := bytes.Clone(line)
		bad[bit/8] ^= 1 << (bit % 8)
		if got, err := ParseLine(bad); err == nil && bytes.Equal(got, note) {
			t.Fatalf("bit %d makes no difference: %q", bit, bad)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, c := range samples() {
		f.Add(must(c.Text()))
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Parse(text)
		if err != nil {
			if !errors.Is(err, ErrSyntax) {
				t.Errorf("%v is no ErrSyntax", err)
			}
			return
		}
		if again, err := c.Text(); err != nil || again != text {
			t.Errorf("%q is written as %q, %v", text, again, err)
		}
	})
}
