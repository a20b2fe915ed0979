// Compute is a guest for benchmarks: everyday work without calls to the host.
// Each export does one piece of it n times and returns a number that depends
// on all of it.
package main

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
)

func main() {}

// hash computes the SHA-256 digest of 16 KiB.
//
//go:wasmexport sha256
func hash(n int32) int64 {
	data := make([]byte, 16<<10)
	var sum [sha256.Size]byte
	for range n {
		sum = sha256.Sum256(data)
		copy(data, sum[:])
	}
	return int64(binary.LittleEndian.Uint64(sum[:]))
}

// sort orders 1,000 words and 1,000 numbers.
//
//go:wasmexport sort
func sort(n int32) int64 {
	total := int64(0)
	for i := range n {
		r := rand.New(rand.NewPCG(uint64(i), 0))
		numbers, words := make([]uint64, 1_000), make([]string, 1_000)
		for k := range numbers {
			numbers[k] = r.Uint64()
			words[k] = fmt.Sprint(numbers[k] % 100_000)
		}
		slices.Sort(numbers)
		slices.SortFunc(words, strings.Compare)
		total += int64(numbers[500]>>8) + int64(len(words[500]))
	}
	return total
}

// matrix multiplies two matrices of 32 by 32 numbers.
//
//go:wasmexport matrix
func matrix(n int32) int64 {
	const size = 32
	a, b, c := square(size), square(size), square(size)
	for range n {
		for i := range size {
			for k := range size {
				sum := 0.0
				for j := range size {
					sum += a[i][j] * b[j][k]
				}
				c[i][k] = sum
			}
		}
		a, c = c, a
		a[0][0] = 1
	}
	return int64(a[size-1][size-1])
}

func square(n int) [][]float64 {
	m := make([][]float64, n)
	for i := range m {
		m[i] = make([]float64, n)
		for k := range m[i] {
			m[i][k] = float64(i*k%7) / 100
		}
	}
	return m
}

type order struct {
	ID    int               `json:"id"`
	Name  string            `json:"name"`
	Price float64           `json:"price"`
	Tags  []string          `json:"tags"`
	Notes map[string]string `json:"notes"`
}

// parse reads and writes a JSON document of 20 objects.
//
//go:wasmexport json
func parse(n int32) int64 {
	orders := make([]order, 20)
	for i := range orders {
		orders[i] = order{i, fmt.Sprint("order \u00e9 \"", i, "\""), float64(i) / 3, []string{"a", "bc", "def"}, map[string]string{"x": "y"}}
	}
	text, _ := json.Marshal(orders)
	total := int64(0)
	for range n {
		var got []order
		var tree any
		if json.Unmarshal(text, &got) != nil || json.Unmarshal(text, &tree) != nil {
			return -1
		}
		again, _ := json.Marshal(got)
		total += int64(len(again))
	}
	return total
}

var address = regexp.MustCompile(`(?i)([a-z0-9._+-]+)@([a-z0-9-]+\.)+[a-z]{2,}|\b\d{3}-\d{4}\b`)

// search finds addresses in 2 KiB of text.
//
//go:wasmexport regex
func search(n int32) int64 {
	text := strings.Repeat("some words, then someone@mail.example.org and 555-1234, and more words after that. ", 25)
	total := int64(0)
	for range n {
		for _, at := range address.FindAllStringIndex(text, -1) {
			total += int64(at[1] - at[0])
		}
	}
	return total
}
