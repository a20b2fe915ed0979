package main

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/md5"
	"crypto/rc4"
	"fmt"
)

// method is how strings or streams are encrypted.
type method uint8

const (
	plaintext method = iota
	arcfour          // RC4 with a key for each object
	aesV2            // AES of 128 bits in CBC mode with a key for each object
	aesV3            // AES of 256 bits in CBC mode with the key of the file
)

// keyring decrypts a file (ISO 32000-2, 7.6). A nil one leaves bytes as they are.
type keyring struct {
	work    *work
	key     []byte
	strings method
	streams method
	filters map[atom]method
}

// objectKey decrypts what is in one object. The zero value leaves bytes as they
// are.
type objectKey struct {
	ring               *keyring
	number, generation int
}

// text decrypts a string.
func (k objectKey) text(s []byte) text {
	if k.ring == nil {
		return s
	}
	return k.decrypt(s, k.ring.strings)
}

// stream decrypts the data of a stream, by the crypt filter of the name or,
// without a name, as streams are by default.
func (k objectKey) stream(data []byte, filter atom) []byte {
	if k.ring == nil {
		return data
	}
	if filter == "" {
		return k.decrypt(data, k.ring.streams)
	}
	return k.decrypt(data, k.ring.filters[filter])
}

// The work of decrypting anything, which takes a key of its own, and of each
// byte.
const (
	keyCost     = 1 << 10
	decryptCost = 2
)

func (k objectKey) decrypt(data []byte, m method) []byte {
	if m != plaintext && !k.ring.work.spend(keyCost+decryptCost*len(data)) {
		return nil
	}
	switch m {
	case arcfour:
		return xorArcfour(k.own(""), data)
	case aesV2:
		return decryptCBC(k.own("sAlT"), data)
	case aesV3:
		return decryptCBC(k.ring.key, data)
	}
	return data
}

// own derives the key of the object (algorithm 1).
func (k objectKey) own(salt string) []byte {
	n, g := k.number, k.generation
	seed := append([]byte{}, k.ring.key...)
	seed = append(seed, byte(n), byte(n>>8), byte(n>>16), byte(g), byte(g>>8))
	sum := md5.Sum(append(seed, salt...))
	return sum[:min(len(k.ring.key)+5, len(sum))]
}

// xorArcfour encrypts or decrypts with RC4, which is its own inverse.
func xorArcfour(key, data []byte) []byte {
	c, err := rc4.NewCipher(key)
	if err != nil {
		return nil
	}
	out := make([]byte, len(data))
	c.XORKeyStream(out, data)
	return out
}

// decryptCBC decrypts data behind their initialization vector and cuts the
// padding off. A block that is not whole, and padding that is none, are signs of
// damage: as much as there is is decrypted.
func decryptCBC(key, data []byte) []byte {
	whole := len(data) / aes.BlockSize * aes.BlockSize
	block, err := aes.NewCipher(key)
	if err != nil || whole < 2*aes.BlockSize {
		return nil
	}
	out := make([]byte, whole-aes.BlockSize)
	cipher.NewCBCDecrypter(block, data[:aes.BlockSize]).CryptBlocks(out, data[aes.BlockSize:whole])
	if padding := int(out[len(out)-1]); padding >= 1 && padding <= aes.BlockSize {
		out = out[:len(out)-padding]
	}
	return out
}

// methods are the methods of the crypt filters (table 25) by their names.
var methods = map[atom]method{"None": plaintext, "V2": arcfour, "AESV2": aesV2, "AESV3": aesV3}

// newKeyring reads how a file is encrypted, without the key.
func newKeyring(h *handler, w *work) (*keyring, error) {
	r := &keyring{work: w, filters: map[atom]method{"Identity": plaintext}}
	switch h.version {
	case 1, 2, 3:
		r.strings, r.streams = arcfour, arcfour
		return r, nil
	case 4, 5:
	default:
		return nil, fmt.Errorf("%w in a way that is not supported: version %d", errEncrypted, h.version)
	}
	for name, f := range h.filters {
		m, ok := methods[f]
		if !ok {
			return nil, fmt.Errorf("%w in a way that is not supported: method %.20q", errEncrypted, f)
		}
		r.filters[name] = m
	}
	var ok1, ok2 bool
	r.strings, ok1 = r.filters[h.strings]
	r.streams, ok2 = r.filters[h.streams]
	if !ok1 || !ok2 {
		return nil, fmt.Errorf("%w in a way that is not supported: filters %.20q and %.20q are not there", errEncrypted, h.strings, h.streams)
	}
	return r, nil
}
