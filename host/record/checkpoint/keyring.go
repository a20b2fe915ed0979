package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// A Keyring is the keys a home has and had, with the secret of the last one. Its
// JSON form has that secret. [NewKeyring] and [ReadKeyring] make one.
type Keyring struct {
	// Keys are the home's keys, the first one first. The last one signs.
	Keys []Entry `json:"keys"`
	// Secret is the seed of the last key.
	Secret []byte `json:"secret"`

	signer Private // of the last key
}

// An Entry is one key of a home, and how it came to be one.
type Entry struct {
	Key  Public    `json:"key"`
	Made time.Time `json:"made"`
	// By is the note with which the key before named this one; empty for the
	// first.
	By string `json:"by,omitempty"`
	// Retired says that nothing is signed with the key any more, so that who
	// finds its secret has nothing.
	Retired bool `json:"retired,omitempty"`
}

// NewKeyring makes the keyring of a home with its first key.
func NewKeyring(now time.Time) (*Keyring, error) {
	p, err := NewHome()
	if err != nil {
		return nil, err
	}
	return &Keyring{[]Entry{{Key: p.Public, Made: now.UTC()}}, p.Seed(), p}, nil
}

// ReadKeyring reads the JSON form of a keyring and checks that each key was named by
// the one before.
func ReadKeyring(b []byte) (*Keyring, error) {
	var r Keyring
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, fmt.Errorf("read the audit keys: %w", err)
	}
	if len(r.Keys) == 0 {
		return nil, fmt.Errorf("read the audit keys: %w: there are none", ErrKey)
	}
	if _, err := Succession(r.Keys, r.Keys[0].Key); err != nil {
		return nil, fmt.Errorf("read the audit keys: %w", err)
	}
	p, err := FromSeed(r.Name(), r.Secret)
	if err == nil && p.Public != r.Current() {
		err = fmt.Errorf("%w: the secret is not that of the last key", ErrKey)
	}
	if err != nil {
		return nil, fmt.Errorf("read the audit keys: %w", err)
	}
	r.signer = p
	return &r, nil
}

// Name is the name all keys of the keyring have.
func (r *Keyring) Name() string { return r.Current().name }

// Origin is the origin of a log of the home.
func (r *Keyring) Origin(log string) string { return r.Name() + "/" + log }

// Current is the key that signs.
func (r *Keyring) Current() Public { return r.Keys[len(r.Keys)-1].Key }

// Since is when the home got its first key.
func (r *Keyring) Since() time.Time { return r.Keys[0].Made }

// All are all keys, and Valid those that are not retired: by them a log's end
// may be signed.
func (r *Keyring) All() []Public { return publics(r.Keys) }

// Valid are the keys by which the end of a log may be signed.
func (r *Keyring) Valid() []Public {
	return publics(slices.DeleteFunc(slices.Clone(r.Keys), func(e Entry) bool { return e.Retired }))
}

func publics(es []Entry) []Public {
	var ks []Public
	for _, e := range es {
		ks = append(ks, e.Key)
	}
	return ks
}

// Sign signs a statement with the current key.
func (r *Keyring) Sign(c Checkpoint) ([]byte, error) { return r.signer.Sign(c) }

// Rotated is the keyring with one more key, which the current one names.
func (r *Keyring) Rotated(now time.Time) (*Keyring, error) {
	next, err := r.signer.Successor()
	if err != nil {
		return nil, err
	}
	by, err := r.Sign(Checkpoint{Origin: r.Origin(keyLog), Time: now, Next: next.String()})
	if err != nil {
		return nil, err
	}
	keys := append(slices.Clone(r.Keys), Entry{Key: next.Public, Made: now.UTC(), By: string(by)})
	return &Keyring{keys, next.Seed(), next}, nil
}

// keyLog is what statements about keys have in the place of a log's name.
const keyLog = "key"

// RetireOld is the keyring with all keys but the current one retired.
func (r *Keyring) RetireOld() *Keyring {
	keys := slices.Clone(r.Keys)
	for i := range keys[:len(keys)-1] {
		keys[i].Retired = true
	}
	return &Keyring{keys, r.Secret, r.signer}
}

// Succession returns the last of keys, when the pinned key is one of them and
// each from it on was named by the one before. Keys before the pinned one are
// not looked at: what the last key signed speaks for them. The errors are
// [ErrUnknownKey], when the pinned key is not there, and those of [Open].
func Succession(keys []Entry, pinned Public) (Public, error) {
	at := slices.IndexFunc(keys, func(e Entry) bool { return e.Key == pinned })
	if at < 0 {
		return Public{}, fmt.Errorf("%w: %s is none of its keys", ErrUnknownKey, pinned)
	}
	for i := at + 1; i < len(keys); i++ {
		c, _, err := Open([]byte(keys[i].By), keys[i-1].Key)
		if err == nil && (c.Next != keys[i].Key.String() || c.Origin != pinned.name+"/"+keyLog) {
			err = errors.New("it names another key")
		}
		if err != nil {
			return Public{}, fmt.Errorf("key %d was not named by the one before: %w", i+1, err)
		}
	}
	return keys[len(keys)-1].Key, nil
}
