package memory

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/skillet-run/skillet/host/agents/memory/vector"
)

// An embedding is stored as
//
//	byte  0      version: 1
//	bytes 1-4    CRC-32C of all that follows, big-endian
//	bytes 5-20   first 16 bytes of SHA-256 of the text
//	byte  21     length of the name of the model
//	then         the name, and the components: IEEE 754 binary32, little-endian
//
// so that one that is damaged, or of another text, model or size, is recognised.
const (
	embeddingVersion = 1
	embeddingHeader  = 22
)

// errStale means that an embedding has to be made again.
var errStale = errors.New("the embedding does not match")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// storedEmbedding returns the stored form. The name is cut to 255 bytes.
func storedEmbedding(model string, of digest, v []float32) []byte {
	model = model[:min(len(model), math.MaxUint8)]
	b := make([]byte, embeddingHeader, embeddingHeader+len(model)+4*len(v))
	b[0], b[21] = embeddingVersion, byte(len(model))
	copy(b[5:], of[:])
	b = append(b, model...)
	for _, c := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(c))
	}
	binary.BigEndian.PutUint32(b[1:], crc32.Checksum(b[5:], castagnoli))
	return b
}

// readEmbedding undoes storedEmbedding for a text and an embedder. The error wraps
// errStale.
func readEmbedding(b []byte, model string, of digest, dimensions int) ([]float32, error) {
	model = model[:min(len(model), math.MaxUint8)]
	for _, c := range []struct {
		wrong func() bool
		what  string
	}{
		{func() bool { return len(b) < embeddingHeader || b[0] != embeddingVersion }, "it has another form"},
		{func() bool { return binary.BigEndian.Uint32(b[1:]) != crc32.Checksum(b[5:], castagnoli) }, "it is damaged"},
		{func() bool { return digest(b[5:21]) != of }, "it is of another text"},
		{func() bool {
			return len(b) < embeddingHeader+int(b[21]) || string(b[embeddingHeader:embeddingHeader+int(b[21])]) != model
		}, "it is of another model"},
		{func() bool { return len(b) != embeddingHeader+len(model)+4*dimensions }, "it has another number of dimensions"},
	} {
		if c.wrong() {
			return nil, fmt.Errorf("%w: %s", errStale, c.what)
		}
	}
	v := make([]float32, dimensions)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[embeddingHeader+len(model)+4*i:]))
	}
	return v, nil
}

// checkVectors refuses an answer of an embedder that cannot be used.
func checkVectors(e Embedder, texts []string, vectors [][]float32) error {
	if len(vectors) != len(texts) {
		return fmt.Errorf("embedder %s: %d vectors for %d texts", e.Name(), len(vectors), len(texts))
	}
	for _, v := range vectors {
		if len(v) != e.Dimensions() {
			return fmt.Errorf("embedder %s: %w: %d components, not %d", e.Name(), vector.ErrVector, len(v), e.Dimensions())
		}
	}
	return nil
}
