package main

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/md5"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/unicode/norm"
)

// handler is the encryption dictionary of a file, whose security handler is the
// standard one (ISO 32000-2, 7.6.4): a user and an owner, each with a password.
type handler struct {
	version, revision int
	length            int // of the key in bytes
	permissions       uint32
	owner, user       []byte // O and U
	ownerKey, userKey []byte // OE and UE
	metadata          bool   // whether they are encrypted
	id                []byte
	strings, streams  atom          // names of crypt filters
	filters           map[atom]atom // names of their methods
}

// sizes of O and U: up to revision 4, and from then on with two salts of eight
// bytes behind a hash.
const (
	oldVerifier = 32
	newVerifier = 48
	saltSize    = 8
)

// newHandler reads the encryption dictionary.
func (l *objects) newHandler() (*handler, error) {
	d := l.flat(l.trailer["Encrypt"])
	if name := entry[atom](d, "Filter"); name != "Standard" {
		return nil, fmt.Errorf("%w in a way that is not supported: handler %.20q", errEncrypted, name)
	}
	h := &handler{
		version: whole(d["V"]), revision: whole(d["R"]), length: whole(d["Length"]) / 8,
		permissions: uint32(whole(d["P"])), metadata: d["EncryptMetadata"] != false,
		owner: entry[text](d, "O"), user: entry[text](d, "U"),
		ownerKey: entry[text](d, "OE"), userKey: entry[text](d, "UE"),
		strings: "Identity", streams: "Identity", filters: map[atom]atom{},
	}
	if id := l.list(l.trailer["ID"]); len(id) > 0 {
		h.id, _ = l.resolve(id[0]).(text)
	}
	if name := entry[atom](d, "StrF"); name != "" {
		h.strings = name
	}
	if name := entry[atom](d, "StmF"); name != "" {
		h.streams = name
	}
	for name, o := range l.flat(d["CF"]) {
		h.filters[atom(name)] = entry[atom](l.flat(o), "CFM")
	}
	return h, h.check()
}

// check looks whether the entries are as long as they must be.
func (h *handler) check() error {
	size := oldVerifier
	if h.revision >= 5 {
		size = newVerifier
	}
	switch {
	case h.revision < 2 || h.revision > 6:
		return fmt.Errorf("%w in a way that is not supported: revision %d", errEncrypted, h.revision)
	case len(h.owner) < size || len(h.user) < size || h.revision >= 5 && (len(h.ownerKey) < 32 || len(h.userKey) < 32):
		return fmt.Errorf("%w and its keys are damaged", errEncrypted)
	}
	h.owner, h.user = h.owner[:size], h.user[:size]
	return nil
}

// unlock finds the key of an encrypted file. What was read before was read
// without it, and is forgotten.
func (l *objects) unlock() error {
	if l.trailer["Encrypt"] == nil {
		return nil
	}
	h, err := l.newHandler()
	if err != nil {
		return err
	}
	ring, err := newKeyring(h, l.work)
	if err != nil {
		return err
	}
	if ring.key = h.key(l.password); ring.key == nil {
		return errPassword
	}
	l.forget()
	l.ring = ring
	return nil
}

// key returns the key of the file, nil when the password is neither the user's
// nor the owner's.
func (h *handler) key(password string) []byte {
	if h.revision < 5 {
		return h.oldKeyOf(password)
	}
	for _, p := range slices.Compact([]string{saslPrepared(password), password}) {
		if key := h.newKey([]byte(p[:min(len(p), maxPassword)])); key != nil {
			return key
		}
	}
	return nil
}

// oldKeyOf tries a password in the encodings and the key in the lengths that
// files up to revision 4 may have.
func (h *handler) oldKeyOf(password string) []byte {
	for _, p := range [][]byte{[]byte(password), documentText(password)} {
		for _, n := range h.lengths() {
			if key := h.oldKey(p, n); key != nil {
				return key
			}
		}
	}
	return nil
}

// lengths are the lengths that the key may have, most likely first: some
// programs leave it out or give it in another unit.
func (h *handler) lengths() []int {
	const shortest, longest = 5, 16
	if h.revision == 2 {
		return []int{shortest}
	}
	if h.version == 4 || h.length < shortest || h.length > longest {
		return []int{longest, shortest}
	}
	return []int{h.length, longest, shortest}
}

// documentText encodes a password as files up to revision 4 have it, in
// PDFDocEncoding, which Windows 1252 comes near to.
func documentText(password string) []byte {
	var b []byte
	for _, r := range password {
		c, ok := charmap.Windows1252.EncodeRune(r)
		if !ok {
			return nil
		}
		b = append(b, c)
	}
	return b
}

// maxPassword is how many bytes of a password count from revision 5 on.
const maxPassword = 127

// saslPrepared normalizes a password as SASLprep (RFC 4013) does. Not every program
// that writes files does so.
func saslPrepared(password string) string {
	kept := strings.Map(func(r rune) rune {
		switch {
		case r == 0xad || r == 0x34f || r == 0x1806 || r == 0x2060 || r == 0xfeff,
			r >= 0x180b && r <= 0x180d, r >= 0x200b && r <= 0x200d, r >= 0xfe00 && r <= 0xfe0f:
			return -1
		}
		return r
	}, password)
	return norm.NFKC.String(kept)
}

// passwordPadding fills passwords up to 32 bytes (algorithm 2).
const passwordPadding = "\x28\xbf\x4e\x5e\x4e\x75\x8a\x41\x64\x00\x4e\x56\xff\xfa\x01\x08" +
	"\x2e\x2e\x00\xb6\xd0\x68\x3e\x80\x2f\x0c\xa9\xfe\x64\x53\x69\x7a"

func padded(password []byte) []byte {
	return append(bytes.Clone(password), passwordPadding...)[:len(passwordPadding)]
}

// oldKey returns the key of n bytes of a file up to revision 4, nil when the
// password does not open it: as the user's, or as the owner's, by which O gives
// the user's (algorithm 7).
func (h *handler) oldKey(password []byte, n int) []byte {
	if key := h.userKeyOf(padded(password), n); key != nil {
		return key
	}
	sum := md5.Sum(padded(password))
	key := h.stretched(sum[:], len(sum))[:n]
	return h.userKeyOf(h.rounds(key, h.owner, true), n)
}

// userKeyOf derives the key from the filled password of the user (algorithm 2)
// and returns it when U says that it is right (algorithm 6).
func (h *handler) userKeyOf(password []byte, n int) []byte {
	seed := append(bytes.Clone(password), h.owner...)
	seed = binary.LittleEndian.AppendUint32(seed, h.permissions)
	seed = append(seed, h.id...)
	if h.revision >= 4 && !h.metadata {
		seed = append(seed, 0xff, 0xff, 0xff, 0xff)
	}
	sum := md5.Sum(seed)
	key := h.stretched(sum[:], n)[:n]
	want, size := []byte(passwordPadding), oldVerifier
	if h.revision >= 3 {
		sum = md5.Sum(append(want, h.id...))
		want, size = sum[:], len(sum)
	}
	if !bytes.Equal(h.rounds(key, want, false)[:size], h.user[:size]) {
		return nil
	}
	return key
}

// stretched hashes the first n bytes of a hash 50 times over, from revision 3 on.
func (h *handler) stretched(sum []byte, n int) []byte {
	if h.revision == 2 {
		return sum
	}
	for range 50 {
		next := md5.Sum(sum[:n])
		sum = next[:]
	}
	return sum
}

// rounds applies RC4, from revision 3 on twenty times with variants of the key:
// upwards to encrypt and downwards to decrypt.
func (h *handler) rounds(key, data []byte, down bool) []byte {
	last := 19
	if h.revision == 2 {
		last = 0
	}
	variant := make([]byte, len(key))
	for i := 0; i <= last; i++ {
		round := i
		if down {
			round = last - i
		}
		for j := range key {
			variant[j] = key[j] ^ byte(round)
		}
		data = xorArcfour(variant, data)
	}
	return data
}

// newKey returns the key of a file from revision 5 on (algorithm 2.A): what the
// password decrypts of UE or OE.
func (h *handler) newKey(password []byte) []byte {
	for _, who := range []struct{ verifier, key, bound []byte }{{h.user, h.userKey, nil}, {h.owner, h.ownerKey, h.user}} {
		hash, salts := who.verifier[:newVerifier-2*saltSize], who.verifier[newVerifier-2*saltSize:]
		if !bytes.Equal(h.hash(password, salts[:saltSize], who.bound), hash) {
			continue
		}
		block, err := aes.NewCipher(h.hash(password, salts[saltSize:], who.bound))
		if err != nil {
			return nil
		}
		key := make([]byte, 32)
		cipher.NewCBCDecrypter(block, make([]byte, aes.BlockSize)).CryptBlocks(key, who.key[:len(key)])
		return key
	}
	return nil
}

// hash hashes a password with a salt and, for the owner's, with U, which binds
// it to the file (algorithm 2.B). Revision 5 is SHA-256 alone.
func (h *handler) hash(password, salt, bound []byte) []byte {
	input := append(append(bytes.Clone(password), salt...), bound...)
	sum := sha256.Sum256(input)
	key := sum[:]
	if h.revision == 5 {
		return key
	}
	const fewest = 64
	for round := 1; ; round++ {
		once := append(append(bytes.Clone(password), key...), bound...)
		mixed := bytes.Repeat(once, 64)
		block, err := aes.NewCipher(key[:16])
		if err != nil {
			return nil
		}
		cipher.NewCBCEncrypter(block, key[16:32]).CryptBlocks(mixed, mixed)
		key = rehash(mixed)
		if last := int(mixed[len(mixed)-1]); round >= fewest && last <= round-32 {
			return key[:32]
		}
	}
}

// rehash hashes with the one of three functions that the first 16 bytes choose,
// read as a number modulo 3: as 256 is 1 modulo 3, by the sum of the bytes.
func rehash(data []byte) []byte {
	sum := 0
	for _, b := range data[:16] {
		sum += int(b)
	}
	switch sum % 3 {
	case 0:
		h := sha256.Sum256(data)
		return h[:]
	case 1:
		h := sha512.Sum384(data)
		return h[:]
	}
	h := sha512.Sum512(data)
	return h[:]
}
