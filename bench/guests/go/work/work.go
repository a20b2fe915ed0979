// Package work is what the compute guest in Go computes, also for the
// benchmark itself, which checks the answers of the guests in other languages
// against it. Each function takes an amount and answers with a number that is
// the same in every language. It knows nothing of guests and hosts.
package work

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
)

// random is xorshift64*, the source of all test data.
type random uint64

const seed random = 88172645463325252

func (r *random) next() uint64 {
	*r ^= *r >> 12
	*r ^= *r << 25
	*r ^= *r >> 27
	return uint64(*r) * 2685821657736338717
}

// Spin makes n steps of a generator in one small loop.
func Spin(n uint64) (last uint64) {
	r := seed
	for range n {
		last = r.next()
	}
	return last
}

// Calls is the Fibonacci number of n by recursion: nothing but calls.
func Calls(n uint64) uint64 {
	if n < 2 {
		return n
	}
	return Calls(n-1) + Calls(n-2)
}

// SHA256 hashes 4 KiB n times.
func SHA256(n uint64) (sum uint64) {
	r := seed
	data := make([]byte, 4096)
	for i := 0; i < len(data); i += 8 {
		binary.LittleEndian.PutUint64(data[i:], r.next())
	}
	for range n {
		digest := sha256.Sum256(data)
		copy(data, digest[:])
		sum ^= binary.BigEndian.Uint64(digest[:])
	}
	return sum
}

// Sort sorts n numbers.
func Sort(n uint64) (sum uint64) {
	r := seed
	data := make([]uint64, n)
	for i := range data {
		data[i] = r.next()
	}
	slices.Sort(data)
	for i, v := range data {
		sum += uint64(i) * v
	}
	return sum
}

// Matrix multiplies two matrices of n by n and returns the bits of the trace.
func Matrix(n uint64) uint64 {
	r := seed
	fill := func() []float64 {
		m := make([]float64, n*n)
		for i := range m {
			m[i] = float64(r.next()>>11) / (1 << 53)
		}
		return m
	}
	a, b, c := fill(), fill(), make([]float64, n*n)
	for i := range n {
		row := c[i*n : (i+1)*n]
		for k := range n {
			left := a[i*n+k]
			for j, right := range b[k*n : (k+1)*n] {
				row[j] += float64(left * right) // rounded, so never fused with the addition
			}
		}
	}
	trace := 0.0
	for i := range n {
		trace += c[i*n+i]
	}
	return math.Float64bits(trace)
}

type record struct {
	ID     uint64   `json:"id"`
	Name   string   `json:"name"`
	Active bool     `json:"active"`
	Scores []uint64 `json:"scores"`
}

// JSON parses n records.
func JSON(n uint64) (sum uint64) {
	var list []record
	if json.Unmarshal([]byte(records(n)), &list) != nil {
		return 0
	}
	for _, r := range list {
		sum += r.ID + uint64(len(r.Name))
		if r.Active {
			sum++
		}
		for _, s := range r.Scores {
			sum += s
		}
	}
	return sum
}

func records(n uint64) string {
	var b strings.Builder
	r := seed
	b.WriteByte('[')
	for i := range n {
		v := r.next()
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":%d,"name":"user \"%d\"","active":%t,"scores":[%d,%d,%d]}`,
			v>>40, v%1000, v&1 == 1, v>>56, v>>48&255, v>>40&255)
	}
	b.WriteByte(']')
	return b.String()
}

// Regex finds addresses in n lines.
func Regex(n uint64) (sum uint64) {
	address := regexp.MustCompile(`[a-z0-9]+@[a-z0-9]+\.(com|org|net)`)
	for _, at := range address.FindAllStringIndex(lines(n), -1) {
		sum += 1_000_003*uint64(at[1]-at[0]) + uint64(at[0])
	}
	return sum
}

func lines(n uint64) string {
	var b strings.Builder
	r := seed
	for range n {
		v := r.next()
		domain := [...]string{"com", "org", "example", "net"}[v&3]
		fmt.Fprintf(&b, "%04d host%d user%d@mail%d.%s ok\n", v>>52, v%97, v%1013, v%31, domain)
	}
	return b.String()
}
